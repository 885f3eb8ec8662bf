"""What each set of modes promises, as data: `every` recordings, filtered to a row, equal the full one in just that."""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from runwire_normalizers import Continuation, Envelope, Outcome, ServerSentEvent, StreamAdapter, conformance
from runwire_normalizers._messages import messages_in
from tests.feeding import NAMES, earlier, envelopes, frames, outcome_of
from tests.graphs import GRAPHS
from tests.trees import CallFacts, Tree, tree

EVERY = [name for name in NAMES if name.split("/")[1].startswith("every") and not name.startswith("auth/")]
# After a retry by the server, `events` in the request silence all other modes: nothing is left to compare.
EVERY.remove("attempt/every.sse")


def everything(calls: Tree) -> Any:
    """Calls, ids, parents, texts, arguments, results, statuses, errors, interrupts."""
    return {id: _all(facts) for id, facts in calls.items()}


def _all(facts: CallFacts) -> dict[str, Any]:
    known = dict(vars(facts))
    # A tool's error that the graph handled: `events` know its class, a tool message only its text.
    known["error"] = facts.error if facts.kind != "tool" or facts.result is None else None
    # The root is started before any frame can name it or tell its input.
    if facts.kind == "run":
        known["name"] = known["args"] = None
    return known


def all_but_errors_told_by_tasks(calls: Tree) -> Any:
    """`events` tell that a caught error happened, not which; what ended the run is told in full."""
    root = next(facts for facts in calls.values() if facts.kind == "run")
    if root.status == "error":
        return everything(calls)
    return {id: {**facts, "error": None} for id, facts in everything(calls).items()}


def speech_and_results(calls: Tree) -> Any:
    """Model calls with their texts, tool calls with their results; no parents."""
    return {**speech(calls), **results(calls)}


def speech(calls: Tree) -> Any:
    return {id: (c.message_id, c.texts) for id, c in calls.items() if c.kind == "model"}


def results(calls: Tree) -> Any:
    return {id: (c.name, c.result) for id, c in calls.items() if c.kind == "tool" and c.result}


def kept_speech_and_results(calls: Tree) -> Any:
    """As above without streamed arguments, and without attempts that failed."""
    said = {id: (m, t.get("text", ""), t.get("reasoning", "")) for id, (m, t) in speech(calls).items()}
    return {**said, **results(calls)}


def speech_arguments_and_results(calls: Tree) -> Any:
    asked = {id: (c.name, c.args) for id, c in calls.items() if c.kind == "tool" and c.result}
    return {**speech(calls), **{("asked", id): told for id, told in asked.items()}, **results(calls)}


@dataclass(frozen=True)
class Row:
    """A set of modes, what it promises, and the graphs in which the promise has an exception, by its reason."""

    modes: tuple[str, ...]
    promise: Callable[[Tree], Any]
    but: tuple[str, ...] = ()


PLAIN_INTERRUPTS = ("inter", "asks", "sub_ask", "breakpoint")
# The state knows only the provider's id of a renamed message, tokens first the local one.
RENAMED = ("renamed",)
ROWS = {
    "tasks, messages-tuple": Row(("tasks", "messages"), everything),
    "debug, messages-tuple": Row(("debug", "messages"), everything),
    "events": Row(("events",), all_but_errors_told_by_tasks, PLAIN_INTERRUPTS),
    "updates, messages-tuple": Row(("updates", "messages"), speech_and_results),
    "values, messages-tuple": Row(("values", "messages"), speech_and_results),
    "tasks": Row(("tasks",), kept_speech_and_results, RENAMED),
    "updates": Row(("updates",), kept_speech_and_results, RENAMED),
    "values": Row(("values",), kept_speech_and_results, RENAMED),
    "messages-tuple": Row(("messages",), speech_arguments_and_results),
}


def narrow(name: str, modes: tuple[str, ...] | None) -> list[ServerSentEvent]:
    """The recording as a server asked for these modes alone would have sent it."""
    return [f for f in frames(name) if modes is None or f.event.split("|")[0] in {*modes, "metadata", "error"}]


def narrowed(name: str, modes: tuple[str, ...] | None) -> list[Envelope]:
    """The envelopes of a narrow recording, and of the one that it resumes."""
    before = earlier(name)
    prior = Continuation.from_envelopes(narrowed(before, modes)) if before else None
    return envelopes(narrow(name, modes), prior, outcome_of(name))


def kept(name: str) -> set[str]:
    """The ids of all that nodes returned, read from the frames alone: what failed attempts said is not among them."""
    returned = [json.loads(frame.data) for frame in frames(name) if frame.event.split("|")[0] == "updates"]
    return {message["id"] for update in returned for entry in update.values() for message in messages_in(entry)}


CASES = [(row, name) for row, name in itertools.product(ROWS, EVERY) if name.split("/")[0] not in ROWS[row].but]


def compared(row: str, name: str, told: list[Envelope]) -> tuple[Any, Any]:
    """What the row promises, as the narrowed stream tells it and as the full one does."""
    promise, full = ROWS[row].promise, tree(narrowed(name, None))
    if promise is kept_speech_and_results:
        full = {id: facts for id, facts in full.items() if facts.kind != "model" or facts.message_id in kept(name)}
    return promise(tree(told)), promise(full)


@pytest.mark.parametrize(("row", "name"), CASES)
def test_a_set_of_modes_tells_what_its_row_promises(row, name):
    told, full = compared(row, name, narrowed(name, ROWS[row].modes))
    assert told == full


@pytest.mark.parametrize(("row", "name"), list(itertools.product(ROWS, EVERY)))
def test_a_narrowed_stream_passes_the_checker(row, name):
    modes, before = ROWS[row].modes, earlier(name)
    assert conformance.check(narrowed(name, modes), after=narrowed(before, modes) if before else None) == []


# The text of an attempt that failed has no end where tokens come without tasks.
ENDLESS = {(row, "retry/every.sse") for row in ("updates, messages-tuple", "values, messages-tuple", "messages-tuple")}
WHOLE = [case for case in itertools.product(ROWS, EVERY) if case not in ENDLESS]


@pytest.mark.parametrize(("row", "name"), WHOLE)
def test_a_narrowed_stream_that_is_whole_is_not_said_to_lack_anything(row, name):
    modes, before, outcome = ROWS[row].modes, earlier(name), outcome_of(name)
    adapter = StreamAdapter(resumed_from=Continuation.from_envelopes(narrowed(before, modes)) if before else None)
    for frame in narrow(name, modes):
        adapter.feed(frame)
    assert not adapter.lacks(outcome)


@pytest.mark.parametrize(("row", "name"), [(row, name) for row, name in CASES if "deep/" in name or "gather/" in name])
def test_an_adapter_that_tells_only_the_roots_start_and_end_breaks_the_row(row, name):
    told, full = compared(row, name, envelopes(frames(name)[:1], None, Outcome("success")))
    assert told != full


def test_every_test_graph_has_its_recording_with_every_mode():
    recorded = {name.split("/")[0] for name in EVERY if not name.startswith("exit_")}
    assert recorded | {"attempt"} == set(GRAPHS)
