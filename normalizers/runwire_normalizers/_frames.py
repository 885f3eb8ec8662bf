"""Reads `messages` frames at the price of what differs from frame to frame: most of each repeats the one before.

A frame is `[{"content":…,rest of the chunk},{metadata}]`. Metadata repeats byte for byte within one task, and within
one text everything but the content does. Both are cut off by comparing bytes; only what is left is parsed, so that a
frame reads just as a full parse would read it, or falls back to one.
"""

from typing import Any

import orjson

from runwire_normalizers._models import ModelCall
from runwire_normalizers.parts import StreamPart, parse, read_part
from runwire_normalizers.sse import ServerSentEvent

OPENING = b'[{"content":'
CONTENT = len(OPENING)
# Models that speak at once in one graph; the oldest template gives way.
TEMPLATES = 8


class _Template:
    """All of a frame after its content, and the model call that such a frame moves."""

    __slots__ = ("call", "rest", "size")

    def __init__(self, call: ModelCall, rest: bytes) -> None:
        self.call = call
        self.rest = rest
        self.size = len(rest)


class FrameReader:
    """Server-sent events to parts, with what it remembers of the frames before."""

    def __init__(self) -> None:
        self._tails: dict[str, tuple[bytes, dict[str, Any]]] = {}
        self._templates: dict[str, list[_Template]] = {}

    def token(self, item: ServerSentEvent) -> tuple[ModelCall, str] | None:
        """The text of a frame that differs from an earlier one in nothing else, and the model call that says it."""
        raw = item.raw
        for template in self._templates.get(item.event, ()):
            if raw.endswith(template.rest) and raw.startswith(OPENING):
                try:
                    text = orjson.loads(raw[CONTENT : -template.size])
                except orjson.JSONDecodeError:
                    return None
                return (template.call, text) if type(text) is str else None
        return None

    def read(self, item: ServerSentEvent) -> StreamPart:
        """Any frame as a part; the metadata of a `messages` frame may be shared with others, so it is never changed."""
        if not (item.event == "messages" or item.event.startswith("messages|")):
            return read_part(item)
        raw = item.raw
        tail, metadata = self._tails.get(item.event, (b"", None))
        if metadata is not None and raw.endswith(tail) and raw.startswith(b"["):
            try:
                data = [parse(raw[1 : -len(tail)]), metadata]
            except orjson.JSONDecodeError:
                return read_part(item)
            return StreamPart("messages", tuple(item.event.split("|")[1:]), data, item.id or None)
        part = read_part(item)
        self._learn_tail(item.event, raw, part.data)
        return part

    def _learn_tail(self, event: str, raw: bytes, data: Any) -> None:
        if isinstance(data, list) and len(data) == 2 and isinstance(data[1], dict):
            tail = b"," + _written(data[1]) + b"]"
            if raw.startswith(b"[") and raw.endswith(tail):
                self._tails[event] = (tail, data[1])

    def learn_text(self, item: ServerSentEvent, message: Any, call: ModelCall) -> None:
        """A frame that did nothing but move the text of a model call: the next one may differ in its content alone."""
        content = _written(message["content"])
        rest = item.raw[CONTENT + len(content) :]
        # Of a key that stands twice the last one counts: then the text is not where it seems to be.
        if not item.raw.startswith(OPENING + content) or b'"content":' in rest:
            return
        known = self._templates.setdefault(item.event, [])
        known[:] = [template for template in known if not template.call.over]
        known.insert(0, _Template(call, rest))
        del known[TEMPLATES:]


def _written(data: Any) -> bytes:
    """The bytes that most servers write for it; none that could be found where it is too deep to be written."""
    try:
        return orjson.dumps(data)
    except TypeError:
        return b"\n"


def is_plain_text(data: Any) -> bool:
    """Whether a `messages` frame tells nothing but a text, whatever the text is."""
    if not (isinstance(data, list) and len(data) == 2 and isinstance(data[1], dict)):
        return False
    message = data[0]
    return (
        isinstance(message, dict)
        and isinstance(message.get("content"), str)
        and message.get("type") == "AIMessageChunk"
        and isinstance(message.get("id"), str)
        and not any(message.get(name) for name in _MORE)
    )


_MORE = "additional_kwargs response_metadata usage_metadata tool_call_chunks tool_calls chunk_position".split()
