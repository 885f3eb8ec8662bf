"""The normalised output of a graph and the payload of a tool's result, as far as the adapter itself needs them."""

from typing import Any

import orjson

from runwire_normalizers._scrub import scrub


def normalized(values: dict[str, Any], usage: dict[str, Any]) -> dict[str, Any]:
    """What every graph's end tells: its messages, its files, and what its models used."""
    messages, files = values.get("messages"), values.get("files")
    return {
        "messages": scrub(messages) if isinstance(messages, list) else [],
        "files": scrub(files) if isinstance(files, dict) else {},
        "usage": usage,
    }


def tool_result(message: Any) -> dict[str, Any]:
    """A tool's result with its `kind`: structured content, then the artifact, then JSON in the text, then the text."""
    if not (isinstance(message, dict) and "content" in message):
        return _payload(message)
    artifact = message.get("artifact")
    if isinstance(artifact, dict) and artifact.get("structured_content") is not None:
        return _payload(artifact["structured_content"])
    if artifact is not None:
        return _payload(artifact)
    return _payload(_plain(message["content"]))


def _plain(content: Any) -> Any:
    if isinstance(content, list) and all(isinstance(b, dict) and b.get("type") == "text" for b in content):
        return "".join(str(block.get("text", "")) for block in content)
    return content


def _payload(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        parsed = _json(value)
        if parsed is None:
            return {"kind": "text", "text": value}
        value = parsed
    if isinstance(value, dict):
        if isinstance(value.get("columns"), list) and isinstance(value.get("rows"), list):
            return {"kind": "table", "columns": scrub(value["columns"]), "rows": scrub(value["rows"])}
        if isinstance(value.get("filename"), str) and isinstance(value.get("mime"), str):
            return {**scrub(value), "kind": "file_ref"}
    return {"kind": "json", "data": scrub(value)}


def _json(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
