"""Every shape in which a graph streams in-process: `collect` runs a case and keeps the raw chunks by turn."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from tests.graphs.case import Case, Graph, Outcome, Turn

FULL = "tasks messages updates values custom checkpoints".split()
FEW = "updates messages custom".split()
BARE = "values updates messages tasks debug checkpoints custom".split()
CONFIG: Any = {"configurable": {"thread_id": "thread-1"}, "recursion_limit": 100}
TURN_SECONDS = 60


@dataclass(frozen=True)
class Shape:
    """What is asked of `stream`, of `astream` if it is not `sync`, or of `astream_events`."""

    options: dict[str, Any] = field(default_factory=dict)
    sync: bool = True
    events: bool = False


@dataclass(frozen=True)
class Recorded:
    """One turn: the chunks just as langgraph yields them, live objects and all, and how the run ended."""

    chunks: list[Any]
    error: Exception | None
    interrupts: list[dict[str, Any]]
    next: tuple[str, ...]
    values: dict[str, Any]

    @property
    def outcome(self) -> Outcome:
        """`interrupted` also at a static breakpoint, which leaves no interrupts."""
        if self.error:
            return "error"
        return "interrupted" if self.next else "success"


ASKED: dict[str, dict[str, Any]] = {
    **{mode: {"stream_mode": mode} for mode in BARE},
    "modes": {"stream_mode": FEW},
    "modes_full": {"stream_mode": FULL},
    "sub_one": {"stream_mode": "updates", "subgraphs": True},
    "sub_messages": {"stream_mode": "messages", "subgraphs": True},
    "sub_tasks": {"stream_mode": "tasks", "subgraphs": True},
    "sub_modes": {"stream_mode": FEW, "subgraphs": True},
    "sub_debug": {"stream_mode": ["debug", "messages", "custom"], "subgraphs": True},
    "full": {"stream_mode": FULL, "subgraphs": True},
    "v2": {"stream_mode": FULL, "version": "v2"},
    "v2_one": {"stream_mode": "updates", "version": "v2"},
    "v2_sub": {"stream_mode": FULL, "subgraphs": True, "version": "v2"},
}
SHAPES: dict[str, Shape] = {
    **{name: Shape(options) for name, options in ASKED.items()},
    **{f"{name}_async": Shape(options, sync=False) for name, options in ASKED.items()},
    "events": Shape({"version": "v2"}, sync=False, events=True),
}


def collect(case: Case, shape: str) -> list[Recorded]:
    """The turns of a case on one fresh thread; no loop may run in this thread already."""
    graph = case.build(InMemorySaver())
    turns: list[Recorded] = []
    for turn in case.turns:
        asks = turns[-1].interrupts if turns else []
        turns.append(_turn(graph, turn, SHAPES[shape], asks))
    return turns


def _turn(graph: Graph, turn: Turn, shape: Shape, asks: list[dict[str, Any]]) -> Recorded:
    given: Any = Command(resume=turn.answer(asks)) if turn.answer else turn.input
    stops = {"interrupt_before": list(turn.interrupt_before)} if turn.interrupt_before else {}
    chunks, error = list[Any](), None
    try:
        _run(graph, given, shape, stops, chunks)
    except Exception as raised:
        error = raised
    state = graph.get_state(CONFIG)
    interrupts = [{"id": ask.id, "value": ask.value} for ask in state.interrupts]
    return Recorded(chunks, error, interrupts, state.next, state.values)


def _run(graph: Graph, given: Any, shape: Shape, stops: dict[str, Any], chunks: list[Any]) -> None:
    options = {**shape.options, **stops}
    if shape.sync:
        stream: Iterator[Any] = graph.stream(given, CONFIG, **options)
        chunks.extend(stream)
    else:
        ask = graph.astream_events if shape.events else graph.astream
        asyncio.run(asyncio.wait_for(_drain(ask(given, CONFIG, **options), chunks), TURN_SECONDS))


async def _drain(stream: AsyncIterator[Any], chunks: list[Any]) -> None:
    async for chunk in stream:
        chunks.append(chunk)  # noqa: PERF401 - what came before an error is kept
