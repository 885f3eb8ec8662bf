"""Typed events per token in one process, over the bare stream of the same modes."""

import asyncio
import importlib.util
import os
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from benchmarks.row import Effort, Row, listing
from benchmarks.timing import Side, interleaved, micros

if TYPE_CHECKING:
    from benchmarks.graph import Thread

TOKENS = 2_000
NAME = "typed events per event, over plain astream"
GOAL = "for information"
EARLIER = "langgraph-stream-parser"
METHOD = (
    "The graph of the translation rows, 2,000 tokens, `stream_mode` updates and messages. `StreamParser.aparse` reads "
    "its `astream` to the last event; beside it the same from `astream_events`, and langgraph-stream-parser 0.6.17, "
    "the last version that had events, where it is installed. The figure is the CPU time of the side less that of the "
    "bare stream in the same mode, divided by the number of events. For information: no goal."
)
MODES: Any = ["updates", "messages"]
INPUT: Any = {"messages": [{"role": "user", "content": "go on"}]}
Turn = Callable[["Thread"], Coroutine[Any, Any, int]]


def measure(effort: Effort) -> Row:
    if importlib.util.find_spec("langgraph") is None:
        return Row(NAME, "not measured", GOAL, None, "langgraph is missing: `pip install 'runwire[server]'`", METHOD)
    os.environ["LANGSMITH_TRACING"] = "false"
    sides = _sides(effort.peers)
    bare = {"astream": bare_modes, "astream_events": bare_events}
    turns = {**{name: turn for name, (turn, _) in sides.items()}, **bare}
    found = interleaved({name: _side(turn, effort.size(TOKENS)) for name, turn in turns.items()}, effort.few(2))
    cost = {
        name: micros(found[name].seconds - found[on].seconds, found[name].result) for name, (_, on) in sides.items()
    }
    items = (f"{name}: {one:.1f} ({found[name].result:,} events)" for name, one in cost.items())
    plain = (f"{name}, a chunk: {micros(found[name].seconds, found[name].result):.1f}" for name in bare)
    earlier = f"; {EARLIER} {cost[EARLIER]:.1f} µs" if EARLIER in cost else ""
    return Row(
        NAME, f"{cost['runwire']:.1f} µs{earlier}", GOAL, None, listing("µs per event", [*items, *plain]), METHOD
    )


def _sides(peers: bool) -> dict[str, tuple[Turn, str]]:
    """Each side with the bare stream that it stands on."""
    ours: dict[str, tuple[Turn, str]] = {
        "runwire": (runwire, "astream"),
        "runwire from astream_events": (runwire_events, "astream_events"),
    }
    known = peers and importlib.util.find_spec("langgraph_stream_parser") is not None
    return ours | ({EARLIER: (earlier_parser, "astream")} if known else {})


def _side(turn: Turn, count: int) -> Side:
    from benchmarks.graph import thread

    def prepare() -> Callable[[], int]:
        coroutine = turn(thread(count, 0))
        return lambda: asyncio.run(coroutine)

    return prepare


async def bare_modes(thread: "Thread") -> int:
    return await _count(thread.graph.astream(INPUT, thread.config, stream_mode=MODES))


async def bare_events(thread: "Thread") -> int:
    return await _count(thread.graph.astream_events(INPUT, thread.config, version="v2"))


async def runwire(thread: "Thread") -> int:
    from runwire_normalizers import StreamParser

    return await _count(
        StreamParser(stream_mode=MODES).aparse(thread.graph.astream(INPUT, thread.config, stream_mode=MODES))
    )


async def runwire_events(thread: "Thread") -> int:
    from runwire_normalizers import StreamParser

    stream = thread.graph.astream_events(INPUT, thread.config, version="v2")
    return await _count(StreamParser(stream_mode="events").aparse(stream))


async def earlier_parser(thread: "Thread") -> int:
    from langgraph_stream_parser import StreamParser

    stream = thread.graph.astream(INPUT, thread.config, stream_mode=MODES)
    return await _count(StreamParser(stream_mode=MODES).aparse(stream))


async def _count(stream: Any) -> int:
    count = 0
    async for _ in stream:
        count += 1
    return count
