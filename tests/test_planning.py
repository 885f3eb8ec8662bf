"""The planners' nodes, routes and reducers without a server; only the experts are real."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from runwire_graphs import assist_with_planner, planner_style_agent
from runwire_graphs.errors import ConfigError, ExpertError
from runwire_graphs.experts.config import load_experts
from runwire_graphs.experts.tools import expert_tools
from runwire_graphs.hands import HANDS
from runwire_graphs.planning import tasks
from runwire_graphs.planning.state import current_task, decide, latest_result
from runwire_graphs.settings import Settings
from tests.sites import phrase

ONE: Any = {"expert": "files", "task": "one"}
TWO: Any = {"expert": "tables", "task": "two"}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNWIRE_DATA", str(tmp_path))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    HANDS.close()


def result(plan=(ONE, TWO), at=0, clarification=None) -> Any:
    return {"decision": "replace", "plan": list(plan), "next_task": at, "clarification": clarification}


def state(*messages, **more) -> Any:
    return {"messages": list(messages), **more}


@pytest.mark.parametrize(
    ("decided", "plan", "at"),
    [
        ({"decision": "replace", "plan": [TWO]}, [TWO], 0),
        ({"decision": "append", "plan": [TWO]}, [ONE, TWO], 1),
        ({"decision": "continue"}, [ONE], 1),
        ({"decision": "continue", "next_task": 9}, [ONE], 1),
        ({"decision": "continue", "next_task": 0}, [ONE], 0),
    ],
)
def test_a_decision_makes_a_plan_of_the_one_before(decided, plan, at):
    before = result([ONE], 1)
    after = decide(before, decided)
    assert (after["plan"], after["next_task"], after["decision"]) == (plan, at, decided["decision"])
    assert before == result([ONE], 1)


def test_the_reducer_keeps_the_last_result_that_was_not_null():
    assert latest_result(result(), None) == result()
    assert latest_result(result(), result([TWO])) == result([TWO])


@pytest.mark.parametrize(("at", "task"), [(0, ONE), (1, TWO), (2, None)])
def test_the_task_at_hand_is_the_next_one(at, task):
    assert current_task(state(planner_result=result(at=at))) == task


async def test_after_a_task_the_planner_goes_on_without_asking_a_model(monkeypatch):
    monkeypatch.setattr(planner_style_agent, "make_plan", None)
    said = state(HumanMessage("x"), AIMessage("done"), planner_result=result())
    update = await planner_style_agent.planner(said)
    assert (update["planner_result"]["decision"], update["planner_result"]["next_task"]) == ("continue", 1)
    assert update["task_from"] == 2


async def test_a_new_message_is_planned_anew():
    update = await planner_style_agent.planner(state(HumanMessage("list the files")))
    assert update["planner_result"]["plan"] == [{"expert": "files", "task": "list the files"}]


@pytest.mark.parametrize(
    ("told", "route"),
    [
        (result(), "execute_task"),
        (result(at=2), "respond"),
        (result([], clarification="?"), "clarify"),
        (result(clarification="partly"), "clarify"),
    ],
)
def test_the_routes_of_planner_style_agent(told, route):
    assert planner_style_agent.after_planner(state(planner_result=told)) == route


def test_a_clarification_ends_an_empty_plan_and_not_a_full_one():
    assert planner_style_agent.after_clarifying(state(planner_result=result([]))) == "__end__"
    assert planner_style_agent.after_clarifying(state(planner_result=result())) == "execute_task"


def test_each_tool_call_is_sent_to_a_task_of_its_own_and_a_question_to_the_person():
    calls: Any = [{"name": name, "args": {}, "id": name, "type": "tool_call"} for name in ("read_file", "ask_user")]
    sent: Any = planner_style_agent.after_task(state(AIMessage("", tool_calls=calls), planner_result=result()))
    assert [(one.node, one.arg["tool_call"]["id"], one.arg["expert"]) for one in sent] == [
        ("tools", "read_file", "files"),
        ("human_input", "ask_user", "files"),
    ]
    assert planner_style_agent.after_task(state(AIMessage("done"), planner_result=result())) == "planner"


@pytest.mark.parametrize(
    ("tries", "route"), [(-1, "advance_to_next_task"), (1, "orchestrate_tools"), (2, "ask_user"), (5, "ask_user")]
)
def test_the_routes_after_an_assessment(tries, route):
    assert assist_with_planner.after_assessment(state(tries=tries)) == route


@pytest.mark.parametrize(
    ("name", "route"), [("read_file", "assess_task_completion"), ("ask_user", "orchestrate_tools")]
)
def test_all_calls_of_a_message_lead_to_the_same_place(name, route):
    calls: Any = [{"name": one, "args": {}, "id": one} for one in ("list_files", name)]
    answered = state(AIMessage("", tool_calls=calls), ToolMessage("x", tool_call_id="list_files"))
    assert assist_with_planner.after_tools_are_used(answered) == route


async def test_a_task_is_assessed_by_its_own_messages_alone():
    earlier = [AIMessage("", tool_calls=[{"name": "t", "args": {}, "id": "1"}]), ToolMessage("fine", tool_call_id="1")]
    update = await assist_with_planner.assess_task_completion(
        state(HumanMessage("x"), *earlier, planner_result=result(), task_from=3, tries=0)
    )
    assert update["tries"] == 1
    assert update["doubt"]


async def test_a_task_that_takes_too_many_turns_is_given_up():
    turns = [AIMessage("hm")] * tasks.TURNS
    said = await tasks.work(state(*turns, planner_result=result(), task_from=0), ONE)
    assert "stopped" in str(said.text)


@pytest.mark.parametrize(
    ("answer", "text"),
    [("a", "a"), ({"answer": "b"}, "b"), ({"response": "c"}, "c"), ({"other": 1}, "{'other': 1}"), (5, "5")],
)
def test_an_answer_is_read_in_the_forms_in_which_clients_send_it(answer, text):
    assert tasks.told(answer) == text


def call(name, **args) -> Any:
    return {"tool_call": {"name": name, "args": args, "id": "1", "type": "tool_call"}, "expert": "files"}


async def test_a_tool_call_gives_its_result_or_its_failure_as_a_tool_message(home):
    text = phrase()
    written = await tasks.call_tool(call("write_file", path="deep/er/note.txt", content=text), {})
    assert "Wrote" in str(written["messages"][0].text)
    assert (home / "files" / "deep" / "er" / "note.txt").read_text() == text
    found = await tasks.call_tool(call("search_files", query=text.upper()), {})
    assert "deep/er/note.txt:1" in str(found["messages"][0].text)
    for wrong in (call("read_file", path="none.txt"), call("fly"), call("read_file")):
        (message,) = (await tasks.call_tool(wrong, {}))["messages"]
        assert isinstance(message, ToolMessage)
        assert message.status == "error"
        assert message.text


async def tables(name, **args):
    tools = {tool.name: tool for tool in await expert_tools("tables")}
    answer: Any = await tools[name].ainvoke({"name": name, "args": args, "id": "1", "type": "tool_call"})
    return answer


async def test_tables_come_as_structured_results(home):
    await tables("list_tables")
    (home / "files" / "t.csv").write_text("who,n\nann,1\nbob,2.5\nann,3\n")
    shown = await tables("show_rows", path="t.csv", limit=1)
    assert shown.artifact["structured_content"] == {"kind": "table", "columns": ["who", "n"], "rows": [["ann", 1]]}
    by_group = await tables("compute", path="t.csv", column="ns", measure="sum", by="who")
    assert by_group.artifact["structured_content"]["rows"] == [["ann", 4.0], ["bob", 2.5]]
    kept = await tables("filter_rows", path="t.csv", column="who", value="ANN")
    assert len(kept.artifact["structured_content"]["rows"]) == 2
    text = await tables("compute", path="t.csv", column="who")
    assert text.status == "error"
    assert "holds text" in text.text


def test_the_first_start_has_something_to_read(home):
    load_experts(Settings.read())
    assert {path.name for path in (home / "files").iterdir()} == {"notes.md", "sales.csv"}


def test_users_add_experts_and_may_replace_those_of_the_bundle(home, monkeypatch):
    file = home / "experts.json"
    file.write_text(
        '{"mcpServers": {"mine": {"description": "d", "command": "x"}, "files": {"description": "f", "url": "http://a/"}}}'
    )
    known = load_experts(Settings.read({"RUNWIRE_DATA": str(home), "RUNWIRE_EXPERTS": str(file)}))
    assert list(known) == ["files", "tables", "mine"]
    assert known["files"].server == "http://a/"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("nonsense", "not JSON"),
        ('{"a": {"command": "x"}}', "a.description"),
        ('{"a": {"description": "d"}}', "either a command or a url"),
        ('{"a": {"description": "d", "command": "x", "colour": 1}}', "a.colour"),
    ],
)
def test_a_file_of_experts_that_is_wrong_is_told_where(home, text, complaint):
    file = home / "experts.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=complaint):
        load_experts(Settings.read({"RUNWIRE_DATA": str(home), "RUNWIRE_EXPERTS": str(file)}))


async def test_an_expert_that_does_not_start_is_told_by_its_name(home, monkeypatch):
    file = home / "experts.json"
    file.write_text('{"broken": {"description": "d", "command": "/no/such/program"}}')
    monkeypatch.setenv("RUNWIRE_EXPERTS", str(file))
    with pytest.raises(ExpertError, match=r"'broken' did not start \(/no/such/program\)"):
        await expert_tools("broken")
    with pytest.raises(ExpertError, match="no expert 'nobody'"):
        await expert_tools("nobody")
