"""The computers that are in use, by ids that cannot be guessed: started, kept for a person, and ended.

All of it lives on the hands' loop. A run's state holds the id alone: after a restart of the server there is nothing
behind it, and whoever asks is told so.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from runwire_graphs.computer.backends import BACKENDS, Computer
from runwire_graphs.errors import ComputerError
from runwire_graphs.hands import Sole
from runwire_graphs.settings import Settings

log = logging.getLogger("runwire.computer")

# How long a sandbox stays whose run went away between two steps without a word.
ABANDONED_SECONDS = 60.0


@dataclass
class Sandbox:
    """A computer and who needs it: `claims` are steps at work, `kept` is for a person who comes later."""

    id: str
    computer: Computer
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    claims: int = 0
    kept: bool = False
    used: float = 0.0


class Sandboxes:
    """The open sandboxes."""

    def __init__(self) -> None:
        self._open: dict[str, Sandbox] = {}
        self._starting = asyncio.Lock()
        self._reaper: asyncio.Task[None] | None = None

    async def start(self) -> Sandbox:
        settings = Settings.read()
        async with self._starting:
            await self._make_room(settings.computer_sandboxes)
            id = secrets.token_urlsafe(24)
            computer = await BACKENDS[settings.computer](id)
            sandbox = self._open[id] = Sandbox(id, computer, used=_now())
            self._reaper = self._reaper or asyncio.create_task(self._reap())
            return sandbox

    def find(self, id: str) -> Sandbox | None:
        """A sandbox that still works, if there is one under this id."""
        sandbox = self._open.get(id)
        return sandbox if sandbox and sandbox.computer.alive() else None

    @asynccontextmanager
    async def use(self, id: str) -> AsyncIterator[Sandbox]:
        """A sandbox for one work at a time."""
        sandbox = self.find(id)
        if sandbox is None:
            raise ComputerError("The computer has ended in the middle of the work.")
        self.claim(id)
        try:
            async with sandbox.lock:
                yield sandbox
        finally:
            self.release(id)

    def claim(self, id: str) -> None:
        if sandbox := self._open.get(id):
            sandbox.claims, sandbox.kept = sandbox.claims + 1, False

    def release(self, id: str) -> None:
        if sandbox := self._open.get(id):
            sandbox.claims, sandbox.used = sandbox.claims - 1, _now()

    async def keep(self, id: str) -> bool:
        """Have a sandbox stay until somebody comes back to it, within limits; whether it is there at all."""
        if sandbox := self.find(id):
            sandbox.kept, sandbox.used = True, _now()
        return sandbox is not None

    async def end(self, id: str) -> None:
        if sandbox := self._open.pop(id, None):
            await sandbox.computer.close()

    async def close(self) -> None:
        if self._reaper:
            self._reaper.cancel()
        await asyncio.gather(*(self.end(id) for id in list(self._open)), return_exceptions=True)

    async def _make_room(self, limit: int) -> None:
        kept = sorted((one for one in self._open.values() if one.kept and not one.claims), key=lambda one: one.used)
        while len(self._open) >= limit:
            if not kept:
                raise ComputerError(
                    f"{limit} computers are in use at once, which is the limit. Try again in a moment, "
                    "or raise RUNWIRE_COMPUTER_SANDBOXES."
                )
            log.info("ended the computer that was kept longest, to make room")
            await self.end(kept.pop(0).id)

    async def _reap(self) -> None:
        """End what nobody came back to; the interval follows the limit, so that a short one is kept too."""
        while True:
            limit = Settings.read().computer_kept_seconds
            await asyncio.sleep(min(ABANDONED_SECONDS, limit) / 4)
            for one in list(self._open.values()):
                if not one.claims and _now() - one.used > (limit if one.kept else ABANDONED_SECONDS):
                    log.info("ended a computer that nobody came back to")
                    await self.end(one.id)


def _now() -> float:
    return asyncio.get_running_loop().time()


# Called on the hands' loop.
sandboxes = Sole(Sandboxes)
