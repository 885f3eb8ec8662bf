"""The runs of a thread from what its server keeps: which histories to ask for, and how each run ended."""

from collections.abc import Generator
from typing import Any

from runwire._effects import Effect, Send
from runwire._requests import ASSISTANT
from runwire._watch import read_histories
from runwire.errors import NotFound
from runwire_normalizers import Outcome, ReplayedRun, replay

# A success may wait for a person: that, history shows.
_OUTCOMES: dict[str, Outcome | None] = {
    "error": Outcome("error"),
    "timeout": Outcome("timeout"),
    "interrupted": Outcome("cancelled"),
    "running": None,
    "pending": None,
}


def replayed(thread_id: str, run_id: str | None, ask: Any) -> Generator[Effect, Any, list[ReplayedRun]]:
    """The runs of a thread from what the server keeps, each ended as the server says."""
    histories = yield from read_histories(thread_id, ask)
    state = (yield from ask(Send("GET", f"/threads/{thread_id}/state?subgraphs=true"), missing=True)).json()
    listed = (yield from ask(Send("GET", f"/threads/{thread_id}/runs?limit=1000"), missing=True)).json()
    statuses = {run["run_id"]: run["status"] for run in listed or () if isinstance(run, dict) and "run_id" in run}
    outcomes = {id: _OUTCOMES[status] for id, status in statuses.items() if status in _OUTCOMES}
    found = replay(histories, state, outcomes=outcomes, label=_names(histories))
    if not found and not histories:
        raise NotFound("the server keeps nothing of this thread", 404, thread_id=thread_id)
    traces = {run.trace_id for run in found if run.run_id == run_id}
    if run_id is not None and not traces:
        raise NotFound("the server keeps nothing of this run", 404, thread_id=thread_id, run_id=run_id)
    return [run for run in found if run_id is None or run.trace_id in traces]


def _names(histories: dict[str, list[Any]]) -> dict[str, str]:
    """The names by which the thread's runs were told live."""
    told = [one.get("metadata") or {} for one in histories.get("", ()) if isinstance(one, dict)]
    found = {str(meta.get("run_id")): meta.get(ASSISTANT) or meta.get("graph_id") for meta in told}
    return {run_id: name for run_id, name in found.items() if isinstance(name, str)}
