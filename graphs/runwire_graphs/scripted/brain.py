"""What the keyless model answers. It sees the messages and the tools' schemas, like any model, and nothing else."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from runwire_graphs.scripted.choosing import Tool, choose
from runwire_graphs.scripted.delegating import delegate
from runwire_graphs.scripted.forms import fill_form
from runwire_graphs.scripted.jobs import Crew, delegates
from runwire_graphs.scripted.reply import FAILED, SELF, SIGNATURE, Call, Reply
from runwire_graphs.scripted.screen import at_screen, drives_screen
from runwire_graphs.scripted.words import clauses

KNOWN = re.compile(r"^The ([a-z ]+) is at (https?://\S+?)\.?$", re.MULTILINE)
ASK = "ask_user"
SHOWN = 900
ASKED = 200


def think(messages: Sequence[BaseMessage], tools: Sequence[Mapping[str, Any]], forced: str | None) -> Reply:
    """The next message of a conversation."""
    messages, known = _named(messages), [Tool.of(tool) for tool in tools]
    instructions = "\n".join(str(one.text) for one in messages if isinstance(one, SystemMessage))
    request, since = _request(messages)
    if forced:
        form = next(tool for tool in known if tool.name == forced)
        return fill_form(form, instructions, request, messages)
    if delegates(known):
        before = messages[: len(messages) - len(since)]
        return delegate(request, before, since, Crew.of(known, dict(KNOWN.findall(instructions))))
    if not known:
        return Reply(_tell(request, _results(messages)))
    places = dict(KNOWN.findall(instructions))
    if drives_screen(known):
        return at_screen(request, since, {tool.name for tool in known}, places)
    return _next_step(request, since, known, places)


def _named(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Tool messages with the names of their tools; some providers' forms leave them to the call."""
    names = {call["id"]: call["name"] for one in messages if isinstance(one, AIMessage) for call in one.tool_calls}
    return [
        one.model_copy(update={"name": names.get(one.tool_call_id)}) if isinstance(one, ToolMessage) else one
        for one in messages
    ]


def _request(messages: Sequence[BaseMessage]) -> tuple[str, list[BaseMessage]]:
    """The last thing a person asked for, and what has come since."""
    for back, message in enumerate(reversed(messages)):
        if isinstance(message, HumanMessage):
            return str(message.text).strip(), list(messages[len(messages) - back :])
    return "", list(messages)


def _next_step(request: str, since: list[BaseMessage], tools: list[Tool], known: Mapping[str, str]) -> Reply:
    """One call a turn: the step that comes after those already taken, until one fails or all are done."""
    results = [one for one in since if isinstance(one, ToolMessage)]
    working = [tool for tool in tools if tool.name != ASK]
    steps = clauses(request)
    taken = sum(len(one.tool_calls) for one in since if isinstance(one, AIMessage))
    asked = [one for one in results if one.name == ASK]
    if asked and results[-1].name == ASK:
        return _with_answer(steps, str(results[-1].text), working, known)
    if results and results[-1].status == "error":
        return Reply(_found(results[-1]))
    position = taken - len(asked)
    unclear = []
    for index, step in enumerate(steps):
        chosen = choose(step, working, known)
        if chosen is None:
            unclear.append(step)
            continue
        if index - len(unclear) < position:
            continue
        if chosen.missing:
            return _ask(step, chosen.missing, tools)
        return Reply(calls=(chosen.call,))
    return _conclusion(request, results, unclear, working)


def _with_answer(steps: list[str], answer: str, tools: list[Tool], known: Mapping[str, str]) -> Reply:
    """The step that lacked something, with the person's answer put behind it."""
    for step in steps:
        chosen = choose(step, tools, known)
        if chosen and chosen.missing:
            whole = choose(f"{step} {answer}", tools, known)
            if whole and not whole.missing:
                return Reply(calls=(whole.call,))
            args = chosen.call.args | {chosen.missing[0]: answer.strip().strip("'\"")}
            return Reply(calls=(Call(chosen.call.name, args),))
    return Reply(f"Thank you. I do not know what to do with {answer!r}.")


def _ask(step: str, missing: tuple[str, ...], tools: list[Tool]) -> Reply:
    question = f"For {step!r} I need to know: {', '.join(name.replace('_', ' ') for name in missing)}?"
    if any(tool.name == ASK for tool in tools):
        return Reply(calls=(Call(ASK, {"question": question}),))
    return Reply(question)


def _conclusion(request: str, results: list[ToolMessage], unclear: list[str], tools: list[Tool]) -> Reply:
    if results:
        told = _tell(request, [_found(one) for one in results if one.name != ASK])
        more = f"\n\nI did not understand: {'; '.join(unclear)}." if unclear else ""
        return Reply(told + more)
    abilities = "\n".join(f"- {tool.name}: {tool.first_line}" for tool in tools)
    return Reply(f"{SELF} I did not understand {request!r}. Ask in plain steps for what my tools do:\n{abilities}")


def _results(messages: Sequence[BaseMessage]) -> list[str]:
    """What was found out since the person asked: tools' results first, else what was said."""
    _, since = _request(messages)
    tools = [_found(one) for one in since if isinstance(one, ToolMessage) and one.name != ASK]
    return tools or [str(one.text).removesuffix(SIGNATURE).strip() for one in since if one.type == "ai" and one.text]


def _tell(request: str, results: list[str]) -> str:
    """The results one after the other; lists of elements are for the one who clicks, and nothing is said twice."""
    if not results:
        return f"{SELF} Without tools I can say nothing of use about {request[:ASKED]!r}."
    told = [re.sub(r"(?m)^\[\d+\] .*\n?", "", one).strip() for one in results]
    fresh = [one for one, next in zip(told, [*told[1:], ""], strict=True) if not _repeated(one, next)]
    return "\n\n".join([*fresh, SIGNATURE])


def _repeated(told: str, next: str) -> bool:
    """Whether all but the first line, which says what was done, is said again."""
    lines = [line for line in told.splitlines()[1:] if line]
    return bool(lines) and set(lines) <= set(next.splitlines())


def _found(result: ToolMessage) -> str:
    text = _short(str(result.text))
    return f"{FAILED}{text}" if result.status == "error" else text


def _short(text: str) -> str:
    text = _as_lines(text.strip())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} …"


def _as_lines(text: str) -> str:
    """A table in JSON as lines; any other text as it is."""
    try:
        told = json.loads(text)
        lines = [told["columns"], *told["rows"]]
        return "\n".join(" | ".join(map(str, line)) for line in lines)
    except (ValueError, TypeError, KeyError):
        return text
