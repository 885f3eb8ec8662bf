"""The browser as tools for a model, on the context of the thread that the run belongs to or of the subagent at work."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

from langchain.tools import ToolRuntime
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool

from runwire_graphs.browser import actions
from runwire_graphs.browser.sessions import OF, Session, sessions
from runwire_graphs.hands import HANDS
from runwire_graphs.shots import keep_shot

T = TypeVar("T")
Runtime = ToolRuntime[Any, Any]


def session_key(config: RunnableConfig) -> str:
    """The thread, or the run where there is no thread to come back to; a subagent has a browser of its own."""
    told = config.get("configurable", {})
    thread = told.get("thread_id") or config.get("run_id") or told.get("run_id") or "no thread"
    # The last part of the namespace is the task of the tool itself.
    subagent = str(told.get("checkpoint_ns", "")).rpartition("|")[0]
    return f"{thread}{OF}{subagent}" if subagent else str(thread)


async def act(config: RunnableConfig, action: Callable[[Session], Awaitable[T]]) -> T:
    """One action on the thread's browser, carried out by the hands."""

    async def work() -> T:
        async with sessions().session(session_key(config)) as session:
            return await action(session)

    return await HANDS.reach(work())


async def leave(config: RunnableConfig) -> None:
    """Close the browser of a subagent that is done: nobody comes back to it."""

    async def work() -> None:
        await sessions().end(session_key(config))

    await HANDS.reach(work())


@tool
async def navigate(url: str, runtime: Runtime) -> str:
    """Open a web page: go to or visit an address such as https://example.com. Tells its title and its elements.

    Args:
        url: The address of the page.
    """
    return await act(runtime.config, lambda session: actions.navigate(session, sessions().gate, url))


@tool
async def read(runtime: Runtime) -> str:
    """Read the page that is open: tell, get, show or summarize its title, text, content, table or heading."""
    return await act(runtime.config, actions.read)


@tool
async def click(target: str, runtime: Runtime) -> str:
    """Click, press or follow a link, a button or another element of the page.

    Args:
        target: Its number in the list of elements, or its visible text or label.
    """
    return await act(runtime.config, lambda session: actions.click(session, target))


@tool
async def type_text(target: str, text: str, runtime: Runtime, submit: bool = False) -> str:
    """Type, enter, write, fill or put a text into a field of the page, in place of what it held.

    Args:
        target: The field's number in the list of elements, or its label.
        text: What to type.
        submit: Press Enter afterwards.
    """
    return await act(runtime.config, lambda session: actions.type_text(session, target, text, submit))


@tool
async def choose(target: str, option: str, runtime: Runtime) -> str:
    """Choose, select or pick an option of a choice on the page.

    Args:
        target: The choice's number in the list of elements, or its label.
        option: The text of the option.
    """
    return await act(runtime.config, lambda session: actions.choose(session, target, option))


@tool
async def scroll(runtime: Runtime, direction: Literal["down", "up", "left", "right"] = "down") -> str:
    """Scroll the page by most of a screen.

    Args:
        direction: Where to.
    """
    return await act(runtime.config, lambda session: actions.scroll(session, direction))


@tool
async def back(runtime: Runtime) -> str:
    """Go back to the previous page of this tab."""
    return await act(runtime.config, actions.back)


@tool(response_format="content_and_artifact")
async def screenshot(runtime: Runtime) -> tuple[str, dict[str, Any]]:
    """Take a screenshot, a picture of what is visible of the page. It is kept as a file and given by reference."""
    png, title = await act(runtime.config, actions.screenshot)
    shot = await asyncio.to_thread(keep_shot, png)
    return f"Screenshot of {title!r} ({shot['width']} x {shot['height']}): {shot['url']}", shot


@tool
async def tabs(
    runtime: Runtime, action: Literal["list", "new", "select", "close"] = "list", number: int | None = None
) -> str:
    """List the open tabs of the browser, open a new tab, switch to one or close one.

    Args:
        action: What to do.
        number: Which tab, to select or to close.
    """
    return await act(runtime.config, lambda session: actions.tabs(session, action, number))


BROWSER_TOOLS: list[BaseTool] = [navigate, read, click, type_text, choose, scroll, back, screenshot, tabs]
