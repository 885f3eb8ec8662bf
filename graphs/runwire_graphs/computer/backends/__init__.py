"""The computers there are: a page of a browser, and a desktop. Each member is one file and a line in `BACKENDS`."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from runwire_graphs.computer.actions import Action

WIDTH, HEIGHT = 1280, 800


class Computer(Protocol):
    """A screen that can be acted on. Everything happens on the hands' loop; failures are `BundleError`s in words."""

    # As OpenAI's preview tool calls it.
    environment: str

    async def act(self, action: Action) -> None:
        """Do one action, and wait for what it starts."""

    async def name(self, action: Action) -> str | None:
        """What an action touches, in words; None where that is not known. A secret is named and not told."""

    async def screenshot(self) -> bytes:
        """A PNG of the screen."""

    async def observe(self) -> str:
        """The screen in words: what it shows, and where what can be acted on is."""

    def alive(self) -> bool:
        """Whether it can still be used."""

    async def close(self) -> None:
        """End it, and all that it started."""


async def _page(id: str) -> Computer:
    from runwire_graphs.computer.backends.page import open_page

    return await open_page(id)


async def _desktop(id: str) -> Computer:
    from runwire_graphs.computer.backends.desktop import open_desktop

    return await open_desktop(id)


BACKENDS: dict[str, Callable[[str], Awaitable[Computer]]] = {"page": _page, "desktop": _desktop}
