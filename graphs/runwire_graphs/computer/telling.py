"""What a run tells while it works, as LangGraph's custom events: each action, each screenshot, each sandbox."""

from typing import Any, Literal

from langgraph.config import get_stream_writer

from runwire_graphs.computer.actions import Action

Fate = Literal["started", "reused", "lost", "kept", "ended"]


def tell_action(action: Action, told: str, step: int) -> None:
    """Just before it is done."""
    asked = action.model_dump(exclude_defaults=True) | {"type": action.type}
    if action.type == "type":
        # As `told` has it: a password stays untold.
        asked["text"] = told.partition(":")[2]
    _write("computer_action", action=asked, told=told, step=step)


def tell_failure(told: str, message: str, step: int) -> None:
    _write("computer_action_failed", told=told, message=message, step=step)


def tell_shot(shot: dict[str, Any], step: int) -> None:
    _write("computer_screenshot", screenshot=shot, step=step)


def tell_sandbox(fate: Fate, id: str, message: str = "") -> None:
    _write("computer_sandbox", fate=fate, sandbox_id=id, message=message)


def _write(type: str, **told: Any) -> None:
    get_stream_writer()({"type": type, **told})
