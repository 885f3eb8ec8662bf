"""The open MCP sessions, one an expert, on the hands' loop: opened at need, kept, and opened again when they die."""

import asyncio
import logging
from contextlib import suppress
from typing import Any

from mcp import Client, MCPError
from mcp.types import CallToolResult, Tool

from runwire_graphs.errors import ExpertError
from runwire_graphs.experts.config import Expert
from runwire_graphs.hands import Sole

log = logging.getLogger("runwire.experts")

OPEN_SECONDS = 30.0
CALL_SECONDS = 120.0
CLOSE_SECONDS = 10.0


class Session:
    """A session is entered and left by one task of its own, as anyio's scopes demand; any task may call through it."""

    def __init__(self, name: str, expert: Expert) -> None:
        self._name, self._expert = name, expert
        self._leave = asyncio.Event()
        self._entered: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own())

    async def client(self) -> Client:
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                return await asyncio.shield(self._entered)
        except (OSError, MCPError, ValueError, TimeoutError, ExceptionGroup) as error:
            how = self._expert.command or self._expert.url
            raise ExpertError(
                f"The expert {self._name!r} did not start ({how}): {_first(error)}. Check its entry in RUNWIRE_EXPERTS."
            ) from error

    async def close(self) -> None:
        self._leave.set()
        with suppress(TimeoutError, asyncio.CancelledError):
            await asyncio.wait_for(self._owner, CLOSE_SECONDS)

    async def _own(self) -> None:
        try:
            async with Client(self._expert.server, read_timeout_seconds=CALL_SECONDS, cache=None) as client:
                self._entered.set_result(client)
                await self._leave.wait()
        except Exception as error:  # whatever a foreign server does; told to whoever waits, else to the log
            if not self._entered.done():
                self._entered.set_exception(error)
                # Nobody may be waiting any more.
                self._entered.exception()
            else:
                log.warning("the session of expert %s ended badly: %s", self._name, _first(error))


class Sessions:
    """The sessions by expert."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Session] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def tools(self, name: str, expert: Expert) -> list[Tool]:
        return (await self._alive(name, expert))[1]

    async def call(self, name: str, expert: Expert, tool: str, args: dict[str, Any]) -> CallToolResult:
        client, _ = await self._alive(name, expert)
        try:
            return await client.call_tool(tool, args)
        except MCPError as error:
            # Not called again: whether the work was done is not known, and doing it twice may be worse.
            raise ExpertError(f"The expert {name!r} failed in {tool}: {error}.") from error

    async def close(self) -> None:
        sessions, self._open = list(self._open.values()), {}
        await asyncio.gather(*(session.close() for session in sessions))

    async def _alive(self, name: str, expert: Expert) -> tuple[Client, list[Tool]]:
        """The expert's client and its tools; asking for them shows whether it lives."""
        key = (name, expert.model_dump_json())
        async with self._locks.setdefault(name, asyncio.Lock()):
            if session := self._open.get(key):
                with suppress(MCPError, ExpertError):
                    client = await session.client()
                    return client, (await client.list_tools()).tools
                log.info("expert %s does not answer; it is started again", name)
                await self._open.pop(key).close()
            session = self._open[key] = Session(name, expert)
            try:
                client = await session.client()
                return client, (await client.list_tools()).tools
            except BaseException:
                await self._open.pop(key).close()
                raise


def _first(error: BaseException) -> str:
    """The innermost reason: task groups wrap what went wrong in them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


# Called on the hands' loop.
sessions = Sole(Sessions)
