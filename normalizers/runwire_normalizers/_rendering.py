"""A view as lines that a person reads in a terminal. Whatever models and tools say stays text, and is never obeyed."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from runwire_normalizers._call_view import CallView

MARKS = {"open": "…", "waiting": "?", "ok": "✓", "error": "✗", "cancelled": "–"}
TODOS = {"completed": "[x]", "in_progress": "[>]"}
SHORTEST = 0.005
# Control characters of all kinds, marks that turn the direction of writing included.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]+"
)
BRANCH, LAST, DOWN, NOTHING = "├─ ", "└─ ", "│  ", "   "


def rendered(root: CallView | None, strays: Iterable[CallView], width: int) -> str:
    lines = [line for call in [*([root] if root else []), *strays] for line in _tree(call, "", "")]
    return "\n".join(_cut(line, width) for line in [*lines, *(_state(root) if root else ())])


def _tree(call: CallView, lead: str, below: str) -> Iterator[str]:
    yield lead + _line(call)
    more: list[str | CallView] = [*_notes(call), *call.calls]
    for number, entry in enumerate(more, 1):
        mark, under = (LAST, NOTHING) if number == len(more) else (BRANCH, DOWN)
        if isinstance(entry, str):
            yield below + mark + entry
        else:
            yield from _tree(entry, below + mark, below + under)


def _line(call: CallView) -> str:
    name = f" {call.name or call.node}" if call.name or call.node else ""
    agent = f" ({call.agent})" if call.agent and call.agent != call.name and call.kind == "tool" else ""
    return _clean(f"{MARKS[call.status]} {call.kind}{name}{agent}{_time(call)}{_said(call)}")


def _time(call: CallView) -> str:
    """How long the call took, where two times are known that differ."""
    if call.started is None or call.ended is None or call.ended - call.started < SHORTEST:
        return ""
    return f" {call.ended - call.started:.2f} s"


def _said(call: CallView) -> str:
    match call.kind:
        case "model":
            asked = "".join(f" → {_call(one, call.status == 'open')}" for one in call.arguments)
            return (f": {call.text}" if call.text else "") + asked
        case "tool":
            args = f" {_short(call.args)}" if call.args else ""
            return args + (f" → {_result(call.result)}" if call.result is not None else "")
        case _:
            return ""


def _call(asked: dict[str, Any], writing: bool) -> str:
    """A tool that a model asks for; its arguments only until the call itself shows them."""
    return f"{asked['tool_name'] or 'tool'}{' ' + asked['text'] if writing else ''}"


def _result(result: Any) -> str:
    """A tool's result in a few words."""
    match result:
        case {"kind": "text", "text": str(text)}:
            return text
        case {"kind": "table", "columns": list(columns), "rows": list(rows)}:
            return f"table of {len(rows)} rows: {', '.join(map(str, columns))}"
        case {"kind": "file_ref", "filename": str(name), "mime": str(mime)}:
            return f"file {name} ({mime})"
        case {"kind": "json", "data": data}:
            return _short(data)
        case _:
            return _short(result)


def _notes(call: CallView) -> Iterator[str]:
    """What stands under a call besides its calls."""
    if call.reasoning:
        yield _clean(f"thinks: {call.reasoning}")
    yield from (_clean(f"! {one['code']}: {one['message']}") for one in call.warnings)
    if call.error:
        told = f"{call.error['class'] or 'error'}: {call.error['message'] or 'no message'}"
        yield _clean(f"✗ {told}" + (f" (in {call.error['node']})" if call.error["node"] else ""))
    inner = {_id(one) for below in call.calls for one in below.interrupts or ()}
    yield from (_clean(f"? {_asked(one)}") for one in call.interrupts or () if _id(one) not in inner)


def _id(interrupt: Any) -> Any:
    return interrupt.get("id") if isinstance(interrupt, dict) else repr(interrupt)


def _asked(interrupt: Any) -> str:
    match interrupt.get("value") if isinstance(interrupt, dict) else interrupt:
        case str(value):
            return value
        case {"action_requests": [*actions]} if all(isinstance(one, dict) for one in actions):
            return "; ".join(str(one.get("description") or one.get("name")) for one in actions)
        case value:
            return _short(value)


def _state(root: CallView) -> Iterator[str]:
    for entry in root.plan if isinstance(root.plan, list) else ():
        yield _clean(f"plan: {entry if isinstance(entry, str) else _short(entry)}")
    for todo in root.todos if isinstance(root.todos, list) else ():
        done = todo if isinstance(todo, dict) else {"content": todo}
        yield _clean(f"todo: {TODOS.get(str(done.get('status')), '[ ]')} {done.get('content')}")
    yield from (_clean(f"file: {name}") for name in root.files)


def _short(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


def _clean(text: str) -> str:
    return UNSAFE.sub(" ", text).rstrip()


def _cut(line: str, width: int) -> str:
    """No more columns than the terminal has; wide characters take two."""
    if _columns(line) <= width:
        return line
    room, end = width - 1, 0
    while end < len(line) and (room := room - _columns(line[end])) >= 0:
        end += 1
    return line[:end] + "…"


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
