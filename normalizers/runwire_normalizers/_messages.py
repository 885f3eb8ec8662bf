"""Reading LangChain messages as JSON: who speaks, in which channels, which tools they ask for, what they cost."""

from collections.abc import Iterator
from typing import Any

AI_TYPES = frozenset({"ai", "AIMessageChunk", "assistant"})
TOOL_TYPES = frozenset({"tool", "ToolMessageChunk"})
HUMAN_TYPES = frozenset({"human", "HumanMessageChunk", "user"})
# Content blocks that ask for a tool; what most of them hold also stands in `tool_calls` or `tool_call_chunks`.
CALL_BLOCKS = frozenset(
    "tool_use tool_call tool_call_chunk input_json_delta function_call non_standard computer_call".split()
)

Piece = tuple[str, str]


def kind_of(message: dict[str, Any]) -> str | None:
    """`type` of a message, or the `role` of one written as a plain dict."""
    kind = message.get("type") or message.get("role")
    return kind if isinstance(kind, str) else None


def is_message(value: Any) -> bool:
    return isinstance(value, dict) and "content" in value and kind_of(value) is not None


def pieces(message: dict[str, Any]) -> Iterator[Piece]:
    """(channel, text) of the content, in its order; an unknown block comes as ("?", its type)."""
    extra = message.get("additional_kwargs")
    if extra and isinstance(extra.get("reasoning_content"), str):
        yield "reasoning", extra["reasoning_content"]
    content = message.get("content")
    if isinstance(content, str):
        yield "text", content
    elif isinstance(content, list):
        for block in content:
            yield from _block(block)


def _block(block: Any) -> Iterator[Piece]:
    if isinstance(block, str):
        yield "text", block
    elif isinstance(block, dict):
        kind = block.get("type")
        if kind in ("text", "text_delta", "output_text", None) and isinstance(block.get("text"), str):
            yield "text", block["text"]
        elif kind == "refusal" and isinstance(block.get("refusal"), str):
            yield "text", block["refusal"]
        elif kind in ("reasoning", "thinking"):
            yield "reasoning", _reasoning(block)
        elif kind not in CALL_BLOCKS:
            yield "?", str(kind)


def _reasoning(block: dict[str, Any]) -> str:
    for name in ("reasoning", "thinking", "text"):
        if isinstance(block.get(name), str):
            return str(block[name])
    summary = block.get("summary")
    if isinstance(summary, list):
        return "".join(str(part.get("text", "")) for part in summary if isinstance(part, dict))
    return ""


def text_of(message: dict[str, Any]) -> str:
    return "".join(text for channel, text in pieces(message) if channel == "text")


def tool_calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The tool calls that a whole message asks for; those without id or name ask for nothing."""
    asked = message.get("tool_calls")
    calls = [*_computer_calls(message.get("content")), *(asked if isinstance(asked, list) else [])]
    return [call for call in calls if isinstance(call, dict) and _named(call.get("id")) and _named(call.get("name"))]


def _computer_calls(content: Any) -> list[dict[str, Any]]:
    """OpenAI's computer calls, which stand in the content alone: one action in the preview's form, else several."""
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    values = [block.get("value") if block.get("type") == "non_standard" else block for block in blocks]
    return [
        {
            "id": value.get("call_id"),
            "name": "computer",
            "args": {"actions": value.get("actions") or [value.get("action")]},
        }
        for value in values
        if isinstance(value, dict) and value.get("type") == "computer_call"
    ]


def _named(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def finish_reason(message: dict[str, Any]) -> str | None:
    told = message.get("response_metadata") or {}
    reason = told.get("finish_reason") or told.get("stop_reason") or told.get("done_reason")
    return str(reason) if reason else None


def usage_of(message: dict[str, Any]) -> dict[str, Any] | None:
    """What the message cost; a state that was rebuilt from deltas has it among the additional arguments."""
    told = message.get("usage_metadata")
    if told is None and isinstance(message.get("additional_kwargs"), dict):
        told = message["additional_kwargs"].get("usage_metadata")
    return told if isinstance(told, dict) else None


def add_usage(total: dict[str, Any], more: dict[str, Any] | None) -> dict[str, Any]:
    """The sum of two usages, details included; neither is changed."""
    if not more:
        return total
    result = dict(total)
    for name, value in more.items():
        if isinstance(value, dict):
            before = result.get(name)
            result[name] = add_usage(before if isinstance(before, dict) else {}, value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            before = result.get(name)
            result[name] = (before if isinstance(before, int | float) else 0) + value
    return result


def messages_in(result: Any) -> list[dict[str, Any]]:
    """All messages that a node returned: in an update, several writes, one or more Commands, or as they are."""
    if is_message(result):
        return [result]
    if isinstance(result, list):
        return [message for entry in result for message in messages_in(entry)]
    if not isinstance(result, dict):
        return []
    if "update" in result and "goto" in result:
        return messages_in(result["update"])
    if "$writes" in result:
        return messages_in(result["$writes"])
    listed = (_listed(value, key == "messages") for key, value in result.items() if isinstance(value, dict | list))
    return [message for messages in listed for message in messages]


def _listed(value: Any, plain: bool) -> list[dict[str, Any]]:
    """Messages of one state key; a plain dict with a role counts only under `messages`."""
    if isinstance(value, dict) and "$writes" in value:
        return [message for entry in value["$writes"] for message in _listed(entry, plain)]
    entries = value if isinstance(value, list) else [value]
    return [entry for entry in entries if is_message(entry) and (plain or "type" in entry)]
