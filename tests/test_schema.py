"""The published schema is the models' own, every recording keeps it, and a wrong envelope is refused by both."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import ValidationError

from runwire_normalizers import Continuation, Envelope, Outcome
from runwire_normalizers.__main__ import envelopes
from runwire_normalizers.conformance import FIELDS as PAYLOAD_FIELDS
from runwire_normalizers.envelope import FIELDS, TYPES
from runwire_normalizers.schema import VALIDATOR, EnvelopeModel, json_schema
from tests.rooms import ROOT
from tests.schema import PATH, text

FOLDER = ROOT / "tests" / "recordings"
RECORDINGS = sorted([*FOLDER.glob("*/default*.sse"), *FOLDER.glob("*/every*.sse")])
# A second turn with an input of its own resumes nothing.
NEW_TURNS = frozenset({"turns"})

MODELS = get_args(get_args(EnvelopeModel)[0])
# Required in one form of a payload and not in the other.
EITHER = {"args", "input", "tool_call_id", "tool_name"}
PUBLISHED = Draft202012Validator(json_schema())

START = {"kind": "tool", "tool_name": "add", "args": {"a": 1}, "node": "tools", "tool_call_id": "call_1"}
TOKEN = {"text": "hi", "channel": "text", "offset": 0}
FAILURE = {"name": "add", "message": "no", "stack": None, "class": "ValueError", "node": "tools"}


def recorded(path: Path) -> list[Envelope]:
    before = None
    if path.name.endswith(".2.sse") and path.parent.name not in NEW_TURNS:
        earlier = path.with_name(path.name.removesuffix(".2.sse") + ".sse")
        before = Continuation.from_envelopes(envelopes(earlier, outcome=Outcome("interrupted")))
    return list(envelopes(path, before))


def envelope(type_: str = "tool_start", payload: Any = START, **fields: Any) -> dict[str, Any]:
    told = dict.fromkeys(FIELDS) | {"type": type_, "trace_id": "t", "call_id": "c", "seq": 1, "origin": "live"}
    return told | {"payload": payload} | fields


def without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != name}


def test_the_published_schema_is_the_generated_one():
    assert PATH.read_text("utf-8") == text()


def test_the_published_schema_is_a_sound_schema():
    Draft202012Validator.check_schema(json.loads(PATH.read_text("utf-8")))


def test_the_recordings_show_all_ten_types():
    assert {told.type for path in RECORDINGS for told in recorded(path)} == set(TYPES)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_every_recorded_envelope_is_valid_and_comes_back_unchanged(path):
    for told in recorded(path):
        line = told.to_json()
        model = VALIDATOR.validate_json(line)
        assert Envelope.from_json(line) == told
        assert Envelope.from_json(model.model_dump_json(exclude_unset=True)) == told
        assert PUBLISHED.is_valid(json.loads(line)), line


def test_the_light_envelope_and_every_model_have_the_same_fields_in_the_same_order():
    assert tuple(Envelope.__slots__) == FIELDS
    assert [tuple(model.model_fields) for model in MODELS] == [FIELDS] * len(TYPES)


def test_there_is_one_model_for_each_of_the_ten_types():
    assert tuple(get_args(model.model_fields["type"].annotation)[0] for model in MODELS) == TYPES


@pytest.mark.parametrize("type_", TYPES)
def test_the_models_require_the_payload_fields_that_the_checker_requires(type_):
    payload = MODELS[TYPES.index(type_)].model_fields["payload"].annotation
    for shape in get_args(payload) or (payload,):
        required = {field.alias or name for name, field in shape.model_fields.items() if field.is_required()}
        assert PAYLOAD_FIELDS[type_] <= required <= PAYLOAD_FIELDS[type_] | EITHER


@pytest.mark.parametrize(
    "right",
    [
        envelope(),
        envelope(payload={**START, "args": None, "meta": {"tenant": "a"}}),
        envelope(payload={**without(START, "args"), "kind": "run", "input": None}),
        envelope(payload={**START, "one_day": True}),
        envelope("llm_token", {**TOKEN, "logprob": -0.5}),
        envelope("llm_token", {**TOKEN, "channel": "tool_args", "tool_call_id": "call_1", "tool_name": None}),
        envelope("tool_update", {"kind": "progress", "data": 1, "merged": 3}, seq=4),
        envelope("error", FAILURE, ts=1.5, run_id="r", parent_id="p", agent="helper", origin="replay"),
    ],
)
def test_a_right_envelope_is_let_through_by_models_and_schema(right):
    model = VALIDATOR.validate_python(right)
    assert model.model_dump(exclude_unset=True) == right
    assert PUBLISHED.is_valid(right)


@pytest.mark.parametrize(
    "wrong",
    [
        *(without(envelope(), name) for name in FIELDS),
        *(envelope(payload=without(START, name)) for name in START),
        *(envelope("error", without(FAILURE, name)) for name in FAILURE),
        envelope(color="red"),
        envelope("tool_begin"),
        envelope("llm_token"),
        envelope(seq=0),
        envelope(seq="1"),
        envelope(origin="history"),
        envelope(trace_id=None),
        envelope(payload={**START, "kind": "run"}),
        envelope(payload={**START, "kind": "agent"}),
        envelope("llm_token", {**TOKEN, "text": ""}),
        envelope("llm_token", {**TOKEN, "channel": "tool_args"}),
        envelope("tool_end", {"tool_name": "add", "result": None, "status": "done"}),
        envelope("tool_update", {"kind": "state", "data": {}, "merged": 0}),
        envelope("warning", {"code": "", "message": "odd", "raw": None}),
    ],
)
def test_a_wrong_envelope_is_refused_by_models_and_schema(wrong):
    with pytest.raises(ValidationError):
        VALIDATOR.validate_python(wrong)
    assert not PUBLISHED.is_valid(wrong)
