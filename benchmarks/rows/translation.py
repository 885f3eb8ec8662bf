"""Translation per token in one process, LangGraph objects in and serialised events out, against the peers."""

import asyncio
import importlib.util
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.row import INSTALL, Effort, Row, listing
from benchmarks.timing import Side, Timed, interleaved, micros

if TYPE_CHECKING:
    from benchmarks.peers import Turn

TOKENS = 2_000
MESSAGES = 1_000
NAME = "translation per token, in one process"
GOAL = "less than every peer"
METHOD = (
    "One real graph, one keyless model that streams 2,000 tokens, a new in-memory thread for every run. Each side "
    "is driven to its serialised form as its README says, with its default options; langstage's frames are written "
    "with orjson, and ag-ui-langgraph is sent only the new message. The peers' agents are built before the timing, "
    "as a server builds them once. `translation` is the CPU time of the side less that of a bare run of the graph "
    "in the mode that it stands on: `astream` of tasks, messages, updates and custom for ours, `astream_events` for "
    "the peers and for ours from events."
)


@dataclass(frozen=True)
class Cost:
    """Per token: µs in all, µs of translation, bytes written."""

    total: float
    translation: float
    bytes: float


def measure(effort: Effort) -> Row:
    return _row(effort, 0, NAME)


def measure_with_history(effort: Effort) -> Row:
    return _row(effort, effort.size(MESSAGES), f"{NAME}, after {MESSAGES:,} messages")


def _row(effort: Effort, history: int, name: str) -> Row:
    if importlib.util.find_spec("langgraph") is None:
        return Row(name, "not measured", GOAL, None, "langgraph is missing: `pip install 'runwire[server]'`", METHOD)
    os.environ["LANGSMITH_TRACING"] = "false"
    from benchmarks import peers

    lacking = peers.missing() if effort.peers else ["left out by --no-peers"]
    against = peers.OURS if lacking else peers.OURS | peers.PEERS
    cost = _costs(against, effort, history)
    others = {side: found.translation for side, found in cost.items() if side in peers.PEERS}
    holds = cost["runwire"].translation < min(others.values()) if others else None
    why = "" if others else f"\n\nWithout the peers ({', '.join(lacking)}): {INSTALL}."
    return Row(name, _figure(cost["runwire"], others), GOAL, holds, _detail(cost) + why, METHOD)


def _costs(against: "Mapping[str, tuple[Turn, Turn]]", effort: Effort, history: int) -> dict[str, Cost]:
    from benchmarks.graph import thread

    count = effort.size(TOKENS)

    def side(turn: "Turn") -> Side:
        def prepare() -> Callable[[], int]:
            coroutine = turn(thread(count, history))
            return lambda: asyncio.run(coroutine)

        return prepare

    turns = {turn.__name__: turn for pair in against.values() for turn in pair}
    found = interleaved({name: side(turn) for name, turn in turns.items()}, effort.few(2))
    return {name: _cost(found[turn.__name__], found[bare.__name__], count) for name, (turn, bare) in against.items()}


def _cost(turn: Timed, bare: Timed, count: int) -> Cost:
    total = micros(turn.seconds, count)
    return Cost(total, total - micros(bare.seconds, count), turn.result / count)


def _figure(ours: Cost, others: dict[str, float]) -> str:
    least = min(others, key=others.__getitem__, default=None)
    against = f"; the least peer, {least}, {others[least]:.1f} µs" if least else ""
    return f"{ours.translation:.1f} µs{against}"


def _detail(cost: dict[str, Cost]) -> str:
    items = (f"{n}: {c.translation:.1f} / {c.total:.1f} / {c.bytes:,.0f}" for n, c in cost.items())
    return listing("µs of translation / µs in all / bytes out, per token", items)
