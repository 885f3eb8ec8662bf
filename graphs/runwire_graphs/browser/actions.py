"""What can be done with a page. Each action tells in words what came of it; a failure is a `BrowserError` in words."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from playwright.async_api import ElementHandle, Locator, Page
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from runwire_graphs.browser.gate import Gate
from runwire_graphs.browser.listing import list_elements
from runwire_graphs.browser.policy import Place
from runwire_graphs.browser.sessions import Session, current_policy
from runwire_graphs.errors import BrowserError, Refused

TEXT_LIMIT = 6_000
SETTLE_MS = 3_000
LOOKS = 3
SCROLL = {"down": (0, 1), "up": (0, -1), "right": (1, 0), "left": (-1, 0)}
SETTLED = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 60)))"
HREF = re.compile(r"^[\w.-]+\.[a-z]{2,}(?::\d+)?(?:/|$)", re.IGNORECASE)


@asynccontextmanager
async def in_words() -> AsyncIterator[None]:
    """Playwright's errors carry call logs and colours; people and models need the first line."""
    try:
        yield
    except PlaywrightTimeout as error:
        raise BrowserError(f"The page did not do that in time: {_first_line(error)}") from error
    except PlaywrightError as error:
        raise BrowserError(f"The page did not do that: {_first_line(error)}") from error


def _first_line(error: PlaywrightError) -> str:
    return re.sub(r"\x1b\[\d+m", "", error.message).strip().splitlines()[0]


def whole_url(address: str) -> str:
    """An address as people write it: without a scheme it is https."""
    address = address.strip().strip("<>")
    return f"https://{address}" if HREF.match(address) and "://" not in address else address


async def navigate(session: Session, gate: Gate, address: str) -> str:
    url = whole_url(address)
    await current_policy().addresses(Place.of(url))
    page = await session.front()
    try:
        answer = await page.goto(url, wait_until="domcontentloaded")
    except PlaywrightTimeout as error:
        raise BrowserError(f"{url} did not answer in time.") from error
    except PlaywrightError as error:
        raise _unreachable(gate, url, page.url, error) from error
    status = f" (status {answer.status})" if answer and answer.status >= 400 else ""
    return f"Opened {page.url}{status}.\n\n{await look(session)}"


def _unreachable(gate: Gate, url: str, reached: str, error: PlaywrightError) -> BrowserError | Refused:
    for one in (url, reached):
        with suppress(Refused):
            if reason := gate.refused(one):
                return Refused(reason)
    return BrowserError(f"{url} could not be opened: {_first_line(error)}")


async def look(session: Session) -> str:
    """The title, the address and what can be clicked or filled, numbered."""
    page = await _opened(session)
    async with in_words():
        session.elements, lines = await _listed(page)
        listed = "\n".join(lines) or "Nothing on it can be clicked or filled."
        return f"Title: {await page.title()}\nAddress: {page.url}\n\n{listed}"


async def _listed(page: Page) -> tuple[list[ElementHandle], list[str]]:
    """The elements; a page that goes elsewhere by itself in the meantime is looked at once it is there."""
    for _ in range(LOOKS):
        await page.wait_for_load_state("domcontentloaded")
        with suppress(PlaywrightError):
            return await list_elements(page)
    return await list_elements(page)


async def read(session: Session) -> str:
    """The title and the text that a person would see."""
    page = await _opened(session)
    async with in_words():
        text = re.sub(r"\n{3,}", "\n\n", await page.inner_text("body")).strip()
        title = await page.title()
    more = f"\n… ({len(text) - TEXT_LIMIT} further characters)" if len(text) > TEXT_LIMIT else ""
    return f"Title: {title}\nAddress: {page.url}\n\n{text[:TEXT_LIMIT]}{more}"


async def click(session: Session, target: str) -> str:
    page = await _opened(session)
    async with in_words():
        found = await _find(session, page, target)
        await found.click()
        await settle(page)
    return f"Clicked {target}.\n\n{await look(session)}"


async def type_text(session: Session, target: str, text: str, submit: bool) -> str:
    page = await _opened(session)
    async with in_words():
        field = await _find(session, page, target)
        await field.fill(text)
        if submit:
            await field.press("Enter")
            await settle(page)
    done = f"Typed {text!r} into {target}" + (" and pressed Enter." if submit else ".")
    return f"{done}\n\n{await look(session)}"


async def choose(session: Session, target: str, option: str) -> str:
    page = await _opened(session)
    async with in_words():
        await (await _find(session, page, target)).select_option(label=option)
    return f"Chose {option} in {target}.\n\n{await look(session)}"


async def scroll(session: Session, direction: str) -> str:
    page = await _opened(session)
    x, y = SCROLL[direction]
    async with in_words():
        await page.evaluate("([x, y]) => window.scrollBy(x * innerWidth * 0.8, y * innerHeight * 0.8)", [x, y])
        await page.evaluate(SETTLED)
        at, whole = await page.evaluate("() => [scrollY + innerHeight, document.documentElement.scrollHeight]")
    return f"Scrolled {direction}. Visible down to {min(100, round(100 * at / max(whole, 1)))} % of the page."


async def back(session: Session) -> str:
    page = await _opened(session)
    before = page.url
    async with in_words():
        await page.go_back(wait_until="domcontentloaded")
    if page.url == before:
        return "There is no earlier page in this tab."
    return f"Went back.\n\n{await look(session)}"


async def tabs(session: Session, action: str, number: int | None) -> str:
    pages = session.context.pages
    if action == "new":
        await session.context.new_page()
    elif action in ("select", "close"):
        if number is None or not 1 <= number <= len(pages):
            raise BrowserError(f"There is no tab {number}; there are {len(pages)}.")
        chosen = pages[number - 1]
        if action == "close":
            await chosen.close()
        else:
            session.page, session.elements = chosen, []
            await chosen.bring_to_front()
    lines = [
        f"{position}. {await page.title() or 'empty'} {page.url}{' (in front)' if page is session.page else ''}"
        for position, page in enumerate(session.context.pages, 1)
    ]
    return "Tabs:\n" + ("\n".join(lines) or "none")


async def screenshot(session: Session) -> tuple[bytes, str]:
    """A PNG of what is visible, and the title of the page."""
    page = await _opened(session)
    async with in_words():
        return await capture(page), await page.title()


async def capture(page: Page) -> bytes:
    """What is visible. Of a page that is just changing, Chromium may have no picture yet."""
    for _ in range(LOOKS):
        try:
            return await page.screenshot()
        except PlaywrightTimeout:
            raise
        except PlaywrightError:
            with suppress(PlaywrightError):
                await page.evaluate(SETTLED)
    return await page.screenshot()


async def _opened(session: Session) -> Page:
    page = session.page
    if page is None or page.url == "about:blank":
        raise BrowserError(
            "No page is open in this thread's browser (it is closed after a while, and when the server restarts). "
            "Open one with navigate first."
        )
    return page


async def settle(page: Page) -> None:
    """What a click starts: a script's change, or another page."""
    with suppress(PlaywrightError):
        await page.evaluate(SETTLED)
    with suppress(PlaywrightTimeout):
        await page.wait_for_load_state("domcontentloaded", timeout=SETTLE_MS)


async def _find(session: Session, page: Page, target: str) -> Locator | ElementHandle:
    """By its number in the last listing, else by its label, its text or a selector."""
    if number := re.fullmatch(r"\[?(\d+)\]?", target.strip()):
        position = int(number[1])
        if not 1 <= position <= len(session.elements):
            raise BrowserError(f"There is no element {position}; {len(session.elements)} are listed.")
        return session.elements[position - 1]
    for candidate in _by_words(page, target.strip().strip("'\"“”")):
        if await candidate.count():
            return candidate.first
    raise BrowserError(f"Nothing on this page is called {target!r}. {await look(session)}")


def _by_words(page: Page, words: str) -> list[Locator]:
    exact = [
        page.get_by_role("link", name=words, exact=True),
        page.get_by_role("button", name=words, exact=True),
        page.get_by_label(words, exact=True),
        page.get_by_placeholder(words, exact=True),
        page.get_by_text(words, exact=True),
    ]
    loose = [
        page.get_by_role("link", name=words),
        page.get_by_role("button", name=words),
        page.get_by_label(words),
        page.get_by_placeholder(words),
        page.get_by_text(words),
    ]
    return [one.filter(visible=True) for one in [*exact, *loose]]
