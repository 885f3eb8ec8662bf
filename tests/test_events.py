"""The events themselves, what extractors find, what resumes a run, and envelopes that tell less than all."""

import dataclasses
import itertools
import logging
import pickle
import sys
from typing import Any, get_args

import orjson
import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from runwire import (
    CompleteEvent,
    ContentEvent,
    CustomEvent,
    Envelope,
    ErrorEvent,
    EventProjection,
    InterruptEvent,
    Outcome,
    ParserEvent,
    ReasoningEvent,
    StateUpdateEvent,
    StreamAdapter,
    StreamParser,
    StreamPart,
    TodoExtractor,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolExtractedEvent,
    ToolExtractor,
    UsageEvent,
    create_resume_input,
)
from tests.parsing import of, parsed

TODOS = [{"content": 'it\'s "here"', "status": "pending"}]
HITL: dict[str, Any] = {
    "action_requests": [{"name": "wipe", "args": {"path": "/a"}}],
    "review_configs": [{"action_name": "wipe", "allowed_decisions": ["approve", "reject"]}],
}
EVENTS: dict[str, Any] = {
    "content": ContentEvent("Hi", node="agent", namespace=("inner:1",), agent="ada", call_id="c", parent_id="p"),
    "reasoning": ReasoningEvent("hm", "agent"),
    "tool_start": ToolCallStartEvent("call_1", "look", {"at": 1}, "agent"),
    "tool_end": ToolCallEndEvent("call_1", "look", {"seen": [1]}, "success", None, 12.5),
    "extraction": ToolExtractedEvent("look", "sight", {1, 2}),
    "interrupt": InterruptEvent(HITL["action_requests"], HITL["review_configs"], HITL, "i1"),
    "state_update": StateUpdateEvent("agent", "steps", 3),
    "usage": UsageEvent(1, 2, 3, node="agent", details={"input_tokens": 1}),
    "custom": CustomEvent({"half": float("inf")}),
    "error": ErrorEvent("boom", ValueError("boom"), "ValueError", "agent"),
    "complete": CompleteEvent("error"),
}


def test_there_is_an_example_of_every_event():
    assert {type(event) for event in EVENTS.values()} == set(get_args(ParserEvent))


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_frozen_compares_by_value_and_survives_pickling(name):
    event = EVENTS[name]
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.agent = "someone"
    assert pickle.loads(pickle.dumps(event)) == event
    assert dataclasses.replace(event, agent="other") != event


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_json_with_its_type_and_every_field(name):
    event = EVENTS[name]
    told = orjson.loads(orjson.dumps(event.to_dict()))
    assert told["type"] == name
    assert {*told} - {"allowed_decisions"} == {"type", *(f.name for f in dataclasses.fields(event))} - {"exception"}


def test_the_json_of_an_event_is_what_a_front_end_reads():
    assert EVENTS["content"].to_dict() == {
        "type": "content",
        "content": "Hi",
        "role": "assistant",
        "node": "agent",
        "namespace": ["inner:1"],
        "agent": "ada",
        "call_id": "c",
        "parent_id": "p",
    }
    assert EVENTS["interrupt"].to_dict()["allowed_decisions"] == ["approve", "reject"]
    assert EVENTS["custom"].to_dict()["data"] == {"half": None}


def test_events_are_matched_by_their_known_fields_in_their_known_order():
    match EVENTS["content"], EVENTS["tool_start"], EVENTS["tool_end"], EVENTS["state_update"]:
        case (
            ContentEvent(text, role, node),
            ToolCallStartEvent(id, name, args),
            ToolCallEndEvent(_, _, result, "success", None, spent),
            StateUpdateEvent(_, key, value),
        ):
            assert (text, role, node, id, name, args) == ("Hi", "assistant", "agent", "call_1", "look", {"at": 1})
            assert (result, spent, key, value) == ({"seen": [1]}, 12.5, "steps", 3)
        case _:
            pytest.fail("the fields of an event have changed their order")
    match EVENTS["extraction"], EVENTS["interrupt"], EVENTS["error"]:
        case ToolExtractedEvent(tool, kind, _), InterruptEvent(actions, configs, raw), ErrorEvent(text, exception):
            assert (tool, kind, text, type(exception)) == ("look", "sight", "boom", ValueError)
            assert (actions, configs, raw) == (HITL["action_requests"], HITL["review_configs"], HITL)
        case _:
            pytest.fail("the fields of an event have changed their order")


# Extractors.


class Canvas:
    """An app's own extractor."""

    tool_name = "draw"
    extracted_type = "shape"

    def extract(self, content: Any) -> Any:
        return content["shape"]


def drawn(parser: StreamParser, content: str, name: str = "draw") -> list[Any]:
    asked = AIMessage("", tool_calls=[{"name": name, "args": {}, "id": "c1"}])
    chunks = [{"agent": {"messages": [asked]}}, {"tools": {"messages": [ToolMessage(content, tool_call_id="c1")]}}]
    return list(parser.parse(iter(chunks)))


def test_a_registered_extractor_reads_the_results_of_its_tool_until_it_is_unregistered():
    parser = StreamParser()
    parser.register_extractor(Canvas())
    assert isinstance(Canvas(), ToolExtractor)
    found = drawn(parser, '{"shape": "circle"}')
    (told,) = of(found, ToolExtractedEvent)
    assert (told.tool_name, told.extracted_type, told.data) == ("draw", "shape", "circle")
    assert told.call_id == of(found, ToolCallEndEvent)[0].call_id
    parser.unregister_extractor("draw")
    assert not of(drawn(parser, '{"shape": "circle"}'), ToolExtractedEvent)


def test_an_extractor_that_fails_is_logged_and_the_stream_goes_on(caplog):
    found = drawn(StreamParser(extractors=[Canvas()]), "no json")
    assert [type(event) for event in found] == [ToolCallStartEvent, ToolCallEndEvent, CompleteEvent]
    assert "the extractor of 'draw' failed" in caplog.text


@pytest.mark.parametrize(
    ("name", "content", "kind", "data"),
    [
        ("think_tool", "I see", "reflection", "I see"),
        ("think_tool", '{"reflection": "I see"}', "reflection", "I see"),
        ("write_todos", f"Updated todo list to {TODOS}", "todos", TODOS),
        ("write_todos", orjson.dumps({"todos": TODOS}).decode(), "todos", TODOS),
        ("write_todos", orjson.dumps(TODOS).decode(), "todos", TODOS),
        ("write_todos", f"Now: {orjson.dumps(TODOS).decode()}", "todos", TODOS),
        (
            "display_inline",
            '{"display_type": "html", "data": "x"}',
            "display_inline",
            {"display_type": "html", "data": "x"},
        ),
    ],
)
def test_a_built_in_extractor_finds_what_its_tool_told(name, content, kind, data):
    (told,) = of(drawn(StreamParser(), content, name), ToolExtractedEvent)
    assert (told.extracted_type, told.data) == (kind, data)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("think_tool", "  "),
        ("think_tool", "[1]"),
        ("write_todos", "none"),
        ("write_todos", "[1"),
        ("display_inline", "x"),
    ],
)
def test_a_built_in_extractor_finds_nothing_in_anything_else(name, content):
    assert not of(drawn(StreamParser(), content, name), ToolExtractedEvent)


def test_a_list_that_nests_without_end_is_no_todo_list():
    assert TodoExtractor().extract("[" * 10_000 + "]" * 10_000) is None


# Resuming.


def test_decisions_and_values_make_a_command():
    assert create_resume_input([{"type": "approve"}]) == Command(resume={"decisions": [{"type": "approve"}]})
    assert create_resume_input({"type": kind} for kind in ["approve"]) == create_resume_input([{"type": "approve"}])
    assert create_resume_input(value=False) == Command(resume=False)
    assert create_resume_input(decisions={"i1": [{"type": "approve"}], "i2": []}) == Command(
        resume={"i1": {"decisions": [{"type": "approve"}]}, "i2": {"decisions": []}}
    )


def test_a_served_run_is_resumed_by_a_dict():
    assert create_resume_input([{"type": "approve"}], served=True) == {"resume": {"decisions": [{"type": "approve"}]}}
    resume = EVENTS["interrupt"].create_resume("reject", response="no", served=True)
    assert resume == {"resume": {"i1": {"decisions": [{"type": "reject", "message": "no"}]}}}


@pytest.mark.parametrize(
    ("decisions", "value", "complaint"),
    [
        (None, None, "either"),
        ([], 1, "either"),
        (["approve"], None, "'approve'"),
        ([{"kind": "approve"}], None, "'approve'"),
        ({"type": "approve"}, None, "a list"),
    ],
)
def test_what_cannot_resume_a_run_is_refused(decisions, value, complaint):
    with pytest.raises(ValueError, match=complaint):
        create_resume_input(decisions, value)


@pytest.mark.parametrize(
    ("decision", "options", "complaint"),
    [("edit", {}, "args_modifier"), ("respond", {}, "response"), ("maybe", {}, "'maybe'")],
)
def test_a_decision_that_says_too_little_is_refused(decision, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        EVENTS["interrupt"].create_resume(decision, **options)


def test_an_action_without_arguments_is_edited_from_none():
    question = InterruptEvent([{"name": "wipe"}], [], None, "i1")
    assert question.build_decisions("edit", lambda args: {**args, "path": "/b"}) == [
        {"type": "edit", "edited_action": {"name": "wipe", "args": {"path": "/b"}}}
    ]


def test_a_decision_where_no_action_waits_is_refused():
    with pytest.raises(ValueError, match="value="):
        InterruptEvent([], [], "why?", "i1").create_resume("approve")


def test_without_langgraph_the_command_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "langgraph.types", None)
    with pytest.raises(ImportError, match=r"pip install 'runwire\[server\]'"):
        create_resume_input(value=1)
    assert create_resume_input(value=1, served=True) == {"resume": 1}


# What envelopes tell, and what they do not.


def test_a_tool_call_has_a_duration_where_there_is_a_clock():
    assert of(drawn(StreamParser(clock=itertools.count().__next__), "x"), ToolCallEndEvent)[0].duration_ms > 0
    assert of(drawn(StreamParser(), "x"), ToolCallEndEvent)[0].duration_ms is None


def test_a_label_names_the_runs_own_agent():
    events = parsed([{"agent": {"messages": [AIMessage("Hi")]}}], label="greeter")
    assert {event.agent for event in events} == {"greeter"}


@pytest.mark.parametrize("data", [{"event": "progress", "data": 1}, {"event": "end", "data": None, "id": "7"}])
@pytest.mark.parametrize("mode", ["custom", ["custom"]])
def test_custom_data_may_look_like_a_servers_frame(mode, data):
    chunk = data if isinstance(mode, str) else ("custom", data)
    assert [event.data for event in of(parsed([chunk], stream_mode=mode), CustomEvent)] == [data]


@pytest.mark.parametrize("chunk", [None, 7, "text", object(), (), (1, 2, 3), {"messages": 7}, {"agent": object()}])
@pytest.mark.parametrize("mode", ["updates", "messages", "auto", ["updates", "messages"]])
def test_an_unknown_chunk_neither_raises_nor_hides_what_follows(mode, chunk):
    known = ("updates", {"agent": {"messages": [AIMessage("", tool_calls=[{"name": "x", "args": {}, "id": "c"}])]}})
    found = parsed([chunk, known], stream_mode=mode)
    assert len(of(found, ToolCallStartEvent)) == 1
    assert isinstance(found[-1], CompleteEvent)


def test_what_no_event_can_tell_is_logged(caplog):
    with caplog.at_level(logging.WARNING):
        parsed([StreamPart("brand_new", (), {"x": 1})])
    assert "unknown_mode" in caplog.text


def test_a_reader_that_comes_late_still_gets_whole_events():
    adapter = StreamAdapter(run_id="r", mode=["updates", "messages"])
    asked = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
    before = adapter.feed(("updates", {"agent": {"messages": [asked]}}))
    after = adapter.feed(("updates", {"tools": {"messages": [ToolMessage("seen", tool_call_id="c1")]}}))
    after += adapter.finish("success")
    late, learned = EventProjection(), EventProjection()
    for envelope in before:
        if envelope.type == "tool_start":
            learned.learn(envelope)
    (end,) = of((e for envelope in after for e in late.feed(envelope)), ToolCallEndEvent)
    assert (end.name, end.result) == ("look", "seen")
    (end,) = of((e for envelope in after for e in learned.feed(envelope)), ToolCallEndEvent)
    assert (end.id, end.name) == ("c1", "look")


def test_merged_custom_updates_are_one_event_each():
    payload = {"kind": "custom", "data": [1, 2], "merged": 2, "node": None, "namespace": ["inner:1"]}
    envelope = Envelope("tool_update", None, "t", None, None, "c", 3, "live", None, payload)
    assert [(e.data, e.namespace) for e in of(EventProjection().feed(envelope), CustomEvent)] == [
        (1, ("inner:1",)),
        (2, ("inner:1",)),
    ]


@pytest.mark.parametrize("status", ["success", "error", "cancelled", "interrupted", "timeout"])
def test_a_run_is_complete_however_it_ends(status):
    adapter, projection = StreamAdapter(run_id="r"), EventProjection()
    found: list[Any] = [e for envelope in adapter.finish(Outcome(status)) for e in projection.feed(envelope)]
    assert found[-1].type == "complete"
    assert found[-1].status == ("error" if status == "timeout" else status)
    assert len(of(found, ErrorEvent)) == (status in ("error", "timeout"))


def test_an_error_that_the_graph_caught_is_not_that_of_the_run():
    """The innermost call that failed last is told, not one whose error was answered before."""
    asked = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
    answer = ToolMessage("no eyes", tool_call_id="c1", status="error")

    def broken():
        yield {"agent": {"messages": [asked]}}
        yield {"tools": {"messages": [answer]}}
        raise RuntimeError("no legs")

    found = parsed(broken())
    assert [event.error_message for event in of(found, ToolCallEndEvent)] == ["no eyes"]
    assert [event.error for event in of(found, ErrorEvent)] == ["no legs"]


def test_an_error_without_words_is_told_by_its_class():
    def broken():
        raise ValueError
        yield

    (error,) = of(parsed(broken()), ErrorEvent)
    assert error.error == "ValueError"


def test_an_error_of_the_run_itself_is_not_hidden_by_one_that_was_answered_later():
    task: dict[str, Any] = {"id": "t1", "name": "boom", "input": None, "triggers": []}
    asked = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])

    def broken():
        yield ("tasks", task)
        yield ("updates", {"agent": {"messages": [asked]}})
        yield ("tasks", {"id": "t1", "name": "boom", "error": "no legs", "result": None, "interrupts": []})
        yield ("updates", {"tools": {"messages": [ToolMessage("no eyes", tool_call_id="c1", status="error")]}})
        raise RuntimeError("no legs")

    (error,) = of(parsed(broken(), stream_mode=["tasks", "updates"]), ErrorEvent)
    assert (error.error, error.node) == ("no legs", "boom")


def test_an_error_in_blocks_is_told_as_its_text():
    asked = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
    answer = ToolMessage([{"type": "text", "text": "no eyes"}], tool_call_id="c1", status="error")
    found = parsed([{"agent": {"messages": [asked]}}, {"tools": {"messages": [answer]}}])
    assert [(end.error_message, end.result) for end in of(found, ToolCallEndEvent)] == [("no eyes", "no eyes")]


def test_one_tool_may_be_skipped_by_its_name_alone():
    assert [event.type for event in drawn(StreamParser(skip_tools="draw"), "x")] == ["complete"]
