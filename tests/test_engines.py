"""Every row of the table of servers that a client can meet: whatever a server does in its own way, the run is the same.

`Wire` is the one door to both clients; `tests/test_hostile.py` uses it too.
"""

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

import runwire
from runwire.testing import (
    ENGINES,
    Connection,
    Cut,
    Engine,
    Hold,
    Lost,
    ScriptedRun,
    ScriptedServer,
    Stall,
    Status,
    text_run,
)
from runwire_normalizers import conformance

SECONDS = 20
QUICK = runwire.Retry(attempts=4, first=0.01, most=0.05)
WORDS = ("One ", "two ", "three ", "four ", "five ", "six.")
TEXT = "".join(WORDS)
RUN = "11111111-1111-4111-8111-111111111111"
QUESTION = {"value": {"ask": "go on?"}, "id": "0de16000a51b15561fc40335d427bfc1"}
FAILURE = {"error": "ValueError", "message": "boom!"}
ROWS = pytest.mark.parametrize("engine", sorted(ENGINES))
On = Callable[[runwire.Envelope, Any], Any]


@dataclass
class Watched:
    """What a reader has got of a run, to its end or to the error that it met."""

    envelopes: list[runwire.Envelope] = field(default_factory=list)
    error: runwire.RunwireError | None = None
    run: Any = None

    @property
    def text(self) -> str:
        tokens = (one.payload for one in self.envelopes if one.type == "llm_token")
        return "".join(payload["text"] for payload in tokens if payload["channel"] == "text")

    @property
    def warnings(self) -> list[str]:
        return [one.payload["code"] for one in self.envelopes if one.type == "warning"]

    @property
    def status(self) -> str:
        return str(self.run.status)

    @property
    def failure(self) -> tuple[Any, Any]:
        told = [one.payload for one in self.envelopes if one.type == "error"]
        return (told[0]["class"], told[0]["message"]) if told else (None, None)

    @property
    def facts(self) -> list[dict[str, Any]]:
        """The envelopes without what the clock and the connection say."""
        return [one.to_dict() | {"ts": None, "origin": None} for one in self.envelopes]


class Wire:
    """The sync or the async client, each from sync code and with a deadline."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def watch(self, server: ScriptedServer, on: On | None = None, attach: Any = None, **options: Any) -> Watched:
        """A run to its end; what is no error of runwire's own is raised here."""
        client = {"retry": QUICK, **{k: options.pop(k) for k in ("api_key", "limits", "retry") if k in options}}
        options = {"profile": "debug", **options}
        watched: Watched = self._bounded(self._sync, self._async, server.url, client, options, on, attach)
        if watched.error is None:
            assert conformance.check(watched.envelopes) == []
        return watched

    def result(self, server: ScriptedServer, **options: Any) -> Any:
        """What `client.run` gives."""
        return self._bounded(self._run_sync, self._run_async, server.url, options)

    def _bounded(self, sync: Callable[..., Any], other: Callable[..., Any], *args: Any) -> Any:
        if self.kind == "async":
            return asyncio.run(asyncio.wait_for(other(*args), SECONDS))
        pool = ThreadPoolExecutor(1)
        try:
            return pool.submit(sync, *args).result(SECONDS)
        finally:
            pool.shutdown(wait=False)

    def _sync(self, url: str, client: Any, options: Any, on: On | None, attach: Any) -> Watched:
        watched = Watched()
        with runwire.Client(url, **client) as door:
            made = door.attach(*attach, **options) if attach else door.stream("agent", "hi", **options)
            try:
                with made as watched.run:
                    for envelope in watched.run:
                        watched.envelopes.append(envelope)
                        if on:
                            on(envelope, watched.run)
            except runwire.RunwireError as error:
                watched.error = error
        return watched

    async def _async(self, url: str, client: Any, options: Any, on: On | None, attach: Any) -> Watched:
        watched = Watched()
        async with runwire.AsyncClient(url, **client) as door:
            made = door.attach(*attach, **options) if attach else door.stream("agent", "hi", **options)
            try:
                async with made as watched.run:
                    async for envelope in watched.run:
                        watched.envelopes.append(envelope)
                        if on and inspect.isawaitable(done := on(envelope, watched.run)):
                            await done
            except runwire.RunwireError as error:
                watched.error = error
        return watched

    def _run_sync(self, url: str, options: Any) -> Any:
        with runwire.Client(url, retry=QUICK) as client:
            return client.run("agent", "hi", **options)

    async def _run_async(self, url: str, options: Any) -> Any:
        async with runwire.AsyncClient(url, retry=QUICK) as client:
            return await client.run("agent", "hi", **options)


@pytest.fixture(params=["sync", "async"])
def wire(request) -> Wire:
    return Wire(request.param)


def watch(wire: Wire, engine: str | Engine, run: ScriptedRun, **options: Any) -> Watched:
    with ScriptedServer(engine) as server:
        server.add(run)
        return wire.watch(server, **options)


def frames_of(*tokens: str, **script: Any) -> list[Any]:
    return list(text_run(*tokens, run_id=RUN, **script).frames)


def node(name: str, task_id: str, message: dict[str, Any]) -> list[Any]:
    """The frames of a node that returns one whole message."""
    meta = {"run_id": RUN, "langgraph_node": name, "langgraph_checkpoint_ns": f"{name}:{task_id}"}
    ended: dict[str, Any] = {
        "id": task_id,
        "name": name,
        "error": None,
        "result": {"messages": [message]},
        "interrupts": [],
    }
    start = {"id": task_id, "name": name, "input": {}, "triggers": []}
    return [("tasks", start), ("messages", [message, meta]), ("tasks", ended)]


def told_before_the_end(*more: Any) -> list[Any]:
    """The frames of a run of which nobody has told the end yet."""
    return [*frames_of(*WORDS)[:-1], *more]


# The stream itself.


@ROWS
def test_a_run_is_told_alike_by_every_engine(wire, engine):
    told = watch(wire, engine, text_run(*WORDS, run_id=RUN))
    assert (told.text, told.status, told.warnings) == (TEXT, "success", [])
    assert told.facts == watch(wire, "dev", text_run(*WORDS, run_id=RUN)).facts


@ROWS
@pytest.mark.parametrize("newline", ["\r\n", "\n", "\r"])
def test_line_endings_make_no_difference(wire, engine, newline):
    own = Engine(**{**vars(ENGINES[engine]), "newline": newline})
    assert watch(wire, own, text_run(*WORDS)).text == TEXT


@ROWS
def test_keepalive_comments_never_reach_the_reader(wire, engine):
    end = ENGINES[engine].newline
    beat = f": heartbeat{end}{end}".encode()
    frames = [piece for frame in frames_of(*WORDS) for piece in (beat, frame, beat)]
    told = watch(wire, engine, text_run(*WORDS, run_id=RUN, frames=frames))
    assert told.facts == watch(wire, engine, text_run(*WORDS, run_id=RUN)).facts


@ROWS
def test_a_stream_without_ids_is_read_all_the_same(wire, engine):
    frames = [b"event: custom\ndata: 1\n\n", *frames_of(*WORDS)]
    told = watch(wire, engine, text_run(*WORDS, run_id=RUN, frames=frames))
    assert (told.text, told.status) == (TEXT, "success")


@ROWS
@pytest.mark.parametrize("headers", [{"location": None}, {"content-location": None}, {"location": "/runs/x/stream"}])
def test_any_form_of_location_names_the_run(wire, engine, headers):
    told = watch(wire, engine, text_run(*WORDS, run_id=RUN, connections=[Cut(after=3, headers=headers)]))
    assert (told.run.run_id, told.text, told.status) == (RUN, TEXT, "success")


@ROWS
def test_absolute_locations_are_read_and_never_followed(wire, engine):
    elsewhere = dict.fromkeys(("location", "content-location"), f"http://192.0.2.1/threads/t/runs/{RUN}")
    told = watch(wire, engine, text_run(*WORDS, run_id=RUN, connections=[Cut(after=3, headers=elsewhere)]))
    assert (told.run.run_id, told.text, told.status) == (RUN, TEXT, "success")


@ROWS
def test_without_any_location_the_first_frame_names_the_run(wire, engine):
    headers = {"location": None, "content-location": None}
    told = watch(wire, engine, text_run(*WORDS, run_id=RUN, connections=[Connection(headers=headers)]))
    assert (told.run.run_id, told.text, told.status) == (RUN, TEXT, "success")


# How runs end.


@ROWS
def test_a_clean_end_is_checked_with_the_server(wire, engine):
    told = watch(wire, engine, text_run(*WORDS, connections=[Cut(after=4, how="close")]))
    assert (told.text, told.status, told.warnings) == (TEXT, "success", [])


@ROWS
def test_a_run_that_is_noted_as_ended_a_moment_later_is_waited_for(wire, engine):
    told = watch(wire, engine, text_run(*WORDS, late=2))
    assert (told.text, told.status, told.warnings) == (TEXT, "success", [])


@ROWS
def test_a_failed_run_is_an_error_with_what_the_server_tells(wire, engine):
    told = watch(wire, engine, ScriptedRun(told_before_the_end(), "error", error=FAILURE, run_id=RUN))
    text = "ValueError: execution failed" if ENGINES[engine].errors_hidden else "boom!"
    assert (told.status, told.failure) == ("error", ("ValueError", text))


@ROWS
@pytest.mark.parametrize("after", range(1, 9))
def test_a_cut_run_that_failed_never_looks_like_success(wire, engine, after):
    frames = told_before_the_end()
    run = ScriptedRun(frames, "error", error=FAILURE, run_id=RUN, connections=[Cut(after=after, how="close")])
    told = watch(wire, engine, run)
    assert (told.status, told.text, told.failure[0]) == ("error", TEXT, "ValueError")


@ROWS
def test_a_failed_run_raises_only_where_a_result_was_asked_for(wire, engine):
    with ScriptedServer(engine) as server:
        server.add(text_run("No ", status="error", error=FAILURE))
        with pytest.raises(runwire.RunFailed, match="ValueError"):
            wire.result(server)


@ROWS
def test_a_run_that_somebody_stops_is_cancelled(wire, engine):
    told = watch(wire, engine, ScriptedRun(told_before_the_end(), "cancelled", run_id=RUN))
    assert (told.status, told.text) == ("cancelled", TEXT)


@ROWS
def test_a_run_that_its_reader_cancels_ends_cancelled(wire, engine):
    def stop(envelope: runwire.Envelope, run: Any) -> Any:
        return run.cancel() if envelope.payload.get("text") == "two " else None

    held = ScriptedRun([*frames_of(*WORDS)[:4], Hold()], run_id=RUN)
    told = watch(wire, engine, held, on=stop)
    assert (told.status, told.text) == ("cancelled", "One two ")


@pytest.mark.parametrize("engine", ["dev", "langhost"])
def test_a_run_that_was_rolled_back_is_gone_and_cancelled(wire, engine):
    told = watch(wire, engine, ScriptedRun(told_before_the_end(), "cancelled", rolled_back=True, run_id=RUN))
    assert (told.status, told.text) == ("cancelled", TEXT)


def test_a_run_that_its_server_lost_is_an_error_and_no_cancel():
    """As when a server is killed that had not saved its threads: nobody stopped this run."""
    with ScriptedServer() as server, runwire.Client(server.url, retry=QUICK) as client:
        server.add(text_run(*WORDS, connections=[Cut(after=4)]))
        with client.stream("chat", "hi", profile="debug") as run:
            found = []
            for envelope in run:
                found.append(envelope)
                if envelope.type == "llm_token":
                    server._threads.clear()
        assert run.status == "error"
        assert conformance.check(found) == []
        # No call of the run is guilty of it.
        assert [(one.call_id, one.payload["node"]) for one in found if one.type == "error"] == [
            (found[0].call_id, None)
        ]
        assert [call.status for call in run.view.calls()] == ["error", "cancelled"]
        with pytest.raises(runwire.RunFailed, match="no longer knows the run nor its thread"):
            _ = run.result


@ROWS
def test_a_cancelled_run_raises_where_a_result_was_asked_for(wire, engine):
    with ScriptedServer(engine) as server:
        server.add(ScriptedRun(told_before_the_end(), "cancelled", run_id=RUN))
        with pytest.raises(runwire.RunCancelled):
            wire.result(server)


@ROWS
def test_a_run_that_took_too_long_is_a_timeout(wire, engine):
    told = watch(wire, engine, ScriptedRun(told_before_the_end(), "timeout", run_id=RUN))
    assert (told.status, told.text) == ("timeout", TEXT)


# Interrupts.


@ROWS
@pytest.mark.parametrize("source", ["tasks", "updates", "values", "messages"])
def test_a_run_that_waits_for_a_person_tells_for_what(wire, engine, source):
    ended = frames_of(*WORDS, status="interrupted", interrupts=[QUESTION])[-1][1]
    frames = {
        "tasks": [("tasks", ended)],
        "updates": [("updates", {"__interrupt__": [QUESTION]})],
        "values": [("values", {"messages": [], "__interrupt__": [QUESTION]})],
        "messages": [],
    }
    script: dict[str, Any] = {"status": "interrupted", "interrupts": [QUESTION], "run_id": RUN}
    told = watch(wire, engine, text_run(*WORDS, frames=told_before_the_end(*frames[source]), **script))
    assert (told.status, told.text) == ("interrupted", TEXT)
    assert [(one["id"], one["value"]) for one in told.run.interrupts] == [(QUESTION["id"], QUESTION["value"])]


@ROWS
def test_a_run_that_waits_raises_where_a_result_was_asked_for(wire, engine):
    with ScriptedServer(engine) as server:
        server.add(text_run("Well, ", status="interrupted", interrupts=[QUESTION]))
        with pytest.raises(runwire.RunInterrupted) as raised:
            wire.result(server)
    assert [one["id"] for one in raised.value.interrupts] == [QUESTION["id"]]


# Frames with other contents.


@ROWS
def test_tool_messages_of_either_type_end_their_tool_call(wire, engine):
    metadata, *answered = frames_of(*WORDS)
    asked = {"name": "weather", "args": {}, "id": "call-1", "type": "tool_call"}
    ai = {"content": "", "type": "ai", "id": "ai-1", "tool_calls": [asked]}
    tool = {"content": "sunny", "type": "tool", "id": "tool-1", "tool_call_id": "call-1", "name": "weather"}
    frames = [metadata, *node("model", "task-1", ai), *node("tools", "task-2", tool), *answered]
    values = {"messages": [ai, tool, *answered[-1][1]["result"]["messages"]]}
    told = watch(wire, engine, ScriptedRun(frames, run_id=RUN, values=values))
    ends = [one.payload for one in told.envelopes if one.type == "tool_end" and one.payload["tool_name"] == "weather"]
    assert [end["status"] for end in ends] == ["ok"]
    assert told.warnings == []


@ROWS
def test_the_root_of_events_may_have_any_name(wire, engine):
    meta = {"run_id": RUN, "graph_id": "agent"}
    events = [
        ("events", {"event": kind, "name": "agent", "run_id": RUN, "parent_ids": [], "metadata": meta, "data": data})
        for kind, data in [("on_chain_start", {"input": {}}), ("on_chain_end", {"output": {"answer": 42}})]
    ]
    frames = [("metadata", {"run_id": RUN, "attempt": 1}), *events]
    told = watch(wire, engine, ScriptedRun(frames, run_id=RUN, values={"answer": 42}), stream_modes=["events"])
    assert (told.status, told.warnings) == ("success", [])
    assert told.envelopes[0].payload["tool_name"] == "agent"


@ROWS
def test_a_second_metadata_frame_is_a_new_attempt_whatever_it_counts(wire, engine):
    _, start, *said, end = frames_of(*WORDS)
    again = [("messages", [{**data[0], "id": "lc_run--again"}, data[1]]) for _, data in said]
    values = {"messages": [{**end[1]["result"]["messages"][0], "id": "lc_run--again"}]}
    second = [("metadata", {"run_id": RUN, "attempt": 2}), start, *again, ("tasks", {**end[1], "result": values})]
    frames = [*frames_of("Lost ", "words")[:3], *second]
    told = watch(wire, engine, ScriptedRun(frames, run_id=RUN, values=values))
    assert (told.status, told.warnings.count("attempt")) == ("success", 1)
    ends = [one.payload["status"] for one in told.envelopes if one.type == "llm_end"]
    assert ends == ["cancelled", "ok"]


# Refusals and what is asked.


@ROWS
def test_an_unknown_assistant_is_refused_once(wire, engine):
    with ScriptedServer(engine, assistants=["other"]) as server:
        server.add(text_run("never"))
        told = wire.watch(server)
        assert isinstance(told.error, runwire.Refused | runwire.NotFound)
        assert told.error.status == ENGINES[engine].unknown_assistant
        assert "agent" in str(told.error)
        assert [one.method for one in server.requests] == ["POST"]


@ROWS
def test_an_unknown_stream_mode_is_refused_where_the_server_looks(wire, engine):
    told = watch(wire, engine, text_run(*WORDS), stream_modes=["nonsense"])
    if ENGINES[engine].checks_modes:
        assert isinstance(told.error, runwire.Refused)
        assert told.error.status == 422
    else:
        assert (told.error, told.status) == (None, "success")


@ROWS
def test_an_unknown_thread_is_made(wire, engine):
    told = watch(wire, engine, text_run(*WORDS), thread_id="22222222-2222-4222-8222-222222222222")
    assert (told.status, told.run.thread_id) == ("success", "22222222-2222-4222-8222-222222222222")


@ROWS
def test_attaching_to_an_unknown_run_or_thread_is_not_found(wire, engine):
    with ScriptedServer(engine) as server:
        server.add(text_run("other"), thread_id="t")
        for thread_id in ("t", "unknown"):
            assert isinstance(wire.watch(server, attach=(thread_id, RUN)).error, runwire.NotFound)


@ROWS
def test_nothing_is_left_to_a_default_in_which_engines_differ(wire, engine):
    with ScriptedServer(engine) as server:
        server.add(text_run(*WORDS, connections=[Cut(after=3)]))
        assert wire.watch(server).status == "success"
        asked, joins = server.requests[0].json, [one for one in server.requests if one.path.endswith("/stream")][1:]
    assert asked["on_disconnect"] == "continue"
    assert asked["if_not_exists"] == "create"
    assert asked["stream_resumable"] is asked["stream_subgraphs"] is True
    assert asked["stream_mode"]
    assert asked["config"]["recursion_limit"] > 25
    assert asked["metadata"]["runwire_key"]
    assert joins
    assert all(join.headers.get("last-event-id") and not join.query for join in joins)


@ROWS
def test_a_run_that_ends_with_its_watcher_is_cancelled_by_a_cut(wire, engine):
    held = ScriptedRun([*frames_of(*WORDS)[:4], Hold()], run_id=RUN, connections=[Cut(after=3)])
    told = watch(wire, engine, held, on_disconnect="cancel")
    assert told.status == "cancelled"


@ROWS
def test_a_thread_that_is_busy_for_a_moment_is_tried_again(wire, engine):
    busy = Status(409, {"detail": "Thread is already running a task."}, retry_after=0)
    with ScriptedServer(engine) as server:
        server.add(text_run(*WORDS, connections=[busy, busy]))
        assert wire.watch(server).text == TEXT
        assert len({one.json["metadata"]["runwire_key"] for one in server.requests if one.method == "POST"}) == 1


@ROWS
def test_a_thread_that_stays_busy_is_refused(wire, engine):
    told = watch(wire, engine, text_run("never", connections=[Status(409, {"detail": "busy"}, retry_after=0)] * 9))
    assert isinstance(told.error, runwire.Refused)
    assert told.error.status == 409


@ROWS
@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
def test_a_start_that_fails_for_a_moment_makes_one_run(wire, engine, code):
    with ScriptedServer(engine) as server:
        server.add(text_run(*WORDS, connections=[Status(code, {}, retry_after=0)] * 2))
        server.add(text_run("a second run"))
        assert wire.watch(server).text == TEXT


@ROWS
def test_a_start_whose_answer_was_lost_is_found_again(wire, engine):
    with ScriptedServer(engine) as server:
        server.add(text_run(*WORDS, run_id=RUN, connections=[Lost()]))
        server.add(text_run("a second run"))
        told = wire.watch(server)
        posts = [one for one in server.requests if one.method == "POST" and one.path.endswith("/runs/stream")]
    assert (told.text, told.status, told.run.run_id, len(posts)) == (TEXT, "success", RUN, 1)


# Joins.


@ROWS
@pytest.mark.parametrize("how", ["break", "close"])
@pytest.mark.parametrize("after", range(10))
def test_a_run_that_is_cut_after_any_frame_is_told_whole(wire, engine, how, after):
    script: dict[str, Any] = {"run_id": RUN, "late": 1}
    whole = watch(wire, engine, text_run(*WORDS, **script))
    told = watch(wire, engine, text_run(*WORDS, connections=[Cut(after=after, how=how)], **script))
    assert told.facts == whole.facts


@ROWS
@pytest.mark.parametrize("size", [1, 7, 60, 100, 400, 700, 1000, 1300])
def test_a_run_that_is_cut_inside_a_frame_is_told_whole(wire, engine, size):
    whole = watch(wire, engine, text_run(*WORDS, run_id=RUN))
    cuts = [Cut(bytes=size, how="close"), Cut(bytes=size), Cut(bytes=size + 50, how="reset")]
    assert watch(wire, engine, text_run(*WORDS, run_id=RUN, connections=cuts)).facts == whole.facts


@pytest.mark.parametrize("together", [2, 3, 5, 100])
@pytest.mark.parametrize("after", range(1, 9))
def test_a_cut_inside_a_group_of_one_id_loses_nothing(wire, together, after):
    engine = Engine(frames_per_ms=together)
    whole = watch(wire, engine, text_run(*WORDS, run_id=RUN))
    told = watch(wire, engine, text_run(*WORDS, run_id=RUN, connections=[Cut(after=after), Cut(after=together)]))
    assert told.facts == whole.facts


@pytest.mark.parametrize("together", [1, 2, 3])
@pytest.mark.parametrize("repeats", [1, 2, 4])
@pytest.mark.parametrize("engine", ["dev", "langhost"])
def test_frames_that_come_twice_at_the_seam_are_told_once(wire, engine, repeats, together):
    own = Engine(**{**vars(ENGINES[engine]), "frames_per_ms": together})
    whole = watch(wire, own, text_run(*WORDS, run_id=RUN))
    cuts = [Cut(after=2), Connection(seam=7, repeats=repeats)]
    assert watch(wire, own, text_run(*WORDS, run_id=RUN, connections=cuts)).facts == whole.facts


def test_equal_frames_of_one_id_are_told_as_often_as_they_were_sent(wire):
    words = ("la ", "la ", "la ", "la ", "la.")
    for together in (1, 2, 5):
        for after in range(1, 7):
            run = text_run(*words, connections=[Cut(after=after)])
            assert watch(wire, Engine(frames_per_ms=together), run).text == "la la la la la."


@ROWS
def test_a_server_that_replays_everything_is_told_once(wire, engine):
    whole = watch(wire, engine, text_run(*WORDS, run_id=RUN))
    cuts = [Cut(after=5), Cut(whole=True, after=7), Connection(whole=True)]
    assert watch(wire, engine, text_run(*WORDS, run_id=RUN, connections=cuts)).facts == whole.facts


@pytest.mark.parametrize("lost", [[3], [4, 5], [2, 6]])
def test_frames_that_aegra_loses_are_fetched_by_a_rejoin(wire, lost):
    whole = watch(wire, "aegra", text_run(*WORDS, run_id=RUN))
    told = watch(wire, "aegra", text_run(*WORDS, run_id=RUN, connections=[Connection(lost=lost)]))
    assert told.facts == whole.facts


def test_frames_that_aegra_loses_again_on_the_rejoin_are_fetched_by_the_next(wire):
    whole = watch(wire, "aegra", text_run(*WORDS, run_id=RUN))
    cuts = [Connection(lost=[3]), Connection(lost=[4, 5]), Connection(lost=[6])]
    assert watch(wire, "aegra", text_run(*WORDS, run_id=RUN, connections=cuts)).facts == whole.facts


def test_a_jump_to_the_end_frame_of_aegra_is_accepted_after_a_rejoin(wire):
    end = ("end", {"status": "success"}, f"{RUN}_event_99")
    frames = [*frames_of(*WORDS), end]
    told = watch(wire, "aegra", text_run(*WORDS, run_id=RUN, frames=frames, bare=True))
    assert (told.text, told.status, told.warnings) == (TEXT, "success", [])


@ROWS
def test_a_run_that_was_started_elsewhere_is_told_from_its_beginning(wire, engine):
    with ScriptedServer(engine) as server:
        server.add(text_run(*WORDS, run_id=RUN), thread_id="t")
        told = wire.watch(server, attach=("t", RUN))
    assert (told.text, told.status, told.warnings) == (TEXT, "success", [])
    assert {one.origin for one in told.envelopes if one.type == "llm_token"} == {"replay"}


@ROWS
def test_a_reader_goes_on_from_its_cursor_without_a_repeat(wire, engine):
    with ScriptedServer(engine) as server:
        server.add(text_run(*WORDS, run_id=RUN), thread_id="t")
        cursors: list[str] = []
        whole = wire.watch(server, attach=("t", RUN), on=lambda _, run: cursors.append(run.cursor))
        with_cursor = zip(range(1, len(whole.facts)), cursors, strict=False)
        for seen, cursor in with_cursor:
            rest = Wire(wire.kind)._bounded(
                wire._sync, wire._async, server.url, {}, {"after": cursor}, None, ("t", RUN)
            )
            merged = "".join(one.payload["text"] for one in whole.envelopes[seen:] if one.type == "llm_token")
            assert rest.text == merged


@ROWS
def test_a_silent_connection_is_left_for_a_new_one(wire, engine):
    run = text_run(*WORDS, connections=[Stall(after=3), Stall(after=2)])
    told = watch(wire, engine, run, limits=runwire.WireLimits(silence=0.2))
    assert (told.text, told.status) == (TEXT, "success")


@ROWS
@pytest.mark.parametrize("after", [1, 3, 5, 8])
def test_what_an_expired_log_lacks_is_told_from_history_with_a_warning(wire, engine, after):
    told = watch(wire, engine, text_run(*WORDS, run_id=RUN, kept=0, connections=[Cut(after=after)]))
    assert (told.status, told.warnings) == ("success", ["gap"])
    assert told.run.view.root.result["messages"][-1]["content"] == TEXT
    assert told.text in (TEXT, "".join(WORDS[: after - 2]))


@ROWS
def test_a_server_that_is_gone_ends_in_connection_lost_with_a_cursor(wire, engine):
    with ScriptedServer(engine) as server:
        server.add(text_run(*WORDS, connections=[Cut(after=4), *[Status(503, {}, retry_after=0)] * 20]))
        told = wire.watch(server)
    assert isinstance(told.error, runwire.ConnectionLost | runwire.ServerError)
    assert told.text == "One two "
    assert told.error.cursor


# The server for tests itself.


def ask(engine: str, run: ScriptedRun, *headers: dict[str, str]) -> list[str]:
    """The bodies of the stream of a run that has been started, asked for with each of the headers."""
    with ScriptedServer(engine) as server, httpx.Client(base_url=server.url) as client:
        server.add(run, thread_id="t")
        return [client.get(f"/threads/t/runs/{run.run_id}/stream", headers=one).text for one in headers]


@pytest.mark.parametrize(("engine", "counts"), [("dev", [0, 0, 10, 10]), ("langhost", [10, 0, 10, 10])])
def test_the_scripted_server_joins_as_dev_and_langhost_do(engine, counts):
    asked = [{}, {"last-event-id": "rubbish"}, {"last-event-id": "-1"}, {"last-event-id": "0-0"}]
    assert [body.count("event: ") for body in ask(engine, text_run(*WORDS), *asked)] == counts


def test_the_scripted_server_joins_as_aegra_does():
    run = text_run(*WORDS, run_id=RUN)
    bare, rubbish, late = ask("aegra", run, {}, {"last-event-id": "-1"}, {"last-event-id": f"{RUN}_event_17"})
    assert bare == f'event: end\ndata: {{"status":"success"}}\nid: {RUN}_event_21\n\n'
    assert rubbish.count("event: ") == 11
    assert late.count("event: ") == 2


@pytest.mark.parametrize("together", [1, 2, 4])
def test_the_scripted_server_replays_only_what_is_later_than_an_id(together):
    engine = Engine(frames_per_ms=together)
    with ScriptedServer(engine) as server, httpx.Client(base_url=server.url) as client:
        run = server.add(text_run(*WORDS), thread_id="t")
        later = {"last-event-id": engine.id_of(run.run_id, 0)}
        body = client.get(f"/threads/t/runs/{run.run_id}/stream", headers=later).text
    assert body.count("event: ") == 10 - together


def test_an_error_is_not_replayed_by_a_server_that_does_not_store_it():
    run = text_run("No", status="error", error=FAILURE)
    start = {"last-event-id": "0-0"}
    assert ["event: error" in ask(engine, run, start)[0] for engine in ("dev", "aegra")] == [False, True]


def test_a_script_without_a_further_run_says_so(wire):
    with ScriptedServer() as server:
        told = wire.watch(server)
    assert isinstance(told.error, runwire.Refused)
    assert "ScriptedServer.add" in str(told.error)


def test_a_frame_that_is_no_json_is_the_script_writers_error():
    with ScriptedServer() as server, pytest.raises(TypeError):
        server.add(ScriptedRun([("custom", object())]))
