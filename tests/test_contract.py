"""Lines of the contract on ids, calls and the seed's mapping table, each by a small stream or a recording."""

import hashlib
import json
from uuid import UUID, uuid5

import pytest

from runwire_normalizers import Envelope, StreamAdapter, conformance
from runwire_normalizers.envelope import FIELDS, TYPES, step
from tests.feeding import envelopes, frames, told
from tests.trees import tree

NAMESPACE = uuid5(UUID(int=0), "runwire")
RUN = "11111111-1111-1111-1111-111111111111"


def derived(*facts):
    return str(uuid5(NAMESPACE, "\x1f".join(facts)))


def event(kind, run_id=RUN, name="chain", parents=(), meta=None, **data):
    return {
        "event": kind,
        "name": name,
        "run_id": run_id,
        "parent_ids": list(parents),
        "metadata": meta or {},
        "tags": [],
        "data": data,
    }


MODEL = {"ls_model_name": "gpt-x", "ls_temperature": 0.5, "langgraph_node": "model"}
USAGE = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
SPOKEN = {
    "type": "ai",
    "content": "Hi",
    "id": "m1",
    "usage_metadata": USAGE,
    "response_metadata": {"finish_reason": "stop"},
}
SIMPLE = [
    event("on_chain_start", input={"q": 1}),
    event("on_chat_model_start", "m", "model", [RUN], MODEL),
    event(
        "on_chat_model_stream",
        "m",
        "model",
        [RUN],
        MODEL,
        chunk={"type": "AIMessageChunk", "content": "Hi", "id": "m1"},
    ),
    event("on_chat_model_end", "m", "model", [RUN], MODEL, output=SPOKEN),
    event("on_tool_start", "t", "search", [RUN], {"langgraph_node": "tools"}, input={"q": "x"}),
    event("on_tool_end", "t", "search", [RUN], {"langgraph_node": "tools"}, output="found"),
    event("on_chain_end", output={"messages": [SPOKEN]}),
]


def simple():
    adapter = StreamAdapter(label="graph")
    return [e for item in SIMPLE for e in adapter.feed(item)] + adapter.finish()


def test_the_seeds_mapping_table_holds_for_hand_written_events():
    found = simple()
    assert conformance.check(found) == []
    types = ["tool_start", "llm_start", "llm_token", "llm_end", "tool_start", "tool_end", "tool_end"]
    assert [e.type for e in found] == types
    start, model, token, end, tool, answer, last = (e.payload for e in found)
    assert (start["tool_name"], start["input"]) == ("graph", {"q": 1})
    assert (model["model"], model["params"], model["node"]) == ("gpt-x", {"temperature": 0.5}, "model")
    assert (token["text"], token["channel"], token["offset"]) == ("Hi", "text", 0)
    assert (end["usage"], end["finish_reason"]) == (USAGE, "stop")
    assert (tool["tool_name"], tool["args"], tool["node"]) == ("search", {"q": "x"}, "tools")
    assert (answer["tool_name"], answer["result"]) == ("search", {"kind": "text", "text": "found"})
    common = {"messages": [SPOKEN], "files": {}, "usage": USAGE}
    assert last["result"] == {"type": "chat", "chat_compatible": True, **common}


@pytest.mark.parametrize("kind", ["on_chain_error", "on_tool_error"])
def test_an_error_event_gives_an_error_with_name_message_stack_and_class(kind):
    run_id = RUN if kind == "on_chain_error" else "t"
    adapter = StreamAdapter(label="graph")
    items = [*SIMPLE[:5], event(kind, run_id, "search", error=ValueError("no"))]
    found = [e for item in items for e in adapter.feed(item)] + adapter.finish()
    (error,) = [e.payload for e in found if e.type == "error"]
    assert (error["class"], error["message"]) == ("ValueError", "no")
    assert {"name", "stack", "node"} <= error.keys()
    assert conformance.check(found) == []


def test_ids_are_uuid5_of_the_facts():
    found = told("react/every.sse")
    trace = found[0].trace_id
    assert found[0].run_id == trace
    assert found[0].call_id == derived("run", trace)
    model = next(e for e in found if e.type == "llm_start")
    assert model.call_id == derived("model", trace, model.payload["message_id"])
    tool = next(e for e in found if e.type == "tool_start" and e.payload["kind"] == "tool")
    assert tool.call_id == derived("tool", trace, "", tool.payload["tool_call_id"], "1")


def test_the_id_of_a_subgraph_is_that_of_its_namespace():
    stream = frames("nested/default.sse")
    space = next(f.event.partition("|")[2] for f in stream if f.event.count("|") == 1)
    found = told("nested/default.sse")
    assert derived("subgraph", found[0].trace_id, space) in {e.call_id for e in found if e.type == "tool_start"}


def test_the_zero_that_the_server_adds_without_a_token_mode_changes_no_id():
    plain, marked = (
        envelopes([("updates", {"model": {"messages": [{"type": "ai", "content": "x", "id": id}]}})])
        for id in ("lc_run--a", "lc_run--a-0")
    )
    first, second = (next(e for e in found if e.type == "llm_start") for found in (plain, marked))
    assert first.call_id == derived("model", first.trace_id, "lc_run--a")
    assert second.call_id == derived("model", second.trace_id, "lc_run--a")


def test_an_envelope_has_exactly_the_seeds_fields_and_types():
    words = "type ts trace_id run_id parent_id call_id seq origin agent payload".split()
    assert list(FIELDS) == words == list(json.loads(simple()[0].to_json()))
    assert len(TYPES) == 10
    assert b"\n" not in simple()[0].to_json()


def test_an_update_that_stands_for_several_moves_the_position_by_as_many():
    update = Envelope("tool_update", None, "t", None, None, "c", 4, "live", None, {"kind": "custom", "merged": 3})
    assert step(update) == 3


def test_the_digest_of_a_checkpoint_is_the_sha256_of_its_canonical_values():
    stream = frames("react/every.sse")
    values = next(json.loads(f.data)["values"] for f in stream if f.event == "checkpoints")
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    first = next(e for e in told("react/every.sse") if e.type == "subgraph_checkpoint")
    assert first.payload["state_digest"] == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize("mode", ["checkpoints", "debug"])
def test_each_persisted_checkpoint_gives_one_envelope_with_either_mode_on(mode):
    stream = frames("nested/every.sse")
    ids = {
        json.loads(f.data)["config"]["configurable"]["checkpoint_id"]
        for f in stream
        if f.event.startswith("checkpoints")
    }
    narrowed = envelopes(f for f in stream if f.event.split("|")[0] in ("metadata", mode))
    for found in (narrowed, told("nested/every.sse")):
        given = [e.payload["checkpoint_id"] for e in found if e.type == "subgraph_checkpoint"]
        assert sorted(given) == sorted(ids)


def test_a_tool_call_never_starts_from_fragments_where_the_state_is_told():
    found = told("react/default.sse")
    start = next(n for n, e in enumerate(found) if e.type == "tool_start" and e.payload["kind"] == "tool")
    end = next(n for n, e in enumerate(found) if e.type == "llm_end")
    assert any(e.payload["channel"] == "tool_args" for e in found[:end] if e.type == "llm_token")
    assert start > end


def test_a_stream_of_messages_alone_starts_tool_calls_from_their_fragments():
    found = envelopes(f for f in frames("react/every.sse") if f.event in ("metadata", "messages"))
    whole = {e.call_id: e.payload["args"] for e in told("react/every.sse") if e.payload.get("kind") == "tool"}
    assert {e.call_id: e.payload["args"] for e in found if e.payload.get("kind") == "tool"} == whole


def test_a_tool_call_that_is_never_answered_ends_cancelled():
    asked = {"type": "ai", "content": "", "id": "m", "tool_calls": [{"id": "c1", "name": "f", "args": {}}]}
    found = envelopes([("updates", {"model": {"messages": [asked]}})])
    assert [(e.payload["tool_name"], e.payload["status"]) for e in found if e.type == "tool_end"] == [
        ("f", "cancelled"),
        (None, "ok"),
    ]


@pytest.mark.parametrize("name", ["turns/notokens.2.sse", "turns/values.2.sse"])
def test_the_state_opens_no_model_call_for_messages_that_were_there_before_the_run(name):
    found = told(name)
    assert len([e for e in found if e.type == "llm_start"]) == 1
    assert len(found[-1].payload["result"]["messages"]) == 4


def test_a_subgraph_in_a_tool_node_with_several_calls_is_a_subgraph_call():
    state = {"messages": [{"type": "ai", "content": "", "id": "m", "tool_calls": []}]}
    found = envelopes(
        [
            ((), "tasks", {"id": "t1", "name": "tools", "input": state, "triggers": []}),
            (("tools:t1",), "tasks", {"id": "t2", "name": "inner", "input": {}, "triggers": []}),
            (("tools:t1", "1"), "custom", {"n": 1}),
        ]
    )
    assert [e.payload["kind"] for e in found if e.type == "tool_start"] == ["run", "subgraph", "subgraph"]


def test_plain_nodes_are_no_calls_and_node_tells_them():
    calls = tree(told("gather/default.sse"))
    assert {facts.kind for facts in calls.values()} == {"run", "model"}
    assert {e.payload["node"] for e in told("gather/default.sse") if e.type == "llm_start"} != {None}


def test_the_normalised_output_sums_the_usage_of_all_model_calls():
    found = told("deep/every.sse")
    usages = [e.payload["usage"] for e in found if e.type == "llm_end" and e.payload["usage"]]
    total = found[-1].payload["result"]["usage"]
    assert total["total_tokens"] == sum(usage["total_tokens"] for usage in usages)


def test_text_after_the_end_of_its_model_call_is_told_and_never_appended():
    meta = {"langgraph_node": "model", "langgraph_checkpoint_ns": "model:t1"}
    chunk = {"type": "AIMessageChunk", "id": "m1"}
    found = envelopes(
        [
            ("messages", [{**chunk, "content": "all", "chunk_position": "last"}, meta]),
            ("messages", [{**chunk, "content": "orphan"}, meta]),
        ]
    )
    assert [e.payload["text"] for e in found if e.type == "llm_token"] == ["all"]
    assert [e.payload["code"] for e in found if e.type == "warning"] == ["late"]
