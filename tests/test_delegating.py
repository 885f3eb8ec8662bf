"""What the keyless model makes of subagents, seeing only messages and tools' schemas; names and reports are random."""

import random
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from runwire_graphs.deep_agent import graph
from runwire_graphs.scripted.brain import think
from tests.sites import phrase

PLACE = SystemMessage("You lead.\nThe demo site is at http://127.0.0.1:4024")
BROWSES = "Opens web pages, reads them, tells their titles, texts and tables, follows links and takes screenshots."
COUNTS = "Reads and searches notes, lists files, computes sums and averages of columns of a CSV table."
COMPARES = "Compares several web pages at once."
A, B = "http://a.test/x", "http://b.test/y"


def crew(**told: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The tools of the agent with subagents of random names; gives their names by what they are for."""
    names = {key: f"{phrase(1)}-agent" for key in told}
    listed = "\n".join(f"- {names[key]}: {description}" for key, description in told.items())
    known = graph.nodes["tools"].bound.tools_by_name
    tools = [convert_to_openai_tool(one) for name, one in known.items() if name not in ("task", "execute")]
    task = StructuredTool.from_function(
        func=lambda description, subagent_type: "",
        name="task",
        description=f"Launch a subagent.\n\nAvailable:\n{listed}\n\n- Launch several at once.",
        args_schema=known["task"].args_schema,
    )
    return [*tools, convert_to_openai_tool(task)], names


TOOLS, NAMES = crew(browses=BROWSES, counts=COUNTS, compares=COMPARES)


def report(call: dict[str, Any]) -> ToolMessage:
    done = {"write_file": f"Updated file {call['args'].get('file_path')}", "task": phrase()}
    return ToolMessage(done.get(call["name"], "done"), tool_call_id=call["id"])


def conversation(request, answer=report, before=(), tools=TOOLS):
    """The calls of each message that a request leads to, every one answered, and all messages."""
    messages: list[Any] = [PLACE, *before, HumanMessage(request)]
    turns: list[list[tuple[str, dict[str, Any]]]] = []
    while len(turns) < 10:
        reply = think(messages, tools, None)
        if not reply.calls:
            return turns, [*messages[1:], AIMessage(reply.text)]
        turns.append([(call.name, call.args) for call in reply.calls])
        asked: list[Any] = [{"name": one.name, "args": one.args, "id": phrase(1)} for one in reply.calls]
        messages += [AIMessage(reply.text, tool_calls=asked), *(answer(call) for call in asked)]
    raise AssertionError("it does not come to an end")


def tasks(turns):
    return [(args["subagent_type"], args["description"]) for turn in turns for name, args in turn if name == "task"]


def own(turns):
    return [(name, args) for turn in turns for name, args in turn if name not in ("task", "write_todos")]


def todos(turns):
    return [[one["status"] for one in args["todos"]] for turn in turns for name, args in turn if name == "write_todos"]


def said(messages):
    return str(messages[-1].text)


def reports(messages):
    return [str(one.text) for one in messages if isinstance(one, ToolMessage) and " " in one.text]


BIG = f"open {A} and read it, compute the sum of amount in n.csv, and write the findings to out/found.md"


def test_independent_parts_are_handed_out_in_one_message():
    turns, _ = conversation(BIG)
    (together,) = [turn for turn in turns if turn[0][0] == "task"]
    assert tasks([together]) == [
        (NAMES["browses"], f"open {A}; read it"),
        (NAMES["counts"], "compute the sum of amount in n.csv"),
    ]


def test_the_list_is_noted_first_and_follows_the_work():
    turns, _ = conversation(BIG)
    assert turns[0][0][0] == "write_todos"
    assert todos(turns) == [
        ["in_progress", "in_progress", "pending"],
        ["completed", "completed", "in_progress"],
        ["completed", "completed", "completed"],
    ]


def test_one_step_alone_needs_no_list():
    turns, messages = conversation(f"open {A}")
    assert (tasks(turns), todos(turns)) == ([(NAMES["browses"], f"open {A}")], [])
    assert said(messages).startswith(messages[-2].text)


def test_what_is_written_is_what_was_reported():
    turns, messages = conversation(BIG)
    ((name, args),) = own(turns)
    assert (name, args["file_path"]) == ("write_file", "/out/found.md")
    first, second = (str(one.text) for one in messages if isinstance(one, ToolMessage) and one.text in args["content"])
    assert args["content"].index(first) < args["content"].index(second)
    assert first in said(messages)
    assert "/out/found.md" in said(messages)


@pytest.mark.parametrize("seed", range(5))
def test_reports_are_told_in_the_order_of_the_request_however_they_come_in(seed):
    asked = [f"{A}/{number}" for number in range(4)]
    texts = {url: phrase() for url in asked}
    messages: list[Any] = [PLACE, HumanMessage(f"open {', '.join(asked[:-1])} and {asked[-1]}")]
    while (reply := think(messages, TOOLS, None)).calls:
        calls: list[Any] = [{"name": one.name, "args": one.args, "id": phrase(1)} for one in reply.calls]
        results = [
            ToolMessage(
                next((text for url, text in texts.items() if f"{url};" in str(one["args"])), ""), tool_call_id=one["id"]
            )
            for one in calls
        ]
        random.Random(seed).shuffle(results)
        messages += [AIMessage(reply.text, tool_calls=calls), *results]
    places = [reply.text.index(texts[url]) for url in asked]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("request_", "handed"),
    [
        (f"open {A} and {B}", [("browses", f"open {A}; read the page"), ("browses", f"open {B}; read the page")]),
        (f"compare {A} and {B}", [("compares", f"compare {A} and {B}")]),
        ("open the demo site, follow the Tea link and read the table", [
            ("browses", "open the demo site; follow the Tea link; read the table"),
        ]),
        ("read the Tea and the Milk pages of the demo site", [
            ("browses", 'open the demo site; click "Tea"; read the page'),
            ("browses", 'open the demo site; click "Milk"; read the page'),
        ]),
        ("take a screenshot of the demo site", [("browses", "open the demo site; take a screenshot")]),
        ("what does tea cost on the demo site?", [("browses", "open the demo site; read the page")]),
        ("read notes.md and list the files", [("counts", "read notes.md; list the files")]),
        (f"search the notes for Mio and then open {A}", [
            ("counts", "search the notes for Mio"), ("browses", f"open {A}"),
        ]),
    ],
)  # fmt: skip
def test_each_step_goes_to_the_subagent_whose_words_it_shares(request_, handed):
    turns, _ = conversation(request_)
    assert tasks(turns) == [(NAMES[who], what) for who, what in handed]


def test_who_leads_readers_gives_each_a_page():
    tools, names = crew(reads="Opens and reads one web page.")
    turns, _ = conversation(f"compare {A} and {B}", tools=tools)
    assert tasks(turns) == [(names["reads"], f"open {url}; read the page") for url in (A, B)]
    turns, _ = conversation("compare the Tea and Milk pages of the demo site", tools=tools)
    assert [what.split("; ")[1] for _, what in tasks(turns)] == ['click "Tea"', 'click "Milk"']


def test_a_report_about_a_place_begins_with_reading_it():
    turns, messages = conversation("write a report about the demo site")
    assert tasks(turns) == [(NAMES["browses"], "open the demo site; read the page")]
    ((_, args),) = own(turns)
    assert args["file_path"] == "/report.md"
    assert args["content"] in reports(messages)


def test_what_is_quoted_is_written_as_it_is():
    text = phrase()
    assert own(conversation(f"open {A}, and write '{text}' to a.txt")[0]) == [
        ("write_file", {"file_path": "/a.txt", "content": text})
    ]
    assert own(conversation("write good morning to a.txt")[0])[0][1]["content"] == "good morning"


@pytest.mark.parametrize("request_", ["write a poem", "write a poem to p.txt", "save it to p.txt"])
def test_nothing_is_made_up_to_be_written(request_):
    turns, messages = conversation(request_)
    assert own(turns) == []
    assert "what to write" in said(messages)


def test_a_later_turn_may_refer_to_the_answer_before():
    _, before = conversation(f"open {A}")
    turns, _ = conversation("save that as kept.md", before=before)
    ((_, args),) = own(turns)
    assert args["content"] == reports(before)[0]


def test_files_of_ones_own_are_read_changed_and_removed_by_oneself():
    _, before = conversation(BIG)
    for request, call in {
        "read out/found.md": ("read_file", {"file_path": "/out/found.md"}),
        "replace 'old' with 'new' in /out/found.md": (
            "edit_file",
            {"file_path": "/out/found.md", "old_string": "old", "new_string": "new"},
        ),
        "delete /out/found.md": ("delete", {"file_path": "/out/found.md"}),
    }.items():
        assert own(conversation(request, before=before)[0]) == [call]


def test_a_file_that_is_written_first_is_ones_own_in_the_next_step():
    turns, _ = conversation("write 'tea' to a.txt, then read a.txt")
    assert own(turns) == [
        ("write_file", {"file_path": "/a.txt", "content": "tea"}),
        ("read_file", {"file_path": "/a.txt"}),
    ]
    assert todos(turns)[-1] == ["completed", "completed"]


REJECTION = "User rejected the tool call for `write_file`"


def rejecting(text, status):
    def answer(call):
        refused = call["name"] == "write_file"
        return ToolMessage(text, tool_call_id=call["id"], status=status) if refused else report(call)

    return answer


@pytest.mark.parametrize("status", ["error", "success"])
def test_a_rejected_file_is_left_and_told_with_the_reason(status):
    reason = phrase()
    turns, messages = conversation(BIG, rejecting(f"{REJECTION} with reason: {reason}", status))
    assert len(own(turns)) == 1
    assert todos(turns)[-1] == ["completed", "completed", "pending"]
    assert "You rejected write_file of /out/found.md" in said(messages)
    assert reason in said(messages)


def test_a_rejection_without_a_reason_shows_nothing_of_what_models_are_told():
    text = f"{REJECTION} with id 1. The tool was not executed. Do not retry this tool call."
    _, messages = conversation(BIG, rejecting(text, "error"))
    assert "You rejected write_file of /out/found.md" in said(messages)
    assert "Do not retry" not in said(messages)


def test_an_edited_file_is_told_as_the_person_changed_it():
    notice = "Note: a human reviewer replaced this tool call before it ran. Executed instead: {}.\n\nTool response:\n"
    turns, messages = conversation(BIG, rejecting(f"{notice}Updated file /other.md", "success"))
    assert "Updated file /other.md, as you changed it." in said(messages)
    assert "human reviewer" not in said(messages)
    assert todos(turns)[-1] == ["completed"] * 3


def test_a_subagent_that_failed_is_told_beside_one_that_did_not():
    reason = phrase()

    def answer(call):
        failed = call["args"].get("subagent_type") == NAMES["browses"]
        return ToolMessage(reason, tool_call_id=call["id"], status="error") if failed else report(call)

    turns, messages = conversation(BIG, answer)
    assert f"That did not work: {reason}" in said(messages)
    assert all(text in said(messages) for text in reports(messages))
    assert todos(turns)[-1] == ["pending", "completed", "completed"]


@pytest.mark.parametrize("request_", ["hello", "sing a song", "", "?!"])
def test_what_is_for_nobody_is_answered_with_what_can_be_asked(request_):
    turns, messages = conversation(request_)
    assert turns == []
    assert "keyless" in said(messages)
    assert all(f"- {name}: " in said(messages) for name in NAMES.values())


def test_what_was_not_understood_of_a_request_is_told():
    turns, messages = conversation(f"sing a song, then open {A}")
    assert tasks(turns) == [(NAMES["browses"], f"open {A}")]
    assert "I did not understand: sing a song." in said(messages)
