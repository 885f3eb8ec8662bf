"""A page of the bundle's browser as a computer: the same Chromium, the same gate, a context of its own.

Its pictures show the page alone. `navigate` is the address bar that they do not show.
"""

import asyncio
import re
from contextlib import suppress
from typing import Any

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from runwire_graphs.browser.actions import capture, in_words, navigate, settle
from runwire_graphs.browser.listing import DESCRIBE, FIND, LIMIT, SELECTOR
from runwire_graphs.browser.sessions import HEIGHT, WIDTH, Session, sessions
from runwire_graphs.computer.actions import Action
from runwire_graphs.computer.keys import find_key
from runwire_graphs.errors import ComputerError

TEXT_LIMIT = 3_000
BUTTONS = {"left": "left", "right": "right", "wheel": "middle"}

PLACES = """
found => found.map(one => {
  const box = one.getBoundingClientRect();
  return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)];
})
"""
AT = """
([x, y, selector]) => { const one = document.elementFromPoint(x, y); return one && (one.closest(selector) || null) }
"""
IN_PASSWORD = "() => document.activeElement && document.activeElement.type == 'password'"


class PageComputer:
    """The tab in front of a context that nobody else uses."""

    environment = "browser"

    def __init__(self, session: Session) -> None:
        self._session = session

    async def act(self, action: Action) -> None:
        for point in action.points:
            if not (0 <= point.x < WIDTH and 0 <= point.y < HEIGHT):
                raise ComputerError(f"({point.x}, {point.y}) is outside of the screen of {WIDTH} x {HEIGHT}.")
        if action.type == "navigate":
            await navigate(self._session, sessions().gate, action.url)
            return
        page = await self._session.front()
        async with in_words():
            await self._act(page, action)
            await settle(await self._session.front())

    async def _act(self, page: Page, action: Action) -> None:
        match action.type:
            case "click" if action.button in ("back", "forward"):
                await (page.go_back() if action.button == "back" else page.go_forward())
            case "click" | "double_click" | "move":
                await self._point(page, action)
            case "drag":
                await self._drag(page, action)
            case "keypress":
                await page.keyboard.press("+".join(find_key(name).playwright for name in action.keys))
            case "scroll":
                await page.mouse.move(action.x or WIDTH // 2, action.y or HEIGHT // 2)
                await page.mouse.wheel(action.scroll_x, action.scroll_y)
            case "type":
                await page.keyboard.type(action.text)
            case "wait":
                await asyncio.sleep(action.seconds)
            case "screenshot" | "navigate":
                pass

    async def _point(self, page: Page, action: Action) -> None:
        held = [find_key(name).playwright for name in action.keys]
        for key in held:
            await page.keyboard.down(key)
        try:
            await page.mouse.move(action.x or 0, action.y or 0)
            if action.type != "move":
                button: Any = BUTTONS.get(action.button, "left")
                count = 2 if action.type == "double_click" else 1
                await page.mouse.click(action.x or 0, action.y or 0, button=button, click_count=count)
        finally:
            for key in reversed(held):
                await page.keyboard.up(key)

    async def _drag(self, page: Page, action: Action) -> None:
        first, *rest = action.path
        await page.mouse.move(first.x, first.y)
        await page.mouse.down()
        for point in rest:
            await page.mouse.move(point.x, point.y, steps=5)
        await page.mouse.up()

    async def name(self, action: Action) -> str | None:
        page = await self._session.front()
        with suppress(PlaywrightError):
            if action.type == "type":
                return "a password, which is not told" if await page.evaluate(IN_PASSWORD) else None
            for point in action.points[:1]:
                found = (await page.evaluate_handle(AT, [point.x, point.y, SELECTOR])).as_element()
                if found:
                    (told,) = await page.evaluate(DESCRIBE, [found])
                    return f"{told['kind']} {told['name']!r}"
        return None

    async def screenshot(self) -> bytes:
        page = await self._session.front()
        async with in_words():
            return await capture(page)

    async def observe(self) -> str:
        page = await self._session.front()
        async with in_words():
            await page.wait_for_load_state("domcontentloaded")
            found = await page.evaluate_handle(FIND, [SELECTOR, LIMIT])
            elements, places = await page.evaluate(DESCRIBE, found), await page.evaluate(PLACES, found)
            text = re.sub(r"\n{3,}", "\n\n", await page.inner_text("body")).strip()
            title = await page.title()
        lines = [_line(element, x, y) for element, (x, y) in zip(elements, places, strict=True)]
        listed = "\n".join(lines) or "Nothing on it can be clicked or filled."
        more = f"\n… ({len(text) - TEXT_LIMIT} further characters)" if len(text) > TEXT_LIMIT else ""
        head = f"Title: {title}\nAddress: {page.url}\nScreen: {WIDTH} x {HEIGHT}"
        return f"{head}\n\n{listed}\n\nText:\n{text[:TEXT_LIMIT]}{more}"

    def alive(self) -> bool:
        browser, page = self._session.context.browser, self._session.page
        return bool(browser and browser.is_connected()) and not (page and page.is_closed())

    async def close(self) -> None:
        await sessions().end(self._session.key)


def _line(told: dict[str, Any], x: int, y: int) -> str:
    line = f'{told["kind"]} "{told["name"]}"'
    if told["options"]:
        line += f" of {', '.join(told['options'])}"
    if told["value"]:
        line += f' holding "{told["value"]}"'
    line += ", checked" if told["checked"] else ""
    seen = 0 <= x < WIDTH and 0 <= y < HEIGHT
    return f"{line} at ({x}, {y})" + ("" if seen else ", not on the screen: scroll to it")


async def open_page(id: str) -> PageComputer:
    """A page in a context under the sandbox's own key, which nothing evicts until it is closed."""
    try:
        session = await sessions().hold(id)
        await session.front()
    except BaseException:
        await sessions().end(id)
        raise
    return PageComputer(session)
