"""What a tool returned, as one of four kinds: `tool_result` gives the light form, `read_tool_result` the typed one."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from runwire_normalizers._messages import AI_TYPES, TOOL_TYPES, kind_of
from runwire_normalizers._scrub import scrub
from runwire_normalizers.coerce import json_safe


class _Result(BaseModel):
    """Foreign fields pass: a tool may tell more than its kind asks for."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


class TablePayload(_Result):
    """Rows under columns."""

    kind: Literal["table"]
    columns: list[Any]
    rows: list[Any]


class TextPayload(_Result):
    """Text that is no JSON."""

    kind: Literal["text"]
    text: str


class GenericJsonPayload(_Result):
    """Any other structure."""

    kind: Literal["json"]
    data: Any


class FileRefPayload(_Result):
    """A file: its bytes, or whatever else the tool told of where it is (`url`, `path`)."""

    kind: Literal["file_ref"]
    filename: str
    mime: str
    bytes_b64: str | None = None


ToolResultPayload = Annotated[
    TablePayload | TextPayload | GenericJsonPayload | FileRefPayload,
    Field(discriminator="kind"),
]

_VALIDATOR: TypeAdapter[ToolResultPayload] = TypeAdapter(ToolResultPayload)


def read_tool_result(message: Any) -> ToolResultPayload:
    """The result of a tool message, or of the bare value that a tool returned."""
    return _VALIDATOR.validate_python(tool_result(message))


def tool_result(message: Any) -> dict[str, Any]:
    """As `read_tool_result`: structured content, then the artifact, then JSON in the text, then the text."""
    parts = _parts(message)
    if parts is None:
        return _payload(message)
    content, artifact = parts
    if isinstance(artifact, Mapping) and artifact.get("structured_content") is not None:
        return _payload(artifact["structured_content"])
    return _payload(_joined(content) if artifact is None else artifact)


def _parts(message: Any) -> tuple[Any, Any] | None:
    """Content and artifact of a message; None for a bare value, which may have a key `content` too."""
    told = dict(message) if isinstance(message, BaseModel | Mapping) else {}
    if "content" not in told:
        return None
    spoken = kind_of(told) in TOOL_TYPES | AI_TYPES
    return (told["content"], told.get("artifact")) if spoken or "tool_call_id" in told or "artifact" in told else None


def _joined(content: Any) -> Any:
    """Text blocks are one text. Plain strings in a list are the tool's own list."""
    if isinstance(content, list) and content and all(_is_text_block(block) for block in content):
        return "".join(block["text"] for block in content)
    return content


def _is_text_block(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str)


def _payload(value: Any) -> dict[str, Any]:
    safe = _safe(value)
    if isinstance(safe, str):
        parsed = _json(safe)
        if parsed is None:
            return {"kind": "text", "text": safe}
        safe = _safe(parsed)
    return _kinded(safe) if isinstance(safe, dict) else {"kind": "json", "data": safe}


def _safe(value: Any) -> Any:
    """A model as its own JSON; other structure as `json_safe` finds it; `str` where there is none."""
    if isinstance(value, BaseModel):
        try:
            value = value.model_dump(mode="json", serialize_as_any=True, warnings=False)
        except Exception:  # bytes that are no text, or a serializer of the user's
            return scrub(json_safe(value))
    safe = json_safe(value)
    if isinstance(safe, dict) and not isinstance(value, Mapping) and safe.keys() <= {"repr"}:
        return json_safe(_words(value))
    return scrub(safe)


def _words(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # foreign code
        return f"<{type(value).__name__}>"


def _json(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _kinded(value: dict[str, Any]) -> dict[str, Any]:
    """The kind that the value names, if it has its fields, or the one whose fields it has."""
    named = value.get("kind")
    for kind in (named, "table", "file_ref"):
        fits = _FITS.get(kind) if isinstance(kind, str) else None
        if fits and fits(value):
            more = {"bytes_b64": _base64(value)} if kind == "file_ref" else {}
            return {"kind": kind} | value | more | {"kind": kind}
    return {"kind": "json", "data": value}


def _is_table(value: dict[str, Any]) -> bool:
    return isinstance(value.get("columns"), list) and isinstance(value.get("rows"), list)


def _is_file(value: dict[str, Any]) -> bool:
    named = isinstance(value.get("filename"), str) and isinstance(value.get("mime"), str)
    return named and isinstance(_base64(value), str | None)


def _base64(value: dict[str, Any]) -> Any:
    """Raw bytes have become their mark by now, which holds the same base64."""
    told = value.get("bytes_b64")
    return told["$bytes"] if isinstance(told, dict) and told.keys() == {"$bytes"} else told


_FITS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "table": _is_table,
    "text": lambda value: isinstance(value.get("text"), str),
    "json": lambda value: "data" in value,
    "file_ref": _is_file,
}
