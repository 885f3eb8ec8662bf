"""The view: what it tells of recorded runs, its JSON, its text; folding again, or in other pieces, changes nothing."""

import json

import pytest

from runwire_normalizers import Envelope, RunView, StreamAdapter
from tests.feeding import NAMES, earlier, told
from tests.test_sampler import Call
from tests.threads import KEPT, live, retold

EVERY = [name for name in NAMES if name.endswith(("every.sse", "every.2.sse"))]


def view(name: str) -> RunView:
    before = earlier(name)
    return RunView.of([*(told(before) if before else ()), *told(name)])


def test_a_deep_agent_is_a_tree_with_text_arguments_results_todos_and_files():
    run = view("deep/default.sse")
    assert (run.status, run.text) == ("ok", "A and B are both 42.")
    assert run.todos == [{"content": "compare A and B", "status": "completed"}]
    assert list(run.files) == ["/report.md"]
    assert run.root is not None
    tasks = [call for call in run.root.calls if call.name == "task"]
    assert [call.agent for call in tasks] == ["researcher", "critic"]
    assert [call.args["description"] for call in tasks] == ["find A", "find B"]
    inner = tasks[0].calls
    assert [(call.kind, call.name) for call in inner] == [
        ("model", "scripted-1"),
        ("tool", "lookup"),
        ("model", "scripted-1"),
    ]
    assert inner[0].arguments == [{"tool_call_id": "call_lookup", "tool_name": "lookup", "text": '{"topic": "A"}'}]
    assert inner[1].result == {"kind": "text", "text": "A: 42"}
    assert list(inner[1].recent) == []
    assert [list(call.recent) for call in tasks] == [
        [{"looking_up": "A", "from": "subagent"}],
        [{"looking_up": "B", "from": "subagent"}],
    ]
    assert inner[2].finish_reason == "stop"


def test_usage_is_the_sum_over_all_model_calls():
    run = view("deep/default.sse")
    each = [call.usage for call in run.calls() if call.kind == "model"]
    assert (
        run.usage["total_tokens"]
        == sum(usage["total_tokens"] for usage in each if usage)
        == run.result["usage"]["total_tokens"]
    )


def test_reasoning_is_kept_apart_from_text():
    models = [call for call in view("reason/default.sse").calls() if call.kind == "model"]
    assert [(call.reasoning, call.text) for call in models] == [
        ("Two and three, so add.", "I add them."),
        ("The tool said five.", "It is 5."),
    ]


def test_a_plan_and_todos_follow_the_state():
    run = view("planner/default.sse")
    assert [step["expert"] for step in run.plan] == ["searcher", "writer"]
    assert [todo["status"] for todo in run.todos] == ["completed", "completed"]
    assert run.result["plannerResult"]["next_task"] == 2


def test_a_run_that_waits_tells_what_it_waits_for_and_goes_on_when_resumed():
    waiting, resumed = view("deep_ask/default.sse"), view("deep_ask/default.2.sse")
    assert waiting.status == "waiting"
    assert [one["value"] for one in waiting.interrupts] == [{"question": "which colour?"}]
    assert (resumed.status, resumed.interrupts) == ("ok", [])
    assert len(resumed.run_ids) == 2
    assert {call.call_id for call in waiting.calls()} <= {call.call_id for call in resumed.calls()}


def test_a_failed_call_tells_its_error_and_its_healthy_sibling_that_it_was_cancelled():
    run = view("tool_raises/default.sse")
    assert run.status == "error"
    statuses = {
        call.name: (call.status, call.error and call.error["class"]) for call in run.calls() if call.kind == "tool"
    }
    assert statuses == {"explode": ("error", "ValueError"), "dig": ("cancelled", None)}


def test_a_new_attempt_takes_an_error_back():
    run = view("attempt/default.sse")
    assert run.status == "ok"
    assert [warning["code"] for call in run.calls() for warning in call.warnings] == ["attempt"]
    assert all(call.error is None for call in run.calls())


def test_times_are_those_of_the_envelopes():
    call, run = Call("a"), RunView()
    start = call.tell(
        "tool_start", {"kind": "run", "tool_name": "x", "input": None, "node": None, "tool_call_id": None}
    )
    end = call.tell("tool_end", {"tool_name": "x", "result": None, "status": "ok"})
    for envelope, ts in ((start, 5.0), (end, 7.5)):
        envelope.ts, envelope.parent_id = ts, None
        run.fold(envelope)
    assert run.root is not None
    assert (run.root.started, run.root.ended) == (5.0, 7.5)
    assert run.render().splitlines() == ["✓ run x 2.50 s"]


@pytest.mark.parametrize("name", EVERY)
def test_the_json_form_comes_back_equal_and_goes_on_folding(name):
    stream = live(name) if name in KEPT else list(told(name))
    whole = RunView.of(stream)
    assert RunView.from_json(whole.to_json()) == whole
    half = RunView.from_dict(json.loads(RunView.of(stream[: len(stream) // 2]).to_json()))
    for envelope in stream[len(stream) // 2 :]:
        half.fold(envelope)
    assert half == whole


@pytest.mark.parametrize("name", EVERY)
def test_folding_an_envelope_twice_changes_nothing(name):
    once, twice = RunView(), RunView()
    for envelope in told(name):
        once.fold(envelope)
        twice.fold(envelope)
        twice.fold(envelope)
    assert twice == once
    for envelope in told(name):
        once.fold(envelope)
        assert once == twice


@pytest.mark.parametrize("name", EVERY)
def test_a_whole_stream_folded_again_changes_nothing(name):
    stream = list(told(name))
    assert RunView.of([*stream, *stream]) == RunView.of(stream)


@pytest.mark.parametrize("name", [name for name in KEPT if name.split("/")[0] != "renamed"])
def test_a_replay_folded_twice_changes_nothing(name):
    stream = retold(name)
    assert RunView.of([*stream, *stream]) == RunView.of(stream)
    once = RunView.of(stream)
    for envelope in stream:
        once.fold(envelope)
    assert once == RunView.of(stream)


def test_a_stream_that_is_joined_in_its_middle_keeps_calls_whose_parents_never_came():
    stream = [e for e in told("deep/default.sse") if e.agent == "researcher" and e.type != "tool_start"]
    run = RunView.of(stream)
    assert run.root is None
    assert run.text == ""
    assert any("A is known to be 42." in call.text for call in run.calls())
    assert RunView.from_json(run.to_json()) == run
    assert "A is known to be 42." in run.render()


def test_text_that_is_missing_is_marked_and_what_follows_stands_at_its_place():
    call, run = Call("a"), RunView()
    first, _, third = call.token("Hel"), call.token("lo "), call.token("you")
    run.fold(first)
    run.fold(third)
    assert next(iter(run.calls())).text == "Hel\ufffd\ufffd\ufffdyou"


def test_arguments_of_two_tool_calls_that_share_an_id_are_kept_apart():
    call, run = Call("a"), RunView()
    envelopes = [call.token('{"q":', "tool_args", "1"), call.token("1}", "tool_args", "1")]
    call.offsets.clear()
    envelopes += [call.token('{"q":', "tool_args", "1"), call.token("2}", "tool_args", "1")]
    for envelope in envelopes:
        run.fold(envelope)
    assert [one["text"] for one in next(iter(run.calls())).arguments] == ['{"q":1}', '{"q":2}']


def test_the_answer_is_what_the_runs_own_model_said_last_not_a_subagent():
    assert view("twins/default.sse").text == "Both, it says."
    assert view("nested/default.sse").text


def test_a_view_is_text_that_a_person_can_read():
    assert str(view("tool_raises/default.sse")).splitlines() == [
        "✗ run tool_raises",
        "├─ ✓ model scripted-1: Both. → explode → dig",
        '├─ ✗ tool explode {"fuse":1}',
        "│  └─ ✗ ValueError: tool blew up (in tools)",
        '└─ – tool dig {"depth":6}',
    ]
    waiting = view("deep_ask/default.sse").render(60).splitlines()
    assert waiting[0] == "? run"
    assert '│     └─ ? {"question":"which colour?"}' in waiting
    assert max(map(len, waiting)) <= 60


def test_a_request_for_approvals_is_shown_by_its_descriptions():
    actions = [{"name": "write_file", "args": {}, "description": "Write /a.md?"}, {"name": "delete", "args": {}}]
    asked = {"id": "i", "value": {"action_requests": actions, "review_configs": []}}
    adapter = StreamAdapter(label="writer")
    run = RunView.of([*adapter.feed(("updates", {"__interrupt__": [asked]})), *adapter.finish("interrupted")])
    assert str(run).splitlines() == ["? run writer", "└─ ? Write /a.md?; delete"]


def test_what_models_and_tools_say_cannot_steer_the_terminal():
    call, run = Call("a"), RunView()
    run.fold(call.token("\x1b[2J\x1b]0;owned\x07 fine\r\nnew line \u202eright to left \x9b31m"))
    (line,) = run.render(200).splitlines()
    assert line == "… model:  [2J ]0;owned  fine new line  right to left  31m"


def test_an_empty_view_is_open_and_empty():
    run = RunView()
    assert (run.status, run.text, run.result, run.usage, run.files, run.plan) == ("open", "", None, {}, {}, None)
    assert run.render() == ""
    assert RunView.from_json(run.to_json()) == run


def test_envelopes_that_were_written_and_read_fold_to_the_same_view():
    stream = told("deep/every.sse")
    assert RunView.of(Envelope.from_json(e.to_json()) for e in stream) == RunView.of(stream)


@pytest.mark.parametrize("name", ["asks/every.2.sse", "deep/every.sse", "deep_ask/every.2.sse"])
def test_the_json_form_in_the_middle_of_a_replay_goes_on_folding(name):
    begun, again = live(name)[: len(live(name)) // 3], retold(name)
    whole = RunView.of([*begun, *again])
    for cut in range(len(again)):
        half = RunView.from_json(RunView.of([*begun, *again[:cut]]).to_json())
        for envelope in again[cut:]:
            half.fold(envelope)
        assert half == whole


@pytest.mark.parametrize("name", ["deep/every.sse", "nested/every.sse", "deep_ask/every.2.sse"])
def test_a_stream_joined_in_its_middle_and_then_replayed_is_whole(name):
    stream = live(name)
    whole = RunView.of([*stream, *retold(name)])
    for cut in range(0, len(stream), 7):
        view = RunView.of([*stream[cut:], *retold(name)])
        assert view.text == whole.text
        assert view.root is not None
        assert view.root.kind == "run"
        assert [call.call_id for call in view._strays] == []
        assert {c.call_id: (c.kind, c.status, c.parent_id) for c in view.calls() if c.text or c.kind != "model"} == {
            c.call_id: (c.kind, c.status, c.parent_id)
            for c in whole.calls()
            if view.call(c.call_id) and (c.text or c.kind != "model")
        }
        assert not [c for c in view.calls() if "\ufffd" in c.text]
        assert RunView.from_json(view.to_json()) == view


def test_folding_onto_a_copy_leaves_the_view_alone():
    stream = told("attempt/default.sse")
    view = RunView.of(stream[: len(stream) // 2])
    before = view.to_json()
    copy = RunView.from_dict(view.to_dict())
    for envelope in stream[len(stream) // 2 :]:
        copy.fold(envelope)
    assert view.to_json() == before


def test_a_line_takes_no_more_columns_than_asked_for_with_wide_characters_too():
    call, run = Call("a"), RunView()
    run.fold(call.token("字" * 60 + "\u061c\U000e0041"))
    (line,) = run.render(40).splitlines()
    assert line == "… model: " + "字" * 15 + "…"


def test_what_a_run_waits_for_names_the_innermost_call_that_asked():
    run = view("deep_ask/every.sse")
    (asked,) = run.interrupts
    assert asked["value"] == {"question": "which colour?"}
    owner = run.call(asked["owner"]["call_id"])
    assert owner is not None
    assert (owner.kind, owner.name, owner.agent) == ("tool", "ask_person", "asker")
    assert {"name": owner.name, "agent": owner.agent}.items() <= asked["owner"].items()


def test_each_of_several_questions_has_its_owner():
    run = view("asks/every.sse")
    assert run.root is not None
    assert [one["value"] for one in run.interrupts] == [{"ask": "one?"}, {"ask": "two?"}]
    assert [one["owner"]["call_id"] for one in run.interrupts] == [run.root.call_id] * 2
    (inside,) = view("sub_ask/every.sse").interrupts
    assert inside["owner"]["name"] == "inner"
