"""The decoder of server-sent events, by the WHATWG rules, at the level of bytes."""

import httpx
import httpx_sse
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runwire_normalizers import ServerSentEvent, SSEDecoder
from tests.feeding import FOLDER, NAMES


def decoded(*chunks: bytes) -> list[ServerSentEvent]:
    decoder = SSEDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"data: a\n\n", [("message", "a", None)]),
        (b"data: a\r\n\r\n", [("message", "a", None)]),
        (b"data: a\r\r", [("message", "a", None)]),
        (b"data: a\r\n\ndata: b\n\r\n", [("message", "a", None), ("message", "b", None)]),
        (b"data: a\n\rdata: b\r\n\r", [("message", "a", None), ("message", "b", None)]),
        (b"event: x\ndata: a\nid: 1\n\n", [("x", "a", "1")]),
        (b"id: 1\ndata: a\n\ndata: b\n\n", [("message", "a", "1"), ("message", "b", None)]),
        (b"data: a\ndata: b\ndata:\ndata: c\n\n", [("message", "a\nb\n\nc", None)]),
        (b"data\n\n", [("message", "", None)]),
        (b"data:\n\n", [("message", "", None)]),
        (b"data:a\n\n", [("message", "a", None)]),
        (b"data:  a \n\n", [("message", " a ", None)]),
        (b"data: a: b\n\n", [("message", "a: b", None)]),
        (b"event\ndata: a\n\n", [("message", "a", None)]),
        (b"event: x\nevent: y\ndata: a\n\n", [("y", "a", None)]),
        (b": heartbeat\n\n:\n\ndata: a\n: in between\n\n", [("message", "a", None)]),
        (b"retry: 5\nfoo: bar\n data: no\nDATA: no\ndata: a\n\n", [("message", "a", None)]),
        (b"id: 1\x002\ndata: a\n\n", [("message", "a", None)]),
        (b"id: 1\nid: 2\x00\ndata: a\n\n", [("message", "a", "1")]),
        (b"id:\ndata: a\n\n", [("message", "a", "")]),
        (b"event: x\nid: 1\n\n", []),
        (b"event: x\n\ndata: a\n\n", [("message", "a", None)]),
        (b"\n\n\r\n\r\r", []),
        (b"", []),
        (b"\xef\xbb\xbfdata: a\n\n", [("message", "a", None)]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [("message", "b", None)]),
        (b"data: \xff\n\n", [("message", "\ufffd", None)]),
    ],
)
def test_bytes_give_the_events_of_the_whatwg_rules_whole_and_byte_by_byte(content, expected):
    events = [ServerSentEvent(*fields) for fields in expected]
    assert decoded(content) == events
    assert decoded(*(bytes([byte]) for byte in content)) == events


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1e"])
def test_a_character_that_is_no_line_break_of_the_protocol_stays_in_the_data(character):
    assert decoded(f"data: a{character}b\n\n".encode()) == [ServerSentEvent("message", f"a{character}b")]


@pytest.mark.parametrize("empties", [(), (b"",), (b"", b"")])
def test_a_line_break_of_two_bytes_split_across_chunks_is_one(empties):
    events = decoded(b"data: a\r", *empties, b"\ndata: b\r", *empties, b"\n\r", *empties, b"\n")
    assert events == [ServerSentEvent("message", "a\nb")]


def test_a_byte_order_mark_split_across_chunks_is_dropped():
    assert decoded(b"\xef", b"\xbb", b"\xbfdata: a\n\n") == [ServerSentEvent("message", "a")]


def test_what_only_begins_like_a_byte_order_mark_is_kept():
    assert decoded(b"\xef\xbb", b"data: a\n\ndata: b\n\n") == [ServerSentEvent("message", "b")]


@pytest.mark.parametrize("content", [b"data: a", b"data: a\n", b"data: a\r\n", b"data: a\nid: 1\n", b"event: x\n"])
def test_an_unfinished_frame_is_never_handed_out_and_is_told(content):
    decoder = SSEDecoder()
    assert decoder.feed(b"data: whole\n\n" + content) == [ServerSentEvent("message", "whole")]
    assert decoder.unfinished


@pytest.mark.parametrize("content", [b"", b"data: a\n\n", b"data: a\r\n\r\n", b": heartbeat\n"])
def test_after_a_whole_frame_or_a_comment_nothing_is_unfinished(content):
    decoder = SSEDecoder()
    decoder.feed(content)
    assert not decoder.unfinished


LINES = st.sampled_from(
    ["data: a", "data:é\u2028", "data", "event: x|y:1", "id: 7", "id: \0", ": note", "", "", "retry: 1", "other"]
)
BREAKS = st.sampled_from(["\n", "\r", "\r\n"])
CONTENT = st.lists(st.tuples(LINES, BREAKS), max_size=30).map(lambda rows: "".join(a + b for a, b in rows).encode())


@given(st.sampled_from([b"", b"\xef\xbb\xbf"]), CONTENT, st.data())
def test_any_chunking_gives_the_same_events(mark, content, data):
    content = mark + content
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=10)))
    chunks = [content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    assert decoded(*chunks) == decoded(content)


@given(st.lists(st.binary(max_size=20), max_size=10))
def test_any_bytes_in_any_chunking_give_the_same_events_and_raise_nothing(chunks):
    assert decoded(*chunks) == decoded(b"".join(chunks))


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("/default.sse")])
def test_a_recording_gives_the_events_and_data_that_httpx_sse_reads(name):
    content = (FOLDER / name).read_bytes()
    response = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=content)
    theirs = [(e.event, e.data) for e in httpx_sse.EventSource(response).iter_sse() if e.data]
    ours = [(event.event, event.data) for event in decoded(content)]
    assert ours == theirs
    assert len(ours) > 1
