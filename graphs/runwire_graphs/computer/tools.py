"""What is bound to the model: OpenAI's computer tool in one of its two forms, or functions for any other model."""

from typing import Any, Literal, get_args

from runwire_graphs.computer.actions import Kind
from runwire_graphs.computer.backends import HEIGHT, WIDTH
from runwire_graphs.computer.calls import ASK, COMPUTER, GIVE_UP, NAVIGATE
from runwire_graphs.settings import Settings

Form = Literal["computer", "preview", "functions"]
Tool = dict[str, Any]

PREVIEW = "computer-use-preview"
_POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["x", "y"]}
_ACTION = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": [kind for kind in get_args(Kind) if kind != "navigate"]},
        "x": {"type": "integer", "description": "Pixels from the left."},
        "y": {"type": "integer", "description": "Pixels from the top."},
        "button": {"type": "string", "enum": ["left", "right", "wheel", "back", "forward"]},
        "keys": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Keys of a keypress, or held in a click.",
        },
        "text": {"type": "string", "description": "What to type into what has the focus."},
        "scroll_x": {"type": "integer"},
        "scroll_y": {"type": "integer", "description": "Pixels downwards."},
        "path": {"type": "array", "items": _POINT, "description": "Of a drag."},
        "seconds": {"type": "number", "description": "Of a wait."},
    },
    "required": ["type"],
}


def tool_form(settings: Settings) -> Form:
    """Functions for the keyless model and where they are chosen; else the form that the model knows."""
    if not settings.has_openai or settings.computer_tool == "functions":
        return "functions"
    return "preview" if PREVIEW in settings.computer_model else "computer"


def tools_of(form: Form, environment: str) -> list[Tool]:
    more = (
        [_function(NAVIGATE, "Open a web page by its address.", url="The address.")] if environment == "browser" else []
    )
    return [_computer(form, environment), *more, _ASK, _GIVE_UP]


def _computer(form: Form, environment: str) -> Tool:
    match form:
        case "computer":
            return {"type": "computer"}
        case "preview":
            size = {"display_width": WIDTH, "display_height": HEIGHT}
            return {"type": "computer_use_preview", **size, "environment": environment}
        case "functions":
            parameters = {
                "type": "object",
                "properties": {"actions": {"type": "array", "items": _ACTION}},
                "required": ["actions"],
            }
            told = "Act on the screen: these actions, one after the other. Tells what the screen shows afterwards."
            return {"type": "function", "function": {"name": COMPUTER, "description": told, "parameters": parameters}}


def _function(name: str, description: str, **arguments: str) -> Tool:
    properties = {name: {"type": "string", "description": told} for name, told in arguments.items()}
    parameters = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_ASK = _function(
    ASK,
    "Ask the person for whom you work what only they can decide, know or do: a login, a captcha, a payment.",
    question="What they are asked.",
)
_GIVE_UP = _function(GIVE_UP, "End the task because it cannot be done.", reason="Why it cannot be done.")
