"""A tool's result is one of four kinds, the best that its message tells, JSON-safe whatever the tool returned."""

import datetime
import decimal
import json
import uuid
from typing import Any, get_args

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel, SecretStr, TypeAdapter, ValidationError

from runwire_normalizers.outputs import normalize_output
from runwire_normalizers.results import (
    FileRefPayload,
    GenericJsonPayload,
    TablePayload,
    TextPayload,
    ToolResultPayload,
    read_tool_result,
    tool_result,
)
from runwire_normalizers.schema import VALIDATOR
from tests.feeding import GOLDENS
from tests.test_schema import PUBLISHED, envelope

UNION: TypeAdapter[Any] = TypeAdapter(ToolResultPayload)
TABLE = {"kind": "table", "columns": ["n", "square"], "rows": [[1, 1], [2, 4]]}
FILE = {"kind": "file_ref", "filename": "a.png", "mime": "image/png", "bytes_b64": "AP8="}


class Reading(BaseModel):
    city: str
    at: datetime.datetime
    price: decimal.Decimal = decimal.Decimal("1.10")
    inner: "Reading | None" = None


READING = Reading(city="Ulm", at=datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC))


class Opaque:
    """Nothing to see but what it says of itself."""

    def __str__(self) -> str:
        return "an opaque thing"


class Silent(Opaque):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def message(content: Any = "", **fields: Any) -> dict[str, Any]:
    return {"type": "tool", "tool_call_id": "call_1", "content": content, **fields}


def test_the_union_has_the_four_kinds_and_reads_each_as_its_model():
    models = get_args(get_args(ToolResultPayload)[0])
    assert models == (TablePayload, TextPayload, GenericJsonPayload, FileRefPayload)
    told = [TABLE, {"kind": "text", "text": "hi"}, {"kind": "json", "data": [1]}, FILE]
    assert tuple(type(UNION.validate_python(payload)) for payload in told) == models


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "chart"},
        {"columns": [], "rows": []},
        {"kind": "table", "columns": []},
        {"kind": "text", "text": 1},
        {"kind": "json"},
        {"kind": "file_ref", "filename": "a"},
    ],
)
def test_the_union_refuses_what_has_no_kind_or_not_its_fields(wrong):
    with pytest.raises(ValidationError):
        UNION.validate_python(wrong)


def test_a_result_cannot_be_changed():
    with pytest.raises(ValidationError):
        read_tool_result("hi").text = "ho"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (message('{"c": 3}', artifact={"structured_content": {"a": 1}, "b": 2}), {"kind": "json", "data": {"a": 1}}),
        (message('{"c": 3}', artifact={"structured_content": None, "b": 2}), None),
        (message('{"c": 3}', artifact={"b": 2}), {"kind": "json", "data": {"b": 2}}),
        (message('{"c": 3}', artifact=None), {"kind": "json", "data": {"c": 3}}),
        (message(' [1, {"c": 3}]'), {"kind": "json", "data": [1, {"c": 3}]}),
        (message("plain"), {"kind": "text", "text": "plain"}),
        (message("[inner_agent] ABORTED: {"), {"kind": "text", "text": "[inner_agent] ABORTED: {"}),
        (message("12"), {"kind": "text", "text": "12"}),
        (message("plain", artifact="the artifact's text"), {"kind": "text", "text": "the artifact's text"}),
        (message("plain", artifact=0), {"kind": "json", "data": 0}),
    ],
)
def test_structured_content_comes_before_the_artifact_before_json_in_the_text_before_the_text(told, expected):
    whole = {"kind": "json", "data": {"structured_content": None, "b": 2}}
    assert tool_result(told) == (expected or whole)


def test_a_pydantic_model_becomes_its_own_json_dump():
    expected = {"kind": "json", "data": READING.model_dump(mode="json")}
    assert tool_result(READING) == expected
    assert tool_result(message(artifact=READING)) == expected
    assert tool_result(message(artifact={"structured_content": READING})) == expected
    assert tool_result(ToolMessage("", tool_call_id="1", artifact=READING)) == expected


def test_models_inside_other_structure_become_json_too():
    assert tool_result(message(artifact={"readings": [READING]}))["data"]["readings"][0]["city"] == "Ulm"


def test_a_model_whose_bytes_are_no_text_keeps_them_marked():
    class Blob(BaseModel):
        raw: bytes

    assert tool_result(Blob(raw=b"\x00\xff")) == {"kind": "json", "data": {"raw": {"$bytes": "AP8="}}}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}], {"kind": "text", "text": "one two"}),
        ([{"type": "text", "text": '{"a": 1}', "id": "lc_1"}], {"kind": "json", "data": {"a": 1}}),
        (["a", "b"], {"kind": "json", "data": ["a", "b"]}),
        ([], {"kind": "json", "data": []}),
        ([{"type": "image", "base64": "AP8="}], {"kind": "json", "data": [{"type": "image", "base64": "AP8="}]}),
        (
            [{"type": "text", "text": "see"}, {"type": "image", "data": b"\x00\xff"}],
            {"kind": "json", "data": [{"type": "text", "text": "see"}, {"type": "image", "data": {"$bytes": "AP8="}}]},
        ),
        ({"a": (1, 2)}, {"kind": "json", "data": {"a": [1, 2]}}),
    ],
)
def test_langchain_content_becomes_primitives_and_text_blocks_one_text(content, expected):
    assert tool_result(message(content)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Opaque(), {"kind": "text", "text": "an opaque thing"}),
        (Silent(), {"kind": "text", "text": "<Silent>"}),
        (uuid.UUID(int=1), {"kind": "text", "text": "00000000-0000-0000-0000-000000000001"}),
        (5, {"kind": "json", "data": 5}),
        ({1: {2}}, {"kind": "json", "data": {"1": [2]}}),
        (b"\x00\xff", {"kind": "json", "data": {"$bytes": "AP8="}}),
        ({}, {"kind": "json", "data": {}}),
    ],
)
def test_only_what_has_no_structure_becomes_its_words(value, expected):
    assert tool_result(value) == expected
    assert tool_result(message(artifact=value)) == expected


def test_nothing_is_the_json_null():
    assert tool_result(None) == tool_result(message(None)) == {"kind": "json", "data": None}


@pytest.mark.parametrize(
    "payload",
    [
        TABLE,
        {**TABLE, "title": "squares"},
        FILE,
        {**FILE, "columns": [], "rows": []},
        {"kind": "text", "text": '{"is": "text"}'},
        {"kind": "json", "data": {"columns": [], "rows": []}},
    ],
)
def test_what_is_a_payload_already_stays_what_it_is(payload):
    assert tool_result(message(artifact=payload)) == payload
    assert tool_result(message(json.dumps(payload))) == payload
    assert tool_result(UNION.validate_python(payload)) == payload


@pytest.mark.parametrize("told", [{"kind": "text", "text": 5}, {"kind": "json"}, {"kind": "table"}, {"kind": ["text"]}])
def test_a_kind_without_its_fields_is_data_like_any_other(told):
    assert tool_result(message(artifact=told)) == {"kind": "json", "data": told}


def test_columns_and_rows_are_a_table():
    rows = {"columns": ["n", "square"], "rows": [[1, 1], [2, 4]]}
    assert tool_result(message(json.dumps(rows))) == TABLE
    assert read_tool_result(rows) == TablePayload(kind="table", columns=["n", "square"], rows=[[1, 1], [2, 4]])
    assert tool_result({**rows, "rows": "none"})["kind"] == "json"


def test_a_filename_and_a_mime_type_are_a_file():
    told = {"filename": "a.png", "mime": "image/png"}
    assert tool_result({**told, "bytes_b64": "AP8="}) == FILE
    assert tool_result({**told, "bytes_b64": b"\x00\xff"}) == FILE
    assert tool_result({**told, "bytes_b64": 5})["kind"] == "json"
    assert tool_result({**told, "mime": None})["kind"] == "json"


def test_a_file_keeps_its_reference_and_has_null_for_the_bytes_it_has_not():
    told = {"filename": "a.png", "mime": "image/png", "url": "https://example.org/a.png"}
    assert tool_result(told) == {"kind": "file_ref", **told, "bytes_b64": None}
    assert read_tool_result(told).model_dump()["url"] == told["url"]


def test_a_bare_value_with_a_key_content_is_no_message():
    page = {"content": "text", "title": "page"}
    assert tool_result(page) == {"kind": "json", "data": page}


def test_secrets_never_enter_a_result():
    told = message(artifact={"password": "hunter2", "at": SecretStr("hunter2"), "rows": [], "columns": []})
    assert tool_result(told)["password"] == "[scrubbed]"
    for value in (told, message('{"api_key": "hunter2"}')):
        assert b"hunter2" not in orjson.dumps(tool_result(value))


@tool(response_format="content_and_artifact")
def squares(n: int) -> tuple[str, dict[str, Any]]:
    """Squares up to n."""
    return "see the table", {"columns": ["n", "square"], "rows": [[i, i * i] for i in range(1, n + 1)]}


@tool
def weather(city: str) -> dict[str, Any]:
    """The weather of a city."""
    return {"city": city, "degrees": 7}


def test_live_tool_messages_are_read_by_their_shape():
    call = {"type": "tool_call", "id": "call_1"}
    assert tool_result(squares.invoke({**call, "name": "squares", "args": {"n": 2}})) == TABLE
    assert tool_result(weather.invoke({**call, "name": "weather", "args": {"city": "Ulm"}})) == {
        "kind": "json",
        "data": {"city": "Ulm", "degrees": 7},
    }
    opaque = ToolMessage("see the artifact", tool_call_id="1", artifact=Opaque())
    assert tool_result(opaque) == {"kind": "text", "text": "an opaque thing"}


@pytest.mark.parametrize(
    "path", sorted(GOLDENS.rglob("*.jsonl")), ids=lambda path: path.relative_to(GOLDENS).as_posix()
)
def test_every_tool_result_of_the_goldens_is_a_payload(path):
    told = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    started = ("tool_start", "subgraph_resume")
    tools = {e["call_id"] for e in told if e["type"] in started and e["payload"]["kind"] == "tool"}
    ends = [e["payload"]["result"] for e in told if e["type"] == "tool_end" and e["call_id"] in tools]
    for result in filter(None, ends):
        assert UNION.validate_python(result).model_dump() == result


def ended(result: Any) -> dict[str, Any]:
    return envelope("tool_end", {"tool_name": "squares", "result": result, "status": "ok"})


@pytest.mark.parametrize(
    "result",
    [
        None,
        TABLE,
        tool_result("hi"),
        tool_result(5),
        tool_result({"filename": "a", "mime": "b", "url": "c"}),
        {"messages": [], "files": {}, "usage": {}},
        *(normalize_output(name, {"messages": []}).to_dict() for name in ("planner_style_agent", "computer_use", None)),
    ],
)
def test_the_envelope_takes_a_payload_an_output_or_null_as_the_result_of_an_end(result):
    assert VALIDATOR.validate_python(ended(result)).model_dump(exclude_unset=True) == ended(result)
    assert PUBLISHED.is_valid(ended(result))


@pytest.mark.parametrize(
    "result", ["hi", 5, [], {}, {"kind": "chart"}, {"kind": "table"}, {"messages": [], "files": {}}]
)
def test_the_envelope_refuses_any_other_result_of_an_end(result):
    with pytest.raises(ValidationError):
        VALIDATOR.validate_python(ended(result))
    assert not PUBLISHED.is_valid(ended(result))


KEYS = st.sampled_from("kind columns rows text data filename mime bytes_b64 type content structured_content".split())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | KEYS, inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(["table", "text", "json", "file_ref", "chart"])
MARKED = st.fixed_dictionaries({"kind": KINDS}, optional=dict.fromkeys(["text", "data", "columns", "rows"], JSON))
PYTHON = JSON | MARKED | st.binary(max_size=4) | st.dates() | st.sets(st.integers()) | st.builds(Opaque) | st.uuids()


@given(content=PYTHON, artifact=PYTHON)
def test_any_content_and_artifact_give_one_of_the_kinds_and_both_forms_agree(content, artifact):
    for told in (content, message(content), message(content, artifact=artifact)):
        light, typed = tool_result(told), read_tool_result(told)
        assert typed.model_dump() == light
        assert orjson.loads(orjson.dumps(light)) == light
        assert light["kind"] in {"table", "text", "json", "file_ref"}


@given(content=st.text() | st.lists(st.text() | st.dictionaries(st.text(), JSON, max_size=3)), artifact=PYTHON)
def test_any_live_tool_message_gives_one_of_the_kinds(content, artifact):
    told = ToolMessage(content, tool_call_id="call_1", artifact=artifact)
    assert read_tool_result(told).model_dump() == tool_result(told)
    assert orjson.dumps(tool_result(told))
