"""Forms that a graph makes the model fill by a tool that it must call; known by their fields: plan and assessment."""

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from runwire_graphs.scripted.choosing import Tool
from runwire_graphs.scripted.reply import SELF, Call, Reply
from runwire_graphs.scripted.words import clauses, files, stem, stems

EXPERT = re.compile(r"^- (\w+): (.*)$", re.MULTILINE)
PLANNED = re.compile(r"^The plan so far: \[\s*\{", re.MULTILINE)
GO_ON = {"continue", "yes", "ok", "okay", "go on", "proceed", "carry on", "next"}
MORE = ("also", "and also", "then", "in addition", "add", "append", "after that", "afterwards")


def fill_form(form: Tool, instructions: str, request: str, messages: Sequence[BaseMessage]) -> Reply:
    fields = set(form.schema.get("properties", {}))
    if {"decision", "plan", "clarification"} <= fields:
        return Reply(calls=(Call(form.name, _plan(instructions, request)),))
    if {"is_completed", "confidence"} <= fields:
        return Reply(calls=(Call(form.name, _assessment(messages)),))
    return Reply(f"{SELF} I do not know the form {form.name!r}.")


def _plan(instructions: str, request: str) -> dict[str, Any]:
    experts = {name: set(stems(told)) | {stem(name)} for name, told in EXPERT.findall(instructions)}
    going = bool(PLANNED.search(instructions))
    if going and request.lower().strip(" .!") in GO_ON:
        return {"decision": "continue", "plan": [], "clarification": None}
    tasks, unmatched = [], []
    for step in clauses(request):
        expert = _expert(step, experts)
        if expert:
            tasks.append({"expert": expert, "task": step})
        else:
            unmatched.append(step)
    decision = "append" if going and request.lower().lstrip().startswith(MORE) else "replace"
    return {"decision": decision, "plan": tasks, "clarification": _clarification(request, unmatched, experts)}


def _expert(step: str, experts: dict[str, set[str]]) -> str | None:
    """The expert whose description shares most words with the step; a file's name alone matches nobody."""
    words = set(stems(" ".join(word for word in step.split() if word not in files(step))))
    words |= {stem(name.rpartition(".")[2]) for name in files(step)}
    rated = [(len(words & described), name) for name, described in experts.items()]
    best = max(rated, default=(0, ""))
    tied = [name for score, name in rated if score == best[0]]
    return tied[0] if best[0] > 0 else None


def _clarification(request: str, unmatched: list[str], experts: dict[str, set[str]]) -> str | None:
    if not unmatched:
        return None
    named = ", ".join(experts) or "none"
    what = "; ".join(unmatched) or request
    return f"No expert matches {what!r}. My experts are: {named}. What would you like them to do?"


def _assessment(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Done is what ended in a result that is no error; the person's last word starts the count anew."""
    since: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            since = []
        elif isinstance(message, ToolMessage):
            since.append(message)
    if not since:
        return {"is_completed": False, "explanation": "No tool has been used for it yet.", "confidence": 0.9}
    last = since[-1]
    if last.status == "error":
        return {"is_completed": False, "explanation": f"The tool failed: {last.text}", "confidence": 0.9}
    return {"is_completed": True, "explanation": f"{last.name} gave a result.", "confidence": 0.9}
