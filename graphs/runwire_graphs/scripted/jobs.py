"""A request, taken apart into jobs: what a subagent is to do, and what is one's own to do."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from runwire_graphs.scripted.choosing import Choice, Tool, choose
from runwire_graphs.scripted.words import URL, VERBS, clauses, files, stem, stems, urls

TASK, TODOS = "task", "write_todos"
SUBAGENT = re.compile(r"^- ([\w-]+): (.*)$", re.MULTILINE)
ANYONE = "general-purpose"
WRITE = "write_file"
READING = "open a page and read it"
LINKED = re.compile(r"(?:\w+\s+(?:the\s+)?(.+?)\s+pages?|compare\s+(?:the\s+)?(.+?))", re.IGNORECASE)
BETWEEN = re.compile(r"(?:\s+pages?)?(?:\s*,\s*(?:and\s+)?|\s+(?:and|with|to)\s+)(?:the\s+)?", re.IGNORECASE)
LOOKING = frozenset(
    stem(verb)
    for verb in """read tell show compare summarize check describe research analyze explore review study what which who
    how when where is are does do""".split()
)
VERB_STEMS = frozenset(stem(verb) for verb in VERBS)


@dataclass(frozen=True)
class Job:
    """A part of the request: a subagent's, or one's own call, of which something may be missing."""

    text: str
    subagent: str | None = None
    own: Choice | None = None


@dataclass(frozen=True)
class Crew:
    """The subagents by what is told of them, and one's own tools."""

    told: Mapping[str, str]
    tools: Sequence[Tool]
    known: Mapping[str, str]
    lists: bool

    @classmethod
    def of(cls, tools: Sequence[Tool], known: Mapping[str, str]) -> "Crew":
        told = SUBAGENT.findall(next(tool.description for tool in tools if tool.name == TASK))
        own = [tool for tool in tools if tool.name not in (TASK, TODOS)]
        lists = any(tool.name == TODOS for tool in tools)
        return cls({name: words for name, words in told if name != ANYONE}, own, known, lists)

    @cached_property
    def subagents(self) -> dict[str, frozenset[str]]:
        """The words that matter of what is told of each."""
        return {name: frozenset(stems(words)) for name, words in self.told.items()}

    def jobs(self, request: str, written: Collection[str]) -> tuple[list[Job], list[str]]:
        """The jobs, and the steps that are nobody's. `written` are the paths of files that are one's own already."""
        own_files = set(written)
        found: list[Job] = []
        unclear: list[str] = []
        together = 1
        for step in clauses(request):
            if mine := self._mine(step, own_files):
                about = self._pages(step) if mine.call.name == WRITE and not found else []
                found += [Job(page, self._reader) for page in about]
                found.append(Job(step, own=mine))
                own_files |= {f"/{name.lstrip('/')}" for name in files(step)}
            elif subagent := self._match(step, found[-1].subagent if found else None):
                together = self._hand(step, subagent, found, together)
            else:
                unclear.append(step)
        return found, unclear

    def _mine(self, step: str, written: Collection[str]) -> Choice | None:
        """One's own tool that bears the step's verb, where that verb or that file is no subagent's."""
        words = stems(step) or [""]
        named = next((path for path in written if stem(path[1:].partition(".")[0]) in words), None)
        if named and words[0] in LOOKING:
            return choose(f"read {named}", self.tools, self.known)
        chosen = choose(step if files(step) or not named else f"{step} {named}", self.tools, self.known)
        if chosen is None or words[0] not in stems(chosen.call.name.replace("_", " ")):
            return None
        own_file = named or any(name.startswith("/") or f"/{name}" in written for name in files(step))
        return chosen if own_file or not any(words[0] in told for told in self.subagents.values()) else None

    def _match(self, step: str, last: str | None) -> str | None:
        """The subagent whose description has the step's verb and nouns; what fits none better goes on with the last."""
        rated = self._rate(step)
        if self._reader and last != self._reader and not self._pages(step):
            # Who reads pages cannot do much without one.
            rated[self._reader] -= 1
        best = max(rated.values(), default=0)
        if last and rated[last] >= best:
            return last
        fitting = next((name for name, score in rated.items() if score == best > 0), None)
        return fitting or (self._reader if self._pages(step) else None)

    def _rate(self, step: str) -> dict[str, int]:
        verb, *others = stems(URL.sub(" ", step)) or [""]
        nouns = {word for word in others if word not in VERB_STEMS}
        if named := files(step):
            nouns |= {stem("file"), *(stem(name.rpartition(".")[2]) for name in named)}
        return {name: 2 * (verb in told) + len(nouns & told) for name, told in self.subagents.items()}

    @cached_property
    def _reader(self) -> str | None:
        """Who opens and reads pages."""
        rated = self._rate(READING)
        return max(rated, key=lambda name: rated[name], default=None)

    def _hand(self, step: str, subagent: str, found: list[Job], together: int) -> int:
        """Pages are jobs of their own, unless somebody is there for several; what names none goes on with those before.

        Gives the number of jobs that the next step may go on with.
        """
        pages = self._pages(step) if subagent == self._reader else []
        if found and found[-1].subagent == subagent and not pages:
            found[-together:] = [Job(f"{one.text}; {step}", subagent) for one in found[-together:]]
            return together
        found += [Job(one, subagent) for one in pages or [step]]
        return len(pages) or 1

    def _pages(self, step: str) -> list[str]:
        """What to do with each page that the step names: by its address, or by its link on a place."""
        lower = step.lower()
        places = sorted(
            [*urls(step), *(name for name in self.known if name in lower)], key=lambda one: lower.find(one.lower())
        )
        if len(places) != 1:
            return [f"open {_the(place)}; read the page" for place in places]
        place, verb = _the(places[0]), stem(step.split()[0])
        rest = re.sub(rf"\s*(?:\b(?:of|on|at|from|in)\s+)?(?:\bthe\s+)?{re.escape(places[0])}", "", step, flags=re.I)
        if linked := LINKED.fullmatch(rest):
            return [f'open {place}; click "{link}"; read the page' for link in BETWEEN.split(linked[1] or linked[2])]
        if verb == "open":
            return [step]
        return [f"open {place}; {'read the page' if verb in LOOKING | {stem('write')} else rest}"]


def delegates(tools: Sequence[Tool]) -> bool:
    return any(tool.name == TASK for tool in tools)


def _the(place: str) -> str:
    return place if urls(place) else f"the {place}"
