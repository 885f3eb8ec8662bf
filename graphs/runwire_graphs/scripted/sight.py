"""What the keyless model sees of a screen: the words in which a computer tells it, read back."""

import re
from dataclasses import dataclass

from runwire_graphs.scripted.words import stem

ELEMENT = re.compile(
    r'^(?P<kind>[a-z][a-z ]*) "(?P<name>.*?)"(?: of (?P<options>.*?))?(?: holding "(?P<value>.*?)")?'
    r"(?P<checked>, checked)?"
    r" at \((?P<x>-?\d+), (?P<y>-?\d+)\)(?P<hidden>, not on the screen.*)?$",
    re.MULTILINE,
)
FACT = re.compile(r"^(Title|Address|Screen): (.*)$", re.MULTILINE)
FIELDS = ("text field", "password field", "choice")


@dataclass(frozen=True)
class Element:
    """Something on the screen that can be acted on, and where."""

    kind: str
    name: str
    options: tuple[str, ...]
    value: str
    x: int
    y: int
    hidden: bool
    checked: bool


@dataclass(frozen=True)
class Sight:
    """A screen."""

    title: str
    address: str
    elements: tuple[Element, ...]
    text: str
    told: str

    @classmethod
    def of(cls, told: str) -> "Sight":
        head, _, text = told.partition("\n\nText:\n")
        facts = dict(FACT.findall(head))
        return cls(
            facts.get("Title", ""), facts.get("Address", ""), tuple(map(_element, ELEMENT.finditer(head))), text, told
        )

    @property
    def blank(self) -> bool:
        return self.address == "about:blank"

    def find(self, name: str, kinds: tuple[str, ...] = ()) -> Element | None:
        """The element that is meant by a name: the same name, else one that shares all its words."""
        fitting = [one for one in self.elements if not kinds or one.kind in kinds]
        wanted = _words(name)
        same = [one for one in fitting if one.name.lower() == name.strip().lower()]
        near = [one for one in fitting if wanted and wanted <= _words(one.name)]
        found = same or sorted(near, key=lambda one: len(one.name))
        return found[0] if found else None


def _words(name: str) -> set[str]:
    return {stem(word) for word in re.findall(r"\w+", name)}


def _element(found: re.Match[str]) -> Element:
    options = tuple((found["options"] or "").split(", ")) if found["options"] else ()
    x, y = int(found["x"]), int(found["y"])
    return Element(
        found["kind"], found["name"], options, found["value"] or "", x, y, bool(found["hidden"]), bool(found["checked"])
    )
