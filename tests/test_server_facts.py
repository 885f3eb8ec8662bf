"""What the client relies on in a server, one fact a test, against the real one: a new version that changes it fails."""

import itertools
import re
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from runwire import SSEDecoder
from runwire._requests import ASSISTANT, KEY, start_body
from runwire._watch import GOING, STATUSES
from tests.serve import RUN_SECONDS, Api, Stream, prepare, serve

NAMES = ("react", "slow", "deep", "deep_ask", "node_raises", "tool_raises", "nested")


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), NAMES)
        with serve(Path(folder)) as (url, _), httpx.Client(base_url=url, timeout=RUN_SECONDS) as http:
            yield Api(http)


def body(assistant: str, text: str = "go", key: str = "k") -> dict[str, Any]:
    """What the client itself sends."""
    options: dict[str, Any] = {"modes": None, "config": None, "context": None, "metadata": None}
    return start_body(assistant, text, None, key, on_disconnect="continue", **options)


def ran(api: Api, assistant: str, text: str = "go") -> Stream:
    return api.stream(f"/threads/{uuid.uuid4()}", body(assistant, text))


def told(content: bytes) -> list[tuple[str, Any, str | None]]:
    return [(frame.event, orjson.loads(frame.raw), frame.id) for frame in SSEDecoder().feed(content)]


def joined(api: Api, location: str, last_id: str | None) -> bytes:
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    return api.http.get(f"{location}/stream", headers=headers).raise_for_status().content


def test_a_thread_that_the_client_names_is_created_with_its_first_run(api):
    thread = f"/threads/{uuid.uuid4()}"
    api.stream(thread, body("react"))
    assert api.get(thread)["thread_id"] == thread.rpartition("/")[2]


def test_the_run_is_named_before_the_first_byte_and_by_the_first_frame(api):
    stream = ran(api, "react")
    event, data, _ = told(stream.content)[0]
    assert (event, data["run_id"]) == ("metadata", stream.location.rpartition("/")[2])


def test_nothing_is_compressed_though_it_might_be(api):
    with api.http.stream("POST", f"/threads/{uuid.uuid4()}/runs/stream", json=body("react")) as answer:
        assert answer.request.headers["accept-encoding"].startswith("gzip")
        assert "content-encoding" not in answer.headers
        assert answer.headers["content-type"].startswith("text/event-stream")


def test_every_frame_of_a_resumable_run_has_an_id_that_is_a_time(api):
    ids = [id for _, _, id in told(ran(api, "slow", "50 x 0").content)]
    assert all(re.fullmatch(r"\d{13}-\d+", id or "") for id in ids)


def test_a_run_that_says_nothing_keeps_its_connection_alive(api):
    """Silence is death to the client after fifteen seconds; the server speaks every five."""
    assert b": heartbeat" in ran(api, "slow", "2 x 5500").content


def test_a_whole_log_is_given_again_from_the_start_after_the_end_and_nothing_without_a_cursor(api):
    stream = ran(api, "deep")
    api.ended(stream.location)
    assert told(joined(api, stream.location, "0-0")) == told(stream.content)
    assert told(joined(api, stream.location, None)) == []


def test_a_cursor_gives_exactly_what_has_a_later_id(api):
    stream = ran(api, "slow", "40 x 3")
    api.ended(stream.location)
    frames = told(stream.content)
    cursor = frames[20][2] or ""
    assert told(joined(api, stream.location, cursor)) == [one for one in frames if (one[2] or "") > cursor]


def test_an_error_is_sent_once_is_not_kept_and_can_be_asked_for(api):
    stream = ran(api, "node_raises")
    run = api.ended(stream.location)
    assert run["status"] == "error"
    event, data, _ = told(stream.content)[-1]
    assert (event, set(data)) == ("error", {"error", "message"})
    assert "error" not in [event for event, _, _ in told(joined(api, stream.location, "0-0"))]
    assert api.get(f"{stream.location}/join")["__error__"] == data


def test_a_run_that_waits_is_a_success_and_its_state_tells_for_what(api):
    stream = ran(api, "deep_ask")
    assert api.ended(stream.location)["status"] == "success"
    state = api.get(f"{stream.location.partition('/runs/')[0]}/state?subgraphs=true")
    assert state["next"]
    assert [set(one) >= {"id", "value"} for one in state["interrupts"]] == [True]
    assert state["metadata"]["run_id"] == stream.location.rpartition("/")[2]


def test_a_cancelled_run_just_ends_and_its_record_says_interrupted(api):
    asked: list[int] = []

    def cancel(location: str, content: bytes) -> None:
        if b"event: messages" in content and not asked:
            asked.append(api.http.post(f"{location}/cancel?wait=false").status_code)

    stream = api.stream(f"/threads/{uuid.uuid4()}", body("slow", "400 x 10"), cancel)
    assert asked == [202]
    assert "error" not in [event for event, _, _ in told(stream.content)]
    assert api.ended(stream.location)["status"] == "interrupted"


def test_a_run_is_found_by_the_key_in_its_metadata(api):
    thread = f"/threads/{uuid.uuid4()}"
    stream = api.stream(thread, body("react", key="lost"))
    (run,) = api.get(f"{thread}/runs?limit=20")
    assert (run["run_id"], run["metadata"][KEY]) == (stream.location.rpartition("/")[2], "lost")
    assert run["metadata"][ASSISTANT] == run["kwargs"]["config"]["configurable"]["graph_id"] == "react"
    assert run["kwargs"]["input"] == body("react")["input"]
    assert run["status"] in STATUSES - GOING


def test_a_run_that_is_not_there_is_an_error_frame_of_the_server(api):
    thread = api.thread()
    ((event, data, _),) = told(joined(api, f"{thread}/runs/{uuid.uuid4()}", "0-0"))
    assert (event, data["error"]) == ("error", "HTTPException")
    assert data["message"].startswith("404")


def test_a_subagents_frames_name_the_task_that_holds_its_tool_call(api):
    frames = told(ran(api, "deep").content)
    inner = {event.partition("|")[2] for event, _, _ in frames if event.startswith("tasks|")}
    starts = {data["id"]: data["input"] for event, data, _ in frames if event == "tasks" and "input" in data}
    calls = [starts[namespace.rpartition(":")[2]] for namespace in inner if "|" not in namespace]
    assert calls
    found = [call for one in calls for call in one]
    assert all(call["name"] == "task" and call["id"] for call in found)


def test_the_history_of_an_inner_graph_is_asked_for_by_its_namespace(api):
    stream = ran(api, "nested")
    api.ended(stream.location)
    thread = stream.location.partition("/runs/")[0]
    inner = sorted({event.partition("|")[2] for event, _, _ in told(stream.content) if "|" in event})
    assert inner
    for namespace in inner:
        asked = {"limit": 100, "checkpoint": {"thread_id": thread.rpartition("/")[2], "checkpoint_ns": namespace}}
        assert api.post(f"{thread}/history", asked)


def test_an_assistant_answers_to_its_graph_and_to_its_own_id(api):
    (assistant,) = api.post("/assistants/search", {"graph_id": "react", "limit": 1})
    stream = ran(api, assistant["assistant_id"])
    assert api.ended(stream.location)["kwargs"]["config"]["configurable"]["graph_id"] == "react"


def test_a_limit_of_steps_that_is_asked_for_is_kept(api):
    asked = body("deep") | {"config": {"recursion_limit": 1}}
    stream = api.stream(f"/threads/{uuid.uuid4()}", asked)
    assert told(stream.content)[-1][1]["error"] == "GraphRecursionError"


def test_the_bytes_of_a_turn_barely_grow_with_the_turns_before_it(api):
    """Why the client asks for these modes: tokens and updates do not repeat the history; a task's input does."""
    thread = f"/threads/{uuid.uuid4()}"
    sizes = [len(api.stream(thread, body("slow", "30 x 0")).content) for _ in range(4)]
    growth = [later - earlier for earlier, later in itertools.pairwise(sizes)]
    assert max(growth) < sizes[0] / 4
