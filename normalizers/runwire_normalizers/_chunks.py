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

# `type`, `content` and `id`.
PLAIN = 3


class ChunkReader:
    """Chunks of `stream`, `astream` and `astream_events` to parts, with the metadata that it saw last."""

    def __init__(self) -> None:
        self._seen: Any = None
        self._copy: dict[Any, Any] = {}
        self._safe: dict[str, Any] = {}
        # That of the last chunk, if it told nothing but a text.
        self.text: str | None = None

    def read(self, item: Any, bare_mode: str | None) -> StreamPart:
        """Any item as a part; the metadata of a chunk may be shared with others, so it is never changed."""
        self.text = None
        match item:
            case (tuple(namespace), "messages", (message, Mapping() as metadata)) if _is_chunk(message):
                return self._part(tuple(map(str, namespace)), message, metadata)
            case ("messages", (message, Mapping() as metadata)) if _is_chunk(message):
                return self._part((), message, metadata)
            case {"event": "on_chat_model_stream", "run_id": _, "data": {"chunk": message}} if _is_chunk(message):
                return self._event(item, _told(message))
            case _:
                return read_part(item, bare_mode)

    def _part(self, namespace: tuple[str, ...], message: Any, metadata: Mapping[Any, Any]) -> StreamPart:
        told = _told(message)
        if len(told) == PLAIN and type(told["content"]) is str and type(told["id"]) is str:
            self.text = told["content"]
        return StreamPart("messages", namespace, [told, self._metadata(metadata)])

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
