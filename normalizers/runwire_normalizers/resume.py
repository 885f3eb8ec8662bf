"""What resumes a run that waits for a person: LangGraph's `Command` in this process, plain JSON for a served run."""

from collections.abc import Iterable, Mapping
from typing import Any

Decisions = Iterable[Mapping[str, Any]]
INSTALL = "langgraph is not installed: run `pip install 'runwire[server]'`, or pass served=True for a served run"


def create_resume_input(
    decisions: Decisions | Mapping[str, Decisions] | None = None,
    value: Any = None,
    *,
    served: bool = False,
) -> Any:
    """The input that answers one interrupt or several: `decisions` on actions that wait, or any other `value`.

    Several interrupts are answered by their ids, either argument being a mapping then. With `served` it is a dict, as
    langgraph-sdk's `command` takes it; its `resume` is what `run.respond(…)` and `client.stream(…, resume=…)` take.
    """
    if (decisions is None) == (value is None):
        raise ValueError("give either decisions or a value, and not both")
    resume = value if decisions is None else _answer(decisions)
    if served:
        return {"resume": resume}
    try:
        from langgraph.types import Command
    except ImportError as error:
        raise ImportError(INSTALL) from error
    return Command(resume=resume)


def _answer(decisions: Decisions | Mapping[str, Decisions]) -> dict[str, Any]:
    if not isinstance(decisions, Mapping):
        return {"decisions": _checked(decisions)}
    if "type" in decisions:
        raise ValueError("decisions are a list with one for each action, or such lists by interrupt id")
    return {id: {"decisions": _checked(one)} for id, one in decisions.items()}


def _checked(decisions: Iterable[Any]) -> list[dict[str, Any]]:
    given = list(decisions)
    for one in given:
        if not isinstance(one, Mapping) or not isinstance(one.get("type"), str):
            raise ValueError(f"a decision is an object with a type, such as {{'type': 'approve'}}, not {one!r}")
    return [dict(one) for one in given]
