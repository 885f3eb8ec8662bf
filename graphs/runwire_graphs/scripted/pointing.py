"""A gesture as the actions of a computer tool, at the places where the screen tells that things are."""

import re
from typing import Any

from runwire_graphs.scripted.gestures import Gesture, pairs
from runwire_graphs.scripted.sight import FIELDS, Element, Sight

Actions = list[dict[str, Any]]

MIDDLE = 400
NOTCH = 600
SEND = ("send", "submit", "order", "go", "save", "search", "ok", "continue", "next")
SIDES = {"down": (0, NOTCH), "up": (0, -NOTCH), "right": (NOTCH, 0), "left": (-NOTCH, 0)}
VALUE = re.compile(r"^\s*(?:is|are|as|to|=|:)?\s*", re.IGNORECASE)


class NotThere(Exception):
    """What the step speaks of is not on the screen; or a question for a person who may know what is missing."""

    def __init__(self, words: str, question: str = "") -> None:
        super().__init__(words)
        self.question = question


def actions_of(gesture: Gesture, sight: Sight, told: str | None) -> tuple[Actions, Element | None]:
    """The actions, and what they are aimed at; `told` is what the person added."""
    match gesture.kind:
        case "look" | "read":
            return [{"type": "screenshot"}], None
        case "wait":
            return [{"type": "wait", "seconds": min(gesture.number, 10)}], None
        case "keys":
            return [_keys(*re.split(r"\s*[+-]\s*", gesture.text))], None
        case "back":
            return [{"type": "click", "button": gesture.text.lower(), "x": 0, "y": 0}], None
        case "scroll":
            return _scroll(gesture), None
        case "drag":
            numbers = [int(one) for one in re.findall(r"\d+", gesture.text)]
            path = [{"x": x, "y": y} for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
            return [{"type": "drag", "path": path}], None
        case "type":
            return _type(gesture, sight, told)
        case "choose":
            return _choose(gesture, sight)
        case "fill":
            return _fill(gesture, sight)
        case "send":
            return _aimed(_button(sight), gesture)
        case "click" | "move" if gesture.place:
            return [_point(gesture, *gesture.place)], None
        case "toggle":
            element = _found(sight, gesture.target)
            wanted = gesture.how != "un"
            return _aimed(element, gesture) if element.checked != wanted else ([{"type": "screenshot"}], element)
        case _:
            return _aimed(_found(sight, gesture.target), gesture)


def scroll_to(element: Element) -> dict[str, Any]:
    return {"type": "scroll", "x": 640, "y": MIDDLE, "scroll_x": 0, "scroll_y": element.y - MIDDLE}


def _found(sight: Sight, name: str, kinds: tuple[str, ...] = ()) -> Element:
    if not name:
        raise NotThere("The step does not say on what.", "On what do you mean that?")
    if element := sight.find(name, kinds):
        return element
    there = ", ".join(f"{one.name!r}" for one in sight.elements if one.name) or "nothing that has a name"
    raise NotThere(f"Nothing on this screen is called {name!r}. There is: {there}.")


def _aimed(element: Element, gesture: Gesture) -> tuple[Actions, Element]:
    return [_point(gesture, element.x, element.y)], element


def _point(gesture: Gesture, x: int, y: int) -> dict[str, Any]:
    if gesture.kind == "move":
        return {"type": "move", "x": x, "y": y}
    if gesture.how == "double":
        return {"type": "double_click", "x": x, "y": y}
    return {"type": "click", "button": {"right": "right", "middle": "wheel"}.get(gesture.how, "left"), "x": x, "y": y}


def _keys(*names: str) -> dict[str, Any]:
    return {"type": "keypress", "keys": [name.replace(" ", "").upper() for name in names]}


def _scroll(gesture: Gesture) -> Actions:
    if gesture.how in ("bottom", "end", "top", "start"):
        return [_keys("HOME" if gesture.how in ("top", "start") else "END")]
    x, y = SIDES[gesture.text.lower() or "down"]
    return [{"type": "scroll", "x": 640, "y": MIDDLE, "scroll_x": x, "scroll_y": y}]


def _type(gesture: Gesture, sight: Sight, told: str | None) -> tuple[Actions, Element | None]:
    target, text = gesture.target, gesture.text or told or ""
    element = (sight.find(target, FIELDS) or sight.find(target)) if target else None
    if target and element is None:
        if sight.address:
            _found(sight, target)
        # A desktop lists windows and no fields: the words after `in` belong to the text.
        text = f"{text} in {target}"
    if not text:
        raise NotThere("There is nothing to type.", f"What shall I type{f' into {target!r}' if target else ''}?")
    end = [_keys("ENTER")] if gesture.confirm else []
    if element is None:
        return [{"type": "type", "text": text}, *end], None
    return [*_into(element, text), *end], element


def _into(element: Element, text: str) -> Actions:
    """In place of what the field holds."""
    click = {"type": "click", "button": "left", "x": element.x, "y": element.y}
    return [click, _keys("CTRL", "A"), {"type": "type", "text": text}]


def _choose(gesture: Gesture, sight: Sight) -> tuple[Actions, Element | None]:
    choices = [one for one in sight.elements if one.kind == "choice"]
    named = sight.find(gesture.target, ("choice",)) if gesture.target else None
    for element in [named] if named else choices:
        if option := _option(element, gesture.text):
            return _pick(element, option), element
    if named:
        raise NotThere(f"{named.name!r} has no option {gesture.text!r}; it has {', '.join(named.options)}.")
    return _aimed(_found(sight, gesture.text), gesture)


def _option(element: Element, wanted: str) -> str | None:
    same = [one for one in element.options if one.lower() == wanted.lower()]
    near = [one for one in element.options if wanted.lower() in one.lower()]
    return next(iter(same or near), None)


def _pick(element: Element, option: str) -> Actions:
    """By the keyboard: open it, type the option's name, take it."""
    click = {"type": "click", "button": "left", "x": element.x, "y": element.y}
    return [click, {"type": "type", "text": option}, _keys("ENTER")]


def _fill(gesture: Gesture, sight: Sight) -> tuple[Actions, Element | None]:
    fields = [one for one in sight.elements if one.kind in FIELDS]
    actions: Actions = []
    last: Element | None = None
    for pair in pairs(gesture.text):
        last, value = _field(pair, fields)
        if last.hidden:
            return [], last
        option = _option(last, value) if last.kind == "choice" else None
        if last.kind == "choice" and option is None:
            raise NotThere(f"{last.name!r} has no option {value!r}; it has {', '.join(last.options)}.")
        actions += _pick(last, option) if option else _into(last, value)
    return actions, last


def _field(pair: str, fields: list[Element]) -> tuple[Element, str]:
    """`name Anna`: the field whose label ends in the words that the pair begins with."""
    words = pair.split()
    for count in range(min(4, len(words) - 1), 0, -1):
        label = " ".join(words[:count]).lower().strip("\"':=").removeprefix("the ")
        near = [one for one in fields if one.name.lower() == label or one.name.lower().endswith(f" {label}")]
        if near:
            value = VALUE.sub("", " ".join(words[count:]), count=1)
            return near[0], value.strip("\"'“”")
    there = ", ".join(f"{one.name!r}" for one in fields) or "none"
    raise NotThere(f"No field of this form fits {pair!r}. The fields are: {there}.")


def _button(sight: Sight) -> Element:
    """What sends a form: a button that says so, else the only one."""
    buttons = [one for one in sight.elements if one.kind == "button"]
    for word in SEND:
        for one in buttons:
            if word in one.name.lower().split():
                return one
    if len(buttons) == 1:
        return buttons[0]
    raise NotThere("Nothing on this screen sends anything.")
