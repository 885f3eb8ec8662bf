"""Reads message chunks of a graph in this process field by field, and their metadata once.

Most of a chunk is empty, and its metadata is mostly the very object that came with the chunk before.
"""

from collections.abc import Mapping
from typing import Any

from runwire_normalizers.coerce import json_safe
from runwire_normalizers.parts import StreamPart, read_part

CHUNK = "AIMessageChunk"
# What a chunk may tell besides its text; the rest of its fields tells nothing that these do not.
FIELDS = ("additional_kwargs", "response_metadata", "usage_metadata", "tool_call_chunks", "chunk_position", "name")


class ChunkReader:
    """Chunks of `stream`, `astream` and `astream_events` to parts, with the metadata that it saw last."""

    def __init__(self) -> None:
        self._seen: Any = None
        self._copy: dict[Any, Any] = {}
        self._safe: dict[str, Any] = {}

    def read(self, item: Any, bare_mode: str | None) -> StreamPart:
        """Any item as a part; the metadata of a chunk may be shared with others, so it is never changed."""
        if (found := _spoken(item)) and _is_chunk(found[1]):
            return self._part(*found)
        match item:
            case {"event": "on_chat_model_stream", "run_id": _, "data": {"chunk": message}} if _is_chunk(message):
                return self._event(item, _told(message))
            case _:
                return read_part(item, bare_mode)

    def _part(self, namespace: Any, message: Any, metadata: Mapping[Any, Any]) -> StreamPart:
        return StreamPart("messages", tuple(map(str, namespace)), [_told(message), self._metadata(metadata)])

    def _event(self, item: Mapping[str, Any], told: dict[str, Any]) -> StreamPart:
        event = {"event": item["event"], "run_id": json_safe(item["run_id"]), "data": {"chunk": told}}
        metadata = item.get("metadata")
        safe = self._metadata(metadata) if isinstance(metadata, Mapping) else json_safe(metadata)
        return StreamPart("events", (), {**event, "metadata": safe})

    def _metadata(self, metadata: Mapping[Any, Any]) -> dict[str, Any]:
        # The same object may have been changed since: its entries tell.
        if metadata is not self._seen or metadata != self._copy:
            self._seen, self._copy, self._safe = metadata, dict(metadata), json_safe(metadata)
        return self._safe


def plain(item: Any) -> tuple[str, str] | None:
    """The message id and the text of a chunk in `messages` that tells nothing else, as most do."""
    found = _spoken(item)
    if found is None:
        return None
    message = found[1]
    try:
        if message.type != CHUNK or message.tool_call_chunks or message.usage_metadata or message.response_metadata:
            return None
        if message.additional_kwargs or message.name or getattr(message, "chunk_position", None):
            return None
        id, text = message.id, message.content
    except AttributeError:
        return None
    if type(id) is not str or type(text) is not str:
        return None
    return id, text if text.isascii() else json_safe(text)


def _spoken(item: Any) -> tuple[Any, Any, Any] | None:
    """Namespace, message and metadata in any form that `messages` has: named, bare, of a subgraph, a typed part."""
    namespace: Any = ()
    pair = item
    if type(item) is dict:
        if item.get("type") != "messages":
            return None
        namespace, pair = item.get("ns"), item.get("data")
    elif type(item) is tuple and len(item) == 3:
        namespace, mode, pair = item
        if mode != "messages":
            return None
    elif type(item) is tuple and len(item) == 2:
        if type(item[0]) is tuple:
            namespace, pair = item
        elif type(item[0]) is str:
            pair = item[1] if item[0] == "messages" else None
    if type(namespace) is not tuple or type(pair) is not tuple or len(pair) != 2:
        return None
    message, metadata = pair
    # The second is for forms that LangGraph does not have, and costs as much as all of the rest.
    return (namespace, message, metadata) if type(metadata) is dict or isinstance(metadata, Mapping) else None


def _told(message: Any) -> dict[str, Any]:
    told = {"type": CHUNK, "content": json_safe(message.content), "id": json_safe(message.id)}
    for name in FIELDS:
        value = getattr(message, name, None)
        if value:
            told[name] = json_safe(value)
    return told


def _is_chunk(message: Any) -> bool:
    """By its shape: a LangChain message, which this room does not import."""
    return getattr(message, "type", None) == CHUNK and hasattr(message, "tool_call_chunks")
