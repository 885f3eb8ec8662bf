"""The SDK at its edges: what it asks for, where it finds its server, what it refuses, and that both clients are one."""

import inspect
import json
from typing import Any

import httpx
import pytest
import respx
from hypothesis import given
from hypothesis import strategies as st

import runwire
from runwire import AsyncClient, Client, ConfigError, Retry, ServerSentEvent
from runwire._config import KEYS, URLS
from runwire._handle import read_cursor, write_cursor
from runwire._requests import checked_answer
from runwire._seam import Seam

URL = "http://server.test"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in (*URLS, *KEYS):
        monkeypatch.delenv(name, raising=False)


def stream(*frames: tuple[str, Any]) -> httpx.Response:
    body = "".join(
        f"event: {event}\r\ndata: {json.dumps(data)}\r\nid: {n}-0\r\n\r\n" for n, (event, data) in enumerate(frames)
    )
    headers = {"content-type": "text/event-stream", "content-location": "/threads/t/runs/r"}
    return httpx.Response(200, headers=headers, content=body.encode())


@pytest.fixture
def server():
    with respx.mock(base_url=URL, assert_all_called=False) as mock:
        mock.post(path__regex=r"/threads/[^/]+/runs/stream").mock(
            return_value=stream(("metadata", {"run_id": "r"}), ("values", {"messages": []}))
        )
        mock.get(path__regex=r"/threads/[^/]+/runs/r$").respond(json={"run_id": "r", "status": "success"})
        state = {"values": {"messages": []}, "next": [], "interrupts": [], "metadata": {"run_id": "r"}}
        mock.get(path__regex=r"/threads/[^/]+/state").respond(json=state)
        mock.get(path__regex=r"/threads/[^/]+/runs/r/stream").mock(return_value=stream())
        yield mock


def sent(server: Any) -> dict[str, Any]:
    request = next(call.request for call in server.calls if call.request.method == "POST")
    body: dict[str, Any] = json.loads(request.content)
    return body


def test_a_run_is_asked_for_with_nothing_left_to_a_servers_default(server):
    with Client(URL, "secret-key") as client, client.stream("chat", "hi", metadata={"team": "a"}) as run:
        list(run)
    body = sent(server)
    assert body["assistant_id"] == "chat"
    assert body["input"] == {"messages": [{"role": "user", "content": "hi"}]}
    assert (body["stream_subgraphs"], body["stream_resumable"], body["on_disconnect"]) == (True, True, "continue")
    assert (body["if_not_exists"], body["config"]["recursion_limit"] > 0) == ("create", True)
    assert body["metadata"]["team"] == "a"
    assert run.status == "success"
    request = server.calls[0].request
    assert request.headers["x-api-key"] == "secret-key"
    assert request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("given_input", "expected"),
    [
        ("hi", {"messages": [{"role": "user", "content": "hi"}]}),
        ([{"role": "user", "content": "a"}], {"messages": [{"role": "user", "content": "a"}]}),
        ({"topic": "x"}, {"topic": "x"}),
    ],
)
def test_a_text_messages_and_a_state_are_all_an_input(server, given_input, expected):
    with Client(URL) as client:
        client.run("chat", given_input)
    assert sent(server)["input"] == expected


async def test_the_async_client_asks_for_the_same(server):
    async with AsyncClient(URL) as client, client.stream("chat", "hi") as run:
        found = [envelope.type async for envelope in run]
    assert found == ["tool_start", "tool_end"]
    assert sent(server)["stream_mode"] == ["tasks", "messages-tuple", "custom"]


@pytest.mark.parametrize(
    ("arguments", "variables", "expected"),
    [
        (("http://a.test/",), {"RUNWIRE_URL": "http://b.test"}, "http://a.test"),
        ((), {"RUNWIRE_URL": "http://b.test", "LANGGRAPH_API_URL": "http://c.test"}, "http://b.test"),
        ((), {"LANGGRAPH_API_URL": "http://c.test"}, "http://c.test"),
        ((), {}, "http://127.0.0.1:2024"),
    ],
)
def test_the_address_is_the_argument_then_our_variable_then_langgraphs_then_the_local_one(
    monkeypatch, arguments, variables, expected
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with Client(*arguments) as client:
        assert client.url == expected


@pytest.mark.parametrize("url", ["localhost:2024", "ftp://x", "http://", "file:///etc"])
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ConfigError, match="no address"):
        Client(url)


def test_no_text_of_a_client_or_a_run_shows_the_key():
    with Client("http://user:hunter2@a.test", "secret-key") as client:
        texts = repr(client) + repr(client._server) + repr(client.stream("chat", "hi")) + client.url
    assert "secret-key" not in texts
    assert "hunter2" not in texts


def public(kind: type) -> dict[str, inspect.Signature]:
    names = [name for name in dir(kind) if not name.startswith("_") and name not in ("sdk", "url")]
    return {name: inspect.signature(getattr(kind, name)) for name in names if callable(getattr(kind, name))}


def test_both_clients_have_the_same_methods_with_the_same_parameters():
    first, second = public(Client), public(AsyncClient)
    assert first.keys() == second.keys()
    assert {n: list(s.parameters) for n, s in first.items()} == {n: list(s.parameters) for n, s in second.items()}


def test_both_runs_tell_the_same():
    names = [{name for name in dir(kind) if not name.startswith("_")} for kind in (runwire.Run, runwire.AsyncRun)]
    assert names[0] == names[1]


INTERRUPTS = [{"id": "a", "value": {"action_requests": [1, 2]}}, {"id": "b", "value": "which?"}]


@pytest.mark.parametrize(
    ("interrupts", "answer"),
    [
        (INTERRUPTS, "yes"),
        (INTERRUPTS, {"c": 1}),
        (INTERRUPTS, {"a": {"decisions": [1]}}),
        (INTERRUPTS[:1], {"decisions": [1]}),
        (INTERRUPTS[:1], "yes"),
    ],
)
def test_an_answer_that_cannot_be_one_is_refused_before_it_is_sent(interrupts, answer):
    with pytest.raises(ConfigError):
        checked_answer(interrupts, answer)


@pytest.mark.parametrize(
    ("interrupts", "answer"),
    [
        (INTERRUPTS, {"a": {"decisions": [1, 2]}, "b": "x"}),
        (INTERRUPTS, {"b": "x"}),
        (INTERRUPTS[1:], "yes"),
        (INTERRUPTS[:1], {"decisions": [1, 2]}),
        ([], "anything"),
    ],
)
def test_an_answer_that_fits_is_sent_as_it_is(interrupts, answer):
    assert checked_answer(interrupts, answer) == answer


@given(st.dictionaries(st.text(min_size=1), st.integers(1, 2**40), max_size=20))
def test_a_cursor_comes_back_as_it_was(positions):
    assert read_cursor(write_cursor(positions)) == positions


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "eJwDAAAAAAE="])
def test_what_is_no_cursor_is_refused(cursor):
    with Client(URL) as client, pytest.raises(ConfigError):
        client.attach("t", "r", after=cursor or "-")


def test_waits_grow_within_bounds_and_are_spread():
    retry = Retry(first=0.2, most=5.0)
    assert [retry.delay(n, 1.0) for n in range(1, 8)] == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert retry.delay(3, 0.0) == 0.4


LOG = st.lists(st.tuples(st.integers(1, 6), st.sampled_from("abc")), max_size=30)


def later(log: list[ServerSentEvent], cursor: str) -> list[ServerSentEvent]:
    """What a server tells from a cursor on: only what is later than it, ids being shared between frames."""
    return [frame for frame in log if int((frame.id or "").split("-")[0]) > int(cursor.split("-")[0])]


def connection(seam: Seam, frames: list[ServerSentEvent]) -> tuple[list[ServerSentEvent], bool]:
    """What is delivered over one connection, and whether the run must be joined again to know more."""
    told: list[ServerSentEvent] = []
    for frame in frames:
        verdict = seam.accept(frame)
        if verdict == "again":
            return told, True
        if verdict == "deliver":
            told.append(frame)
    return told, False


@given(LOG, st.lists(st.integers(0, 30), max_size=4))
def test_a_run_that_is_resumed_anywhere_is_delivered_exactly_once(entries, cuts):
    log = [ServerSentEvent("custom", text, f"{stamp}-0") for stamp, text in sorted(entries, key=lambda e: e[0])]
    seam, told, doubt = Seam(1024), list[ServerSentEvent](), True
    for cut in cuts:
        told += connection(seam, later(log, seam.cursor)[:cut])[0]
        seam.resumed()
    while doubt:
        more, doubt = connection(seam, later(log, seam.cursor))
        told += more
        seam.resumed()
    assert [(frame.id, frame.raw) for frame in told] == [(frame.id, frame.raw) for frame in log]


def test_frames_that_come_twice_at_the_seam_are_delivered_once():
    log = [ServerSentEvent("custom", str(n), f"{n}-0") for n in range(1, 9)]
    seam = Seam(1024)
    told = [frame for frame in log[:3] if seam.accept(frame) == "deliver"]
    seam.resumed()
    again = [*log[2:6], *log[4:6], *log[6:]]
    told += [frame for frame in again if seam.accept(frame) == "deliver"]
    assert told == log


def test_an_id_that_cannot_stand_in_a_header_is_never_a_cursor():
    seam = Seam(8)
    for id in ("a\nb", "é", "x" * 9, ""):
        assert seam.accept(ServerSentEvent("custom", "1", id)) == "deliver"
    assert seam.cursor == "0-0"


def test_a_run_that_has_no_name_yet_cannot_be_cancelled():
    with Client(URL) as client, pytest.raises(ConfigError, match="first envelope"):
        client.stream("chat", "hi").cancel()


@pytest.mark.parametrize(("status", "raises"), [(200, None), (202, None), (404, None), (500, runwire.ServerError)])
def test_a_cancel_is_told_when_the_server_refuses_it(server, status, raises):
    server.post("/threads/t/runs/r/cancel").respond(status)
    with Client(URL) as client:
        run = client.attach("t", "r")
        if raises is None:
            run.cancel()
        else:
            with pytest.raises(raises):
                run.cancel()


def test_a_cancel_that_does_not_arrive_is_an_error_of_ours(server):
    server.post("/threads/t/runs/r/cancel").mock(side_effect=httpx.ReadError("gone"))
    with Client(URL) as client, pytest.raises(runwire.ConnectionLost):
        client.attach("t", "r").cancel()
