"""Generated runs: graphs that never were, as the frames a server would send of them. Hypothesis draws the programs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from runwire_normalizers import StreamPart

Parts = list[StreamPart]
TEXTS = st.lists(st.text(min_size=1, max_size=6), max_size=5)


@dataclass(frozen=True)
class Speech:
    """A model call: pieces of text and reasoning in any order, then the tools it asks for."""

    pieces: list[tuple[str, str]]
    asks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Task:
    """A node: what it writes, who speaks in it, the graph inside it, and whether it fails."""

    speeches: list[Speech]
    writes: list[Any]
    state: dict[str, Any]
    inner: "Graph | None" = None
    fails: bool = False


Graph = list[list[Task]]

speeches = st.builds(
    Speech,
    st.lists(st.tuples(st.sampled_from(["text", "reasoning"]), st.text(min_size=1, max_size=6)), max_size=6),
    st.lists(st.text("ab1", max_size=8), max_size=2),
)
states = st.fixed_dictionaries(
    {},
    optional={
        "plan": st.lists(st.integers(0, 9), max_size=3),
        "todos": st.lists(st.text("xy", max_size=3), max_size=3),
        "files": st.dictionaries(st.sampled_from(["a", "b", "c"]), st.one_of(st.none(), st.integers(0, 9)), max_size=3),
        "note": st.integers(0, 9),
    },
)
writes = st.lists(
    st.one_of(st.integers(0, 99), st.dictionaries(st.text("kv", max_size=2), st.integers(0, 9))), max_size=4
)


def tasks(graphs: "st.SearchStrategy[Graph | None]") -> "st.SearchStrategy[Task]":
    return st.builds(
        Task, st.lists(speeches, max_size=2), writes, states, graphs, st.sampled_from([False] * 7 + [True])
    )


def graphs(depth: int) -> "st.SearchStrategy[Graph]":
    inner: st.SearchStrategy[Graph | None] = st.one_of(st.none(), graphs(depth - 1)) if depth else st.none()
    return st.lists(st.lists(tasks(inner), min_size=1, max_size=3), min_size=1, max_size=3)


@st.composite
def runs(draw: st.DrawFn) -> Parts:
    """The parts of a run in an order that a server could send them in: parallel tasks interleave as drawn."""
    graph = draw(graphs(2))
    first = StreamPart("metadata", (), {"run_id": "run-1", "attempt": 1})
    return [first, *_graph(draw, graph, (), [0])]


def _graph(draw: st.DrawFn, graph: Graph, namespace: tuple[str, ...], ids: list[int]) -> Parts:
    told: Parts = []
    for step in graph:
        lanes = [list(_task(draw, task, namespace, ids)) for task in step]
        while any(lanes):
            lane = draw(st.sampled_from([lane for lane in lanes if lane]))
            told.append(lane.pop(0))
        if any(task.fails for task in step):
            break
    return told


def _task(draw: st.DrawFn, task: Task, namespace: tuple[str, ...], ids: list[int]) -> Iterator[StreamPart]:
    ids[0] += 1
    id, name = f"t{ids[0]}", f"node{ids[0] % 3}"
    inside = (*namespace, f"{name}:{id}")
    yield StreamPart("tasks", namespace, {"id": id, "name": name, "input": None, "triggers": []})
    yield from (StreamPart("custom", namespace, data) for data in task.writes)
    messages = []
    for number, speech in enumerate(task.speeches):
        message = {"type": "ai", "id": f"m-{id}-{number}", "content": "", "tool_calls": []}
        yield from _speech(speech, message, namespace, inside)
        messages.append(message)
    if task.inner:
        yield from _graph(draw, task.inner, inside, ids)
        if _failed(task.inner):
            task = Task(task.speeches, task.writes, task.state, None, True)
    error = {"error": "ValueError", "message": "no"} if task.fails else None
    result: Any = {} if task.fails else {**task.state, **({"messages": messages} if messages else {})}
    yield StreamPart("tasks", namespace, {"id": id, "name": name, "error": error, "result": result, "interrupts": []})


def _failed(graph: Graph) -> bool:
    return any(task.fails or (task.inner is not None and _failed(task.inner)) for step in graph for task in step)


def _speech(speech: Speech, message: dict[str, Any], namespace: tuple[str, ...], inside: tuple[str, ...]) -> Parts:
    meta = {"langgraph_node": inside[-1].split(":")[0], "langgraph_checkpoint_ns": "|".join(inside)}
    chunks: list[dict[str, Any]] = []
    for channel, text in speech.pieces:
        block = {"type": "reasoning", "reasoning": text} if channel == "reasoning" else {"type": "text", "text": text}
        chunks.append({"content": [block]})
    for index, text in enumerate(speech.asks):
        named = {"name": f"tool{index}", "args": text[:3], "id": f"call-{message['id']}-{index}", "index": index}
        chunks.append({"content": "", "tool_call_chunks": [named]})
        chunks.append({"content": "", "tool_call_chunks": [{"args": text[3:], "id": None, "index": index}]})
    chunks.append({"content": "", "chunk_position": "last", "usage_metadata": {"total_tokens": len(chunks)}})
    message["content"] = [block for chunk in chunks for block in chunk["content"]]
    message["tool_calls"] = [
        {"name": f"tool{index}", "args": {"text": text}, "id": f"call-{message['id']}-{index}", "type": "tool_call"}
        for index, text in enumerate(speech.asks)
    ]
    return [
        StreamPart("messages", namespace, [{"type": "AIMessageChunk", "id": message["id"], **chunk}, meta])
        for chunk in chunks
    ]
