"""`StreamParser` by its source document: every example and every case of it, with messages that carry no ids."""

import sys
import uuid
from collections.abc import Callable
from types import FrameType
from typing import Any, get_args

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage

import runwire
from runwire import (
    CompleteEvent,
    ContentEvent,
    CustomEvent,
    ErrorEvent,
    InterruptEvent,
    ReasoningEvent,
    StateUpdateEvent,
    StreamParser,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolExtractedEvent,
    UsageEvent,
)
from tests.parsing import astream, facts, gathered, of, parsed

DUAL = ["updates", "messages"]
AGENT = {"langgraph_node": "agent"}
TODOS = [{"content": "look", "status": "pending"}]


@pytest.fixture(params=["parse", "aparse"])
def way(request):
    return request.param


def token(text, **more):
    return (AIMessageChunk(content=text, **more), AGENT)


def fragment(name, args, call_id, index=0, **more):
    return token("", tool_call_chunks=[{"name": name, "args": args, "id": call_id, "index": index}], **more)


def asking(name="write_file", args=None, id="call_abc", content=""):
    return AIMessage(content=content, tool_calls=[{"name": name, "args": args or {}, "id": id}])


def update(node, *messages, **more):
    return {node: {"messages": list(messages), **more}}


WRITE = {"file_path": "/test.md", "content": "hi"}
FRAGMENTS = [
    fragment("write_file", "", "call_abc"),
    fragment(None, '{"file', None),
    fragment(None, '_path":', None),
    fragment(None, ' "/test.md"}', None),
]


# The cases of the document's section on testing.


def test_dual_mode_content_streaming(way):
    chunks = [
        ("messages", token("Hello")),
        ("messages", token(" world")),
        ("updates", update("agent", AIMessage(content="Hello world"))),
    ]
    content = of(parsed(chunks, way, stream_mode=DUAL), ContentEvent)
    assert len(content) == 2
    assert [event.content for event in content] == ["Hello", " world"]
    assert {(event.node, event.role) for event in content} == {("agent", "assistant")}


def test_dual_mode_tool_calls(way):
    chunks = [
        ("messages", fragment("write_file", "", "call_abc")),
        ("updates", update("agent", asking(args=WRITE))),
        ("updates", update("tools", ToolMessage(content="File written.", tool_call_id="call_abc"))),
    ]
    found = parsed(chunks, way, stream_mode=DUAL)
    (start,), (end,) = of(found, ToolCallStartEvent), of(found, ToolCallEndEvent)
    assert (start.id, start.name, start.args, start.node) == ("call_abc", "write_file", WRITE, "agent")
    assert (end.id, end.name, end.result, end.status) == ("call_abc", "write_file", "File written.", "success")
    assert end.call_id == start.call_id


def test_auto_detect_single_mode(way):
    chunks = [{"agent": {"messages": [AIMessage(content="Hello")]}}]
    assert len(of(parsed(chunks, way, stream_mode="auto"), ContentEvent)) == 1


def test_default_single_mode_unchanged(way):
    chunks = [
        update("agent", asking("search", {"q": "weather"}, "call_1", "I'll search.")),
        update("tools", ToolMessage(content="sunny", name="search", tool_call_id="call_1")),
        update("agent", AIMessage(content="It is sunny.")),
    ]
    found = parsed(chunks, way)
    assert [type(event) for event in found] == [
        ContentEvent,
        ToolCallStartEvent,
        ToolCallEndEvent,
        ContentEvent,
        CompleteEvent,
    ]
    assert [event.content for event in of(found, ContentEvent)] == ["I'll search.", "It is sunny."]


# The examples of its other sections.


def test_the_interleaved_output_of_the_problem_section_gives_each_token_once_and_no_message(way):
    chunks = [
        ("updates", update("agent", AIMessage(content="Hello world"))),
        ("messages", token("Hello")),
        ("messages", token(" world")),
        ("updates", update("tools", ToolMessage(content="done", name="look", tool_call_id="call_1"))),
    ]
    found = parsed(chunks, way, stream_mode=DUAL)
    assert [event.content for event in of(found, ContentEvent)] == ["Hello", " world"]
    assert [event.result for event in of(found, ToolCallEndEvent)] == ["done"]
    assert found[-1] == CompleteEvent(call_id=found[-1].call_id)


def test_fragments_of_messages_alone_make_one_tool_call_with_whole_arguments(way):
    found = parsed(FRAGMENTS, way, stream_mode="messages")
    (start,) = of(found, ToolCallStartEvent)
    assert (start.id, start.name, start.args) == ("call_abc", "write_file", {"file_path": "/test.md"})
    assert not of(found, ToolCallEndEvent, InterruptEvent)


@pytest.mark.parametrize("mode", [DUAL, "auto"])
def test_fragments_are_ignored_where_updates_tell_the_call(way, mode):
    chunks = [("messages", chunk) for chunk in FRAGMENTS]
    chunks.append(("updates", update("agent", asking(args={"file_path": "/test.md"}))))
    starts = of(parsed(chunks, way, stream_mode=mode), ToolCallStartEvent)
    assert [start.args for start in starts] == [{"file_path": "/test.md"}]


def test_fragments_are_kept_apart_by_message_and_index(way):
    chunks = [
        fragment("a", "", "call_a", 0, id="m1"),
        fragment("b", "", "call_b", 1, id="m1"),
        fragment("c", "", "call_c", 0, id="m2"),
        fragment(None, '{"n": 1}', None, 0, id="m1"),
        fragment(None, '{"n": 3}', None, 0, id="m2"),
        fragment(None, '{"n": 2}', None, 1, id="m1"),
        token("", id="m1", chunk_position="last"),
        token("", id="m2", chunk_position="last"),
    ]
    starts = of(parsed(chunks, way, stream_mode="messages"), ToolCallStartEvent)
    assert [(start.id, start.args) for start in starts] == [
        ("call_a", {"n": 1}),
        ("call_b", {"n": 2}),
        ("call_c", {"n": 3}),
    ]


def test_of_messages_alone_a_tool_call_starts_with_the_end_of_its_message():
    stream = StreamParser(stream_mode="messages").begin()
    chunks = [*FRAGMENTS, token("", chunk_position="last")]
    assert [type(event) for chunk in chunks[:-1] for event in stream.feed(chunk)] == []
    assert [type(event) for event in stream.feed(chunks[-1])] == [ToolCallStartEvent]


def test_a_whole_message_of_messages_alone_tells_its_tool_calls_with_their_arguments(way):
    """A model that does not stream, as LangGraph tells it in `messages`."""
    chunks = [
        (asking(args=WRITE, content="I write."), AGENT),
        (ToolMessage("written", tool_call_id="call_abc", id="t1"), {"langgraph_node": "tools"}),
    ]
    (start, end) = of(parsed(chunks, way, stream_mode="messages"), ToolCallStartEvent, ToolCallEndEvent)
    assert (start.name, start.args, start.node) == ("write_file", WRITE, "agent")
    assert (end.result, end.call_id) == ("written", start.call_id)


@pytest.mark.parametrize("id", [None, "m1"])
@pytest.mark.parametrize("mode", ["messages", "auto"])
def test_an_answer_ends_the_message_that_asked_for_it_where_nothing_else_does(way, mode, id):
    chunks = [
        *((chunk.model_copy(update={"id": id}), meta) for chunk, meta in FRAGMENTS),
        (ToolMessage("written", tool_call_id="call_abc"), {"langgraph_node": "tools"}),
        token("Done.", id=id and "m2"),
    ]
    found = parsed(chunks, way, stream_mode=mode)
    assert [type(event) for event in found] == [ToolCallStartEvent, ToolCallEndEvent, ContentEvent, CompleteEvent]
    assert (found[0].args, found[2].content) == ({"file_path": "/test.md"}, "Done.")
    assert found[0].parent_id == found[2].parent_id
    assert found[2].call_id != found[0].call_id


@pytest.mark.parametrize("broken", [False, True])
def test_of_dual_mode_messages_alone_tell_no_tool_call(way, broken):
    def chunks():
        yield from (("messages", chunk) for chunk in [*FRAGMENTS, token("", chunk_position="last")])
        yield ("messages", (ToolMessage("written", tool_call_id="call_abc"), {"langgraph_node": "tools"}))
        if broken:
            raise RuntimeError("out of tokens")

    assert not of(parsed(chunks(), way, stream_mode=DUAL), ToolCallStartEvent, ToolCallEndEvent)


def test_in_dual_mode_a_tool_call_ends_with_its_update_and_not_with_its_message():
    stream, answer = StreamParser(stream_mode=DUAL).begin(), ToolMessage("written", tool_call_id="call_abc", id="t1")
    stream.feed(("updates", update("agent", asking(args=WRITE))))
    assert stream.feed(("messages", (answer, {"langgraph_node": "tools"}))) == []
    (end,) = of(stream.feed(("updates", update("tools", answer))), ToolCallEndEvent)
    assert end.result == "written"


@pytest.mark.parametrize("mode", [DUAL, "auto"])
def test_nodes_that_use_one_id_at_the_same_time_end_a_call_each(way, mode):
    """Subgraphs that are not streamed hand their whole history up, in `messages` and in `updates`."""
    chunks: list[Any] = []
    for node in "ab":
        answer = ToolMessage(f"written by {node}", tool_call_id="call_abc", id=f"t{node}")
        chunks.append(("messages", (answer, {"langgraph_node": node})))
        chunks.append(("updates", update(node, asking(args={"by": node}), answer)))
    found = parsed(chunks, way, stream_mode=mode)
    ends = {event.call_id: event.result for event in of(found, ToolCallEndEvent)}
    assert [ends[event.call_id] for event in of(found, ToolCallStartEvent)] == ["written by a", "written by b"]


def test_a_request_that_gets_its_id_in_the_state_is_one_tool_call(way):
    def request(id: str | None) -> AIMessage:
        return AIMessage("I write.", id=id, tool_calls=[{"name": "write_file", "args": WRITE, "id": "call_abc"}])

    first, second = (str(uuid.UUID(int=number)) for number in (1, 2))
    answer = ToolMessage("written", tool_call_id="call_abc", id="t1")
    chunks = [
        ("values", {"messages": []}),
        ("updates", update("agent", request(None))),
        ("values", {"messages": [request(first)]}),
        ("updates", update("tools", answer)),
        ("values", {"messages": [request(first), answer]}),
        ("updates", update("agent", request(None))),
        ("values", {"messages": [request(first), answer, request(second)]}),
    ]
    found = parsed(chunks, way, stream_mode=["updates", "values"])
    assert [event.type for event in found] == "content tool_start tool_end content tool_start complete".split()


def test_a_model_that_says_what_a_node_wrote_before_is_told(way):
    chunks = [update("greet", AIMessage("Hi")), update("agent", AIMessage("Hi", id="lc_run--1"))]
    assert [event.content for event in of(parsed(chunks, way), ContentEvent)] == ["Hi", "Hi"]


@pytest.mark.parametrize("before", [[], ["call_1"]])
def test_a_message_that_is_rewritten_to_ask_for_more_starts_what_it_had_not_asked_for(way, before):
    def request(text: str, ids: list[str]) -> AIMessage:
        return AIMessage(text, id="m1", tool_calls=[{"name": "look", "args": {"at": id}, "id": id} for id in ids])

    answers = [ToolMessage("seen", tool_call_id=id) for id in ("call_1", "call_2")]
    chunks = [
        update("agent", request("I look.", before)),
        update("guard", request("I look twice.", ["call_1", "call_2"])),
        update("tools", *answers),
    ]
    found = parsed(chunks, way)
    assert [event.content for event in of(found, ContentEvent)] == ["I look."]
    starts = [(event.id, event.args) for event in of(found, ToolCallStartEvent)]
    assert starts == [("call_1", {"at": "call_1"}), ("call_2", {"at": "call_2"})]
    assert [event.id for event in of(found, ToolCallEndEvent)] == ["call_1", "call_2"]


def test_messages_without_ids_are_known_by_their_place_under_each_key_of_a_state(way):
    chunks = [
        {"messages": [], "notes": []},
        {"messages": [], "notes": [AIMessage("a note")]},
        {"messages": [AIMessage("a message")], "notes": [AIMessage("a note")]},
    ]
    found = parsed(chunks, way, stream_mode="values")
    assert [event.content for event in of(found, ContentEvent)] == ["a note", "a message"]


def test_every_event_of_dual_mode_comes_from_the_mode_that_the_table_names(way):
    interrupt = {"__interrupt__": [{"value": "sure?", "id": "i1"}]}
    updates = [
        ("updates", update("agent", AIMessage("text of updates"), asking("write_todos", {"todos": TODOS}))),
        (
            "updates",
            update("tools", ToolMessage(f"Updated todo list to {TODOS}", tool_call_id="call_abc"), todos=TODOS),
        ),
        ("updates", interrupt),
    ]
    messages = [("messages", token("text of messages")), *(("messages", chunk) for chunk in FRAGMENTS)]
    kinds = [ContentEvent, ToolCallStartEvent, ToolCallEndEvent, ToolExtractedEvent, InterruptEvent, StateUpdateEvent]
    options = {"stream_mode": DUAL, "include_state_updates": True}
    found = parsed([*messages, *updates], way, **options)
    assert [len(of(found, kind)) for kind in kinds] == [1, 1, 1, 1, 1, 1]
    assert [event.content for event in of(found, ContentEvent)] == ["text of messages"]
    assert of(found, ToolCallStartEvent)[0].name == "write_todos"
    assert isinstance(found[-1], CompleteEvent)
    without = parsed(updates, way, **options)
    assert [len(of(without, kind)) for kind in kinds] == [0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("source", ["messages", "updates"])
def test_an_error_is_told_whichever_mode_came_before_it(way, source):
    def broken():
        yield (source, token("Hi") if source == "messages" else update("agent", AIMessage("Hi")))
        raise RuntimeError("out of tokens")

    found = parsed(broken(), way, stream_mode=DUAL)
    assert [type(event) for event in found[-2:]] == [ErrorEvent, CompleteEvent]
    assert found[-2].error == "out of tokens"


# Its parameters.


def test_without_the_lifecycle_only_what_is_extracted_is_told_of_tools(way):
    chunks = [
        update("agent", asking("think_tool", {"reflection": "hm"})),
        update("tools", ToolMessage("hm", name="think_tool", tool_call_id="call_abc")),
    ]
    found = parsed(chunks, way, track_tool_lifecycle=False)
    assert [type(event) for event in found] == [ToolExtractedEvent, CompleteEvent]
    assert (found[0].tool_name, found[0].extracted_type, found[0].data) == ("think_tool", "reflection", "hm")


def test_skipped_tools_are_not_told_but_what_is_extracted_from_them_is(way):
    chunks = [
        update("agent", asking("write_todos", {"todos": TODOS}, "call_1"), asking("look", {}, "call_2")),
        update("tools", ToolMessage(f"Updated todo list to {TODOS}", tool_call_id="call_1")),
        update("tools", ToolMessage("seen", tool_call_id="call_2")),
    ]
    found = parsed(chunks, way, skip_tools=["write_todos"])
    assert {event.name for event in of(found, ToolCallStartEvent, ToolCallEndEvent)} == {"look"}
    assert [event.data for event in of(found, ToolExtractedEvent)] == [TODOS]


def test_state_updates_are_told_only_when_asked_for(way):
    chunks = [update("plan", AIMessage("ok"), steps=3, todos=TODOS), {"write": {"files": {"/a": "x"}}}]
    assert not of(parsed(chunks, way), StateUpdateEvent)
    told = of(parsed(chunks, way, include_state_updates=True), StateUpdateEvent)
    assert {(event.node, event.key) for event in told} == {("plan", "steps"), ("plan", "todos"), ("write", "files")}
    assert {event.key: event.value for event in told} == {"steps": 3, "todos": TODOS, "files": {"/a": "x"}}


def test_a_file_that_is_removed_is_told_as_a_node_writes_it():
    chunks = [{"write": {"files": {"/a": "x", "/b": "y"}}}, {"write": {"files": {"/a": None, "/b": "z"}}}]
    told = of(parsed(chunks, include_state_updates=True), StateUpdateEvent)
    assert told[-1].value == {"/a": None, "/b": "z"}


@pytest.mark.parametrize("mode", ["nonsense", ["updates", "nonsense"], "v2"])
def test_an_unknown_mode_is_refused_by_name(mode):
    with pytest.raises(ValueError, match=r"not '(nonsense|v2)'"):
        StreamParser(stream_mode=mode)


@pytest.mark.parametrize("mode", "updates messages values custom debug tasks checkpoints events auto".split())
def test_every_mode_is_taken_alone_and_in_a_list(mode):
    assert isinstance(parsed([], stream_mode=mode)[-1], CompleteEvent)
    if mode != "auto":
        assert isinstance(parsed([], stream_mode=[mode])[-1], CompleteEvent)


# Detection.


@pytest.mark.parametrize(
    "chunks",
    [
        [("messages", token("Hello"))],
        [token("Hello")],
        [((), "messages", token("Hello"))],
        [((), token("Hello"))],
        [((), update("agent", AIMessage("Hello")))],
        [("updates", update("agent", AIMessage("Hello")))],
        [{"messages": []}, {"messages": [AIMessage("Hello", id="m1")]}],
        [{"type": "messages", "ns": (), "data": token("Hello")}],
        [{"type": "updates", "ns": (), "data": update("agent", AIMessage("Hello"))}],
        [
            {
                "event": "on_chat_model_stream",
                "run_id": "r",
                "name": "m",
                "data": {"chunk": AIMessageChunk(content="Hello")},
            }
        ],
    ],
)
def test_any_form_is_detected_from_its_first_chunk(way, chunks):
    assert [event.content for event in of(parsed(chunks, way, stream_mode="auto"), ContentEvent)] == ["Hello"]


def test_typed_parts_and_events_are_accepted_whatever_mode_was_named(way):
    chunks = [{"type": "messages", "ns": (), "data": token("Hello")}]
    assert of(parsed(chunks, way, stream_mode="updates"), ContentEvent)
    event = {
        "event": "on_chat_model_stream",
        "run_id": "r",
        "name": "m",
        "data": {"chunk": AIMessageChunk(content="Hello")},
    }
    assert of(parsed([event], way, stream_mode="updates"), ContentEvent)


@pytest.mark.parametrize("mode", ["updates", "messages", "auto", DUAL])
def test_an_empty_stream_is_complete(way, mode):
    assert [type(event) for event in parsed([], way, stream_mode=mode)] == [CompleteEvent]


# Content in its forms.


def test_content_in_blocks_is_told_as_text_and_reasoning(way):
    blocks: list[Any] = [
        {"type": "reasoning", "reasoning": "let me see"},
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "blue."},
    ]
    found = parsed([update("agent", AIMessage(content=blocks))], way)
    assert [event.content for event in of(found, ReasoningEvent)] == ["let me see"]
    assert "".join(event.content for event in of(found, ContentEvent)) == "It is blue."


def test_empty_content_is_no_event(way):
    chunks = [("messages", token("")), ("updates", update("agent", AIMessage(content=""), AIMessage(content=[])))]
    assert [type(event) for event in parsed(chunks, way, stream_mode=DUAL)] == [CompleteEvent]


def test_usage_is_told_once_for_each_model_call(way):
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7, "input_token_details": {"cache_read": 2}}
    chunks = [
        ("messages", token("Hi", id="m1")),
        ("messages", token("", id="m1", usage_metadata=usage, chunk_position="last")),
        ("updates", update("agent", AIMessage("Hi", id="m1", usage_metadata=usage))),
    ]
    (told,) = of(parsed(chunks, way, stream_mode=DUAL), UsageEvent)
    assert (told.input_tokens, told.output_tokens, told.total_tokens, told.cache_read_tokens) == (3, 4, 7, 2)
    assert (told.node, told.details) == ("agent", usage)


def test_what_a_writer_wrote_is_custom_data_with_its_namespace(way):
    found = parsed([("custom", {"step": 1}), (("inner:1",), "custom", "half")], way, stream_mode=["custom", "updates"])
    assert [(event.data, event.namespace) for event in of(found, CustomEvent)] == [
        ({"step": 1}, ()),
        ("half", ("inner:1",)),
    ]


def test_what_a_person_wrote_is_not_told_back(way):
    assert [type(e) for e in parsed([update("ask", HumanMessage("hello"))], way)] == [CompleteEvent]


def steps_of(work: Callable[[Any], Any], given: Any) -> int:
    """How many calls of Python functions some work takes."""
    seen = [0]

    def count(_frame: FrameType, event: str, _arg: Any) -> None:
        seen[0] += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work(given)
    finally:
        sys.setprofile(before)
    return seen[0]


@pytest.mark.parametrize("id", ["m", None])
def test_an_update_costs_the_same_after_any_number_of_messages(id):
    stream, costs = StreamParser().begin(), []
    for number in range(401):
        chunk = update("agent", AIMessage(f"text {number}", id=id and f"m{number}"))
        if number in (40, 400):
            costs.append(steps_of(stream.feed, chunk))
        else:
            stream.feed(chunk)
    assert costs[0] == costs[1]


# Both loops.


async def test_both_loops_give_the_same_events():
    chunks = [
        ("messages", token("Hel")),
        ("updates", update("agent", asking(args=WRITE, content="Hel"), steps=1)),
        ("custom", [1]),
        ("updates", update("tools", ToolMessage("File written.", tool_call_id="call_abc"))),
        ("nonsense", 1),
    ]
    options: dict[str, Any] = {"stream_mode": [*DUAL, "custom"], "include_state_updates": True}
    by_parse = list(StreamParser(**options).parse(iter(chunks)))
    by_aparse = await gathered(StreamParser(**options).aparse(astream(chunks)))
    assert by_parse == by_aparse
    assert [fact["type"] for fact in facts(by_parse)] == (
        "content tool_start state_update custom tool_end custom complete".split()
    )


def test_the_front_door_has_every_event():
    assert {kind.__name__ for kind in get_args(runwire.ParserEvent)} <= set(runwire.__all__)
    assert len({kind.type for kind in get_args(runwire.ParserEvent)}) == len(get_args(runwire.ParserEvent))
