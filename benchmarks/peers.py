"""The peers of the translation rows, each used as its README says, from LangGraph objects to serialised events."""

import importlib.util
from collections.abc import Callable, Coroutine
from typing import Any

import orjson

from benchmarks.graph import THREAD, Thread
from runwire_normalizers import StreamAdapter

MODES = ["tasks", "messages", "updates", "custom"]
QUESTION = "go on"
INPUT = {"messages": [{"role": "user", "content": QUESTION}]}
# Makes ready what a server would keep between turns; the coroutine drives one turn and tells the bytes it wrote.
Turn = Callable[[Thread], Coroutine[Any, Any, int]]


def missing() -> list[str]:
    names = {"ag-ui-langgraph": "ag_ui_langgraph", "fastapi": "fastapi", "langstage-core": "langstage_core"}
    return [name for name, module in names.items() if importlib.util.find_spec(module) is None]


async def bare_modes(thread: Thread) -> int:
    async for _ in thread.graph.astream(INPUT, thread.config, stream_mode=MODES, subgraphs=True):
        pass
    return 0


async def bare_events(thread: Thread) -> int:
    async for _ in thread.graph.astream_events(INPUT, thread.config, version="v2"):
        pass
    return 0


async def runwire(thread: Thread) -> int:
    return await _ours(thread.graph.astream(INPUT, thread.config, stream_mode=MODES, subgraphs=True))


async def runwire_events(thread: Thread) -> int:
    return await _ours(thread.graph.astream_events(INPUT, thread.config, version="v2"))


async def _ours(stream: Any) -> int:
    adapter, size = StreamAdapter(), 0
    async for chunk in stream:
        for envelope in adapter.feed(chunk):
            size += len(envelope.to_json() + b"\n")
    return size + sum(len(envelope.to_json() + b"\n") for envelope in adapter.finish("success"))


def ag_ui(thread: Thread) -> Coroutine[Any, Any, int]:
    from ag_ui_langgraph import LangGraphAgent

    return _ag_ui(LangGraphAgent(name="bench", graph=thread.graph))


def ag_ui_without_raw(thread: Thread) -> Coroutine[Any, Any, int]:
    from ag_ui_langgraph import LangGraphAgent

    return _ag_ui(LangGraphAgent(name="bench", graph=thread.graph, emit_raw_events=False))


async def _ag_ui(agent: Any) -> int:
    """What its endpoint does with a request that brings only the new message."""
    from ag_ui.core import RunAgentInput, UserMessage
    from ag_ui.encoder import EventEncoder

    agent, encoder = agent.clone(), EventEncoder()
    asked = UserMessage(id="asked", role="user", content=QUESTION)
    given = RunAgentInput(
        thread_id=THREAD, run_id="run-1", state={}, messages=[asked], tools=[], context=[], forwarded_props={}
    )
    size, last = 0, None
    async for event in agent.run(given):
        size, last = size + len(encoder.encode(event).encode()), event
    _expect(last is not None and last.type == "RUN_FINISHED", last)
    return size


def langstage_events(thread: Thread) -> Coroutine[Any, Any, int]:
    from langstage_core.agui import build_agent, iter_event_frames

    return _langstage(iter_event_frames(build_agent(thread.graph), QUESTION, thread_id=THREAD))


def langstage_chunks(thread: Thread) -> Coroutine[Any, Any, int]:
    from langstage_core.agui import build_agent, iter_chunk_frames

    return _langstage(iter_chunk_frames(build_agent(thread.graph), QUESTION, thread_id=THREAD))


async def _langstage(frames: Any) -> int:
    size, last = 0, dict[str, Any]()
    async for frame in frames:
        size, last = size + len(orjson.dumps(frame) + b"\n"), frame
    _expect("complete" in (last.get("type"), last.get("status")), last)
    return size


def _expect(done: bool, last: Any) -> None:
    """The peers tell failures in their stream, and a failed run is cheap."""
    if not done:
        raise RuntimeError(f"the run did not come to its end: {last}")


# The bare run of the graph that each turn stands on: their difference is the translation.
OURS: dict[str, tuple[Turn, Turn]] = {
    "runwire": (runwire, bare_modes),
    "runwire from astream_events": (runwire_events, bare_events),
}
PEERS: dict[str, tuple[Turn, Turn]] = {
    "ag-ui-langgraph": (ag_ui, bare_events),
    "ag-ui-langgraph without raw events": (ag_ui_without_raw, bare_events),
    "langstage-core events": (langstage_events, bare_events),
    "langstage-core chunks": (langstage_chunks, bare_events),
}
