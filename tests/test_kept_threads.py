"""Threads of many shapes, recorded once from a real server with all their histories, told again as they were live."""

import json
from functools import cache
from typing import Any

import pytest

from runwire_normalizers import (
    Continuation,
    Envelope,
    Outcome,
    RunView,
    SSEDecoder,
    StreamAdapter,
    conformance,
    replay,
)
from runwire_normalizers.outcome import OutcomeStatus
from tests.rooms import ROOT

FOLDER = ROOT / "tests" / "kept"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
# Runs of which the server keeps no checkpoint, because they stopped again where they had been resumed.
UNKEPT = {"two_ints": {1}, "flaky_twice": {1}}
# The server calls a run a success that waits, or failed, in a node behind several others, and keeps nothing of it.
DENIED = {"join_ask"}
# What the tasks of the functional API say is in no state.
UNSAID = {"functional_str", "functional_list"}


@cache
def thread(name: str) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return kept


def runs(name: str) -> list[dict[str, Any]]:
    return [run for run in thread(name)["runs"] if run["sse"]]


def outcome(run: dict[str, Any]) -> Outcome:
    """What the server says of a run."""
    state = run["state"]
    if run["run"]["status"] == "error":
        return Outcome("error")
    status: OutcomeStatus = "interrupted" if state["next"] else "success"
    return Outcome(status, interrupts=tuple(state["interrupts"] or ()), values=state["values"])


@cache
def live(name: str) -> tuple[tuple[Envelope, ...], ...]:
    """The envelopes of each run; one that goes on after a wait is given what was before."""
    found: list[tuple[Envelope, ...]] = []
    before: Continuation | None = None
    for run in runs(name):
        goes_on = "command" in run["request"] or run["request"].get("input") is None
        adapter = StreamAdapter(resumed_from=before if goes_on and before and not before.over else None)
        told = [e for frame in SSEDecoder().feed(run["sse"].encode()) for e in adapter.feed(frame)]
        found.append((*told, *adapter.finish(outcome(run))))
        before = adapter.continuation()
    return tuple(found)


@cache
def again(name: str) -> dict[str | None, Any]:
    outcomes: dict[str, Outcome | None] = {run["run"]["run_id"]: outcome(run) for run in runs(name)}
    return {run.run_id: run for run in replay(thread(name)["history"], thread(name)["state"], outcomes=outcomes)}


def pairs(name: str) -> list[tuple[tuple[Envelope, ...], Any]]:
    """Each run live and again; those that the server does not keep are left out."""
    kept = [n for n in range(len(runs(name))) if n not in UNKEPT.get(name, ())]
    return [(live(name)[n], again(name)[runs(name)[n]["run"]["run_id"]]) for n in kept]


@pytest.mark.parametrize("name", NAMES)
def test_a_live_stream_of_any_shape_passes_the_checker(name):
    before: dict[str, list[Envelope]] = {}
    for told in live(name):
        earlier = before.setdefault(told[0].trace_id, [])
        assert conformance.check(told, after=earlier or None) == []
        earlier += told


@pytest.mark.parametrize("name", NAMES)
def test_every_run_that_the_server_keeps_is_told_again_with_its_trace(name):
    assert len(again(name)) == len(runs(name)) - len(UNKEPT.get(name, ()))
    assert [run.trace_id for _, run in pairs(name)] == [told[0].trace_id for told, _ in pairs(name)]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in DENIED])
def test_a_run_told_again_ends_as_it_did(name):
    for told, run in pairs(name):
        last, ended = told[-1], run.envelopes[-1]
        assert (ended.type, ended.payload.get("status")) == (last.type, last.payload.get("status"))
        asked = [[one["id"] for one in e.payload.get("interrupts") or ()] for e in (last, ended)]
        assert asked[0] == asked[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_run_told_again_passes_the_checker_and_invents_no_call(name):
    before: dict[str, list[Envelope]] = {}
    for told, run in pairs(name):
        earlier = before.setdefault(run.trace_id, [])
        if name not in UNKEPT:
            assert conformance.check(run.envelopes, after=earlier if run.resumes else None) == []
        earlier += run.envelopes
        known = {e.call_id for trace in live(name) if trace[0].trace_id == told[0].trace_id for e in trace}
        assert {e.call_id for e in run.envelopes} <= known


@pytest.mark.parametrize("name", [name for name in NAMES if name not in DENIED | UNSAID])
def test_the_calls_of_a_run_told_again_stand_as_they_did(name):
    views: dict[str, list[list[Envelope]]] = {}
    for told, run in pairs(name):
        both = views.setdefault(run.trace_id, [[], []])
        both[0] += told
        both[1] += run.envelopes
    for stream, retold in views.values():
        first, second = RunView.of(stream), RunView.of(retold)
        for call in second.calls():
            before = first.call(call.call_id)
            assert before is not None
            facts = ("kind", "parent_id", "status", "text", "tool_call_id")
            assert {f: getattr(call, f) for f in facts} == {f: getattr(before, f) for f in facts}


def test_a_run_that_waits_behind_several_nodes_is_no_success_whatever_the_server_says():
    """The frames told the question; the run's status is `success`, and the state has nothing to do and asks nothing."""
    (run,) = runs("join_ask")
    assert (run["run"]["status"], run["state"]["next"], run["state"]["interrupts"]) == ("success", [], [])
    last = live("join_ask")[0][-1]
    assert last.type == "subgraph_checkpoint"
    assert [one["value"] for one in last.payload["interrupts"]]


def test_a_failed_run_that_is_run_again_without_input_is_a_trace_of_its_own():
    first, second = (run for _, run in pairs("flaky"))
    assert first.trace_id != second.trace_id
    assert not second.resumes
    assert [e.payload["message"] for e in first.envelopes if e.type == "error"] == ["flaky failed"]
    assert [e for e in second.envelopes if e.type == "error"] == []


def test_without_outcomes_a_failed_run_that_was_run_again_is_still_a_failure():
    found = replay(thread("flaky_sub")["history"], thread("flaky_sub")["state"])
    assert [run.envelopes[-1].payload["status"] for run in found] == ["error", "ok"]


def test_a_fork_is_a_run_of_its_own_and_the_branch_that_it_left_is_told_too():
    first, second = (run for _, run in pairs("fork"))
    assert [RunView.of(run.envelopes).status for run in (first, second)] == ["ok", "ok"]
    assert not second.resumes


def test_a_graph_that_keeps_its_checkpoints_is_one_subgraph_in_each_turn():
    for _, run in pairs("persistent"):
        starts = [e.payload["tool_name"] for e in run.envelopes if e.type == "tool_start"]
        assert starts.count("inner") == 1


def test_a_run_that_is_still_going_stays_open():
    (run_id,) = {run["run"]["run_id"] for run in runs("cmd_tool")}
    (run,) = replay(thread("cmd_tool")["history"], outcomes={run_id: None})
    view = RunView.of(run.envelopes)
    assert view.status == "open"
    assert RunView.of([*run.envelopes, *live("cmd_tool")[0]]).status == "ok"
