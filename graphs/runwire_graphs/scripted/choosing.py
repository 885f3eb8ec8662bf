"""Which tool a step is for: the one whose name and description share its words, and whose arguments the step names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runwire_graphs.scripted.arguments import Filled, fill
from runwire_graphs.scripted.reply import Call
from runwire_graphs.scripted.words import files, stems, urls

ENOUGH = 3


@dataclass(frozen=True)
class Tool:
    """A tool as its schema tells it."""

    name: str
    description: str
    schema: Mapping[str, Any]

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "Tool":
        function = told.get("function", told)
        return cls(function["name"], function.get("description", ""), function.get("parameters", {}))

    @property
    def first_line(self) -> str:
        return self.description.strip().partition("\n")[0]


@dataclass(frozen=True)
class Choice:
    """A step's tool, with what of its arguments is missing."""

    call: Call
    missing: tuple[str, ...]


def choose(step: str, tools: Sequence[Tool], known: Mapping[str, str]) -> Choice | None:
    """The best tool for a step, or none if no tool is meant."""
    rated = [(_score(step, tool, filled := fill(step, tool.schema, known)), tool, filled) for tool in tools]
    best = max(rated, key=lambda one: one[0], default=None)
    if best is None or best[0] < ENOUGH:
        return None
    return Choice(Call(best[1].name, best[2].args), best[2].missing)


def _score(step: str, tool: Tool, filled: Filled) -> float:
    words = stems(step)
    if not words:
        return 0
    names, described = set(stems(tool.name.replace("_", " "))), set(stems(tool.first_line))
    score = 3.0 * len(names & set(words)) + len(described & set(words))
    # The verb stands first: a step's first word says more than the others.
    score += 3 * (words[0] in names) + 2 * (words[0] in described)
    score += 2 * (bool(urls(step)) and "url" in filled.args) + 2 * (bool(files(step)) and bool(filled.args))
    return score - 2 * len(filled.missing)
