"""Whether the frames that came have told all that the end of a run shows."""

from typing import TYPE_CHECKING, Any

from runwire_normalizers._messages import AI_TYPES, TOOL_TYPES, kind_of, messages_in
from runwire_normalizers._models import ModelCall
from runwire_normalizers._state import as_values
from runwire_normalizers.coerce import json_safe
from runwire_normalizers.outcome import Outcome

if TYPE_CHECKING:
    from runwire_normalizers._run import Run


def is_whole(run: "Run", outcome: Outcome) -> bool:
    """Whether nothing can be missing: all tasks have ended, and the state is the one that the frames told."""
    if outcome.status == "error":
        return run.failure is not None
    if outcome.status not in ("success", "interrupted") or _unfinished(run):
        return False
    asked = {one.get("id") for one in outcome.safe_interrupts() if isinstance(one, dict)}
    told = run.graph(()).values
    return asked <= run.claimed and all(_same(told.get(key), value) for key, value in _values(outcome).items())


def lacks(run: "Run", outcome: Outcome) -> bool:
    """Whether something is surely missing: a task or a model without its end, or a message that nobody told."""
    if outcome.status not in ("success", "interrupted"):
        return False
    known = run.graph(()).known | run.tools.answered | run.models.by_id.keys()
    spoken = [m for m in messages_in(_values(outcome)) if kind_of(m) in AI_TYPES | TOOL_TYPES and m.get("id")]
    return _unfinished(run) or any(message["id"] not in known for message in spoken)


def _unfinished(run: "Run") -> bool:
    return bool(run.tasks.working()) or any(isinstance(c, ModelCall) and not c.over for c in run.all_calls())


def _values(outcome: Outcome) -> dict[str, Any]:
    return as_values(json_safe(outcome.values))


def _same(told: Any, value: Any) -> bool:
    return bool(told == value) or (not told and not value)
