"""The hands of a run: the sandbox that it works in, and the actions that it carries out there."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp

from runwire_graphs.computer.actions import Action
from runwire_graphs.computer.calls import Asked, answer
from runwire_graphs.computer.sandboxes import Sandbox, sandboxes
from runwire_graphs.computer.state import ComputerState, Outcome
from runwire_graphs.computer.telling import tell_action, tell_failure, tell_sandbox, tell_shot
from runwire_graphs.errors import BundleError
from runwire_graphs.hands import HANDS
from runwire_graphs.shots import keep_shot

Node = Callable[[ComputerState], Awaitable[dict[str, Any]]]

ANEW = "The computer was started anew; nothing of what was open before is there."
GONE = "The computer itself is gone."
LOST = (
    "The computer that was kept for this thread was gone (it is ended after a while, and when the server restarts), "
    "so a new one was started."
)


class Clock:
    """How long a step has worked so far, and what is left of the run's time."""

    def __init__(self, spent: float, limit: float) -> None:
        self._began, self._left = time.monotonic(), limit - spent

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def left(self) -> float:
        return self._left - self.seconds


@asynccontextmanager
async def sandbox_of(id: str | None) -> AsyncIterator[tuple[Sandbox, bool]]:
    """The run's sandbox, claimed for a step, and whether it is a new one. Whatever breaks the step ends it."""

    claims: list[Sandbox] = []

    async def claim() -> bool:
        found = sandboxes().find(id) if id else None
        claims.append(found or await sandboxes().start())
        sandboxes().claim(claims[0].id)
        return found is None

    async def over(failed: bool) -> None:
        for sandbox in claims:
            sandboxes().release(sandbox.id)
            if failed:
                await sandboxes().end(sandbox.id)

    failed = True
    try:
        new = await HANDS.reach(claim())
        yield claims[0], new
        failed = False
    except GraphBubbleUp:
        failed = False
        raise
    finally:
        # Not waited for: this may be the end of a task that is being cancelled, perhaps with the claim just made.
        HANDS.leave(over(failed))


def step_of_work(node: Node) -> Node:
    """A node whose time is counted. What it cannot do ends the run in words; whatever breaks it ends its sandbox."""

    @wraps(node)
    async def step(state: ComputerState) -> dict[str, Any]:
        began = time.monotonic()
        try:
            update = await node(state)
        except GraphBubbleUp:
            raise
        except BundleError as error:
            update = {"outcome": failed(str(error))}
        except BaseException:
            HANDS.leave(_end(state["sandbox_id"]))
            raise
        return {**update, "seconds": time.monotonic() - began}

    return step


def failed(error: str, said: str = "") -> Outcome:
    return Outcome(status="failed", error=error, answer=said)


async def keep_sandbox(id: str) -> bool:
    """Whether it is still there to be kept."""

    async def work() -> bool:
        return await sandboxes().keep(id)

    return await HANDS.reach(work())


async def end_sandbox(id: str) -> None:
    await HANDS.reach(_end(id))
    tell_sandbox("ended", id)


async def _end(id: str) -> None:
    await sandboxes().end(id)


@dataclass
class Done:
    """What came of some calls."""

    messages: list[ToolMessage] = field(default_factory=list)
    performed: list[str] = field(default_factory=list)
    screenshots: int = 0


@dataclass
class Work:
    """The calls of one message, carried out one after the other."""

    sandbox: Sandbox
    clock: Clock
    step: int
    done: Done = field(default_factory=Done)

    async def carry_out(self, call: Asked) -> None:
        """All actions of a call, up to the first that fails; then what the screen shows."""
        failure = None
        try:
            for position, told in enumerate(call.actions, 1):
                if self.clock.left <= 0:
                    break
                await self._act(Action.of(told), last=position == len(call.actions))
            if not call.actions:
                failure = "No action was asked for." if not call.native else None
        except BundleError as error:
            failure = str(error)
            tell_failure(call.name, failure, self.step)
        await self.show(call, failure)

    async def show(self, call: Asked, failure: str | None) -> None:
        """Answer a call with the screen as it is now."""
        shot = await self._shot()
        words = await self._hand(lambda: self.sandbox.computer.observe())
        self.done.messages.append(answer(call, f"{failure}\n\n{words}" if failure else words, shot, bool(failure)))

    async def _act(self, action: Action, last: bool) -> None:
        name = await self._hand(lambda: self.sandbox.computer.name(action))
        told = action.told(name)
        tell_action(action, told, self.step)
        self.done.performed.append(told)
        await self._hand(lambda: self.sandbox.computer.act(action))
        if action.type == "screenshot" and not last:
            await self._shot()

    async def _shot(self) -> dict[str, Any]:
        png = await self._hand(lambda: self.sandbox.computer.screenshot())
        shot = await asyncio.to_thread(keep_shot, png)
        tell_shot(shot, self.step)
        self.done.screenshots += 1
        return shot

    async def _hand(self, what: Any) -> Any:
        async def work() -> Any:
            async with sandboxes().use(self.sandbox.id):
                return await what()

        return await HANDS.reach(work())


def answered(calls: Sequence[Asked], name: str, text: str) -> list[ToolMessage]:
    """The same answer to every call of a function."""
    return [answer(call, text) for call in calls if call.name == name]
