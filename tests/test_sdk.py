"""The SDK against a real server: runs, results, answers, cursors, cancels and many runs at once."""

import itertools
import re
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import runwire
from runwire import (
    AsyncClient,
    Client,
    GraphOutput,
    OutputState,
    RunCancelled,
    RunFailed,
    RunInterrupted,
    RunTimeout,
    RunView,
    conformance,
    normalize_output,
    register_output,
    unregister_output,
)
from tests.graphs import GRAPHS
from tests.serve import prepare, serve


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), tuple(GRAPHS))
        with serve(Path(folder)) as (address, _):
            yield address


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as opened:
        yield opened


def test_a_run_is_iterated_and_its_handle_tells_all_of_it(client):
    with client.stream("deep", "compare A and B") as run:
        found = list(run)
    assert conformance.check(found) == []
    assert run.status == "success"
    assert run.run_id is not None
    assert run.run_id == run.trace_id
    assert run.view.text == "A and B are both 42."
    assert run.usage["total_tokens"] > 0
    assert run.result.type == "deep_agent"
    assert {call.agent for call in run.calls()} >= {"researcher", "critic"}
    assert run.interrupts == []


def test_text_is_only_the_answers(client):
    with client.stream("twins", "answers and questions?") as run:
        assert "".join(run.text()) == "Both, it says."


def test_a_result_alone_is_typed(client):
    assert client.run("planner", "search and write").type == "planning"
    assert client.run("react", "how is it?").chat_compatible


def test_an_assistants_own_id_gives_the_output_of_its_graph(client):
    (assistant,) = client.sdk.assistants.search(graph_id="nested", limit=1)
    asked = []

    @register_output("nested")
    def read(state: OutputState) -> GraphOutput:
        asked.append(state)
        return normalize_output(None, state.values)

    try:
        with client.stream(assistant["assistant_id"], "go") as run:
            found = list(run)
        assert found[0].payload["tool_name"] == "nested"
        before = len(asked)
        assert run.result.messages
        assert len(asked) == before + 1
        with client.attach(run.thread_id, run.run_id or "") as again:
            assert next(iter(again)).payload["tool_name"] == "nested"
    finally:
        unregister_output("nested")


async def test_the_async_client_gives_the_same_result(url):
    async with AsyncClient(url) as client:
        assert (await client.run("react", "how is it?")).type == "chat"
        async with client.stream("slow", "20 x 1") as run:
            pieces = [piece async for piece in run.text()]
    assert "n19" in "".join(pieces)


def test_a_failed_run_is_data_and_raised_only_where_a_result_is_asked_for(client):
    with client.stream("tool_raises", "go") as run:
        found = list(run)
    assert run.status == "error"
    assert [e.payload["message"] for e in found if e.type == "error"] == ["tool blew up"]
    with pytest.raises(RunFailed, match="tool blew up") as raised:
        _ = run.result
    assert raised.value.run_id == run.run_id
    with pytest.raises(RunFailed):
        client.run("node_raises", "go")


@pytest.mark.parametrize("way", ["respond", "other process"])
def test_a_run_that_waits_is_answered_and_goes_on_in_its_trace(client, way):
    with client.stream("deep_ask", "go", profile="debug") as run:
        first = list(run)
    assert run.status == "interrupted"
    with pytest.raises(RunInterrupted) as raised:
        _ = run.result
    (asked,) = raised.value.interrupts
    assert asked["value"] == {"question": "which colour?"}
    assert (asked["owner"]["name"], asked["owner"]["agent"]) == ("ask_person", "asker")
    assert asked["id"]
    if way == "respond":
        answered = run.respond("blue", profile="debug")
    else:
        answered = client.stream("deep_ask", resume="blue", thread_id=run.thread_id, profile="debug")
    with answered as again:
        second = list(again)
    assert (again.status, again.trace_id) == ("success", run.trace_id)
    assert {e.call_id for e in second} & {e.call_id for e in first}
    if way == "respond":
        assert conformance.check(second, after=first) == []


def test_an_answer_where_nothing_waits_is_refused(client):
    with client.stream("react", "hi") as run:
        list(run)
    with pytest.raises(runwire.ConfigError, match="does not wait"):
        run.respond("yes")
    with pytest.raises(runwire.ConfigError, match="nothing waits"):
        list(client.stream("react", resume="yes", thread_id=run.thread_id))


def test_leaving_early_detaches_and_the_run_goes_on_and_can_be_attached_to_after_the_cursor(client):
    with client.stream("slow", "60 x 10", profile="debug") as run:
        begun = list(itertools.islice(run, 12))
    assert run.status == "running"
    assert not [thread for thread in threading.enumerate() if thread.name == "runwire"]
    with client.attach(run.thread_id, run.run_id or "", after=run.cursor, profile="debug") as again:
        rest = list(again)
    assert again.status == "success"
    with client.attach(run.thread_id, run.run_id or "", profile="debug") as whole:
        every = [(e.type, e.call_id, e.seq) for e in whole]
    assert [(e.type, e.call_id, e.seq) for e in [*begun, *rest]] == every


def test_a_cancelled_run_says_so(client):
    with client.stream("slow", "300 x 20") as run:
        for envelope in run:
            if envelope.type == "llm_token" and "n5 " in run.view.text:
                run.cancel()
                break
        list(run)
    assert run.status == "cancelled"
    with pytest.raises(RunCancelled):
        _ = run.result


def test_the_readers_time_is_its_own(client):
    with client.stream("slow", "300 x 20", timeout=1.5) as run, pytest.raises(RunTimeout):
        list(run)
    assert client.sdk.runs.get(run.thread_id, run.run_id or "")["status"] in ("pending", "running")


def test_a_thread_is_replayed_from_its_checkpoints_with_the_ids_that_it_had_live(client):
    with client.stream("deep", "compare A and B") as run:
        stream = list(run)
    (again,) = client.replay(run.thread_id)
    assert again.trace_id == run.trace_id
    assert {(e.call_id, e.agent) for e in again.envelopes} == {(e.call_id, e.agent) for e in stream}
    assert RunView.of(again.envelopes).text == run.view.text
    with pytest.raises(runwire.NotFound):
        client.replay(run.thread_id, "00000000-0000-0000-0000-000000000000")


def test_many_runs_at_once_on_one_client_do_not_mix(client):
    found: dict[int, str] = {}

    def watch(number: int) -> None:
        with client.stream("slow", f"{number} x 1") as run:
            found[number] = "".join(run.text())

    threads = [threading.Thread(target=watch, args=(number,)) for number in range(20, 26)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(found) == list(range(20, 26))
    assert {number: len(re.findall(r"n\d+", text)) for number, text in found.items()} == {n: n for n in found}


def test_a_server_that_is_not_there_is_told_with_what_was_tried():
    with (
        Client("http://127.0.0.1:9", retry=runwire.Retry(attempts=2, first=0.01)) as client,
        pytest.raises(runwire.ConnectionLost, match="3 attempts"),
    ):
        list(client.stream("chat", "hi"))


def test_an_assistant_that_is_not_there_is_refused(client):
    with pytest.raises(runwire.ServerError) as raised:
        list(client.stream("nobody", "hi"))
    assert raised.value.status in (404, 422)
