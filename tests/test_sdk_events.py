"""`run.events()` against a real server: the same events as those of the same graph in this process."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from runwire import (
    AsyncClient,
    Client,
    CompleteEvent,
    ContentEvent,
    InterruptEvent,
    StreamParser,
    ToolCallEndEvent,
    ToolCallStartEvent,
    create_resume_input,
)
from tests.graphs import GRAPHS
from tests.graphs.case import Turn
from tests.parsing import SECONDS, facts, gathered, of
from tests.serve import prepare, serve

# What the SDK asks for, as a graph in this process calls it.
MODES: Any = ["tasks", "messages", "custom"]
CONFIG: Any = {"configurable": {"thread_id": "thread-1"}, "recursion_limit": 100}
# One after the other, so that the order of events is part of what is compared.
IN_ORDER = ("inter", "reason", "renamed", "planner", "turns", "unicode", "sub_raises", "reuse")
AT_ONCE = ("react", "deep", "deep_ask", "nested", "toolnode", "caught", "asks", "forward", "twins", "cmd")
OPTIONS: dict[str, Any] = {"include_state_updates": True}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), (*IN_ORDER, *AT_ONCE, "slow", "tool_raises"))
        with serve(Path(folder)) as (address, _):
            yield address


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as opened:
        yield opened


def answer(turn: Turn, before: list[Any]) -> Any:
    """The answer of a turn to the questions of the one before it."""
    return (
        turn.answer([{"id": e.id, "value": e.raw_value} for e in of(before, InterruptEvent)]) if turn.answer else None
    )


async def in_process(name: str) -> list[list[Any]]:
    graph, parser = GRAPHS[name].build(InMemorySaver()), StreamParser(stream_mode=MODES, label=name, **OPTIONS)
    found: list[list[Any]] = []
    for turn in GRAPHS[name].turns:
        resumed_from = parser.continuation if turn.answer else None
        given: Any = Command(resume=answer(turn, found[-1])) if turn.answer else turn.input
        stream = graph.astream(given, CONFIG, stream_mode=MODES, subgraphs=True)
        found.append(await gathered(parser.aparse(stream, resumed_from=resumed_from)))
    return found


def by_sync(url: str, name: str) -> list[list[Any]]:
    found: list[list[Any]] = []
    with Client(url) as client:
        run = None
        for turn in GRAPHS[name].turns:
            if run is not None and turn.answer:
                run = run.respond(answer(turn, found[-1]))
            else:
                options: dict[str, Any] = {"thread_id": run.thread_id} if run else {}
                run = client.stream(name, turn.input, profile="debug", timeout=SECONDS, **options)
            with run:
                found.append(list(run.events(StreamParser(**OPTIONS))))
    return found


async def by_async(url: str, name: str) -> list[list[Any]]:
    found: list[list[Any]] = []
    async with AsyncClient(url) as client:
        run = None
        for turn in GRAPHS[name].turns:
            if run is not None and turn.answer:
                run = run.respond(answer(turn, found[-1]))
            else:
                options: dict[str, Any] = {"thread_id": run.thread_id} if run else {}
                run = client.stream(name, turn.input, profile="debug", timeout=SECONDS, **options)
            async with run:
                found.append(await gathered(run.events(StreamParser(**OPTIONS))))
    return found


def served(url: str, name: str, shell: str) -> list[list[Any]]:
    return by_sync(url, name) if shell == "sync" else asyncio.run(by_async(url, name))


SHELLS = [(name, "sync") for name in (*IN_ORDER, *AT_ONCE)] + [
    (name, "async") for name in ("inter", "deep_ask", "react")
]


@pytest.mark.parametrize(("name", "shell"), SHELLS)
def test_the_events_of_a_served_run_are_those_of_its_graph_in_this_process(url, name, shell):
    here, there = asyncio.run(in_process(name)), served(url, name, shell)
    assert len(there) == len(here)
    for one, other in zip(map(facts, there), map(facts, here), strict=True):
        if name in IN_ORDER:
            assert one == other
        else:
            assert Counter(map(repr, _by_nodes(one))) == Counter(map(repr, _by_nodes(other)))


def _by_nodes(told: list[Any]) -> list[Any]:
    """Without the last word on the state, which only a server has: no graph's stream tells what reducers made of it."""
    return [fact for fact in told if fact["type"] != "state_update" or fact["node"]]


def test_merged_tokens_have_the_same_text_and_every_other_event_stays(client):
    with client.stream("deep", "compare A and B") as run:
        merged = list(run.events())
    (here,) = asyncio.run(in_process("deep"))
    texts: list[dict[Any, str]] = [{}, {}]
    for found, events in zip(texts, (merged, here), strict=True):
        for event in of(events, ContentEvent):
            found[event.agent] = found.get(event.agent, "") + event.content
    assert texts[0] == texts[1]
    kinds = [ToolCallStartEvent, ToolCallEndEvent, CompleteEvent]
    assert Counter(map(repr, facts(of(merged, *kinds)))) == Counter(map(repr, facts(of(here, *kinds))))


def test_a_tool_call_of_a_served_run_has_a_duration(client):
    with client.stream("react", "how is it?") as run:
        assert all(event.duration_ms >= 0 for event in of(run.events(), ToolCallEndEvent))


def test_a_served_run_that_failed_is_an_error_event_and_raises_nothing(client):
    with client.stream("tool_raises", "go") as run:
        events = list(run.events())
    assert [(event.type, getattr(event, "error", None)) for event in events[-2:]] == [
        ("error", "tool blew up"),
        ("complete", None),
    ]
    assert events[-1].status == run.status == "error"


def test_a_served_question_is_answered_with_the_resume_that_the_parser_makes(client):
    with client.stream("inter", "go") as run:
        (asked,) = of(run.events(), InterruptEvent)
    resume = create_resume_input(value={asked.id: "yes"}, served=True)["resume"]
    with run.respond(resume) as again:
        texts = [event.content for event in of(again.events(), ContentEvent)]
    assert "".join(texts) == "the answer was yesAfter the answer."


def test_events_after_a_cursor_know_what_started_before_it(client):
    with client.stream("react", "how is it?", profile="debug") as run:
        cursors = [run.cursor for envelope in run if envelope.type == "tool_start" and envelope.parent_id]
    with client.attach(run.thread_id, run.run_id or "", after=cursors[-1], profile="debug") as attached:
        events = list(attached.events())
    assert not of(events, ToolCallStartEvent)
    assert {event.id for event in of(events, ToolCallEndEvent)} == {"call_oslo"}
    assert {event.node for event in of(events, ContentEvent)} == {"model"}


async def test_leaving_the_events_of_a_served_run_early_detaches(url):
    async with AsyncClient(url) as client, client.stream("slow", "60 x 10", profile="debug") as run:
        events = run.events()
        assert isinstance(await anext(events), ContentEvent)
        await events.aclose()
    assert run.status == "running"
