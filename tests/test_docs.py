"""The code blocks of the pages on events run as they stand, one after the other, with a graph of the reader's."""

import contextlib
import dataclasses
import io
import re
from typing import Any, get_args

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from runwire import ParserEvent
from tests.graphs.case import human
from tests.graphs.model import Call, Reply, model, rounds
from tests.rooms import ROOT

NAMES = ("events.md", "migrating-from-langgraph-stream-parser.md")
PAGES = {name: (ROOT / "docs" / name).read_text("utf-8") for name in NAMES}


@tool
def search(query: str) -> str:
    """Search."""
    return f"found {query}"


@tool
def wipe(path: str) -> str:
    """Wipe a disk."""
    return f"wiped {path}"


def reader() -> dict[str, Any]:
    """What a reader of the page has: a graph that searches and then asks before it wipes."""
    script = rounds(
        Reply("I search first.", (Call("search", {"query": "disks"}, "call_search"),)),
        Reply("", (Call("wipe", {"path": "/a"}, "call_wipe"),)),
        Reply("It is gone."),
    )
    guard = HumanInTheLoopMiddleware({"wipe": True})
    graph = create_agent(model(script), [search, wipe], middleware=[guard], checkpointer=InMemorySaver())
    return {"graph": graph, "input_data": human("wipe it"), "config": {"configurable": {"thread_id": "mine"}}}


@pytest.fixture(params=PAGES)
def page(request):
    return request.param


def run(page: str) -> tuple[str, dict[str, Any]]:
    """What the blocks print, and the names that they leave."""
    names, out = reader(), io.StringIO()
    with contextlib.redirect_stdout(out):
        for code in re.findall(r"^```python\n(.*?)^```$", PAGES[page], re.MULTILINE | re.DOTALL):
            exec(compile(code, page, "exec"), names)
    return out.getvalue(), names


def test_the_blocks_of_the_migration_page_run_and_print_what_they_say():
    printed, names = run("migrating-from-langgraph-stream-parser.md")
    assert printed.splitlines() == [
        "[model] I search first.",
        "Calling search with {'query': 'disks'}",
        "search gave found disks",
        "Calling wipe with {'path': '/a'}",
        "May it ['wipe']?",
        "Done: interrupted",
        "It is gone.",
        "I |search |first.|",
    ]
    assert [line["type"] for line in names["lines"] if line["type"] not in ("content", "usage")] == (
        "tool_start extraction tool_end tool_start interrupt complete".split()
    )


def test_the_blocks_of_the_page_on_events_run_and_print_what_they_say():
    printed, names = run("events.md")
    assert printed.splitlines()[:4] == [
        "I search first.",
        "search {'query': 'disks'}",
        "search: success: found disks",
        "",
    ]
    assert "result='wiped /a', status='success'" in printed
    found = list(names["parser"].parse(iter([{"model": {"messages": []}}])))
    assert [event.type for event in found] == ["complete"]


def test_every_event_and_its_fields_stand_on_the_page():
    rows = re.findall(r"^\| `(\w+Event)` \| (.*?) \| `(\w+)` \|$", PAGES["events.md"], re.MULTILINE)
    told = {name: (re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", fields)), type_) for name, fields, type_ in rows}
    place = {"namespace", "agent", "call_id", "parent_id"}
    own = {
        kind.__name__: ([field.name for field in dataclasses.fields(kind) if field.name not in place], kind.type)
        for kind in get_args(ParserEvent)
    }
    assert told == own


def test_every_link_of_the_pages_exists(page):
    links = re.findall(r"\]\(([^)#:]+)\)", PAGES[page])
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
