"""Streams that are broken or hostile: one typed error or recovery, everything before it told, nothing invented.

Each test is bounded in time and in what the client may hold, and no key may reach anybody but the configured server.
"""

import gzip
import json
import logging
import tracemalloc
from typing import Any

import pytest

import runwire
from runwire.testing import Connection, Cut, Flood, ScriptedRun, ScriptedServer, Stall, Status, text_run
from tests.test_engines import RUN, TEXT, WORDS, Watched, Wire, frames_of

KEY = "lsv2_sk_0123456789abcdef_secret"
KIB = 1024
MIB = 1024 * KIB
SMALL = runwire.WireLimits(frame=64 * KIB, line=64 * KIB, id=64, silence=2.0)
BEFORE = 4
TOLD = "One two "


@pytest.fixture(params=["sync", "async"])
def wire(request) -> Wire:
    return Wire(request.param)


def watch(wire: Wire, run: ScriptedRun, **options: Any) -> Watched:
    with ScriptedServer() as server:
        server.add(run)
        return wire.watch(server, **{"limits": SMALL, "api_key": KEY, **options})


def interrupted_by(*items: Any) -> list[Any]:
    """The frames of a sound run, with these in the middle."""
    frames = frames_of(*WORDS)
    return [*frames[:BEFORE], *items, *frames[BEFORE:]]


def raw(data: bytes, event: bytes = b"messages", id: bytes = b"") -> bytes:
    return b"event: %b\r\ndata: %b\r\n%b\r\n" % (event, data, b"id: %b\r\n" % id if id else b"")


def root_ends(told: Watched) -> int:
    return sum(one.parent_id is None and one.type == "tool_end" for one in told.envelopes)


# Data that is no good: it is told as a warning, and the run goes on.

DEEP = b"[" * 20_000 + b"]" * 20_000


@pytest.mark.parametrize(
    "data",
    [
        b'[{"content":"tru',
        b"{]",
        b"",
        b"\xff\xfe\xfd",
        b"NaN",
        b'[{"content":NaN,"type":"AIMessageChunk","id":"x"},{}]',
        b'{"a":Infinity}',
        DEEP,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b'"\\ud800"',
        b"null",
        b"12",
        b"[]",
        b'"text"',
        b'{"messages":0}',
    ],
    ids=[
        *("truncated", "invalid", "empty", "no-utf8", "nan", "nan-inside", "infinity", "deep-list", "deep-object"),
        *("surrogate", "null", "number", "list", "text", "shape"),
    ],
)
@pytest.mark.parametrize("event", ["messages", "tasks", "values", "updates", "custom", "unheard-of"])
def test_bad_data_costs_nothing_but_its_own_frame(wire, event, data):
    told = watch(wire, text_run(*WORDS, run_id=RUN, frames=interrupted_by(raw(data, event.encode()))))
    assert told.error is None
    assert (told.text, told.status) == (TEXT, "success")


@pytest.mark.parametrize("data", [b"{]", b"[1,2]", b"null", b"7", b'"text"'])
@pytest.mark.parametrize("event", [b"metadata", b"end"])
def test_bad_frames_without_a_mode_cost_nothing_either(wire, event, data):
    told = watch(wire, text_run(*WORDS, run_id=RUN, frames=interrupted_by(raw(data, event))))
    assert (told.error, told.text, told.status) == (None, TEXT, "success")


def test_an_error_frame_of_no_known_shape_never_makes_a_success_a_failure_without_a_word(wire):
    told = watch(wire, text_run(*WORDS, run_id=RUN, frames=interrupted_by(raw(b"[[[", b"error"))))
    assert told.error is None
    assert told.status in ("success", "error")
    assert told.text == TEXT


def test_a_frame_without_its_blank_line_is_never_told(wire):
    frames = [*frames_of(*WORDS)[:BEFORE], b'event: custom\r\ndata: {"half": 1}\r\n']
    told = watch(wire, text_run(*WORDS, frames=frames, bare=True, status="cancelled"))
    assert told.status == "cancelled" or isinstance(told.error, runwire.ConnectionLost)
    assert told.text == TOLD
    assert not [one for one in told.envelopes if one.payload.get("data") == {"half": 1}]


def test_line_separators_of_other_alphabets_stand_inside_data(wire):
    words = ("a\u2028b", "c\u2029d", "e\u0085f", "g\u000bh")
    assert watch(wire, text_run(*words)).text == "".join(words)


# Ids.


@pytest.mark.parametrize(
    "id",
    ["\x01\x02", "a\tb", "ключ", "\u2028", "1\x7f", "x" * 10_000, "-", " ", "1794979631046-0 injected: yes", "../../x"],
)
def test_an_id_that_cannot_stand_in_a_header_is_never_sent(wire, id):
    frames = [(event, data, id) for event, data in frames_of(*WORDS)]
    with ScriptedServer() as server:
        server.add(text_run(*WORDS, run_id=RUN, frames=frames, connections=[Cut(after=5)]))
        told = wire.watch(server, limits=SMALL)
        sent = [one.headers.get("last-event-id", "") for one in server.requests]
    assert told.error is None or isinstance(told.error, runwire.ProtocolError)
    assert told.text.startswith("One two three ")
    assert all(one.isascii() and one.isprintable() and len(one) <= SMALL.id for one in sent)


def test_odd_ids_among_good_ones_lose_nothing(wire):
    frames = frames_of(*WORDS)
    odd = ("custom", {"odd": True}, "nicht-gültig\x03")
    told = watch(wire, text_run(*WORDS, run_id=RUN, frames=[*frames[:5], odd, *frames[5:]], connections=[Cut(after=6)]))
    assert (told.error, told.text, told.status) == (None, TEXT, "success")


@pytest.mark.parametrize("after", [2, 4, 7])
def test_one_id_for_all_frames_loses_and_doubles_nothing(wire, after):
    frames = [(event, data, "1794979631046-0") for event, data in frames_of(*WORDS)]
    told = watch(wire, text_run(*WORDS, run_id=RUN, frames=frames, connections=[Cut(after=after)]))
    assert (told.error, told.text, told.status) == (None, TEXT, "success")


@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_full_replay_is_told_once(wire, after):
    told = watch(wire, text_run(*WORDS, run_id=RUN, connections=[Cut(after=after), Connection(whole=True)]))
    assert (told.error, told.text, told.status, told.warnings) == (None, TEXT, "success", [])


# Sizes.


@pytest.mark.parametrize(
    "item",
    [
        b"data: " + b"x" * MIB,
        b": " + b"x" * MIB,
        b"id: " + b"x" * MIB,
        b"event: " + b"x" * MIB,
        b"x" * MIB,
        raw(b'"' + b"x" * MIB + b'"', b"custom"),
        b"event: custom\r\n" + b"data: 1\r\n" * 200_000 + b"\r\n",
    ],
    ids="data comment id event field frame lines".split(),
)
def test_what_exceeds_a_limit_is_one_typed_error(wire, item):
    told = watch(wire, text_run(*WORDS, frames=interrupted_by(item)))
    assert isinstance(told.error, runwire.ProtocolError)
    assert told.text == TOLD
    assert root_ends(told) == 0


@pytest.mark.parametrize(
    "chunk",
    [b"x" * 4096, b": x" * 1000, b"data: 1\r\n" * 500, b"id: 1\n" * 500, b"event: x\n" * 500],
    ids="line comment data ids events".split(),
)
def test_what_never_ends_ends_in_bounded_time_and_memory(wire, chunk):
    tracemalloc.start()
    try:
        told = watch(wire, text_run(*WORDS, connections=[Flood(after=BEFORE, chunk=chunk)]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(told.error, runwire.ProtocolError)
    assert told.text == TOLD
    assert peak < 16 * MIB


def test_a_flood_of_whole_comments_does_not_outlive_the_readers_time(wire):
    told = watch(wire, text_run(*WORDS, connections=[Flood(after=BEFORE, chunk=b": x\n\n" * 500)]), timeout=1.0)
    assert isinstance(told.error, runwire.RunTimeout | runwire.ProtocolError)
    assert told.text == TOLD


def test_a_large_frame_within_the_limit_is_told(wire):
    big = {"text": "x" * (8 * MIB)}
    told = watch(wire, text_run(*WORDS, frames=interrupted_by(("custom", big))), limits=runwire.WireLimits())
    assert (told.error, told.status) == (None, "success")
    assert [one for one in told.envelopes if one.type == "tool_update"]


def test_a_frame_of_a_hundred_megabytes_is_refused_by_default(wire):
    flood = Flood(after=BEFORE, chunk=b"x" * MIB)
    told = watch(wire, text_run(*WORDS, connections=[flood]), limits=None)
    assert isinstance(told.error, runwire.ProtocolError)
    assert told.text == TOLD


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
def test_a_compressed_stream_is_refused_before_it_is_unpacked(wire, encoding):
    bomb = gzip.compress(b"data: " + b"0" * (64 * MIB))
    tracemalloc.start()
    try:
        headers = {"content-encoding": encoding}
        told = watch(wire, text_run("never", frames=[bomb], bare=True, connections=[Connection(headers=headers)]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(told.error, runwire.ProtocolError)
    assert (told.text, peak < 16 * MIB) == ("", True)


@pytest.mark.parametrize("path", ["*/runs/????????-*", "*/state", "*/history"])
def test_a_bomb_in_place_of_json_is_never_unpacked_whole(wire, path):
    bomb = Status(200, gzip.compress(b'{"a":"' + b"0" * (128 * MIB)), {"content-encoding": "gzip"})
    tracemalloc.start()
    try:
        with ScriptedServer() as server:
            for method in ("GET", "POST"):
                server.answer(method, path, *[bomb] * 2)
            server.add(text_run(*WORDS, run_id=RUN, kept=0, connections=[Cut(after=BEFORE)]))
            told = wire.watch(server, limits=SMALL)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert told.text in (TOLD, TEXT)
    assert peak < 64 * MIB


# Answers that are no stream.

PAGE = b"<!doctype html><html><body>Sign in</body></html>"


@pytest.mark.parametrize("kind", ["text/html", "application/json", "text/plain", "application/octet-stream", ""])
def test_another_content_type_is_a_protocol_error(wire, kind):
    told = watch(wire, text_run("never", connections=[Connection(headers={"content-type": kind or None})]))
    assert isinstance(told.error, runwire.ProtocolError)
    assert told.envelopes == []


def test_a_page_with_status_200_is_a_protocol_error(wire):
    told = watch(wire, text_run("never", connections=[Status(200, PAGE, {"content-type": "text/html"})]))
    assert isinstance(told.error, runwire.ProtocolError)
    assert "html" in str(told.error)
    assert told.envelopes == []


def test_a_page_that_says_it_is_a_stream_invents_nothing(wire):
    told = watch(wire, text_run("never", connections=[Status(200, PAGE, {"content-type": "text/event-stream"})]))
    assert isinstance(told.error, runwire.RunwireError)
    assert told.text == ""


@pytest.mark.parametrize("path", ["*/stream", "*/runs/????????-*", "*/state"])
def test_a_page_in_the_middle_of_a_run_is_never_taken_for_its_end(wire, path):
    page = Status(200, PAGE, {"content-type": "text/html"})
    with ScriptedServer() as server:
        server.answer("GET", path, *[page] * 50)
        server.add(text_run(*WORDS, run_id=RUN, status="error", error={"error": "E"}, connections=[Cut(after=BEFORE)]))
        told = wire.watch(server, limits=SMALL)
    assert told.text in (TOLD, TEXT)
    assert told.error is not None or told.status == "error"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"status":7}', b'{"status":"unheard-of"}', b"<html>"])
def test_a_run_record_that_is_no_record_is_never_taken_for_success(wire, body):
    with ScriptedServer() as server:
        server.answer("GET", "*/runs/????????-????-????-????-????????????", *[Status(200, body)] * 50)
        server.add(text_run(*WORDS, run_id=RUN, status="error", error={"error": "E", "message": "no"}))
        told = wire.watch(server, limits=SMALL)
    assert isinstance(told.error, runwire.RunwireError) or told.status == "error"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"values":7,"next":3,"interrupts":{"a":1}}', DEEP])
def test_a_state_that_is_no_state_is_survived_or_told(wire, body):
    with ScriptedServer() as server:
        server.answer("GET", "*/state", *[Status(200, body)] * 50)
        server.add(text_run(*WORDS, run_id=RUN))
        told = wire.watch(server, limits=SMALL)
    assert told.text == TEXT
    assert isinstance(told.error, runwire.RunwireError) or told.status in ("success", "interrupted")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"[7]", b'[{"run_id":7,"metadata":[]}]'])
def test_a_list_of_runs_that_is_none_ends_in_one_run(wire, body):
    with ScriptedServer() as server:
        server.answer("GET", "*/runs", *[Status(200, body)] * 50)
        server.add(text_run(*WORDS, connections=[Status(503, {}, retry_after=0)]))
        told = wire.watch(server, limits=SMALL)
    assert told.error is not None or (told.text, told.status) == (TEXT, "success")


@pytest.mark.parametrize(
    "value", ["never", "-5", "1e999", "nan", "inf", "99999999999", "Thu, 01 Jan 1970 00:00:00 GMT"]
)
def test_a_hostile_retry_after_neither_breaks_nor_hangs_the_client(wire, value):
    refused = Status(503, {}, {"retry-after": value})
    told = watch(wire, text_run(*WORDS, connections=[refused]), timeout=3.0)
    assert isinstance(told.error, runwire.RunwireError) or told.text == TEXT


# No end.


@pytest.mark.parametrize("status", ["success", "error", "cancelled"])
def test_heartbeats_without_an_end_are_left_once_the_run_is_over(wire, status):
    script: dict[str, Any] = {"status": status, "error": {"error": "E", "message": "no"} if status == "error" else None}
    run = text_run(*WORDS, run_id=RUN, connections=[Stall(beats=0.05)], **script)
    told = watch(wire, run, limits=runwire.WireLimits(silence=0.5))
    assert (told.error, told.text, told.status) == (None, TEXT, status)


def test_a_server_that_is_silent_from_the_start_is_given_up(wire):
    stalls = [Stall(after=0)] * 30
    told = watch(
        wire, text_run("never", connections=stalls, late=30), limits=runwire.WireLimits(silence=0.1), timeout=15.0
    )
    assert isinstance(told.error, runwire.ConnectionLost)
    assert told.text == ""


def test_a_run_whose_stream_ends_at_once_for_ever_is_given_up(wire):
    told = watch(wire, text_run("never", connections=[Cut(after=0, how="close")] * 50, late=50))
    assert isinstance(told.error, runwire.ConnectionLost)


# Keys.


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "path", ["*/runs/stream", "*/runs/????????-????-????-????-????????????", "*/state", "*-*/stream"]
)
def test_a_redirect_elsewhere_is_never_followed(wire, path, code):
    with ScriptedServer() as other, ScriptedServer() as server:
        away = Status(code, {}, {"location": f"{other.url}/threads/t/runs/{RUN}/stream"})
        for method in ("GET", "POST"):
            server.answer(method, path, *[away] * 50)
        server.add(text_run(*WORDS, run_id=RUN, connections=[Cut(after=BEFORE)]))
        told = wire.watch(server, limits=SMALL, api_key=KEY)
        assert other.requests == []
    assert told.error is not None
    assert told.text in ("", TOLD, TEXT)


def test_a_location_elsewhere_never_gets_the_key(wire):
    with ScriptedServer() as other, ScriptedServer() as server:
        place = f"{other.url}/threads/t/runs/{RUN}"
        headers = {"location": f"{place}/stream", "content-location": place}
        server.add(text_run(*WORDS, run_id=RUN, connections=[Cut(after=BEFORE, headers=headers)]))
        told = wire.watch(server, limits=SMALL, api_key=KEY)
        assert other.requests == []
        assert all(one.headers["x-api-key"] == KEY for one in server.requests)
    assert (told.text, told.status) == (TEXT, "success")


@pytest.mark.parametrize("name", ["..", "../../evil", "%2e%2e", "a b", "x?y=1", "x#y", "\N{GREEK SMALL LETTER PI}"])
def test_a_location_with_a_strange_run_never_leaves_its_path(wire, name):
    headers = {"location": None, "content-location": f"/threads/t/runs/{name}".encode().decode("latin-1")}
    with ScriptedServer() as server:
        server.add(text_run(*WORDS, run_id=RUN, connections=[Cut(after=BEFORE, headers=headers)]))
        told = wire.watch(server, limits=SMALL, api_key=KEY)
        paths = [one.path for one in server.requests]
    assert all(path.startswith(f"/threads/{told.run.thread_id}/") for path in paths)
    assert isinstance(told.error, runwire.RunwireError) or told.text in (TEXT, TOLD)


@pytest.mark.parametrize(
    "behaviours",
    [
        [Status(401, {"detail": f"bad key {KEY}"})],
        [Status(403, {"detail": "no"})],
        [Status(500, {"detail": "no"}, retry_after=0)] * 20,
        [Status(200, PAGE, {"content-type": "text/html"})],
        [Cut(after=BEFORE)],
        [Flood(after=BEFORE, chunk=b"x" * 4096)],
    ],
    ids="401 403 500 page cut flood".split(),
)
def test_the_key_is_in_no_text_that_the_client_writes(wire, behaviours, caplog):
    with caplog.at_level(logging.DEBUG):
        told = watch(wire, text_run(*WORDS, connections=behaviours))
    texts = [caplog.text, repr(told.run), repr(told.error), str(told.error), repr(vars(told.error or Exception()))]
    texts += [one.to_json().decode() for one in told.envelopes]
    cause: BaseException | None = told.error
    while cause is not None:
        texts += [repr(cause), str(cause)]
        cause = cause.__cause__ or cause.__context__
    # What the server itself says of a key is its own word.
    if behaviours[0] != Status(401, {"detail": f"bad key {KEY}"}):
        assert not [text for text in texts if KEY in text]
    assert KEY not in caplog.text


def test_the_key_is_in_no_text_of_a_client():
    for url in ("http://127.0.0.1:9", "http://user:hunter2@127.0.0.1:9"):
        with runwire.Client(url, api_key=KEY) as client:
            told = [repr(client), str(client), repr(client._server), client.url]
        assert not [text for text in told if KEY in text or "hunter2" in text]


@pytest.mark.parametrize("key", ["a\r\nx-evil: 1", "a\nb", "ключ", "a b\x00"])
def test_a_key_that_cannot_be_a_header_is_the_callers_error_and_stays_unsaid(key):
    with pytest.raises(runwire.ConfigError) as raised:
        runwire.Client("http://127.0.0.1:9", api_key=key)
    assert key not in str(raised.value)


@pytest.mark.parametrize("url", ["ftp://x", "javascript:alert(1)", "127.0.0.1:2024", "http://", "file:///etc/passwd"])
def test_an_address_that_is_none_is_the_callers_error(url):
    with pytest.raises(runwire.ConfigError):
        runwire.Client(url)


def test_secrets_in_frames_never_reach_the_envelopes(wire):
    config = {"configurable": {"api_key": KEY, "langgraph_auth_user": {"identity": "ada", "token": KEY}}}
    checkpoint: dict[str, Any] = {
        "config": config,
        "parent_config": None,
        "values": {},
        "metadata": {},
        "next": [],
        "tasks": [],
    }
    told = watch(wire, text_run(*WORDS, run_id=RUN, frames=interrupted_by(("checkpoints", checkpoint))))
    assert told.error is None
    assert KEY not in json.dumps(told.facts)
