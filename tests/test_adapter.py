"""The adapter's own surface, and single lines of the contract that deserve a test of their own."""

import itertools
import logging
import re

import pytest

from runwire_normalizers import (
    Continuation,
    Envelope,
    Outcome,
    ServerSentEvent,
    StreamAdapter,
    StreamPart,
    conformance,
    read_part,
)
from runwire_normalizers.envelope import step
from tests.feeding import envelopes, frames, told
from tests.graphs import GRAPHS
from tests.graphs.case import human
from tests.shapes import collect
from tests.trees import tree


def of_type(found, *types):
    return [envelope for envelope in found if envelope.type in types]


def warnings(found):
    return [envelope.payload["code"] for envelope in of_type(found, "warning")]


def named(found, name):
    return [facts for facts in tree(found).values() if facts.name == name]


async def test_adapt_hands_every_envelope_of_a_real_graph_to_the_emitter():
    found = list[Envelope]()
    adapter = StreamAdapter(found.append, profile="user", clock=itertools.count(1.0).__next__)
    await adapter.adapt(GRAPHS["react"].build().astream_events(human("go"), version="v2"), "researcher")
    assert conformance.check(found) == []
    assert (found[0].type, found[0].payload["tool_name"], found[0].agent) == ("tool_start", "researcher", "researcher")
    assert found[0].payload["input"] == human("go")
    assert found[-1].payload["status"] == "ok"
    assert [e.ts for e in found] == sorted(e.ts for e in found if e.ts is not None)


async def test_adapt_awaits_an_emitter_that_is_a_coroutine():
    found = list[str]()

    async def emit(envelope):
        found.append(envelope.type)

    await StreamAdapter(emit).adapt(GRAPHS["react"].build().astream(human("go"), stream_mode="updates"), "react")
    assert (found[0], found[-1]) == ("tool_start", "tool_end")


async def test_adapt_tells_what_a_graph_raised_with_its_stack_and_raises_it():
    found = list[Envelope]()
    stream = GRAPHS["node_raises"].build().astream(human("go"), stream_mode=["tasks", "messages"])
    with pytest.raises(ValueError, match="blew up"):
        await StreamAdapter(found.append).adapt(stream, "fails")
    (error,) = of_type(found, "error")
    assert error.payload["class"] == "ValueError"
    assert "Traceback" in error.payload["stack"]
    assert found[-1].payload["status"] == "error"
    assert conformance.check(found) == []


def test_a_completion_signal_stands_around_the_normalised_result():
    adapter = StreamAdapter(completion="research_done")
    found = [e for frame in frames("nested/default.sse") for e in adapter.feed(frame)] + adapter.finish()
    assert conformance.check(found) == []
    graphs = [facts for facts in tree(found).values() if facts.kind in ("run", "subgraph")]
    signals = named(found, "research_done")
    assert len(signals) == len(graphs)
    assert all(set(signal.result) >= {"messages", "files", "usage", "type", "chat_compatible"} for signal in signals)


def test_a_completion_signal_can_be_asked_for_one_graph_alone():
    adapter = StreamAdapter(completion={"left": "left_done"})
    found = [e for frame in frames("nested/default.sse") for e in adapter.feed(frame)] + adapter.finish()
    assert len(named(found, "left_done")) == 1


def test_a_call_that_stays_open_unusually_long_is_told_to_the_log_once(caplog):
    adapter = StreamAdapter(long_open=60.0)
    with caplog.at_level(logging.WARNING, logger="runwire_normalizers"):
        for second, frame in enumerate(frames("react/default.sse")[:12]):
            adapter.feed(frame, ts=float(second * 30))
    told_of_root = [r for r in caplog.messages if r.startswith("run ")]
    assert len(told_of_root) == 1
    assert "has been open for" in told_of_root[0]


def test_a_stream_without_a_clock_has_no_time_and_one_with_ts_has_that():
    frame = frames("react/default.sse")[0]
    assert StreamAdapter().feed(frame)[0].ts is None
    assert StreamAdapter().feed(frame, ts=12.5)[0].ts == 12.5


def test_what_happened_before_the_watcher_came_is_replay():
    adapter, stream = StreamAdapter(), frames("react/default.sse")
    adapter.origin = "replay"
    before = [e for frame in stream[:10] for e in adapter.feed(frame)]
    adapter.origin = "live"
    after = [e for frame in stream[10:] for e in adapter.feed(frame)] + adapter.finish()
    assert {e.origin for e in before} == {"replay"}
    assert {e.origin for e in after} == {"live"}
    assert conformance.check(before + after) == []


def test_without_an_outcome_an_open_model_call_means_a_cut():
    stream = frames("react/default.sse")
    first_token = next(n for n, frame in enumerate(stream) if frame.event == "messages")
    found = envelopes(stream[: first_token + 1])
    assert warnings(found) == ["cut"]
    assert {e.payload["status"] for e in of_type(found, "llm_end", "tool_end")} == {"cancelled"}


def test_a_task_that_failed_never_ends_in_a_root_that_is_ok():
    stream = [frame for frame in frames("node_raises/every.sse") if frame.event != "error"]
    assert envelopes(stream)[-1].payload["status"] == "error"
    assert envelopes(stream, outcome=Outcome("success"))[-1].payload["status"] == "error"


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("success", "ok"), ("error", "error"), ("timeout", "error"), ("cancelled", "cancelled")],
)
def test_the_outcome_says_how_the_root_ends(outcome, status):
    adapter = StreamAdapter()
    found = [e for frame in frames("react/default.sse") for e in adapter.feed(frame)] + adapter.finish(outcome)
    assert found[-1].payload["status"] == status
    assert conformance.check(found) == []


def test_nothing_follows_the_end():
    adapter = StreamAdapter()
    stream = frames("react/default.sse")
    for frame in stream:
        adapter.feed(frame)
    adapter.finish()
    assert adapter.feed(stream[-1]) == []
    assert adapter.finish() == []


def test_a_resumed_run_goes_on_with_trace_ids_and_positions():
    first, second = told("deep_ask/every.sse"), told("deep_ask/every.2.sse")
    assert second[0].trace_id == first[0].trace_id
    assert second[0].run_id != first[0].run_id
    waiting = {e.call_id: e.seq for e in first if e.type == "subgraph_checkpoint" and e.payload["interrupts"]}
    resumed = {e.call_id: e.seq for e in of_type(second, "subgraph_resume")}
    assert resumed == {call: seq + 1 for call, seq in waiting.items()}


def test_finished_tasks_that_the_server_sends_again_are_neither_started_nor_ended_again():
    first, second = told("deep_ask/every.sse"), told("deep_ask/every.2.sse")
    ended = {e.call_id for e in of_type(first, "tool_end", "llm_end")}
    assert ended
    assert not ended & {e.call_id for e in second}


def test_a_continuation_of_an_adapter_equals_that_of_its_envelopes():
    adapter = StreamAdapter()
    found = [e for frame in frames("deep_ask/default.sse") for e in adapter.feed(frame)] + adapter.finish()
    kept, derived = adapter.continuation(), Continuation.from_envelopes(found)
    assert {c.call_id: (c.seq, c.state) for c in kept.calls} == {c.call_id: (c.seq, c.state) for c in derived.calls}


def test_a_run_that_has_ended_cannot_be_resumed():
    with pytest.raises(ValueError, match="has ended"):
        StreamAdapter(resumed_from=Continuation.from_envelopes(told("react/default.sse")))


def test_a_sibling_works_on_after_the_interrupt_and_the_ancestors_are_checkpointed_at_the_end():
    found = told("deep_ask/default.sse")
    asked = next(n for n, e in enumerate(found) if e.type == "subgraph_checkpoint" and e.payload["interrupts"])
    later = found[asked + 1 :]
    assert of_type(later, "llm_token")
    assert [e.parent_id is None for e in later[-2:]] == [False, True]
    assert later[-1].payload["interrupts"] == found[asked].payload["interrupts"]


def test_two_interrupts_at_once_are_both_in_the_roots_union_once():
    last = told("asks/every.sse")[-1]
    assert sorted(one["value"]["ask"] for one in last.payload["interrupts"]) == ["one?", "two?"]


def test_a_static_breakpoint_waits_with_an_empty_list():
    last = told("breakpoint/every.sse")[-1]
    assert (last.type, last.payload["interrupts"]) == ("subgraph_checkpoint", [])


@pytest.mark.parametrize("name", ["attempt/default.sse", "restart/second_metadata.sse"])
def test_a_second_metadata_frame_is_a_new_attempt(name):
    found = told(name)
    assert warnings(found).count("attempt") == 1
    assert len({e.call_id for e in of_type(found, "llm_start")}) == len(of_type(found, "llm_start"))
    assert found[-1].payload["status"] == "ok"


def test_a_new_attempt_cancels_open_model_calls_and_resumes_open_tool_calls():
    cut = told("restart/second_metadata.sse")
    seam = next(n for n, e in enumerate(cut) if e.type == "warning" and e.payload["code"] == "attempt")
    assert cut[seam - 1].type == "llm_end"
    assert cut[seam - 1].payload["status"] == "cancelled"
    tool = told("attempt/default.sse")
    call = next(e.call_id for e in of_type(tool, "tool_start") if e.payload["kind"] == "tool")
    assert [e.type for e in tool if e.call_id == call] == ["tool_start", "error", "subgraph_resume", "tool_end"]


def test_a_retried_node_tells_which_model_calls_were_in_vain():
    assert warnings(told("retry/default.sse")) == ["unused", "unused"]
    assert warnings(told("retry/every.sse")) == ["retried", "retried"]


def test_a_tool_call_id_used_twice_is_two_calls():
    found = told("reuse/every.sse")
    starts = [e for e in of_type(found, "tool_start") if e.payload["tool_call_id"] == "call_same"]
    assert [e.payload["args"] for e in starts] == [{"page": 1}, {"page": 2}]
    assert len({e.call_id for e in starts}) == 2


def test_a_message_renamed_in_mid_stream_is_one_model_call_with_its_final_id():
    first = of_type(told("renamed/default.sse"), "llm_start")[0]
    facts = tree(told("renamed/default.sse"))[first.call_id]
    assert first.payload["message_id"].startswith("lc_run--")
    assert (facts.message_id, facts.texts["text"]) == ("msg_abc123", "I will search.")


def test_two_models_gathered_in_one_node_are_kept_apart():
    found = told("gather/every.sse")
    texts = {facts.texts["text"] for facts in tree(found).values() if facts.kind == "model"}
    assert texts == {"A one A two A three A four", "B one B two B three B four"}
    speakers = [e.call_id for e in of_type(found, "llm_token")]
    assert sum(one != other for one, other in itertools.pairwise(speakers)) > 1, "their tokens interleave"


def test_the_guilty_call_and_its_ancestors_end_in_error_and_healthy_siblings_are_cancelled():
    calls = tree(told("node_raises/every.sse"))
    root = next(facts for facts in calls.values() if facts.kind == "run")
    assert (root.status, root.failed, root.error) == ("error", True, ("ValueError", "node blew up"))
    assert "cancelled" in {facts.status for facts in calls.values()}


def test_an_inner_error_that_the_graph_caught_leaves_the_run_going():
    calls = tree(told("caught/every.sse"))
    assert {facts.status for facts in calls.values() if facts.kind == "run"} == {"ok"}
    assert {facts.status for facts in calls.values() if facts.name == "careful"} == {"error"}


def test_a_chunk_that_an_inner_agent_wrote_and_its_tool_forwarded_counts_once():
    updates = [e.payload["data"] for e in of_type(told("twins/every.sse"), "tool_update")]
    custom = [data for data in updates if "files" not in data and "output" not in data]
    assert custom
    assert all(custom.count(data) == 1 for data in custom)


def test_positions_move_by_code_points():
    for envelope in of_type(told("unicode/every.sse"), "llm_token"):
        assert step(envelope) == len(envelope.payload["text"])
    assert any(
        len(e.payload["text"].encode()) > len(e.payload["text"])
        for e in of_type(told("unicode/every.sse"), "llm_token")
    )


def test_reasoning_has_a_channel_of_its_own():
    channels = {e.payload["channel"] for e in of_type(told("reason/every.sse"), "llm_token")}
    assert {"text", "reasoning"} <= channels


def test_a_subagent_is_the_tool_call_that_runs_it_and_agent_names_it():
    calls = tree(told("deep/default.sse"))
    assert "subgraph" not in {facts.kind for facts in calls.values()}
    agents = {e.agent for e in told("deep/default.sse") if e.payload.get("tool_name") == "task"}
    assert "researcher" in agents


def test_a_second_invocation_in_one_node_is_a_subgraph_of_its_own():
    assert len(named(told("nested/default.sse"), "twice")) == 2


def test_a_cancelled_run_ends_cancelled():
    assert told("cancel/cancelled.sse")[-1].payload["status"] == "cancelled"


def test_state_changes_come_as_deltas():
    data = [e.payload["data"] for e in of_type(told("deep/every.sse"), "tool_update") if e.payload["kind"] == "state"]
    assert any("todos" in change for change in data)
    assert any(change.get("files", {}).get("added") for change in data)


@pytest.mark.parametrize("modes", ["every", "default", "notokens"])
def test_a_node_that_hands_over_to_the_graph_above_ends_its_own_graph_without_an_error(modes):
    found = told(f"cmd/{modes}.sse")
    (inner,) = [e.call_id for e in found if e.type == "tool_start" and e.payload["kind"] == "subgraph"]
    assert [e.payload["status"] for e in found if e.type == "tool_end" and e.call_id == inner] == ["ok"]
    assert not [e for e in found if e.type == "error"]


def test_a_subgraph_that_was_cut_in_its_middle_is_cancelled_and_blamed_for_nothing():
    found = told("cancel/cancelled.sse")
    assert not [e for e in found if e.type == "error"]
    assert {e.payload["status"] for e in found if e.type == "tool_end"} == {"cancelled"}


def test_custom_data_that_is_told_often_is_told_each_time_and_remembered_in_bounds():
    adapter = StreamAdapter(run_id="r")
    for space in ((), ("node:1",)):
        found = [e for _ in range(500) for e in adapter.feed(StreamPart("custom", space, {"status": "working"}))]
        assert len([e for e in found if e.type == "tool_update"]) == 500
    assert adapter._run is not None
    assert len(adapter._run.customs) <= 32


def test_an_inner_agents_data_that_its_tool_forwards_counts_once():
    adapter = StreamAdapter(run_id="r")
    adapter.feed(StreamPart("metadata", (), {"run_id": "r"}))
    inner = [e for e in adapter.feed(StreamPart("custom", ("tools:1",), {"step": 1})) if e.type == "tool_update"]
    forwarded = adapter.feed(StreamPart("custom", (), {"step": 1}))
    assert (len(inner), forwarded) == (1, [])
    assert len(adapter.feed(StreamPart("custom", (), {"step": 1}))) == 1


@pytest.mark.parametrize("order", [range(400), range(399, -1, -1)])
def test_results_of_many_parallel_tasks_are_in_the_order_of_the_tasks(order):
    adapter = StreamAdapter(run_id="r")
    for number in range(400):
        task = {"id": f"t{number}", "name": "n", "input": None}
        adapter.feed(StreamPart("tasks", (), task))
    for number in order:
        message = {"type": "human", "id": f"m{number}", "content": str(number)}
        end = {"id": f"t{number}", "name": "n", "error": None, "result": {"messages": [message]}}
        adapter.feed(StreamPart("tasks", (), end))
    result = adapter.finish("success")[-1].payload["result"]
    assert [message["content"] for message in result["messages"]] == [str(number) for number in range(400)]


def test_a_success_in_which_the_run_itself_was_asked_something_waits():
    adapter = StreamAdapter(run_id="r")
    adapter.feed(StreamPart("tasks", (), {"id": "t", "name": "n", "input": None}))
    asked = [{"id": "i", "value": "which?"}]
    adapter.feed(StreamPart("tasks", (), {"id": "t", "name": "n", "error": None, "result": {}, "interrupts": asked}))
    last = adapter.finish("success")[-1]
    assert (last.type, last.payload["interrupts"]) == ("subgraph_checkpoint", asked)


@pytest.mark.parametrize(
    "raw",
    [
        b'[{"content":"b","type":"AIMessageChunk","id":"m1"},{"x":' + b"[" * 300 + b"]" * 300 + b"}]",
        b'x{"content":"b","type":"AIMessageChunk","id":"m1"},{"langgraph_node":"n"}]',
        b'[{"content":"b","type":"AIMessageChunk","id":"m1"},{"langgraph_node":"n"},1]',
        b'[{"content":"b","type":"AIMessageChunk","id":"m1"}]',
        b'[{"content":"b","type":"AIMessageChunk","id":"m1","content":"a"},{"langgraph_node":"n"}]',
        b'[{"content":"b","type":"AIMessageChunk","id":"m1-0"},{"langgraph_node":"n"}]',
    ],
)
def test_an_odd_frame_reads_by_what_it_shares_with_others_as_when_it_is_parsed_whole(raw):
    first = b'[{"content":"a","type":"AIMessageChunk","id":"m1"},{"langgraph_node":"n"}]'
    whole, shared = StreamAdapter(run_id="r"), StreamAdapter(run_id="r")
    for one in (first, raw, raw, first, raw.replace(b'"b"', b'"c"'), first):
        frame = ServerSentEvent("messages", one)
        assert shared.feed(frame) == whole.feed(read_part(frame))


def test_a_call_tells_the_namespace_it_was_called_in_and_a_graph_its_own():
    found = told("deep/every.sse")
    starts = [(e.payload["tool_name"], e.agent, e.payload["namespace"]) for e in of_type(found, "tool_start")]
    assert [space for name, _, space in starts if name == "task"] == [[], []]
    asked = {agent: space for name, agent, space in starts if name == "lookup"}
    assert all(re.fullmatch(r"tools:[0-9a-f-]{36}", "|".join(space)) for space in asked.values())
    spoken = {e.agent: e.payload["namespace"] for e in of_type(found, "llm_start")}
    assert {agent: spoken[agent] for agent in ("researcher", "critic")} == asked
    (outer,) = [e for e in of_type(told("sub_ask/every.sse"), "tool_start") if e.payload["kind"] == "subgraph"]
    assert outer.payload["namespace"][0].startswith(f"{outer.payload['node']}:")


def test_an_update_tells_the_node_that_wrote_it_and_the_graph_that_told_it():
    adapter = StreamAdapter(run_id="r")
    found = adapter.feed(StreamPart("updates", (), {"plan": {"steps": 2}}))
    found += adapter.feed(StreamPart("updates", ("inner:1",), {"look": {"steps": 3}}))
    found += adapter.feed(StreamPart("custom", ("inner:1",), "half"))
    told = [(e.payload["kind"], e.payload["node"], e.payload["namespace"]) for e in of_type(found, "tool_update")]
    assert told == [("state", "plan", []), ("state", "look", ["inner:1"]), ("custom", None, ["inner:1"])]


def test_a_resumed_call_knows_its_namespace_again():
    (asked,) = [e for e in of_type(told("deep_ask/every.sse"), "tool_start") if e.payload["tool_name"] == "ask_person"]
    (again,) = [
        e for e in of_type(told("deep_ask/every.2.sse"), "subgraph_resume") if e.payload["tool_name"] == "ask_person"
    ]
    assert again.payload["namespace"] == asked.payload["namespace"] != []


def nameless(content, **more):
    return {"type": "ai", "content": content, "id": None, **more}


def token(content):
    return ("messages", ({"type": "AIMessageChunk", "content": content, "id": None}, {"langgraph_node": "model"}))


def test_with_messages_among_the_modes_no_text_is_taken_from_a_whole_message():
    whole = ("updates", {"model": {"messages": [nameless("Hello")]}})
    for mode, texts in ((["updates", "messages"], []), (["updates", "custom"], ["Hello"]), (None, ["Hello"])):
        found = StreamAdapter(run_id="r", mode=mode).feed(whole)
        assert [e.payload["text"] for e in of_type(found, "llm_token")] == texts, mode


def test_a_whole_message_without_an_id_ends_the_one_that_was_streamed():
    adapter, found = StreamAdapter(run_id="r"), []
    for text in ("one", "two"):
        found += adapter.feed(token(text))
        found += adapter.feed(("updates", {"model": {"messages": [nameless(text, usage_metadata={"n": 1})]}}))
    ends = of_type(found, "llm_end")
    assert [(e.payload["message_id"], e.payload["usage"]) for e in ends] == [
        ("model#1", {"n": 1}),
        ("model#2", {"n": 1}),
    ]


def test_a_request_without_a_message_id_is_a_new_one_once_it_was_answered():
    asked = nameless("", tool_calls=[{"type": "tool_call", "name": "look", "args": {}, "id": "call_1"}])
    answer = {"type": "tool", "content": "seen", "tool_call_id": "call_1", "id": None}
    adapter, found = StreamAdapter(run_id="r"), []
    for _ in range(2):
        # Twice, as where two modes tell it.
        found += adapter.feed(("updates", {"model": {"messages": [asked]}}))
        found += adapter.feed(("updates", {"model": {"messages": [asked]}}))
        found += adapter.feed(("updates", {"tools": {"messages": [answer]}}))
    tools = [e.type for e in of_type(found, "tool_start", "tool_end") if e.parent_id]
    assert tools == ["tool_start", "tool_end"] * 2


CLICK = {"type": "click", "x": 1, "y": 2, "button": "left"}
COMPUTER = {"type": "computer_call", "call_id": "call_1", "id": "cu_1", "status": "completed"}


@pytest.mark.parametrize(
    "block",
    [
        {**COMPUTER, "actions": [CLICK]},
        {**COMPUTER, "action": CLICK},
        {"type": "non_standard", "value": {**COMPUTER, "actions": [CLICK]}},
    ],
    ids=["several", "one", "v1"],
)
def test_a_computer_call_in_the_content_is_a_tool_call(block):
    answer = {"type": "tool", "content": "seen", "tool_call_id": "call_1", "id": None}
    adapter = StreamAdapter(run_id="r")
    found = adapter.feed(("messages", ({"type": "AIMessageChunk", "content": [block], "id": "m1"}, {})))
    found += adapter.feed(("updates", {"brain": {"messages": [{"type": "ai", "content": [block], "id": "m1"}]}}))
    found += adapter.feed(("updates", {"act": {"messages": [answer]}}))
    calls = [e for e in of_type(found, "tool_start", "tool_end") if e.parent_id]
    assert [(e.type, e.payload["tool_name"]) for e in calls] == [("tool_start", "computer"), ("tool_end", "computer")]
    assert calls[0].payload["args"] == {"actions": [CLICK]}
    assert warnings(found) == []


def test_a_refusal_is_the_text_of_its_message():
    said = {"type": "ai", "content": [{"type": "refusal", "refusal": "I will not."}], "id": "m1"}
    found = StreamAdapter(run_id="r").feed(("updates", {"model": {"messages": [said]}}))
    assert [e.payload["text"] for e in of_type(found, "llm_token")] == ["I will not."]
    assert warnings(found) == []


@pytest.mark.parametrize(("exhausted", "status", "codes"), [(True, "ok", []), (False, "cancelled", ["cut"])])
def test_a_graph_that_returned_is_not_cut(exhausted, status, codes):
    adapter = StreamAdapter(run_id="r")
    adapter.feed(token("word"))
    found = adapter.finish(exhausted=exhausted)
    assert (found[-1].payload["status"], warnings(found)) == (status, codes)


def test_a_servers_stream_may_be_cut_however_it_ends():
    adapter = StreamAdapter()
    adapter.feed(ServerSentEvent("metadata", b'{"run_id":"r"}'))
    adapter.feed(token("word"))
    assert warnings(adapter.finish(exhausted=True)) == ["cut"]


def test_a_graph_that_returned_with_a_question_waits():
    adapter = StreamAdapter(run_id="r")
    adapter.feed(("updates", {"__interrupt__": [{"value": "why?", "id": "i1"}]}))
    assert adapter.finish(exhausted=True)[-1].payload["interrupts"] == [{"value": "why?", "id": "i1"}]


@pytest.mark.parametrize("id", ["m1", None])
def test_a_tool_message_that_comes_before_its_request_is_not_a_call_of_its_own(id):
    """A node that runs an agent inside hands all of its messages up at once, and `messages` tell them first."""
    asked = nameless("", id=id, tool_calls=[{"type": "tool_call", "name": "look", "args": {"at": 1}, "id": "c1"}])
    answer = {"type": "tool", "content": "seen", "tool_call_id": "c1", "id": id and "t1"}
    both = [("messages", (message, {"langgraph_node": "agent"})) for message in (asked, answer)]
    for mode in (["updates", "messages"], None):
        adapter = StreamAdapter(run_id="r", mode=mode)
        found = [
            e for part in (*both, ("updates", {"agent": {"messages": [asked, answer]}})) for e in adapter.feed(part)
        ]
        assert [e.payload["args"] for e in of_type(found, "tool_start") if e.parent_id] == [{"at": 1}]
        assert [e.payload["status"] for e in of_type(found, "tool_end")] == ["ok"]


def test_a_task_that_handed_over_to_the_graph_above_does_not_wait():
    found = envelopes([chunk for turn in collect(GRAPHS["cmd"], "events") for chunk in turn.chunks])
    assert found[-1].payload.get("status") == "ok"
