"""Recorded bytes to envelopes to JSON lines, against parsing the frames and against langgraph-sdk with pydantic."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import httpx
import orjson
from httpx_sse import EventSource
from langgraph_sdk.schema import StreamPart
from langgraph_sdk.sse import SSEDecoder, iter_lines_raw

from benchmarks import frames
from benchmarks.pipeline import write_lines
from benchmarks.row import Effort, Row, listing
from benchmarks.timing import Side, interleaved, micros
from runwire_normalizers.schema import VALIDATOR

TOKENS = 6000
UNIT_GOAL, SDK_GOAL = 2.0, 0.45
METHOD = (
    f"{TOKENS:,} token frames of `messages-tuple` (about 1.2 kB each, as recorded from a server, other words in "
    "them) and the frames around them, in chunks of 64 kB. The unit is `orjson.loads` of the frames' data, already "
    "split. Ours is `SSEDecoder`, `StreamAdapter`, `Envelope.to_json` and a line break. langgraph-sdk is the loop "
    "of its client over the same chunks, then the envelope of the frame as a dict through the published pydantic "
    "model, without writing it. CPU time, least of the rounds."
)
HEADERS = {"content-type": "text/event-stream"}


@dataclass(frozen=True)
class Stream:
    """One stream in the forms that the sides take."""

    data: list[bytes]
    chunks: list[bytes]


def around(tokens: list[bytes]) -> list[bytes]:
    known = frames.recorded()
    return [known.metadata, known.task, *tokens, known.last]


def stream(whole: list[bytes]) -> Stream:
    return Stream([frames.data_of(frame) for frame in whole], frames.chunked(frames.joined(whole)))


def measure(effort: Effort) -> Row:
    tokens = frames.token_frames(effort.size(TOKENS))
    plain, in_turn = stream(around(tokens)), stream(around(frames.in_turn(tokens)))
    small = Stream(plain.data, [frame + frames.END for frame in around(tokens)])
    sides = {
        "orjson.loads": _side(unit, plain),
        "runwire": _side(ours, plain),
        "two calls in turn": _side(ours, in_turn),
        "a chunk per frame": _side(ours, small),
        "langgraph-sdk": _side(sdk, plain),
        "langgraph-sdk + pydantic": _side(validated, plain),
        "langgraph-sdk + pydantic, written": _side(written, plain),
        "httpx-sse + orjson": _side(httpx_sse, plain),
    }
    found = interleaved(sides, effort.rounds)
    cost = {name: micros(timed.seconds, len(plain.data)) for name, timed in found.items()}
    return row(cost)


def row(cost: dict[str, float]) -> Row:
    unit_ratio = cost["runwire"] / cost["orjson.loads"]
    sdk_ratio = cost["runwire"] / cost["langgraph-sdk + pydantic"]
    return Row(
        "recorded bytes to envelopes to JSON lines",
        f"{unit_ratio:.2f} × orjson.loads; {sdk_ratio:.2f} × langgraph-sdk + pydantic",
        f"≤ {UNIT_GOAL} ×; ≤ {SDK_GOAL} ×",
        unit_ratio <= UNIT_GOAL and sdk_ratio <= SDK_GOAL,
        listing("µs per frame", (f"{name} {value:.2f}" for name, value in cost.items())),
        METHOD,
    )


def _side(run: Callable[[Stream], object], given: Stream) -> Side:
    return lambda: partial(run, given)


def unit(given: Stream) -> None:
    loads = orjson.loads
    for data in given.data:
        loads(data)


def ours(given: Stream) -> None:
    write_lines(given.chunks, len)


def sdk_parts(chunks: list[bytes]) -> Iterator[StreamPart]:
    """The loop of langgraph-sdk's client, without its reconnects."""
    decoder = SSEDecoder()
    for line in iter_lines_raw(httpx.Response(200, headers=HEADERS, content=iter(chunks))):
        part = decoder.decode(cast(bytes, line).rstrip(b"\n"))
        if part is not None and (part.event or decoder.has_data):
            yield part


def sdk(given: Stream) -> None:
    for _ in sdk_parts(given.chunks):
        pass


def models(given: Stream) -> Iterator[Any]:
    validate, seq = VALIDATOR.validate_python, 1
    for part in sdk_parts(given.chunks):
        if part.event == "messages":
            message, meta = cast(Any, part.data)
            text = message["content"] or "-"
            yield validate(token_envelope(text, seq, message["id"], meta["run_id"]))
            seq += len(text)


def token_envelope(text: str, seq: int, call_id: str, run_id: str) -> dict[str, Any]:
    return {
        "type": "llm_token",
        "ts": None,
        "trace_id": run_id,
        "run_id": run_id,
        "parent_id": run_id,
        "call_id": call_id,
        "seq": seq,
        "origin": "live",
        "agent": None,
        "payload": {"text": text, "channel": "text", "offset": seq - 1},
    }


def validated(given: Stream) -> None:
    for _ in models(given):
        pass


def written(given: Stream) -> None:
    for model in models(given):
        len(model.model_dump_json() + "\n")


def httpx_sse(given: Stream) -> None:
    response = httpx.Response(200, headers=HEADERS, content=iter(given.chunks))
    for event in EventSource(response).iter_sse():
        orjson.loads(event.data)
