"""Every shape that a source hands out becomes the same `StreamPart`."""

import json
import tracemalloc
from types import SimpleNamespace
from typing import Any

import httpx_sse
import pytest
from langchain_core.messages import AIMessageChunk
from langgraph_sdk.schema import StreamPart as SdkPart

from runwire_normalizers import ServerSentEvent, StreamPart, read_part
from runwire_normalizers.parts import LARGE, Malformed

NAMES = [
    ("updates", "updates", ()),
    ("messages|tools:t1", "messages", ("tools:t1",)),
    ("values|a:1|b:2", "values", ("a:1", "b:2")),
    ("values|a:1|1", "values", ("a:1", "1")),
    ("custom|1", "custom", ("1",)),
    ("messages/partial", "messages/partial", ()),
    ("messages/complete|a:1", "messages/complete", ("a:1",)),
    ("metadata", "metadata", ()),
    ("novel|a:1", "novel", ("a:1",)),
]


@pytest.mark.parametrize(("event", "mode", "namespace"), NAMES)
@pytest.mark.parametrize(
    "frame",
    [
        lambda event: ServerSentEvent(event, '{"a":[1]}', "7"),
        lambda event: httpx_sse.ServerSentEvent(event, '{"a":[1]}', "7"),
        lambda event: SdkPart(event, {"a": [1]}, "7"),
        lambda event: SimpleNamespace(event=event, data=b'{"a":[1]}', id="7"),
        lambda event: {"event": event, "data": {"a": [1]}, "id": "7"},
        lambda event: {"event": event, "data": '{"a":[1]}', "id": "7", "retry": 5},
    ],
    ids=["ours", "httpx-sse", "langgraph-sdk", "object", "dict", "dict of text"],
)
def test_a_named_frame_of_any_source_gives_mode_namespace_data_and_id(frame, event, mode, namespace):
    assert read_part(frame(event)) == StreamPart(mode, namespace, {"a": [1]}, "7")


@pytest.mark.parametrize(
    "frame",
    [ServerSentEvent("end", "null"), httpx_sse.ServerSentEvent("end", "null"), SdkPart("end", None)],  # type: ignore[arg-type]
)
def test_a_frame_without_an_id_gives_a_part_without_one(frame):
    assert read_part(frame) == StreamPart("end", (), None, None)


@pytest.mark.parametrize("text", ["", "{", "undefined", "{'a': 1}", "NaN", '"\\ud800"'])
def test_data_that_is_no_json_is_kept_as_malformed(text):
    assert read_part(ServerSentEvent("values|a:1", text, "7")) == StreamPart("values", ("a:1",), Malformed(text), "7")


def test_a_part_stays_itself():
    part = StreamPart("custom", ("a:1",), {"x": 1}, "7")
    assert read_part(part) is part


DATA: dict[str, Any] = {"node": {"a": 1}}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (("updates", DATA), StreamPart("updates", (), DATA)),
        (("custom", "text"), StreamPart("custom", (), "text")),
        (("values", {}), StreamPart("values", (), {})),
        (((), DATA), StreamPart("updates", (), DATA)),
        ((("a:1",), DATA), StreamPart("updates", ("a:1",), DATA)),
        ((("a:1", "b:2"), "text"), StreamPart("custom", ("a:1", "b:2"), "text")),
        (((), "updates", DATA), StreamPart("updates", (), DATA)),
        ((("a:1", "b:2"), "tasks", DATA), StreamPart("tasks", ("a:1", "b:2"), DATA)),
        ((("a:1",), "custom", None), StreamPart("custom", ("a:1",), None)),
        ({"type": "updates", "ns": (), "data": DATA}, StreamPart("updates", (), DATA)),
        ({"type": "values", "ns": ["a:1"], "data": DATA}, StreamPart("values", ("a:1",), DATA)),
        (
            {"type": "values", "ns": (), "data": {"a": 1}, "interrupts": ()},
            StreamPart("values", (), {"a": 1}),
        ),
        (
            {"type": "values", "ns": (), "data": {"a": 1}, "interrupts": ({"id": "i", "value": "?"},)},
            StreamPart("values", (), {"a": 1, "__interrupt__": [{"id": "i", "value": "?"}]}),
        ),
        ({"type": "custom", "ns": (), "data": "text"}, StreamPart("custom", (), "text")),
    ],
)
def test_tuples_and_v2_dicts_tell_mode_and_namespace(item, expected):
    assert read_part(item) == expected


@pytest.mark.parametrize("ns", [(), ("tools:1",)])
def test_a_bare_message_with_its_metadata_is_of_the_messages_mode(ns):
    pair = (AIMessageChunk(content="hi", id="m"), {"langgraph_node": "model"})
    part = read_part((ns, pair) if ns else pair)
    assert (part.mode, part.namespace) == ("messages", ns)
    assert part.data[0]["content"] == "hi"
    assert part.data[0]["type"] == "AIMessageChunk"
    assert part.data[1] == {"langgraph_node": "model"}


def test_a_message_told_with_its_mode_is_json_too():
    part = read_part((("a:1",), "messages", (AIMessageChunk(content="hi", id="m"), {"k": (1,)})))
    assert (part.mode, part.namespace) == ("messages", ("a:1",))
    assert (part.data[0]["id"], part.data[1]) == ("m", {"k": [1]})


MESSAGE = {"type": "ai", "content": "hi"}
CONFIG = {"configurable": {"checkpoint_id": "c"}}
BARE = [
    ("updates", {"node": {"messages": [MESSAGE]}}),
    ("updates", {"node": None}),
    ("updates", {"node": [{"a": 1}, {"a": 2}]}),
    ("updates", {"one": {"a": 1}, "two": {"a": 2}}),
    ("updates", {"__interrupt__": [{"value": "?", "id": "i"}]}),
    ("values", {"messages": [MESSAGE]}),
    ("values", {"messages": [], "files": {}}),
    ("values", {"count": 1}),
    ("values", {"answer": [MESSAGE]}),
    ("values", {"todos": []}),
    ("values", {}),
    ("tasks", {"id": "t", "name": "n", "input": {}, "triggers": ["a"]}),
    ("tasks", {"id": "t", "name": "n", "error": None, "result": {}, "interrupts": []}),
    ("debug", {"step": 1, "timestamp": "t", "type": "task", "payload": {}}),
    ("checkpoints", {"config": CONFIG, "values": {}, "metadata": {}, "next": [], "tasks": [], "parent_config": None}),
]


@pytest.mark.parametrize(("mode", "item"), BARE)
def test_a_bare_dict_is_of_the_mode_whose_keys_it_has(mode, item):
    assert read_part(item) == StreamPart(mode, (), item)
    assert read_part((("a:1",), item)) == StreamPart(mode, ("a:1",), item)


@pytest.mark.parametrize("item", [{"a": {"b": 1}}, "text", ("text", 1), 5, None])
def test_the_mode_that_the_caller_names_wins_over_the_shape(item):
    assert read_part(item, "custom").mode == "custom"
    assert read_part(item, "values").mode == "values"


def test_an_astream_events_dict_is_of_the_events_mode_and_stays_whole():
    event = {"event": "on_tool_start", "data": {"input": {}}, "name": "add", "run_id": "r", "metadata": {}, "tags": []}
    assert read_part(event) == StreamPart("events", (), event)


@pytest.mark.parametrize(
    ("item", "data"),
    [
        ("text", "text"),
        (5, 5),
        (None, None),
        ([1, 2], [1, 2]),
        ((1, 2, 3, 4), [1, 2, 3, 4]),
        (b"a", {"$bytes": "YQ=="}),
    ],
)
def test_a_bare_value_that_is_no_dict_is_custom(item, data):
    assert read_part(item) == StreamPart("custom", (), data)


@pytest.mark.parametrize(
    "item",
    [
        ("custom", {1, 2}),
        ((), "custom", {1, 2}),
        {"type": "custom", "ns": (), "data": {1, 2}},
        {"event": "custom", "data": {1, 2}},
        SdkPart("custom", {1, 2}),  # type: ignore[arg-type]
    ],
    ids=["tuple", "triple", "v2", "dict", "langgraph-sdk"],
)
def test_the_data_of_a_part_is_json_whatever_the_source(item):
    assert read_part(item).data == [1, 2]


@pytest.mark.parametrize(
    "item",
    [
        {"type": "custom", "ns": None, "data": 1},
        {"type": "custom", "ns": 5, "data": 1},
        {"event": None, "data": 1},
        SimpleNamespace(event=None, data=1),
        SimpleNamespace(event=5, data=object()),
        ((1, 2), "custom", 1),
    ],
    ids=["no namespace", "number as namespace", "no event", "object without event", "number as event", "segments"],
)
def test_a_name_or_namespace_of_an_unknown_kind_raises_nothing(item):
    assert isinstance(read_part(item), StreamPart)


def test_a_huge_frame_is_read_in_a_few_times_its_size_and_as_any_other():
    size = 2 * LARGE
    told: dict[str, Any] = {"blob": "x" * size, "ü": [1.5, None, 2**70, "\u2028"], "deep": [[[]]]}
    raw = json.dumps(told, ensure_ascii=False).encode()
    tracemalloc.start()
    part = read_part(ServerSentEvent("custom", raw))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert part.data == told
    assert peak < 4 * size


@pytest.mark.parametrize("broken", [b'{"a": NaN, "x": "%s"}', b'{"x": "%s"', b'["%s",]'])
def test_a_huge_frame_that_is_no_json_is_malformed_like_a_small_one(broken):
    small = read_part(ServerSentEvent("custom", broken % b"x")).data
    huge = read_part(ServerSentEvent("custom", broken % (b"x" * 2 * LARGE))).data
    assert isinstance(small, Malformed)
    assert isinstance(huge, Malformed)
