"""Real graphs in this process, through every shape in which langgraph streams: the same call trees as when served."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

from runwire_normalizers import Continuation, Envelope, Outcome, StreamAdapter, conformance, read_part
from tests.feeding import NEW_TURNS, told
from tests.graphs import GRAPHS
from tests.shapes import SHAPES, Recorded, collect
from tests.trees import CallFacts, Tree, tree

CASES = [name for name, case in GRAPHS.items() if case.in_process]
# Shapes that promise everything; `events` all but the interrupts of plain nodes.
COMPLETE = ["full", "full_async", "sub_debug", "sub_debug_async", "v2_sub", "v2_sub_async", "events"]
PLAIN_INTERRUPTS = frozenset({"inter", "asks", "sub_ask", "breakpoint"})
# Ids, what only one version of the interrupt has, and the times at which a deep agent wrote its files.
VARYING = frozenset({"id", "response_schema", "created_at", "modified_at"})
ENDS = {"success": "ok", "error": "error"}


@cache
def turns(name: str, shape: str) -> list[list[Envelope]]:
    """The envelopes of each turn, a resumed one after the one before it."""
    mode = SHAPES[shape].options.get("stream_mode")
    found: list[list[Envelope]] = []
    for number, recorded in enumerate(collect(GRAPHS[name], shape)):
        resumed = Continuation.from_envelopes(found[-1]) if found and name not in NEW_TURNS else None
        adapter = StreamAdapter(
            trace_id=f"{name}-{number}", resumed_from=resumed, mode=mode if isinstance(mode, str) else None
        )
        fed = [envelope for chunk in recorded.chunks for envelope in adapter.feed(chunk)]
        found.append(fed + adapter.finish(outcome(recorded)))
    return found


def outcome(recorded: Recorded) -> Outcome:
    if recorded.error:
        return Outcome.of(recorded.error)
    return Outcome(recorded.outcome, interrupts=tuple(recorded.interrupts), values=recorded.values)


def nested(calls: Tree, parent: str | None = None) -> list[Any]:
    """The tree with every id left out, siblings in an order of their own."""
    found = []
    for id, call in calls.items():
        if call.parent == parent or (parent is None and call.parent not in calls):
            asks = sorted(value for _, value in call.interrupts) if call.interrupts is not None else None
            name = call.name if call.kind != "run" else None
            error = call.error[0] if call.error and call.kind != "tool" else None
            facts = [call.kind, name, call.args if call.kind == "tool" else None, call.texts, call.status]
            facts += [without_ids(call.result), call.failed, error, asks, nested(calls, id)]
            found.append(facts)
    return sorted(found, key=lambda facts: json.dumps(facts, sort_keys=True))


def without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_ids(inner) for key, inner in value.items() if key not in VARYING}
    return [without_ids(inner) for inner in value] if isinstance(value, list) else value


def settled(calls: Tree) -> Tree:
    """Of a run that failed, without the healthy siblings that it cancelled: how far they came is a matter of time."""
    if not any(call.kind == "run" and call.status == "error" for call in calls.values()):
        return calls
    cancelled = {id for id, call in calls.items() if call.status == "cancelled"}
    return {id: call for id, call in calls.items() if not cancelled & {id, *above(calls, call)}}


def above(calls: Tree, call: CallFacts) -> list[str]:
    return [call.parent, *above(calls, calls[call.parent])] if call.parent in calls else []


def without_error_classes(calls: Tree) -> Tree:
    """`events` tell that a caught error happened, not which."""
    for call in calls.values():
        call.error = None
    return calls


@pytest.mark.parametrize("shape", SHAPES)
def test_every_graph_passes_the_checker_in_every_shape(shape):
    for name in CASES:
        found = turns(name, shape)
        for number, turn in enumerate(found):
            after = found[number - 1] if number and name not in NEW_TURNS else None
            assert conformance.check(turn, after=after) == [], (name, number)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_root_ends_as_the_graph_did_in_every_shape(shape):
    for name in CASES:
        for turn, case in zip(turns(name, shape), GRAPHS[name].turns, strict=True):
            last = turn[-1]
            assert last.payload.get("status") == ENDS.get(case.ends), name
            assert (last.type == "subgraph_checkpoint") == (case.ends == "interrupted"), name


@pytest.mark.parametrize("shape", COMPLETE)
@pytest.mark.parametrize("name", CASES)
def test_a_call_tree_equals_that_of_the_served_run(name, shape):
    if shape == "events" and name in PLAIN_INTERRUPTS:
        return
    for number, turn in enumerate(turns(name, shape)):
        here, served = tree(turn), tree(told(f"{name}/every.{number + 1}.sse".replace(".1.", ".")))
        if shape == "events" and GRAPHS[name].turns[number].ends != "error":
            here, served = without_error_classes(here), without_error_classes(served)
        assert nested(settled(here)) == nested(settled(served))


@pytest.mark.parametrize("shape", ["full", "modes", "messages", "sub_messages", "v2_sub", "events"])
@pytest.mark.parametrize("name", CASES)
def test_a_chunk_that_is_read_field_by_field_reads_as_when_it_is_read_whole(name, shape):
    for recorded in collect(GRAPHS[name], shape):
        by_field, whole = StreamAdapter(run_id="r"), StreamAdapter(run_id="r")
        for chunk in recorded.chunks:
            assert by_field.feed(chunk) == whole.feed(read_part(chunk))


FORMS: dict[str, Callable[[Any], Any]] = {
    "named": lambda pair: ("messages", pair),
    "bare": lambda pair: pair,
    "subgraph": lambda pair: (("inner:1",), "messages", pair),
    "bare of a subgraph": lambda pair: (("inner:1",), pair),
    "typed": lambda pair: {"type": "messages", "ns": ("inner:1",), "data": pair},
}
TOLD: dict[str, dict[str, Any]] = {
    "ascii": {"content": "word"},
    "beyond": {"content": "wörd"},
    "surrogate": {"content": "w\ud800rd"},
    "nothing": {"content": ""},
    "blocks": {"content": [{"type": "reasoning", "reasoning": "hm"}]},
    "thought": {"content": "", "additional_kwargs": {"reasoning_content": "hm"}},
    "asking": {"content": "", "tool_call_chunks": [{"name": "look", "args": "{}", "id": "c1", "index": 0}]},
    "cost": {"content": "word", "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}},
    "last": {"content": "word", "chunk_position": "last"},
    "nameless": {"content": "word", "id": None},
    "of another": {"content": "word", "id": "m2"},
}


class ReadAsAWhole(BaseException):
    """No error of a foreign object's, which would be met by another way of reading it."""


class Unread(AIMessageChunk):
    """A chunk that nobody may read as a whole."""

    def model_dump(self, **options: Any) -> dict[str, Any]:
        raise ReadAsAWhole


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("told", TOLD)
def test_a_chunk_is_read_field_by_field_in_every_form_of_messages(form, told):
    wrap, metadata, found = FORMS[form], {"langgraph_node": "model"}, []
    for kind in (Unread, AIMessageChunk):
        adapter = StreamAdapter(run_id="r", mode="messages")
        for fields in (TOLD["ascii"], TOLD[told], TOLD["ascii"]):
            chunk = kind(**{"id": "m1", **fields})
            item = wrap((chunk, metadata))
            found.append(adapter.feed(item if kind is Unread else read_part(item, "messages")))
        found.append(adapter.finish())
    assert found[:4] == found[4:]


def test_metadata_that_changes_in_place_is_read_again():
    adapter, metadata = StreamAdapter(run_id="r"), {"langgraph_node": "first"}
    nodes = []
    for number, node in enumerate(["first", "second"]):
        metadata["langgraph_node"] = node
        chunk = AIMessageChunk(content="word", id=f"m{number}")
        nodes += [e.payload["node"] for e in adapter.feed(("messages", (chunk, metadata))) if e.type == "llm_start"]
    assert nodes == ["first", "second"]
