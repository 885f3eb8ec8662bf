"""One Chromium, an isolated context per thread: idle ones are closed, their number is capped, a dead browser replaced.

All of it lives on the hands' loop.
"""

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from playwright.async_api import Browser, BrowserContext, ElementHandle, Page, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from runwire_graphs.browser.finding import CURE, find_chromium
from runwire_graphs.browser.gate import Gate
from runwire_graphs.browser.policy import Policy
from runwire_graphs.demo import site
from runwire_graphs.errors import BrowserError, NoBrowser
from runwire_graphs.hands import Sole
from runwire_graphs.settings import Settings

log = logging.getLogger("runwire.browser")

ACTION_MS = 8_000
NAVIGATION_MS = 20_000
# How long one waits for another's context to be left, and after what silence a subagent is taken to be gone.
ROOM_SECONDS = 60.0
GONE_SECONDS = 120.0
# Stands between a thread and the subagent of it that a context belongs to.
OF = "|"
WIDTH, HEIGHT = 1280, 800
FLAGS = [
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # Datagrams would go past the gate.
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
]


@dataclass
class Session:
    """A thread's context: its tabs, the one in front, and the elements that were last listed by number."""

    key: str
    context: BrowserContext
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    page: Page | None = None
    elements: list[ElementHandle] = field(default_factory=list)
    used: float = 0.0
    claims: int = 0

    def spared(self, now: float) -> bool:
        """Whether it must not make room: someone acts on it, or a subagent is in the midst of its task."""
        return bool(self.claims) or (OF in self.key and now - self.used < GONE_SECONDS)

    def adopt(self, page: Page) -> None:
        """A new tab comes to the front, as it does for a person."""
        self.page, self.elements = page, []
        page.on("close", lambda closed: self._gone(closed))

    def _gone(self, page: Page) -> None:
        if self.page is page:
            self.page, self.elements = next(reversed(self.context.pages), None), []

    async def front(self) -> Page:
        return self.page or await self.context.new_page()


def current_policy() -> Policy:
    demo = site.origin()
    return Policy.of([*Settings.read().browser_allow, *([demo] if demo else [])])


class Sessions:
    """The open contexts by thread."""

    def __init__(self) -> None:
        self.gate = Gate(current_policy)
        self._opening = asyncio.Lock()
        self._freed = asyncio.Event()
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._open: dict[str, Session] = {}
        self._reaper: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def session(self, key: str) -> AsyncIterator[Session]:
        """The context of a thread, made if there is none, for one action at a time."""
        session = await self._find(key)
        try:
            async with session.lock:
                yield session
        finally:
            session.claims -= 1
            session.used = asyncio.get_running_loop().time()
            self._freed.set()

    async def hold(self, key: str) -> Session:
        """A context of its own under a key, which nothing evicts until it is ended."""
        return await self._find(key)

    async def end(self, key: str) -> None:
        if session := self._open.pop(key, None):
            with suppress(PlaywrightError):
                await session.context.close()
            self._freed.set()

    async def close(self) -> None:
        if self._reaper:
            self._reaper.cancel()
        self._open.clear()
        browser, playwright, self._browser, self._playwright = self._browser, self._playwright, None, None
        if browser:
            with suppress(PlaywrightError):
                await browser.close()
        if playwright:
            await playwright.stop()
        await self.gate.close()

    async def _find(self, key: str) -> Session:
        """The context, claimed; where there is no room for it, once there is."""
        with_room = asyncio.get_running_loop().time() + ROOM_SECONDS
        while (session := await self._claimed(key)) is None:
            self._freed.clear()
            try:
                async with asyncio.timeout_at(with_room):
                    await self._freed.wait()
            except TimeoutError:
                limit = Settings.read().browser_contexts
                raise BrowserError(
                    f"The browser is used {limit} times at once, which is the limit. Try again in a moment, "
                    "or raise RUNWIRE_BROWSER_CONTEXTS."
                ) from None
        return session

    async def _claimed(self, key: str) -> Session | None:
        async with self._opening:
            browser = await self._alive()
            if key not in self._open:
                if not await self._made_room():
                    return None
                context = await browser.new_context(
                    viewport={"width": WIDTH, "height": HEIGHT}, accept_downloads=False, service_workers="block"
                )
                context.set_default_timeout(ACTION_MS)
                context.set_default_navigation_timeout(NAVIGATION_MS)
                session = self._open[key] = Session(key, context)
                context.on("page", session.adopt)
            # Claimed here, so that nothing evicts it before its user has the lock.
            self._open[key].claims += 1
            return self._open[key]

    async def _made_room(self) -> bool:
        limit, now = Settings.read().browser_contexts, asyncio.get_running_loop().time()
        idle = sorted((one for one in self._open.values() if not one.spared(now)), key=lambda one: one.used)
        while len(self._open) >= limit:
            if not idle:
                return False
            await self.end(idle.pop(0).key)
        return True

    async def _alive(self) -> Browser:
        if self._browser and self._browser.is_connected():
            return self._browser
        self._open.clear()
        if self._playwright is None:
            self._playwright = await async_playwright().start()
            self._proxy = await self.gate.open()
            self._reaper = asyncio.create_task(self._reap())
        path = await asyncio.to_thread(find_chromium, Settings.read(), self._playwright.chromium.executable_path)
        try:
            self._browser = await self._playwright.chromium.launch(
                executable_path=path,
                args=FLAGS,
                proxy={"server": self._proxy, "bypass": "<-loopback>"},
                # Chromium's own sandbox cannot be had as root.
                chromium_sandbox=os.geteuid() != 0,
            )
        except PlaywrightError as error:
            raise NoBrowser(f"{path} did not start: {str(error).splitlines()[0]}. {CURE}") from error
        log.info("started %s", path)
        return self._browser

    async def _reap(self) -> None:
        """Close what was not used for long; the interval follows the limit, so that a short one is kept too."""
        while True:
            limit = Settings.read().browser_idle_seconds
            await asyncio.sleep(min(30.0, limit / 4))
            old = asyncio.get_running_loop().time() - limit
            for session in [one for one in self._open.values() if one.used < old and not one.claims]:
                log.info("closed the idle browser context of thread %s", session.key)
                await self.end(session.key)


# Called on the hands' loop.
sessions = Sole(Sessions)
