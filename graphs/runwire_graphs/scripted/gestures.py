"""What a step in plain English asks of a screen: a table of forms, each with the gesture that it means."""

import re
from dataclasses import dataclass
from typing import Literal

from runwire_graphs.scripted.words import QUOTED, files, urls

Kind = Literal[
    "ask", "back", "choose", "click", "drag", "fill", "go", "keys", "look", "move", "person", "read", "scroll", "send",
    "toggle", "type", "wait",
]  # fmt: skip
CONFIRM = r"(?:,?\s+(?:and\s+(?:then\s+)?)?(?P<confirm>(?:press(?:ing)?|hit)\s+(?:enter|return)|submit(?:\s+it)?))?"
KEY = (
    r"(?:ctrl|control|alt|shift|cmd|meta|super|enter|return|esc|escape|tab|space|backspace|delete|del|home|end|"
    r"page ?up|page ?down|(?:arrow ?)?(?:up|down|left|right)|f\d{1,2}|[a-z0-9])"
)
PLACE = r"\(?(\d+)\s*,\s*(\d+)\)?"
THE = r"(?:on\s+|at\s+)?(?:the\s+)?"
FORMS: list[tuple[Kind, str]] = [
    ("wait", r"wait(?:\s+(?:for\s+)?(?:(?P<number>\d+(?:\.\d+)?)\s*(?:s|sec\w*)|a (?:moment|second|bit|while)))?"),
    (
        "look",
        r"(?:take|make|get|capture|show)(?:\s+me)?\s+(?:a\s+|the\s+)?(?:new\s+)?(?:screen\s?shot|picture)(?:\s+of\b.*)?",
    ),
    ("person", r"(?:log|sign)\s?(?:me\s+)?in\b.*|solve\s+.*captcha.*|pay\b.*"),
    ("ask", r"ask\s+(?:me|the\s+(?:user|person))\s+(?:for\s+|about\s+|to\s+)?(?P<text>.+)"),
    ("keys", rf"(?:press|hit|push|use)\s+(?:the\s+)?(?P<text>{KEY}(?:\s*[+-]\s*{KEY})*)(?:\s+key)?"),
    (
        "scroll",
        r"scroll\b(?=(?:.*\b(?P<text>down|up|left|right)\b)?)(?=(?:.*\bto\s+(?:the\s+)?(?P<end>bottom|end|top|start)\b)?).*",
    ),
    ("back", r"(?:go\s+)?(?P<text>back|forward)(?:\s+.*)?"),
    ("drag", rf"drag\s+(?:from\s+)?(?P<text>{PLACE}\s+to\s+{PLACE})"),
    ("move", rf"(?:move|hover)\b[^\d]*?(?P<place>{PLACE})"),
    ("move", r"hover\s+(?:over|on)\s+(?:the\s+)?(?P<target>.+)"),
    ("fill", r"(?:fill|complete)\b.*?\bform\b[^:]*?(?:\bwith\b|:)\s*(?P<text>.+)"),
    ("send", r"(?:send|submit)(?:\s+(?:it|(?:the|this|my)\s+\w+))?(?:\s+off)?"),
    ("toggle", r"(?:check|tick|uncheck|untick)\s+(?:the\s+)?(?P<target>.+?)(?:\s+(?:box|checkbox))?"),
    ("click", rf"(?P<how>double|right|middle)?[\s-]*click\s+{THE}(?P<place>{PLACE})"),
    ("click", rf"(?P<how>double|right|middle)?[\s-]*(?:click|press|tap|hit|push|follow)\s+{THE}(?P<target>.+)"),
    ("type", rf"(?:fill(?:\s+in|\s+out)?|set)\s+(?:the\s+)?(?P<target>.+?)\s+(?:with|to|as)\s+(?P<text>.+?){CONFIRM}"),
    ("type", r"(?:type|enter|write|put)\s+(?:something\s+)?into\s+(?:the\s+)?(?P<target>.+)"),
    (
        "type",
        rf"(?:type|enter|write|put|fill(?:\s+in)?)\s+(?P<text>.+?)\s+(?:into|in|to|as)\s+(?:the\s+)?(?P<target>.+?){CONFIRM}",
    ),
    ("type", rf"(?:type|enter|write|put)(?:\s+(?P<text>.+?))?{CONFIRM}"),
    ("type", r"fill(?:\s+in|\s+out)?\s+(?:the\s+)?(?P<target>.+)"),
    (
        "choose",
        r"(?:choose|select|pick)\s+(?:the\s+)?(?P<text>.+?)\s+(?:in|from|as|for|of)\s+(?:the\s+)?(?P<target>.+)",
    ),
    ("choose", r"(?:choose|select|pick)\s+(?:the\s+)?(?P<text>.+)"),
    (
        "go",
        r"(?:open|visit|load|browse(?:\s+to)?|navigate(?:\s+to)?|go\s+to|show\s+me)\s+(?:the\s+|a\s+|its\s+)?(?P<target>.+)",
    ),
    (
        "read",
        r"(?:tell|read|show|get|give|list|what|which|who|where|how|summari[sz]e|look|describe|report|find\s+out|see)\b.*",
    ),
]
TABLE = [(kind, re.compile(rf"^{form}$", re.IGNORECASE | re.DOTALL)) for kind, form in FORMS]
NOUN = re.compile(r"^(?:(?:on|the|a|an|for|link|button|field|option|called|named|labelled)\s+)+", re.IGNORECASE)
TAIL = re.compile(r"\s+(?:link|button|field|box|option|tab|page|section|menu|list|window)$", re.IGNORECASE)


@dataclass(frozen=True)
class Gesture:
    """A kind of gesture, with what the step says of it. A place is written in the step, a target is looked for."""

    kind: Kind
    text: str = ""
    target: str = ""
    place: tuple[int, ...] = ()
    how: str = ""
    confirm: bool = False
    number: float = 1.0
    url: str = ""


def gesture_of(step: str) -> Gesture | None:
    """What a step asks for; None if it is not understood."""
    hidden, kept = _hide(step)
    for kind, form in TABLE:
        if found := form.match(hidden):
            said = {name: _show(value, kept) for name, value in found.groupdict().items() if value}
            place = tuple(int(number) for number in re.findall(r"\d+", said.get("place", "")))
            target = _noun(said.get("target", ""))
            if kind == "go" and not _reachable(step, target):
                return None
            return Gesture(
                kind=kind,
                text=_unquoted(said.get("text", "")) if kind != "fill" else said["text"],
                target=target,
                place=place,
                how=said.get("how", said.get("end", "")).lower() or ("un" if step.lower().startswith("un") else ""),
                confirm="confirm" in said,
                number=float(said.get("number", 1)),
                url=next(iter(urls(step)), ""),
            )
    return None


def _reachable(step: str, target: str) -> bool:
    """An address or a name; a file is nothing that a screen could open."""
    return bool(urls(step)) or (bool(target) and not files(target))


def _hide(step: str) -> tuple[str, list[str]]:
    """What stands in quotes is one word, whatever is in it."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\x00{len(kept) - 1}\x00"

    return QUOTED.sub(keep, step), kept


def _show(text: str, kept: list[str]) -> str:
    return re.sub(r"\x00(\d+)\x00", lambda found: kept[int(found[1])], text)


def _unquoted(text: str) -> str:
    found = QUOTED.fullmatch(text.strip())
    return next(group for group in found.groups() if group is not None) if found else text.strip()


def _noun(text: str) -> str:
    bare = _unquoted(text)
    return bare if bare != text.strip() else TAIL.sub("", NOUN.sub("", bare)).strip()


def pairs(text: str) -> list[str]:
    """`name Anna, tea Oolong and amount 3`, taken apart."""
    hidden, kept = _hide(text)
    return [
        _show(part, kept).strip() for part in re.split(r"\s*(?:,\s*and\s+|,|;|\s+and\s+)\s*", hidden) if part.strip()
    ]
