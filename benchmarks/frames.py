"""Token frames as a server sends them: those of a recording, byte for byte, with other words in them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

RECORDING = Path(__file__).parent.parent / "tests" / "recordings" / "slow" / "default.sse"
CHUNK = 64 * 1024
END = b"\r\n\r\n"
MESSAGE_ID = re.compile(rb"lc_run--[0-9a-f-]{36}")
TASK_ID = re.compile(rb"quick:[0-9a-f-]{36}")
OTHER = b"00000000-0000-7000-8000-000000000001"
TEXT = """Streams are read by people, so the words come first: a plain sentence, then another, and now and then
a "quoted one" or a path like C:\\temp. Größere Wörter kommen vor, naïve café prices (12,50 €) as well; 你好，世界 is
part of it, and so is 🙂 or 👩‍🚀.

```python
print("hello, \\"world\\"\\n")
```
- one point about the model's answer, which goes on for quite a while in ordinary English, as most answers do
- another, with numbers: 3.14159 and 2,718, until the paragraph is long enough to be typical of what a model says.
"""


def tokens(count: int) -> list[str]:
    """Pieces of up to six letters with the space before them, about what a tokenizer makes."""
    pieces = re.findall(r"\s+\S{0,6}|\S{1,6}", TEXT)
    return [pieces[n % len(pieces)] for n in range(count)]


@dataclass(frozen=True)
class Recorded:
    """The frames of the recording's first node, each without the blank line after it."""

    metadata: bytes
    task: bytes
    token: bytes
    last: bytes
    update: bytes
    result: bytes


@cache
def recorded() -> Recorded:
    frames = RECORDING.read_bytes().split(END)
    metadata, task, token, _, last, update, result = frames[:7]
    return Recorded(metadata, task, token, last, update, result)


def token_frame(text: str, number: int) -> bytes:
    """The recorded token frame with this text and an id line of its own."""
    said = recorded().token.replace(b'"Quickly "', orjson.dumps(text), 1)
    return said.rpartition(b"id: ")[0] + b"id: %d-0" % (1794993319972 + number)


def token_frames(count: int) -> list[bytes]:
    return [token_frame(text, number) for number, text in enumerate(tokens(count))]


def in_turn(frames: Sequence[bytes]) -> list[bytes]:
    """The same frames from two model calls that speak in turn, so that no two neighbours share their metadata."""
    return [frame if number % 2 else _other(frame) for number, frame in enumerate(frames)]


def _other(frame: bytes) -> bytes:
    frame = MESSAGE_ID.sub(b"lc_run--" + OTHER, TASK_ID.sub(b"other:" + OTHER, frame))
    return frame.replace(b'"quick"', b'"other"').replace(b"to:quick", b"to:other")


def joined(frames: Sequence[bytes]) -> bytes:
    return b"".join(frame + END for frame in frames)


def chunked(stream: bytes, size: int = CHUNK) -> list[bytes]:
    return [stream[start : start + size] for start in range(0, len(stream), size)]


def data_of(frame: bytes) -> bytes:
    return next(line for line in frame.split(b"\r\n") if line.startswith(b"data: ")).removeprefix(b"data: ")


def task_with(history: Sequence[dict[str, Any]]) -> bytes:
    """The task's start, with these messages before the one that was asked."""
    task = orjson.loads(data_of(recorded().task))
    task["input"]["messages"] = [*history, *task["input"]["messages"]]
    return _with_data(recorded().task, task)


def values_with(history: Sequence[dict[str, Any]]) -> bytes:
    """A `values` frame as the run finds the state."""
    asked = orjson.loads(data_of(recorded().task))["input"]["messages"]
    return _with_data(b"event: values\r\ndata: {}\r\nid: 1794993319970-0", {"messages": [*history, *asked]})


def ending(text: str) -> list[bytes]:
    """The frames after the last token where nodes' results are told: the whole message twice more."""
    whole = orjson.dumps(text)
    return [frame.replace(b'"Quickly done."', whole, 1) for frame in (recorded().update, recorded().result)]


def _with_data(frame: bytes, data: Any) -> bytes:
    return frame.replace(data_of(frame), orjson.dumps(data), 1)


def history(count: int) -> list[dict[str, Any]]:
    """Earlier messages of the thread, asked and answered in turn."""
    said = orjson.loads(data_of(recorded().update))["quick"]["messages"][0]
    asked = orjson.loads(data_of(recorded().task))["input"]["messages"][0]
    return [
        {**(said if number % 2 else asked), "id": f"earlier-{number}", "content": TEXT[:200]} for number in range(count)
    ]
