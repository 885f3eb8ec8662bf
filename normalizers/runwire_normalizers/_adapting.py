"""The async loop around an adapter, a sampler and an emitter that may be slow. It decides nothing."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable

from runwire_normalizers.envelope import Envelope
from runwire_normalizers.sampler import Cancellable, EventSampler, Timer

Emitter = Callable[[Envelope], Awaitable[None] | None]


class Hand:
    """Hands envelopes to an emitter, one after the other, also those that become due while the source is silent."""

    def __init__(
        self, emitter: Emitter | None, sampler: EventSampler, clock: Callable[[], float] | None, timer: Timer | None
    ) -> None:
        self._emitter = emitter
        self._sampler = sampler
        self._clock = clock
        self._timer = timer
        self._turn = asyncio.Lock()
        self._armed: tuple[float, Cancellable] | None = None
        self._woken: asyncio.Task[None] | None = None

    async def give(self, envelopes: Iterable[Envelope]) -> None:
        """Samples the envelopes and hands out what is due."""
        for envelope in envelopes:
            self._sampler.push(envelope)
        await self._hand_out()
        self._arm()

    async def done(self) -> None:
        """Waits for what is still being handed out."""
        if self._woken:
            await self._woken

    def drop(self) -> None:
        """Leaves no timer and no task behind."""
        if self._armed:
            self._armed[1].cancel()
        if self._woken:
            self._woken.cancel()

    async def _hand_out(self) -> None:
        async with self._turn:
            for envelope in self._sampler.take():
                waiting = self._emitter(envelope) if self._emitter else None
                if inspect.isawaitable(waiting):
                    await waiting

    def _arm(self) -> None:
        due = self._sampler.due
        if self._timer is None or self._clock is None or due is None or (self._armed and self._armed[0] <= due):
            return
        if self._armed:
            self._armed[1].cancel()
        self._armed = (due, self._timer(max(0.0, due - self._clock()), self._wake))

    def _wake(self) -> None:
        self._armed = None
        self._woken = asyncio.get_running_loop().create_task(self._tick(self._woken))

    async def _tick(self, before: "asyncio.Task[None] | None") -> None:
        if before:
            await before
        await self._hand_out()
        self._arm()
