"""One envelope made and written: dataclass and orjson, against msgspec and pydantic. It backs decision 0001."""

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from benchmarks.row import INSTALL, Effort, Row, listing
from benchmarks.rows.decode import token_envelope
from benchmarks.timing import Side, interleaved, micros
from runwire_normalizers import Envelope
from runwire_normalizers.envelope import FIELDS
from runwire_normalizers.schema import VALIDATOR

COUNT = 20_000
METHOD = (
    "One token's envelope made from its parts and written as a line, the payload dict included. msgspec is a "
    "`Struct` of the same ten fields and `msgspec.json`; pydantic is the published model, validated. For "
    "information: no goal."
)
Make = Callable[[str, int], bytes]


def measure(effort: Effort) -> Row:
    count = effort.size(COUNT)
    makers: dict[str, Make] = {"dataclass + orjson": _ours, "dict + orjson": _dict, "pydantic": _pydantic}
    if importlib.util.find_spec("msgspec"):
        makers["msgspec.Struct"] = _msgspec()
    sides: dict[str, Side] = {name: partial(_side, make, count) for name, make in makers.items()}
    cost = {name: micros(timed.seconds, count) for name, timed in interleaved(sides, effort.rounds).items()}
    detail = listing("µs", (f"{name} {value:.2f}" for name, value in cost.items()))
    other = cost.get("msgspec.Struct")
    ours = cost["dataclass + orjson"]
    figure = f"{ours / other:.2f} × msgspec" if other else f"{ours:.2f} µs; msgspec is missing: {INSTALL}"
    return Row("one envelope made and written", figure, "for information", None, detail, METHOD)


def _side(make: Make, count: int) -> Callable[[], None]:
    def run() -> None:
        for seq in range(1, count + 1):
            len(make("token ", seq))

    return run


def _payload(text: str, seq: int) -> dict[str, Any]:
    return {"text": text, "channel": "text", "offset": seq - 1}


def _ours(text: str, seq: int) -> bytes:
    made = Envelope("llm_token", None, "trace", "trace", "parent", "call", seq, "live", None, _payload(text, seq))
    return made.to_json() + b"\n"


def _dict(text: str, seq: int) -> bytes:
    return orjson.dumps(token_envelope(text, seq, "call", "trace"), option=orjson.OPT_APPEND_NEWLINE)


def _pydantic(text: str, seq: int) -> bytes:
    model = VALIDATOR.validate_python(token_envelope(text, seq, "call", "trace"))
    return VALIDATOR.dump_json(model) + b"\n"


def _msgspec() -> Make:
    import msgspec

    struct: Any = msgspec.defstruct("Envelope", FIELDS)
    encode = msgspec.json.Encoder().encode

    def make(text: str, seq: int) -> bytes:
        made = struct("llm_token", None, "trace", "trace", "parent", "call", seq, "live", None, _payload(text, seq))
        line: bytes = encode(made) + b"\n"
        return line

    return make
