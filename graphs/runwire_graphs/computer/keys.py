"""The names of keys: as models write them, as Playwright knows them, and as X does."""

from typing import NamedTuple

from runwire_graphs.errors import ComputerError


class Key(NamedTuple):
    """One key under both of its names."""

    playwright: str
    x: str


_NAMED = {
    "control ctrl": Key("Control", "ctrl"),
    "alt option": Key("Alt", "alt"),
    "shift": Key("Shift", "shift"),
    "meta cmd command super win windows": Key("Meta", "super"),
    "enter return": Key("Enter", "Return"),
    "escape esc": Key("Escape", "Escape"),
    "tab": Key("Tab", "Tab"),
    "space spacebar": Key(" ", "space"),
    "backspace": Key("Backspace", "BackSpace"),
    "delete del": Key("Delete", "Delete"),
    "insert": Key("Insert", "Insert"),
    "home": Key("Home", "Home"),
    "end": Key("End", "End"),
    "pageup page_up pgup": Key("PageUp", "Prior"),
    "pagedown page_down pgdn": Key("PageDown", "Next"),
    "arrowup up": Key("ArrowUp", "Up"),
    "arrowdown down": Key("ArrowDown", "Down"),
    "arrowleft left": Key("ArrowLeft", "Left"),
    "arrowright right": Key("ArrowRight", "Right"),
    "capslock": Key("CapsLock", "Caps_Lock"),
    **{f"f{number}": Key(f"F{number}", f"F{number}") for number in range(1, 13)},
}
KEYS = {name: key for names, key in _NAMED.items() for name in names.split()}


def find_key(name: str) -> Key:
    """A key by any of its names; a single character is its own."""
    if len(name) == 1:
        # X takes a character by its code point, so that no name has to be known.
        return Key(name.lower(), f"U{ord(name.lower()):04X}")
    if key := KEYS.get(name.strip().lower()):
        return key
    raise ComputerError(f"There is no key called {name!r}.")
