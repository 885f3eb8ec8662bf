"""One action on a screen, in the words of OpenAI's computer tool, and as the output tells it."""

from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from runwire_graphs.errors import ComputerError

Button = Literal["left", "right", "wheel", "back", "forward"]
Kind = Literal["click", "double_click", "drag", "keypress", "move", "screenshot", "scroll", "type", "wait", "navigate"]
SHOWN = 80


class ActionType(StrEnum):
    """What `actions_performed` calls an action."""

    screenshot = "screenshot"
    click_element = "click_element"
    drag = "drag"
    move = "move"
    type_text = "type_text"
    press_key = "press_key"
    scroll = "scroll"
    wait = "wait"
    navigate = "navigate"


TYPES: dict[Kind, ActionType] = {
    "click": ActionType.click_element,
    "double_click": ActionType.click_element,
    "drag": ActionType.drag,
    "keypress": ActionType.press_key,
    "move": ActionType.move,
    "screenshot": ActionType.screenshot,
    "scroll": ActionType.scroll,
    "type": ActionType.type_text,
    "wait": ActionType.wait,
    "navigate": ActionType.navigate,
}
NEEDED: dict[Kind, tuple[str, ...]] = {
    "click": ("x", "y"),
    "double_click": ("x", "y"),
    "move": ("x", "y"),
    "drag": ("path",),
    "keypress": ("keys",),
    "type": ("text",),
    "navigate": ("url",),
}


class Point(BaseModel):
    """A place on the screen, in pixels from its upper left corner."""

    model_config = ConfigDict(frozen=True)

    x: int
    y: int

    @model_validator(mode="before")
    @classmethod
    def _pair(cls, told: Any) -> Any:
        return {"x": told[0], "y": told[1]} if isinstance(told, list | tuple) and len(told) == 2 else told


class Action(BaseModel):
    """What a model may ask of a screen. What an action does not need is left out."""

    model_config = ConfigDict(frozen=True)

    type: Kind
    x: int | None = None
    y: int | None = None
    button: Button = "left"
    keys: tuple[str, ...] = ()
    path: tuple[Point, ...] = ()
    scroll_x: int = 0
    scroll_y: int = 0
    text: str = ""
    url: str = ""
    seconds: float = Field(default=1.0, ge=0, le=10)

    @classmethod
    def of(cls, told: Any) -> Self:
        """An action as a model wrote it; raises `ComputerError` in words for one that cannot be done."""
        try:
            # A field that a model gives as null is one that it does not give.
            return cls.model_validate(
                {k: v for k, v in told.items() if v is not None} if isinstance(told, dict) else told
            )
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "action"
            raise ComputerError(f"This action cannot be done: {where}: {first['msg']}.") from error

    @model_validator(mode="after")
    def _whole(self) -> Self:
        missing = [name for name in NEEDED.get(self.type, ()) if getattr(self, name) in (None, (), "")]
        if missing:
            raise ValueError(f"{self.type} needs {' and '.join(missing)}")
        return self

    @property
    def points(self) -> tuple[Point, ...]:
        """Every place that it touches."""
        at = (Point(x=self.x, y=self.y),) if self.x is not None and self.y is not None else ()
        return at + self.path

    def told(self, name: str | None = None) -> str:
        """`ActionType.x:text`, with the name of what is touched where it is known; of a secret the name alone."""
        return f"ActionType.{TYPES[self.type]}:{self._words(name)}"

    def _words(self, name: str | None) -> str:
        at = f"({self.x}, {self.y})"
        where = f"{_short(name)} at {at}" if name else at
        match self.type:
            case "click":
                return where if self.button == "left" else f"{self.button} {where}"
            case "double_click":
                return f"double {where}"
            case "move":
                return where
            case "drag":
                return " to ".join(f"({one.x}, {one.y})" for one in (self.path[0], self.path[-1]))
            case "keypress":
                return "+".join(self.keys)
            case "screenshot":
                return "Capture the current state"
            case "scroll":
                return f"by ({self.scroll_x}, {self.scroll_y})"
            case "type":
                return name or _short(self.text)
            case "wait":
                return f"{self.seconds:g} s"
            case "navigate":
                return self.url


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
