"""One shape for every source: `StreamPart`, and the reader that recognises each source by its shape alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic_core import from_json

from runwire_normalizers.coerce import json_safe
from runwire_normalizers.sse import ServerSentEvent

MODES = frozenset("values updates messages events tasks checkpoints debug custom".split())
# Frames that belong to no stream mode, and the three forms of the server's cumulative `messages` mode.
FRAMES = frozenset("metadata error end messages/metadata messages/partial messages/complete".split())

# From here on orjson, the fastest, would take twelve times the size of what it reads for a while.
LARGE = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class StreamPart:
    """A part of a run: what it is, the namespace of the graph it comes from, its JSON data, the id of its frame."""

    mode: str
    namespace: tuple[str, ...]
    data: Any
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Malformed:
    """Data that is no JSON, in place of it."""

    text: str


def read_part(item: Any, bare_mode: str | None = None) -> StreamPart:
    """The part in any item of any source; `bare_mode` names the mode of items that carry no name of their own."""
    if isinstance(item, StreamPart):
        return item
    if isinstance(item, Mapping):
        return _mapping(item, bare_mode)
    if isinstance(item, ServerSentEvent):
        return _frame(item.event, item.raw, item.id or None)
    if hasattr(item, "event") and hasattr(item, "data"):
        return _frame(item.event, item.data, getattr(item, "id", None) or None)
    if isinstance(item, tuple):
        return _tuple(item, bare_mode)
    return StreamPart(bare_mode or "custom", (), json_safe(item))


def _frame(event: Any, data: Any, id: str | None) -> StreamPart:
    mode, *namespace = (event if isinstance(event, str) else str(event)).split("|")
    if isinstance(data, str | bytes):
        try:
            data = parse(data)
        except orjson.JSONDecodeError:
            data = _parsed_text(data) if isinstance(data, bytes) else Malformed(data)
    else:
        data = json_safe(data)
    return StreamPart(mode, tuple(namespace), data, id)


def parse(data: str | bytes) -> Any:
    """JSON of any size; raises orjson's error."""
    if len(data) < LARGE:
        return orjson.loads(data)
    try:
        return from_json(data, allow_inf_nan=False, cache_strings="none")
    except ValueError:
        return orjson.loads(data)


def _parsed_text(data: bytes) -> Any:
    """Bytes that are no UTF-8 may be JSON once they are text, as the protocol reads them."""
    text = data.decode(errors="replace")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return Malformed(text)


def _mapping(item: Mapping[str, Any], bare_mode: str | None) -> StreamPart:
    event = item.get("event")
    if isinstance(event, str) and "data" in item:
        if event.startswith("on_") and "run_id" in item:
            return StreamPart("events", (), json_safe(item))
        # What a node writes to a stream of its own data may well look like a frame, and no graph yields one.
        if bare_mode != "custom" and set(item) <= {"event", "data", "id", "retry"}:
            return _frame(event, item["data"], item.get("id"))
    if isinstance(item.get("type"), str) and "ns" in item and "data" in item:
        data = item["data"]
        if item.get("interrupts") and isinstance(data, Mapping):
            data = {**data, "__interrupt__": item["interrupts"]}
        namespace = item["ns"] if isinstance(item["ns"], list | tuple) else ()
        return StreamPart(item["type"], tuple(map(str, namespace)), json_safe(data))
    return StreamPart(bare_mode or bare_dict_mode(item), (), json_safe(item))


def _tuple(item: tuple[Any, ...], bare_mode: str | None) -> StreamPart:
    match item:
        case (tuple(namespace), str(mode), data) if mode in MODES:
            return StreamPart(mode, tuple(map(str, namespace)), json_safe(data))
        case (str(mode), data) if mode in MODES:
            return StreamPart(mode, (), json_safe(data))
        case (tuple(namespace), data) if all(isinstance(segment, str) for segment in namespace):
            inner = read_part(data, bare_mode)
            return StreamPart(inner.mode, namespace, inner.data)
        case (message, Mapping() as metadata) if _is_message(message):
            return StreamPart("messages", (), json_safe([message, metadata]))
    return StreamPart(bare_mode or "custom", (), json_safe(item))


def _is_message(item: Any) -> bool:
    return hasattr(item, "content") or (isinstance(item, Mapping) and "content" in item)


def bare_dict_mode(item: Mapping[str, Any]) -> str:
    """The mode of a dict that `stream_mode=<one mode>` gave: each mode has its own keys."""
    keys = set(item)
    if {"step", "type", "payload"} <= keys:
        return "debug"
    if {"id", "name"} <= keys and (keys & {"result", "triggers"}):
        return "tasks"
    if {"config", "values", "next", "tasks"} <= keys:
        return "checkpoints"
    if keys == {"__interrupt__"} or (keys and "messages" not in keys and all(map(_is_update, item.values()))):
        return "updates"
    return "values"


def _is_update(value: Any) -> bool:
    """What a node may return: nothing, an update, or several."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(entry, Mapping) for entry in value) and not any(map(_is_message, value))
    return value is None or (isinstance(value, Mapping) and not _is_message(value))
