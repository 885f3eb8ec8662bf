"""One thread with one event loop that owns every browser and every MCP session of the process.

Both are bound to the loop that made them, while runs may come from several loops. Nodes call in with `reach`, from any
loop; `close` ends what was opened, in the reverse order, when the server stops or the process exits.
"""

import asyncio
import atexit
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import TimeoutError as WaitedTooLong
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")

CLOSE_SECONDS = 15.0


class Hands:
    """The thread starts with the first call, and may start again after a close."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closers: list[Callable[[], Awaitable[None]]] = []

    async def reach(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of work that is done on the hands' own loop; cancelling this cancels that."""
        loop = self._started()
        if loop is asyncio.get_running_loop():
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    def leave(self, work: Coroutine[Any, Any, Any]) -> None:
        """Have work done without waiting for it; for those that are being cancelled themselves."""
        asyncio.run_coroutine_threadsafe(work, self._started())

    def at_close(self, closer: Callable[[], Awaitable[None]]) -> None:
        """Have something ended with the hands; called on their loop."""
        self._closers.append(closer)

    def close(self) -> None:
        """End all that was opened, then the thread. It blocks, and it is bounded."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None or not thread.is_alive():
            return
        with suppress(WaitedTooLong):
            asyncio.run_coroutine_threadsafe(self._closing(), loop).result(CLOSE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(CLOSE_SECONDS)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="runwire-hands", daemon=True)
                self._thread.start()
            return self._loop

    async def _closing(self) -> None:
        while self._closers:
            closer = self._closers.pop()
            with suppress(Exception):  # one thing that does not end must not keep the next from ending
                await closer()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


HANDS = Hands()
atexit.register(HANDS.close)


class Closable(Protocol):
    """What can be ended."""

    async def close(self) -> None: ...


K = TypeVar("K", bound=Closable)


class Sole(Generic[K]):
    """The only one of its kind in the process: made at first need, on the hands' loop, and closed with the hands."""

    def __init__(self, make: Callable[[], K]) -> None:
        self._make = make
        self._made: K | None = None

    def __call__(self) -> K:
        if self._made is None:
            self._made = self._make()
            HANDS.at_close(self._close)
        return self._made

    async def _close(self) -> None:
        made, self._made = self._made, None
        if made is not None:
            await made.close()
