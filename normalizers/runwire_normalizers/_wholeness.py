"""Whether the frames that came have told all that the end of a run shows."""

from typing import TYPE_CHECKING, Any

from runwire_normalizers._identity import model_call
from runwire_normalizers._messages import AI_TYPES, HUMAN_TYPES, TOOL_TYPES, kind_of, messages_in
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
    spoken = [m for m in _since_input(_values(outcome), known) if kind_of(m) in AI_TYPES | TOOL_TYPES and m.get("id")]
    missing = any(message["id"] not in known and not _told_before(run, message) for message in spoken)
    return missing or _models_open(run) or bool(run.tasks.working() and not _ends_unseen(run, outcome))


def _since_input(values: dict[str, Any], known: set[str]) -> list[dict[str, Any]]:
    """The messages of this turn: those before the person's last word, which few modes tell, are of earlier ones."""
    messages = messages_in(values)
    asked = [at for at, one in enumerate(messages) if kind_of(one) in HUMAN_TYPES and one.get("id") not in known]
    return messages[asked[-1] + 1 :] if asked else messages


def _told_before(run: "Run", message: dict[str, Any]) -> bool:
    """Whether the run that this one resumes has told it."""
    if kind_of(message) in AI_TYPES:
        return model_call(run.trace_id, message["id"]) in run.calls.by_id
    asked = message.get("tool_call_id")
    return run.resumed is not None and any(call.tool_call_id == asked and call.over for call in run.all_calls())


def _ends_unseen(run: "Run", outcome: Outcome) -> bool:
    """In `events` a task that waits has no end, nor has one that handed over to the graph above."""
    return run.root_chain == "ended" or (run.root_chain == "open" and outcome.status == "interrupted")


def _unfinished(run: "Run") -> bool:
    return bool(run.tasks.working()) or _models_open(run)


def _models_open(run: "Run") -> bool:
    return any(isinstance(call, ModelCall) and not call.over for call in run.all_calls())


def _values(outcome: Outcome) -> dict[str, Any]:
    return as_values(json_safe(outcome.values))


def _same(told: Any, value: Any) -> bool:
    return bool(told == value) or (not told and not value)
