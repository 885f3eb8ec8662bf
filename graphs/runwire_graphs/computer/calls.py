"""What a model asks for, in all the shapes in which OpenAI's computer tool and plain functions arrive, and the answers.

In the state a picture is a reference. Only what goes to a model that looks at pictures gets bytes, and of the last
turns alone: the ones before are told in a line.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from runwire_graphs.shots import read_shot

COMPUTER = "computer"
NAVIGATE = "navigate"
ASK = "ask_person"
GIVE_UP = "give_up"
ACKNOWLEDGED = "acknowledged_safety_checks"
TURNS_IN_PICTURES = 4
TURNS_IN_FULL = 12


@dataclass(frozen=True)
class Asked:
    """One call: some actions, or a function with arguments. `native` is OpenAI's own computer call."""

    id: str
    name: str
    args: dict[str, Any]
    actions: tuple[Any, ...] = ()
    checks: tuple[dict[str, Any], ...] = ()
    native: bool = False


def asked(message: AIMessage) -> list[Asked]:
    """The calls of a message, in the order in which they stand in it."""
    native = [_native(block) for block in _blocks(message) if block.get("type") == "computer_call"]
    places = {block.get("call_id"): place for place, block in enumerate(_blocks(message))}
    functions = [_function(call["id"] or "", call["name"], call["args"]) for call in message.tool_calls]
    functions += [_function(call["id"] or "", call["name"] or "", {}) for call in message.invalid_tool_calls]
    return sorted([*native, *functions], key=lambda one: places.get(one.id, len(places)))


def _blocks(message: AIMessage) -> Iterator[dict[str, Any]]:
    """Content blocks as OpenAI wrote them; LangChain's own form wraps those that it does not know."""
    for block in message.content if isinstance(message.content, list) else []:
        if isinstance(block, dict):
            value = block.get("value")
            yield value if block.get("type") == "non_standard" and isinstance(value, dict) else block


def _native(block: dict[str, Any]) -> Asked:
    """One action in the preview's form, several in the current one."""
    single = block.get("action")
    actions = tuple(block.get("actions") or ([single] if single else []))
    checks = tuple(block.get("pending_safety_checks") or ())
    return Asked(block.get("call_id") or block.get("id") or "", COMPUTER, {}, actions, checks, native=True)


def _function(id: str, name: str, args: dict[str, Any]) -> Asked:
    actions: Any = args.get("actions") if name == COMPUTER else None
    if name == NAVIGATE:
        actions = [{"type": "navigate", "url": args.get("url")}]
    return Asked(id, name, args, tuple(actions) if isinstance(actions, list) else ())


def refusal(message: AIMessage) -> str | None:
    """The words in which a model refuses, if it does."""
    said = [str(block.get("refusal")) for block in _blocks(message) if block.get("type") == "refusal"]
    return "".join(said) or message.additional_kwargs.get("refusal") or None


def cut_short(message: AIMessage) -> str | None:
    """Why the provider ended the message before its end, if it did."""
    told = message.response_metadata
    if told.get("status") == "incomplete":
        return str((told.get("incomplete_details") or {}).get("reason") or "for a reason that it did not tell")
    reason = told.get("finish_reason")
    return str(reason) if reason in ("length", "content_filter") else None


def answer(call: Asked, text: str, shot: dict[str, Any] | None = None, failed: bool = False) -> ToolMessage:
    """The answer to a call as the state keeps it: what the screen shows in words, and the picture by reference."""
    return ToolMessage(
        text,
        id=uuid4().hex,
        tool_call_id=call.id,
        name=call.name,
        artifact=shot,
        status="error" if failed else "success",
        additional_kwargs={ACKNOWLEDGED: list(call.checks)} if call.native else {},
    )


def shortened(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Older answers by their first line, to take the place of the long ones."""
    answers = [one for one in messages if isinstance(one, ToolMessage)][:-TURNS_IN_FULL]
    long = [one for one in answers if "\n" in str(one.content)]
    return [one.model_copy(update={"content": str(one.content).partition("\n")[0]}) for one in long]


def for_pictures(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The transcript for OpenAI's computer tool. It blocks: pictures are read from files."""
    turns = _turns(messages)
    last = list(takewhile(_has_pictures, reversed(turns[-TURNS_IN_PICTURES:])))[::-1]
    told = [line for turn in turns[: len(turns) - len(last)] for line in _told(turn)]
    before: list[AnyMessage] = [SystemMessage("What was done before:\n" + "\n".join(told))] if told else []
    opening = [one for one in messages if isinstance(one, HumanMessage)][:1]
    return [*opening, *before, *(one for turn in last for message in turn for one in _shown(message))]


def _turns(messages: Sequence[AnyMessage]) -> list[list[AnyMessage]]:
    """The transcript after the request: what the model said, with all that came before it spoke again."""
    turns: list[list[AnyMessage]] = []
    for message in messages[1:]:
        if isinstance(message, AIMessage) or not turns:
            turns.append([])
        turns[-1].append(message)
    return turns


def _has_pictures(turn: list[AnyMessage]) -> bool:
    """Whether every computer call of a turn can be answered with its picture; a call without one is refused."""
    return all(_picture(one) for one in turn if isinstance(one, ToolMessage) and ACKNOWLEDGED in one.additional_kwargs)


def _told(turn: list[AnyMessage]) -> list[str]:
    lines = []
    for one in turn:
        if isinstance(one, AIMessage):
            lines += [f"- {_summary(call)}" for call in asked(one)]
        elif isinstance(one, HumanMessage):
            lines.append(f"- the user said: {one.text}")
    return lines


def _summary(call: Asked) -> str:
    kinds = [str(one.get("type")) for one in call.actions if isinstance(one, dict)]
    return f"{call.name}: {', '.join(kinds)}" if kinds else f"{call.name} {call.args}"


def _shown(message: AnyMessage) -> list[AnyMessage]:
    """An answer to a computer call as the API wants it; it has no place for words, so a failure's come behind it."""
    if not isinstance(message, ToolMessage) or ACKNOWLEDGED not in message.additional_kwargs:
        return [message]
    kwargs = {"type": "computer_call_output", ACKNOWLEDGED: message.additional_kwargs[ACKNOWLEDGED]}
    block = {"type": "input_image", "image_url": _picture(message)}
    output = ToolMessage([block], tool_call_id=message.tool_call_id, additional_kwargs=kwargs)
    failed = [SystemMessage(str(message.text))] if message.status == "error" else []
    return [output, *failed]


def _picture(message: ToolMessage) -> str | None:
    shot = message.artifact
    png = read_shot(shot["filename"]) if isinstance(shot, dict) else None
    return f"data:image/png;base64,{base64.b64encode(png).decode()}" if png else None
