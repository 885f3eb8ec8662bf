"""History and state of real threads give the envelopes of their runs again: same ids, same facts, as far as kept."""

import copy
from typing import Any

import pytest

from runwire_normalizers import Continuation, Outcome, RunView, StreamAdapter, conformance, inner_namespaces, replay
from tests.feeding import FOLDER, NAMES, frames, outcome_of, prior, told
from tests.threads import KEPT, after, facts, histories, kept, kept_messages, live, replayed, retold

# What history does not keep, by graph; docs/replay.md tells the same.
LOST_NODES = {
    "nested": "the node behind several others, and nodes of a graph that a node invoked",
    "sub_ask": "the node behind several others",
    "caught": "nodes of a graph that a node invoked",
}
LOST = {
    "renamed": "a message that its provider renamed is known by its last name",
    "caught": "an inner error that the graph caught",
    "cmd": "what a node said that handed over to the graph above",
    "cancel": "how far a cancelled task had come",
}
EXIT = [name for name in KEPT if name.startswith("exit_")]
WHOLE = [name for name in KEPT if not name.startswith("exit_")]


def both(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was live, and what history retells, by call."""
    messages = set(kept_messages(after(name)))
    streams = RunView.of(live(name)), RunView.of(retold(name))
    first, second = (kept(view, messages) for view in streams)
    if name.split("/")[0] in LOST_NODES:
        for id in first.keys() & second.keys():
            if second[id].get("node", "-") is None:
                first[id]["node"] = None
    return first, second


@pytest.mark.parametrize("name", [name for name in WHOLE if name.split("/")[0] not in LOST])
def test_a_replay_tells_every_call_that_history_keeps_as_it_was_live(name):
    first, second = both(name)
    assert second == first


@pytest.mark.parametrize("name", [name for name in KEPT if name.split("/")[0] != "renamed"])
def test_a_replay_never_tells_a_call_that_was_not_live(name):
    known = {envelope.call_id for envelope in live(name)}
    assert {envelope.call_id for envelope in retold(name)} <= known


@pytest.mark.parametrize("name", [name for name in WHOLE if name.split("/")[0] in LOST])
def test_where_history_has_lost_something_all_other_calls_are_as_they_were(name):
    first, second = both(name)
    same = [id for id in first.keys() & second.keys() if first[id] == second[id]]
    assert len(same) >= len(first) // 3
    assert all(id in same for id, call in first.items() if call["kind"] == "tool" and call["error"] is None)


@pytest.mark.parametrize("name", KEPT)
def test_a_replayed_run_passes_the_checker_and_is_marked_as_replay(name):
    before: list[Any] = []
    for run in replayed(name):
        before = before if run.resumes else []
        assert conformance.check(run.envelopes, after=before or None) == []
        assert {envelope.origin for envelope in run.envelopes} == {"replay"}
        assert {envelope.run_id for envelope in run.envelopes} == {run.run_id}
        before += run.envelopes


@pytest.mark.parametrize("name", KEPT)
def test_a_replay_has_the_runs_and_the_trace_of_the_live_streams(name):
    expected = list(dict.fromkeys((e.trace_id, e.run_id) for e in live(name)))
    found = [(run.trace_id, run.run_id) for run in replayed(name)]
    assert found[-len(expected) :] == expected


@pytest.mark.parametrize("name", KEPT)
def test_a_replay_without_an_outcome_ends_as_the_run_did(name):
    last, ended = replayed(name)[-1].envelopes[-1], outcome_of(name).status
    waits = last.payload.get("interrupts") is not None
    assert waits == (ended == "interrupted")
    assert waits or last.payload["status"] == {"success": "ok"}.get(ended, ended)


@pytest.mark.parametrize("name", WHOLE)
def test_the_position_of_a_model_call_agrees_where_history_keeps_all_that_it_said(name):
    """Arguments of tool calls are kept parsed, not as they were written."""
    streams = RunView.of(live(name)), RunView.of(retold(name))
    wrote = {call.call_id: bool(call.arguments) for call in streams[0].calls()}
    for call in streams[1].calls():
        before = streams[0].call(call.call_id)
        if call.kind == "model" and before and not wrote[call.call_id]:
            assert call.seq == before.seq


@pytest.mark.parametrize("name", WHOLE)
def test_the_position_of_a_tool_call_agrees_where_it_told_only_its_start_and_end(name):
    moved = {e.call_id for e in live(name) if e.type not in ("tool_start", "tool_end", "error")}
    views = RunView.of(live(name)), RunView.of(retold(name))
    for call in views[1].calls():
        before = views[0].call(call.call_id)
        if call.kind == "tool" and before and call.call_id not in moved and before.status == call.status != "cancelled":
            assert call.seq == before.seq


def test_every_turn_of_a_thread_is_a_trace_of_its_own_and_tells_only_its_own_messages():
    first, second = replayed("turns/every.2.sse")
    assert [run.resumes for run in (first, second)] == [False, False]
    assert [RunView.of(run.envelopes).text for run in (first, second)] == [
        "You said hello as message 1.",
        "You said and again as message 3.",
    ]
    assert first.envelopes[0].payload["input"] == {"messages": [{"role": "user", "content": "hello"}]}


def test_a_resumed_run_goes_on_with_the_calls_that_waited():
    first, second = replayed("deep_ask/every.2.sse")
    assert second.resumes
    assert first.envelopes[-1].payload["interrupts"][0]["value"] == {"question": "which colour?"}
    resumed = [e.payload["tool_name"] for e in second.envelopes if e.type == "subgraph_resume"]
    assert sorted(filter(None, resumed)) == ["ask_person", "deep_ask", "task"]


@pytest.mark.parametrize("name", [name for name in KEPT if name.endswith(".2.sse") and not name.startswith("exit_")])
def test_another_process_that_has_only_history_can_watch_the_resumed_run(name):
    """The first run from history, the second live: the same calls as live throughout."""
    if prior(name) is None:
        return
    before = replayed(name)[0].envelopes
    adapter = StreamAdapter(resumed_from=Continuation.from_envelopes(before))
    second = [e for frame in frames(name) for e in adapter.feed(frame)] + adapter.finish(outcome_of(name))
    assert conformance.check(second, after=before) == []
    known = {e.call_id: e.parent_id for e in told(name)}
    assert {e.call_id: e.parent_id for e in second} == known


@pytest.mark.parametrize("name", EXIT)
def test_of_a_run_that_kept_only_its_end_the_messages_of_its_own_graph_are_told(name):
    first, second = both(name)
    own = {id for id, call in first.items() if call["kind"] == "model" and call["parent_id"] == live(name)[0].call_id}
    assert own
    assert own <= second.keys()
    assert all(first[id]["text"] == second[id]["text"] and first[id]["usage"] == second[id]["usage"] for id in own)


def test_the_second_turn_of_runs_that_kept_only_their_ends_does_not_tell_the_first_again():
    first, second = replayed("exit_turns/every.2.sse")
    assert first.trace_id != second.trace_id
    assert [e.payload["text"] for e in second.envelopes if e.type == "llm_token"] == [
        "You said and again as message 3."
    ]


@pytest.mark.parametrize("left", range(1, 21))
def test_a_trimmed_history_says_gap_and_tells_the_rest(left):
    told_by = histories("deep/every.sse")
    (run,) = replay({**told_by, "": told_by[""][:left]}, after("deep/every.sse")["state"])
    assert conformance.check(run.envelopes) == []
    whole = RunView.of(retold("deep/every.sse"))
    gap = [e for e in run.envelopes if e.type == "warning"]
    assert [e.payload["code"] for e in gap] == (["gap"] if left < 21 else [])
    assert run.trace_id == whole.trace_id
    for call in RunView.of(run.envelopes).calls():
        before = whole.call(call.call_id)
        assert before is not None
        assert call.kind == "run" or facts(call)["status"] in (facts(before)["status"], "cancelled")


def test_a_history_that_is_whole_says_no_gap():
    assert not [e for name in KEPT for run in replayed(name) for e in run.envelopes if e.payload.get("code") == "gap"]


def test_a_history_trimmed_to_a_resumed_run_takes_the_trace_that_the_caller_knows():
    told_by, state = histories("inter/every.2.sse"), after("inter/every.2.sse")["state"]
    trimmed = {"": told_by[""][:2]}
    assert replay(trimmed, state)[0].trace_id == after("inter/every.2.sse")["run"]["run_id"]
    assert replay(trimmed, state, trace_id="trace-1")[0].trace_id == "trace-1"


def test_the_state_alone_is_a_history_of_one():
    state = after("deep/every.sse")["state"]
    (run,) = replay({}, state)
    assert conformance.check(run.envelopes) == []
    assert RunView.of(run.envelopes).todos == [{"content": "compare A and B", "status": "completed"}]


def test_the_states_inside_the_state_stand_for_histories_that_are_missing():
    name = "sub_ask/every.sse"
    with_histories = RunView.of(retold(name))
    (run,) = replay({"": after(name)["history"]}, after(name)["state"])
    alone = RunView.of(run.envelopes)
    waiting = [call.call_id for call in with_histories.calls() if call.status == "waiting"]
    assert [call.call_id for call in alone.calls() if call.status == "waiting"] == waiting


def test_an_empty_thread_has_no_runs():
    assert replay({}) == []
    assert replay({"": []}, {"values": None, "next": [], "tasks": [], "checkpoint": None}) == []


@pytest.mark.parametrize("status", ["error", "cancelled", "timeout", "interrupted"])
def test_what_the_caller_knows_of_the_end_wins(status):
    name = "react/every.sse"
    (run,) = replay(histories(name), outcomes={after(name)["run"]["run_id"]: Outcome(status)})
    assert conformance.check(run.envelopes) == []
    view = RunView.of(run.envelopes)
    assert view.status == {"timeout": "error", "interrupted": "waiting"}.get(status, status)


def test_an_update_of_the_state_by_hand_is_no_run():
    told_by = copy.deepcopy(histories("react/every.sse"))
    edited = copy.deepcopy(told_by[""][0])
    edited["parent_checkpoint"] = edited["checkpoint"]
    edited["checkpoint"] = edited["checkpoint"] | {"checkpoint_id": "f" * 36}
    edited["metadata"] = {"source": "update", "step": 9}
    assert len(replay({"": [edited, *told_by[""]]})) == 1


@pytest.mark.parametrize("name", [name for name in KEPT if name.endswith("every.sse")])
def test_the_namespaces_to_ask_for_are_found_in_the_histories(name):
    """Those of a graph that a task invoked again carry a number, which no history tells."""
    missing = {ns for ns, told_by in histories(name).items() if told_by and ns and not ns.rpartition("|")[2].isdigit()}
    asked: set[str] = set()
    while new := {n for ns in {"", *asked} for n in inner_namespaces(ns, histories(name).get(ns, []))} - asked:
        asked |= new
    assert missing <= asked


BROKEN = {
    "no checkpoint": lambda entry: entry.update(checkpoint=None, checkpoint_id=None),
    "no metadata": lambda entry: entry.update(metadata=None),
    "values that are a list": lambda entry: entry.update(values=[1, 2]),
    "no tasks": lambda entry: entry.update(tasks=None),
    "a foreign time": lambda entry: entry.update(created_at="yesterday"),
    "a foreign error": lambda entry: entry["tasks"] and entry["tasks"][0].update(error="it (just failed", result=None),
    "metadata that is a list": lambda entry: entry.update(metadata=[1], checkpoint_id="1" * 36, checkpoint=5),
    "numbers for lists": lambda entry: entry.update(next=5, tasks=7, parent_checkpoint=3),
    "tasks without names": lambda entry: [task.pop("name") for task in entry["tasks"]],
    "interrupts that are a number": lambda entry: [task.update(interrupts=5) for task in entry["tasks"]],
    "no paths": lambda entry: [task.update(path=None) for task in entry["tasks"]],
}


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("name", ["deep_ask/every.2.sse", "nested/every.sse", "tool_raises/every.sse"])
def test_a_broken_history_never_raises_and_what_it_gives_is_sound(name, fault):
    for number in range(len(histories(name)[""])):
        told_by = copy.deepcopy(histories(name))
        BROKEN[fault](told_by[""][number])
        before: dict[str, list[Any]] = {}
        for run in replay(told_by, after(name)["state"]):
            earlier = before.setdefault(run.trace_id, [])
            assert conformance.check(run.envelopes, after=earlier if run.resumes else None) == []
            earlier += run.envelopes


def test_every_recording_with_a_history_is_replayed():
    assert len(KEPT) >= 40
    assert {name for name in NAMES if "every" in name and (FOLDER / name).with_suffix(".after.json").exists()} <= set(
        KEPT
    )
