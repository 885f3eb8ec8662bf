"""The keyless model: what it makes of plain requests, seeing only messages and tools' schemas, and how it streams."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from runwire_graphs.browser.tools import BROWSER_TOOLS
from runwire_graphs.planning.forms import Assessment, Plan
from runwire_graphs.scripted.arguments import fill
from runwire_graphs.scripted.brain import think
from runwire_graphs.scripted.model import KeylessModel
from runwire_graphs.scripted.words import clauses
from tests.sites import phrase

BROWSER = [convert_to_openai_tool(one) for one in BROWSER_TOOLS]
HOME = SystemMessage("You drive a browser.\nThe demo site is at http://127.0.0.1:4024")


@tool
def water(plant: str, litres: int = 1, slowly: bool = False) -> str:
    """Water or sprinkle a plant of the garden."""
    return plant


def carried_out(request, tools=BROWSER, fails_at=None):
    """The calls that a request leads to, each answered, and the last text."""
    messages: list[Any] = [HOME, HumanMessage(request)]
    calls: list[tuple[str, dict[str, Any]]] = []
    for number in range(10):
        reply = think(messages, tools, None)
        if not reply.calls:
            return calls, reply.text
        (call,) = reply.calls
        calls.append((call.name, call.args))
        asked = {"name": call.name, "args": call.args, "id": str(number)}
        status = "error" if number == fails_at else "success"
        messages += [
            AIMessage("", tool_calls=[asked]),
            ToolMessage(f"result {number}", tool_call_id=str(number), status=status),
        ]
    raise AssertionError("it does not come to an end")


@pytest.mark.parametrize(
    ("request_", "calls"),
    [
        (
            "open http://a.test/x and tell me its title and text",
            [("navigate", {"url": "http://a.test/x"}), ("read", {})],
        ),
        (
            'go to example.com, click on the "About us" link and read the page',
            [("navigate", {"url": "example.com"}), ("click", {"target": "About us"}), ("read", {})],
        ),
        (
            "Open the demo site, then follow the Prices link",
            [("navigate", {"url": "http://127.0.0.1:4024"}), ("click", {"target": "Prices"})],
        ),
        ("type 'Zoë Quill' into Your name", [("type_text", {"target": "Your name", "text": "Zoë Quill"})]),
        ("type 'Zoë' into 'Your name'", [("type_text", {"target": "Your name", "text": "Zoë"})]),
        (
            "fill Anna into the Amount field and press enter",
            [("type_text", {"target": "Amount", "text": "Anna", "submit": True})],
        ),
        ("choose Oolong in Tea", [("choose", {"target": "Tea", "option": "Oolong"})]),
        ("scroll up", [("scroll", {"direction": "up"})]),
        ("go back", [("back", {})]),
        ("take a screenshot", [("screenshot", {})]),
        ("open a new tab", [("tabs", {"action": "new"})]),
        ("switch to tab 2", [("tabs", {"action": "select", "number": 2})]),
        ("What is on this page?", [("read", {})]),
        ("click 3", [("click", {"target": "3"})]),
        (
            "please visit https://a.test/a,b?c=d. Then take a screenshot of it",
            [("navigate", {"url": "https://a.test/a,b?c=d"}), ("screenshot", {})],
        ),
    ],
)
def test_a_plain_request_becomes_the_calls_that_it_asks_for(request_, calls):
    assert carried_out(request_)[0] == calls


@pytest.mark.parametrize("request_", ["test", "hello there", "sing a song", "", "?!"])
def test_a_request_that_no_tool_fits_is_answered_with_what_can_be_asked(request_):
    calls, text = carried_out(request_)
    assert calls == []
    assert "keyless" in text
    assert "navigate" in text


def test_a_tool_that_it_never_saw_is_used_by_its_schema():
    plant = phrase(1)
    calls, text = carried_out(f"water '{plant}' with 7 litres slowly", [convert_to_openai_tool(water)])
    assert calls == [("water", {"plant": plant, "litres": 7, "slowly": True})]
    assert "result 0" in text


def test_a_column_is_what_stands_before_its_grouping():
    schema = {"properties": {"path": {}, "column": {}, "by": {}}, "required": ["path", "column"]}
    tool = {"name": "compute", "description": "Compute the sum of a column of a table.", "parameters": schema}
    calls, _ = carried_out("sum the amounts by region in n.csv", [tool])
    assert calls == [("compute", {"path": "n.csv", "column": "amounts", "by": "region"})]


def test_a_step_that_fails_ends_the_work_and_is_told():
    calls, text = carried_out("open http://a.test/ and read the page", fails_at=0)
    assert len(calls) == 1
    assert text.startswith("That did not work: result 0")


def test_what_it_did_not_understand_of_a_request_is_told():
    _, text = carried_out("open http://a.test/ and water the plants")
    assert "water the plants" in text


@pytest.mark.parametrize(
    ("step", "args"),
    [
        ("sum the amount by region in s.csv", {"column": "amount", "by": "region"}),
        ("average of units per product in s.csv", {"column": "units", "by": "product"}),
    ],
)
def test_what_is_counted_and_what_it_is_grouped_by_are_two_arguments(step, args):
    text = {"type": "string"}
    optional = {"anyOf": [text, {"type": "null"}]}
    schema = {"properties": {"path": text, "column": text, "by": optional}, "required": ["path", "column"]}
    assert fill(step, schema, {}).args == {"path": "s.csv", **args}


def test_a_missing_argument_is_asked_for():
    calls, text = carried_out("click")
    assert calls == []
    assert "target" in text


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("read a.md and sing a song", ["read a.md", "sing a song"]),
        ("tell me its title and the text", ["tell me its title and the text"]),
        ("1. read a.md\n2. list files", ["read a.md", "list files"]),
        (
            "write 'x and then y; z' to a.txt. Then list the files!",
            ["write 'x and then y; z' to a.txt", "list the files"],
        ),
        ("open https://a.test/x,y, read it", ["open https://a.test/x,y", "read it"]),
        ("", []),
    ],
)
def test_a_request_is_taken_apart_into_steps(text, steps):
    assert clauses(text) == steps


EXPERTS = "Your experts:\n- files: Lists, reads and writes files.\n- garden: Waters plants.\n\nThe plan so far: {plan}"


def planned(request, plan="[]"):
    messages = [SystemMessage(EXPERTS.format(plan=plan)), HumanMessage(request)]
    (call,) = think(messages, [convert_to_openai_tool(Plan)], "Plan").calls
    return Plan.model_validate(call.args)


def test_a_plan_gives_each_step_to_the_expert_whose_words_it_shares():
    plan = planned("read a.md and water the plants")
    assert [(step.expert, step.task) for step in plan.plan] == [("files", "read a.md"), ("garden", "water the plants")]
    assert plan.clarification is None


def test_a_plan_for_nobody_is_empty_and_says_so():
    plan = planned("test")
    assert (plan.decision, plan.plan) == ("replace", [])
    assert "files, garden" in str(plan.clarification)


GOING = '[{"expert": "files", "task": "x"}]'


@pytest.mark.parametrize(
    ("request_", "plan", "decision"),
    [
        ("also read b.md", GOING, "append"),
        ("also read b.md", "[]", "replace"),
        ("continue", GOING, "continue"),
        ("read b.md", GOING, "replace"),
    ],
)
def test_a_decision_depends_on_the_plan_so_far(request_, plan, decision):
    assert planned(request_, plan).decision == decision


@pytest.mark.parametrize(("status", "completed"), [("success", True), ("error", False)])
def test_an_assessment_follows_the_last_result(status, completed):
    call = {"name": "t", "args": {}, "id": "1"}
    result = ToolMessage("x", tool_call_id="1", status=status)
    messages = [HumanMessage("do it"), AIMessage("", tool_calls=[call]), result]
    (filled,) = think(messages, [convert_to_openai_tool(Assessment)], "Assessment").calls
    assert Assessment.model_validate(filled.args).is_completed is completed


def test_an_unknown_form_is_not_made_up():
    assert not think([HumanMessage("x")], [convert_to_openai_tool(water)], "water").calls


async def test_it_streams_words_and_fragments_of_arguments_and_reports_usage():
    model = KeylessModel(pace=0).bind_tools(BROWSER_TOOLS)
    address = f"http://a.test/{phrase(1)}/{phrase(1)}"
    chunks: list[Any] = [chunk async for chunk in model.astream([HOME, HumanMessage(f"open {address}")])]
    whole = sum(chunks[1:], chunks[0])
    assert whole.tool_calls[0]["args"] == {"url": address}
    assert len([chunk for chunk in chunks if chunk.tool_call_chunks]) > 2
    assert whole.usage_metadata["total_tokens"] > 0
    assert whole.response_metadata["finish_reason"] == "tool_calls"
    words: list[Any] = [chunk async for chunk in model.astream([HumanMessage("hello")])]
    assert len([chunk for chunk in words if chunk.text]) > 5


async def test_streamed_and_whole_answers_are_the_same():
    model = KeylessModel(pace=0)
    streamed: list[Any] = [chunk async for chunk in model.astream([HumanMessage("hello")])]
    assert "".join(chunk.text for chunk in streamed) == (await model.ainvoke([HumanMessage("hello")])).text
