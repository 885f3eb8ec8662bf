"""`coerce_to_dict` keeps the seed's order of attempts; `json_safe` makes anything JSON and loses nothing."""

import collections
import dataclasses
import datetime
import decimal
import enum
import math
import pathlib
import types
import uuid
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from pydantic import BaseModel, ConfigDict, SecretStr, field_serializer

from runwire_normalizers import coerce_to_dict, json_safe
from runwire_normalizers.coerce import CYCLE, TOO_DEEP


class Speaks:
    """Answers to the methods it is given, in the seed's order; what is not given it does not have."""

    def __init__(self, **answers: Any) -> None:
        self.shown = 1
        self._hidden = 2
        self._answers = answers

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._answers:
            raise AttributeError(name)
        return lambda: _given(self._answers[name])


def _given(answer: Any) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer


class Slotted:
    __slots__ = ("value",)

    def __repr__(self) -> str:
        return "<slotted>"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, {}),
        ({"a": 1}, {"a": 1}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (
            Speaks(model_dump={"by": "model_dump"}, dict={"by": "dict"}, to_json='{"by": "to_json"}'),
            {"by": "model_dump"},
        ),
        (Speaks(dict={"by": "dict"}, to_json='{"by": "to_json"}'), {"by": "dict"}),
        (Speaks(to_json='{"by": "to_json"}'), {"by": "to_json"}),
        (Speaks(to_json=b'{"by": "to_json"}'), {"by": "to_json"}),
        (Speaks(), {"shown": 1}),
        (b"caf\xc3\xa9 \xff", {"text": "café \ufffd"}),
        (bytearray(b"text"), {"text": "text"}),
        ("text", {"text": "text"}),
        (7, {"repr": "7"}),
        (Slotted(), {"repr": "<slotted>"}),
    ],
)
def test_the_first_attempt_of_the_seeds_order_that_works_gives_the_dict(value, expected):
    assert coerce_to_dict(value) == expected


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"model_dump": ValueError(), "dict": {"by": "dict"}}, {"by": "dict"}),
        ({"model_dump": [1], "dict": {"by": "dict"}}, {"by": "dict"}),
        ({"model_dump": ValueError(), "dict": ValueError(), "to_json": '{"by": "to_json"}'}, {"by": "to_json"}),
        ({"to_json": ValueError()}, {"shown": 1}),
        ({"to_json": "no json"}, {"shown": 1}),
        ({"to_json": {"is": "a dict already"}}, {"shown": 1}),
        ({"model_dump": ValueError(), "dict": ValueError(), "to_json": ValueError()}, {"shown": 1}),
    ],
)
def test_a_method_that_raises_or_gives_no_mapping_falls_through_to_the_next(answers, expected):
    assert coerce_to_dict(Speaks(**answers)) == expected


def test_a_mapping_is_copied_not_shared():
    given_dict = {"a": 1}
    coerce_to_dict(given_dict)["b"] = 2
    assert given_dict == {"a": 1}


class Colour(enum.Enum):
    RED = "red"
    BYTES = b"\x01"


class Level(enum.IntEnum):
    HIGH = 3


class Name(enum.StrEnum):
    ADA = "ada"


class Text(str):
    __slots__ = ()


class Number(int):
    pass


Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Plain:
    a: Any
    _b: int = 2


@dataclasses.dataclass(slots=True, frozen=True)
class Slots:
    a: Any
    b: int = 2


ID = uuid.UUID("12345678-1234-5678-1234-567812345678")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"\x00\xff", {"$bytes": "AP8="}),
        (bytearray(b"a"), {"$bytes": "YQ=="}),
        (memoryview(b"a"), {"$bytes": "YQ=="}),
        (datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC), "2026-01-02T03:04:05+00:00"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.time(3, 4), "03:04:00"),
        (datetime.timedelta(minutes=1, milliseconds=500), 60.5),
        (ID, str(ID)),
        (decimal.Decimal("1.10"), "1.10"),
        (pathlib.PurePosixPath("/a/b"), "/a/b"),
        (math.nan, None),
        (math.inf, None),
        (-math.inf, None),
        (1.5, 1.5),
        (True, True),
        (Colour.RED, "red"),
        (Colour.BYTES, {"$bytes": "AQ=="}),
        (Level.HIGH, 3),
        (Name.ADA, "ada"),
        (Text("é"), "é"),
        (Number(4), 4),
        ({1}, [1]),
        (frozenset({1}), [1]),
        ((1, (2,)), [1, [2]]),
        (Point(1, b"a"), {"x": 1, "y": {"$bytes": "YQ=="}}),
        (collections.deque([1, 2]), [1, 2]),
        (range(3), [0, 1, 2]),
        ({"a": 1}.values(), [1]),
        (Plain({1}), {"a": [1], "_b": 2}),
        (Slots(Slots(1)), {"a": {"a": 1, "b": 2}, "b": 2}),
        (Plain, "Plain"),
        (2**64 - 1, 2**64 - 1),
        (-(2**63), -(2**63)),
        (2**64, str(2**64)),
        (-(2**63) - 1, str(-(2**63) - 1)),
        (Number(2**70), str(2**70)),
        ("a\ud800b", "a\ufffd\ufffd\ufffdb"),
        ("😀 \u2028 é", "😀 \u2028 é"),
        (Speaks(to_json='{"a": 1}'), {"a": 1}),
        (Slotted(), {"repr": "<slotted>"}),
    ],
)
def test_each_kind_of_value_becomes_its_json_form(value, expected):
    found = json_safe(value)
    assert found == expected
    assert type(found) is type(expected)
    assert orjson.loads(orjson.dumps([found])) == [expected]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (1, "1"),
        (1.5, "1.5"),
        (None, "null"),
        (True, "true"),
        ((1, 2), "[1, 2]"),
        (Colour.RED, "red"),
        (Name.ADA, "ada"),
        (ID, str(ID)),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (b"a", '{"$bytes": "YQ=="}'),
        ("\ud800", "\ufffd\ufffd\ufffd"),
    ],
)
def test_a_key_that_is_no_text_becomes_text(key, expected):
    assert json_safe({key: 0}) == {expected: 0}
    orjson.dumps(json_safe({key: 0}))


def test_keys_that_become_the_same_text_lose_no_value():
    assert sorted(json_safe({1: "a", "1": "b"}).values()) == ["a", "b"]


class Base(BaseModel):
    a: int = 1


class Derived(Base):
    b: str = "kept"
    secret: SecretStr = SecretStr("hunter2")


class Holder(BaseModel):
    model_config = ConfigDict(extra="allow")
    one: Base
    many: list[Base]
    by_name: dict[str, Base]


def test_the_fields_of_a_nested_pydantic_subclass_are_never_lost():
    shown = {"a": 1, "b": "kept", "secret": "**********"}
    holder = Holder(one=Derived(), many=[Derived()], by_name={"x": Derived()}, more=Derived())  # type: ignore[call-arg]
    assert json_safe([holder]) == [{"one": shown, "many": [shown], "by_name": {"x": shown}, "more": shown}]


class Grumpy(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int = 1

    @field_serializer("a")
    def _refuse(self, value: int) -> int:
        raise RuntimeError("no")


def test_a_pydantic_model_whose_serializer_raises_gives_its_attributes():
    assert json_safe(Grumpy(b=2)) == {"a": 1, "b": 2}  # type: ignore[call-arg]


@pytest.mark.parametrize("value", [SecretStr("hunter2"), Derived(), Plain(SecretStr("hunter2")), {"k": [Derived()]}])
def test_a_secret_is_never_shown(value):
    assert b"hunter2" not in orjson.dumps(json_safe(value))


def test_a_cycle_ends_in_a_mark_and_a_value_used_twice_stays_whole():
    shared = {"x": 1}
    ring: dict[str, Any] = {"a": shared, "b": shared}
    ring["self"] = [ring]
    assert json_safe(ring) == {"a": {"x": 1}, "b": {"x": 1}, "self": [CYCLE]}


def test_a_cycle_through_objects_ends_in_a_mark():
    plain = Plain(None)
    plain.a = {"back": plain}
    assert CYCLE in orjson.dumps(json_safe(plain)).decode()


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"a": v}, Plain, lambda v: (v,)])
def test_a_nest_too_deep_for_json_is_cut_with_a_mark(wrap):
    value: Any = 1
    for _ in range(5000):
        value = wrap(value)
    assert TOO_DEEP in orjson.dumps(json_safe(value)).decode()


def test_an_exception_tells_its_class_and_message_and_its_stack_where_it_was_raised():
    assert json_safe(ValueError("no")) == {"error": "ValueError", "message": "no", "stack": None}
    try:
        raise KeyError("gone")
    except KeyError as error:
        facts = json_safe({"e": error})["e"]
    assert (facts["error"], facts["message"]) == ("KeyError", "'gone'")
    assert "test_coerce.py" in facts["stack"]


def _unprintable(self: Any) -> str:
    raise RuntimeError("no text")


Silent = type("Silent", (ValueError,), {"__str__": _unprintable})
Shy = type("Shy", (), {"__slots__": (), "__repr__": _unprintable})


@pytest.mark.parametrize(
    "value",
    [ValueError("a\ud800"), pathlib.PurePosixPath("a\udc80"), Silent(), Shy(), {"k": Shy()}],
    ids=["error with a surrogate", "path with a surrogate", "error without text", "object without repr", "nested"],
)
def test_a_value_that_cannot_be_put_in_words_is_still_json(value):
    orjson.dumps(json_safe(value))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (HumanMessage("hi", id="h"), {"type": "human", "content": "hi", "id": "h"}),
        (AIMessageChunk(content="to", id="c"), {"type": "AIMessageChunk", "content": "to", "id": "c"}),
        (ToolMessage("5", tool_call_id="t", id="m"), {"type": "tool", "content": "5", "tool_call_id": "t"}),
        (
            AIMessage(
                [{"type": "text", "text": "hi"}],
                tool_calls=[{"name": "add", "args": {"a": 1}, "id": "t"}],
                usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
            ),
            {
                "type": "ai",
                "content": [{"type": "text", "text": "hi"}],
                "tool_calls": [{"name": "add", "args": {"a": 1}, "id": "t", "type": "tool_call"}],
                "usage_metadata": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
            },
        ),
    ],
)
def test_a_langchain_message_keeps_what_the_server_would_send_of_it(message, expected):
    found = json_safe({"messages": [message]})["messages"][0]
    assert {key: found[key] for key in expected} == expected
    orjson.dumps(found)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.uuids()
    | st.decimals()
    | st.complex_numbers()
    | st.sampled_from([Colour.RED, Level.HIGH, Name.ADA, SecretStr("hunter2"), Derived(), ValueError("x"), object()])
)
KEYS = st.one_of(
    st.text(st.characters()), st.integers(), st.booleans(), st.none(), st.binary(), st.uuids(), st.floats()
)


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=4)
    return st.one_of(
        lists,
        lists.map(tuple),
        lists.map(collections.deque),
        st.dictionaries(KEYS, inner, max_size=4),
        inner.map(Plain),
        inner.map(Slots),
        inner.map(lambda value: Speaks(model_dump={"value": value})),
        inner.map(lambda value: ValueError(value)),
    )


@given(st.recursive(SCALARS, _nested, max_leaves=20))
def test_any_nested_value_becomes_json_that_stays_the_same(value):
    safe = json_safe(value)
    assert orjson.loads(orjson.dumps(safe)) == safe
    assert json_safe(safe) == safe
