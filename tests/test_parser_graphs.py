"""The parser on real graphs in this process: every test graph, in the shapes in which langgraph streams."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState, StateGraph
from langgraph.types import Command

from runwire import (
    CompleteEvent,
    ContentEvent,
    CustomEvent,
    ErrorEvent,
    InterruptEvent,
    ParserEvent,
    StreamParser,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolExtractedEvent,
    create_resume_input,
)
from tests.feeding import NEW_TURNS
from tests.graphs import GRAPHS
from tests.graphs.case import human
from tests.graphs.model import Call, Reply, model, rounds
from tests.parsing import astream, facts, gathered, of
from tests.shapes import FULL, SHAPES, Recorded, collect

CASES = [name for name, case in GRAPHS.items() if case.in_process]
SHOWN = "updates messages values tasks debug checkpoints custom modes sub_modes full_async v2_sub events".split()
# Shapes in which every question can be seen; `events` tell none of plain nodes, and breakpoints stand in `updates`.
ASKING = "updates values tasks modes sub_modes full_async v2_sub".split()
WHOLE = ["full_async", "v2_sub", "sub_debug", "events"]
DUAL: Any = ["updates", "messages"]
CONFIG: Any = {"configurable": {"thread_id": "test"}}


def asking(shape: str) -> list[str]:
    return [name for name in CASES if name != "breakpoint" or shape not in ("values", "tasks")]


def again(recorded: Recorded) -> Iterator[Any]:
    """The chunks of a turn as the graph gave them, and what it raised."""
    yield from recorded.chunks
    if recorded.error:
        raise recorded.error


@cache
def recorded(name: str, shape: str) -> list[Recorded]:
    return collect(GRAPHS[name], shape)


@cache
def turns(name: str, shape: str) -> list[list[Any]]:
    mode = SHAPES[shape].options.get("stream_mode", "auto")
    parser, found = StreamParser(stream_mode=mode, include_state_updates=True), list[list[Any]]()
    for turn in recorded(name, shape):
        before = parser.continuation if name not in NEW_TURNS else None
        found.append(list(parser.parse(again(turn), resumed_from=before)))
    return found


@pytest.mark.parametrize("shape", SHOWN)
def test_the_last_event_of_every_graph_is_its_completion_and_there_is_no_other(shape):
    for name in CASES:
        for events in turns(name, shape):
            assert isinstance(events[-1], CompleteEvent), name
            assert len(of(events, CompleteEvent)) == 1, name


@pytest.mark.parametrize("shape", ASKING)
def test_every_graph_is_told_to_have_ended_as_it_did(shape):
    for name in asking(shape):
        for events, turn in zip(turns(name, shape), recorded(name, shape), strict=True):
            assert events[-1].status == turn.outcome, name
            assert [event.exception for event in of(events, ErrorEvent)] == ([turn.error] if turn.error else []), name


@pytest.mark.parametrize("shape", ASKING)
def test_every_question_is_told_once_with_its_id_and_its_value(shape):
    for name in asking(shape):
        for events, turn in zip(turns(name, shape), recorded(name, shape), strict=True):
            told = {event.id: event.raw_value for event in of(events, InterruptEvent) if event.id}
            assert told == {ask["id"]: ask["value"] for ask in turn.interrupts}, name
            assert len(of(events, InterruptEvent)) == (len(told) or (turn.outcome == "interrupted")), name


@pytest.mark.parametrize("shape", SHOWN)
def test_every_tool_call_starts_once_and_ends_once_also_over_a_resume(shape):
    for name in CASES:
        starts, ends = Counter[Any](), Counter[Any]()
        for events in turns(name, shape):
            for event in events:
                starts[event.call_id] += isinstance(event, ToolCallStartEvent)
                ends[event.call_id] += isinstance(event, ToolCallEndEvent)
                assert ends[event.call_id] <= starts[event.call_id], name
        assert set(starts.values()) <= {0, 1}, name
        # Where a question cannot be seen, neither can it that the call waits.
        if name != "deep_ask" or shape not in ("messages", "checkpoints"):
            assert +starts == +ends, name


def told(events: list[ParserEvent], agents: bool = True) -> Counter[str]:
    """Text by model call, tool calls with arguments and results, in no order."""
    texts = Counter[Any]()
    for event in of(events, ContentEvent):
        key = (event.call_id, event.agent if agents else None)
        texts[key] = texts.get(key, "") + event.content
    tools = [(e["id"], e["args"]) for e in facts(of(events, ToolCallStartEvent))]
    answers = [(e["id"], e["result"], e["status"]) for e in facts(of(events, ToolCallEndEvent))]
    return Counter(map(repr, [*((agent, text) for (_, agent), text in texts.items()), *tools, *answers]))


@pytest.mark.parametrize("name", CASES)
def test_texts_and_tools_are_the_same_in_every_shape_that_tells_all(name):
    # How far a run came before it failed, and a message between two tries, are matters of time.
    if any(turn.error for turn in recorded(name, WHOLE[0])) or name == "caught":
        return
    wanted = [told(events) for events in turns(name, WHOLE[0])]
    for shape in WHOLE[1:]:
        assert [told(events) for events in turns(name, shape)] == wanted, shape


@pytest.mark.parametrize("shape", ["values", "tasks", "debug", "checkpoints"])
@pytest.mark.parametrize("name", ["react", "reason", "toolnode", "reuse"])
def test_every_mode_that_tells_whole_messages_tells_the_same_of_them(name, shape):
    # Only tasks name the agent.
    wanted = [told(events, agents=False) for events in turns(name, "updates")]
    assert [told(events, agents=False) for events in turns(name, shape)] == wanted


LISTS: list[list[Any]] = [
    list(some) for n in range(1, 7) for some in itertools.combinations(FULL, n) if some != ("custom",)
]


def written(*messages: BaseMessage) -> Any:
    return lambda _: {"messages": [message.model_copy(deep=True) for message in messages]}


def handed_up(checkpointer: Any) -> Any:
    """A subgraph that hands up its state: messages that no model said, also those that it was given."""
    inner, outer = StateGraph(MessagesState), StateGraph(MessagesState)
    inner.add_node("say", written(AIMessage("inside")))
    inner.add_node("ask", written(AIMessage("", tool_calls=[{"name": "wipe", "args": {"path": "/a"}, "id": "c1"}])))
    inner.add_node("answer", written(ToolMessage("wiped", tool_call_id="c1")))
    outer.add_node("before", written(AIMessage("before")))
    outer.add_node("inner", inner.set_entry_point("say").add_edge("say", "ask").add_edge("ask", "answer").compile())
    outer.add_node("after", written(AIMessage("after")))
    return outer.set_entry_point("before").add_edge("before", "inner").add_edge("inner", "after").compile(checkpointer)


BUILDERS = {**{name: GRAPHS[name].build for name in ("whole", "cmd", "toolnode")}, "handed_up": handed_up}


# Without subgraphs, what their models say is only in some modes.
@pytest.mark.parametrize(("name", "subgraphs"), [*((name, True) for name in BUILDERS), ("handed_up", False)])
def test_every_list_of_modes_tells_each_text_and_each_tool_call_once(name, subgraphs):
    """Also those of messages that nodes return without an id, which they get before they stand in the state."""
    wanted = None
    for modes in LISTS:
        stream = BUILDERS[name](InMemorySaver()).stream(human("go"), CONFIG, stream_mode=modes, subgraphs=subgraphs)
        found = told(list(StreamParser(stream_mode=modes).parse(stream)), agents=False)
        wanted = wanted or found
        assert found == wanted, modes
        assert set(found.values()) == {1}


@pytest.mark.parametrize("shape", ["updates", "sub_modes", "v2_sub", "events"])
def test_both_loops_give_the_same_events_of_every_graph(shape):
    for name in CASES:
        mode = SHAPES[shape].options.get("stream_mode", "auto")
        parser = StreamParser(stream_mode=mode, include_state_updates=True)
        chunks = again(recorded(name, shape)[0])
        assert asyncio.run(gathered(parser.aparse(astream(chunks)))) == turns(name, shape)[0], name


async def test_dual_mode_with_real_agent():
    """The integration test of the document, with a model that needs no key."""
    agent = create_deep_agent(model("Hello to you, whoever you are."), checkpointer=InMemorySaver())
    stream = agent.astream(
        {"messages": [{"role": "user", "content": "Say hello"}]}, config=CONFIG, stream_mode=["updates", "messages"]
    )
    events = await gathered(StreamParser(stream_mode=DUAL).aparse(stream))
    content = of(events, ContentEvent)
    assert len(content) > 1
    assert "".join(event.content for event in content) == "Hello to you, whoever you are."
    assert isinstance(events[-1], CompleteEvent)


def test_a_deep_agent_tells_who_acts_and_where():
    (events,) = turns("deep", "full_async")
    spaces = {event.agent: [part.partition(":")[0] for part in event.namespace] for event in of(events, ContentEvent)}
    assert spaces == {"deep": [], "researcher": ["tools"], "critic": ["tools"]}
    lookups = [event for event in of(events, ToolCallStartEvent) if event.name == "lookup"]
    assert {event.agent for event in lookups} == {"researcher", "critic"}
    tasks = {event.call_id for event in of(events, ToolCallStartEvent) if event.name == "task"}
    assert {event.parent_id for event in lookups} == tasks
    inner = [event for event in of(events, CustomEvent) if event.data["from"] == "subagent"]
    assert {event.namespace for event in inner} == {event.namespace for event in lookups}
    assert [todos[0]["status"] for todos in (e.data for e in of(events, ToolExtractedEvent))] == [
        "in_progress",
        "completed",
    ]


def test_an_id_that_is_used_twice_is_two_calls():
    (events,) = turns("reuse", "modes")
    starts = of(events, ToolCallStartEvent)
    assert len({event.id for event in starts}) == 1
    assert len({event.call_id for event in starts}) == len(starts) == 2


def test_a_tool_that_fails_and_is_caught_ends_with_its_error_and_the_run_goes_on():
    (events,) = turns("caught", "sub_modes")
    ends = of(events, ToolCallEndEvent)
    assert {event.status for event in ends} == {"error"}
    assert all(event.error_message and event.error_message == event.result for event in ends)
    assert not of(events, ErrorEvent)
    assert events[-1].status == "success"


@pytest.mark.parametrize(("shape", "statuses"), [("full", ["error", "cancelled"]), ("updates", ["cancelled"] * 2)])
def test_a_tool_that_fails_the_run_leaves_no_call_open(shape, statuses):
    (events,) = turns("tool_raises", shape)
    ends = {event.name: event for event in of(events, ToolCallEndEvent)}
    assert [ends[name].status for name in ("explode", "dig")] == statuses
    (error,) = of(events, ErrorEvent)
    assert (error.error, error.error_type, type(error.exception)) == ("tool blew up", "ValueError", ValueError)
    assert events.index(error) == len(events) - 2


# Questions and answers.


@tool
def wipe(path: str) -> str:
    """Wipe a disk."""
    return f"wiped {path}"


def guarded(**options: Any) -> Any:
    script = rounds(
        Reply("I wipe two.", (Call("wipe", {"path": "/a"}, "call_a"), Call("wipe", {"path": "/b"}, "call_b"))),
        Reply("All done."),
    )
    guard = HumanInTheLoopMiddleware({"wipe": True}, **options)
    return create_agent(model(script), [wipe], middleware=[guard], checkpointer=InMemorySaver())


@pytest.fixture
def ask(request):
    """A first run of the guarded agent up to its questions, and what runs it on."""
    agent, parser = guarded(**getattr(request, "param", {})), StreamParser(stream_mode=DUAL)
    first = list(parser.parse(agent.stream(human("wipe"), CONFIG, stream_mode=DUAL)))

    def answer(command: Command[Any]) -> list[Any]:
        stream = agent.stream(command, CONFIG, stream_mode=DUAL)
        return list(parser.parse(stream, resumed_from=parser.continuation))

    return first, answer


DECIDED: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "approve": ({}, [("wiped /a", "success"), ("wiped /b", "success")]),
    "reject": ({"response": "no"}, [("with reason: no", "error")] * 2),
    "edit": (
        {"args_modifier": lambda args: {"path": "/notes" + args["path"]}},
        [("/notes/a", "success"), ("/notes/b", "success")],
    ),
    "respond": ({"response": "let it be"}, [("let it be", "success")] * 2),
}


@pytest.mark.parametrize("decision", DECIDED)
def test_a_decision_resumes_the_agent_and_its_calls_end_without_a_second_start(ask, decision):
    first, answer = ask
    (question,) = of(first, InterruptEvent)
    assert question.needs_approval
    assert question.allowed_decisions == {"approve", "edit", "reject", "respond"}
    assert [(action["tool"], action["args"]) for action in question.action_requests] == [
        ("wipe", {"path": "/a"}),
        ("wipe", {"path": "/b"}),
    ]
    options, results = DECIDED[decision]
    second = answer(question.create_resume(decision, **options))
    ends = sorted(of(second, ToolCallEndEvent), key=lambda event: event.id)
    assert [event.status for event in ends] == [status for _, status in results]
    assert all(part in event.result for event, (part, _) in zip(ends, results, strict=True))
    assert {event.call_id for event in ends} == {event.call_id for event in of(first, ToolCallStartEvent)}
    assert not of(second, ToolCallStartEvent)
    assert "".join(event.content for event in of(second, ContentEvent)) == "All done."


@pytest.mark.parametrize("ask", [{"interrupt_mode": "per_call"}], indirect=True)
def test_several_questions_are_answered_at_once_by_their_ids(ask):
    first, answer = ask
    questions = of(first, InterruptEvent)
    assert len(questions) == 2
    decisions = [question.build_decisions("approve")[0] for question in questions]
    value = {question.id: decision for question, decision in zip(questions, decisions, strict=True)}
    second = answer(create_resume_input(value=value))
    assert sorted(event.result for event in of(second, ToolCallEndEvent)) == ["wiped /a", "wiped /b"]


@pytest.mark.parametrize("ask", [{"interrupt_mode": "per_call"}], indirect=True)
def test_a_question_about_one_call_is_resumed_by_one_decision(ask):
    first, answer = ask
    one, other = of(first, InterruptEvent)
    assert one.action_requests[0]["tool_call_id"] in ("call_a", "call_b")
    second = answer(one.create_resume("approve"))
    assert second[-1].status == "interrupted"
    assert [event.id for event in of(second, InterruptEvent)] == [other.id]
    assert len(of(answer(other.create_resume("respond", response="kept")), ToolCallEndEvent)) >= 1


def test_a_simple_question_is_answered_by_a_value():
    graph, parser = GRAPHS["inter"].build(InMemorySaver()), StreamParser()
    first = list(parser.parse(graph.stream(human("go"), CONFIG)))
    assert [event.raw_value["question"] for event in of(first, InterruptEvent)] == ["go on?"]
    assert not of(first, InterruptEvent)[0].allowed_decisions
    second = list(parser.parse(graph.stream(create_resume_input(value="yes"), CONFIG)))
    assert [event.content for event in of(second, ContentEvent)] == ["the answer was yes", "After the answer."]


# Leaving early.


def test_leaving_early_closes_the_graphs_stream():
    stream = GRAPHS["slow"].build().stream(human("100 x 1"), stream_mode=DUAL)
    events = StreamParser(stream_mode=DUAL).parse(stream)
    assert isinstance(next(events), ContentEvent)
    events.close()
    assert list(stream) == []


async def test_leaving_early_closes_the_graphs_async_stream():
    stream = GRAPHS["slow"].build().astream(human("100 x 1"), stream_mode=DUAL)
    events = StreamParser(stream_mode=DUAL).aparse(stream)
    assert isinstance(await anext(events), ContentEvent)
    await events.aclose()
    assert [chunk async for chunk in stream] == []


async def test_a_cancelled_reader_is_cancelled_and_closes_the_graphs_stream():
    begun, closed = asyncio.Event(), asyncio.Event()

    async def endless():
        try:
            yield {"agent": {"steps": 1}}
            begun.set()
            await asyncio.Event().wait()
        finally:
            closed.set()

    reader = asyncio.create_task(gathered(StreamParser().aparse(endless())))
    async with asyncio.timeout(10):
        await begun.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
    assert closed.is_set()


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_what_is_no_error_of_the_graph_is_raised(raised):
    def stopped():
        yield {"agent": {"steps": 1}}
        raise raised

    with pytest.raises(raised):
        list(StreamParser().parse(stopped()))


class Unruly:
    """A stream that ends, or fails, and then fails to close."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def __iter__(self) -> Iterator[Any]:
        return self

    def __aiter__(self) -> "Unruly":
        return self

    def __next__(self) -> Any:
        raise self.error or StopIteration

    async def __anext__(self) -> Any:
        raise self.error or StopAsyncIteration

    def close(self) -> None:
        raise OSError("no way to close it")

    async def aclose(self) -> None:
        self.close()


@pytest.mark.parametrize(("error", "told"), [(None, ["complete"]), (ValueError("broken"), ["error", "complete"])])
async def test_a_stream_that_fails_to_close_has_told_its_end_before(error, told):
    by_parse, by_aparse = list[str](), list[str]()

    async def read() -> None:
        async for event in StreamParser().aparse(Unruly(error)):
            by_aparse.append(event.type)

    with pytest.raises(OSError, match="no way"):
        by_parse.extend(event.type for event in StreamParser().parse(Unruly(error)))
    with pytest.raises(OSError, match="no way"):
        await read()
    assert by_parse == by_aparse == told


def test_a_stream_that_was_left_leaves_no_continuation_of_the_one_before_it():
    parser = StreamParser()
    list(parser.parse([{"__interrupt__": [{"value": "why?", "id": "i1"}]}]))
    assert parser.continuation
    events = parser.parse(iter([{"agent": {"messages": [{"role": "assistant", "content": "Hi"}]}}]))
    assert isinstance(next(events), ContentEvent)
    events.close()
    assert parser.continuation is None


async def test_one_parser_parses_several_streams_at_once():
    parser = StreamParser(stream_mode=DUAL)
    graph = GRAPHS["react"].build()
    both = await asyncio.gather(*(gathered(parser.aparse(graph.astream(human("go"), stream_mode=DUAL))) for _ in "ab"))
    assert facts(both[0]) == facts(both[1])
    assert len({event.call_id for events in both for event in of(events, ToolCallStartEvent)}) == 8
