"""A deep agent: todos, two subagents at once with a tool each, a file, and custom events at both levels."""

from typing import Any

from deepagents import create_deep_agent
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_stream_writer

from tests.graphs.case import Graph, human, once
from tests.graphs.model import Call, Reply, model, rounds


@tool
def note(text: str) -> str:
    """Keep a note."""
    get_stream_writer()({"note": text, "from": "root"})
    return f"noted {text}"


@tool
def lookup(topic: str) -> str:
    """Look a topic up."""
    get_stream_writer()({"looking_up": topic, "from": "subagent"})
    return f"{topic}: 42"


def _todos(call_id: str, status: str) -> Call:
    return Call("write_todos", {"todos": [{"content": "compare A and B", "status": status}]}, call_id)


def _task(call_id: str, description: str, subagent: str) -> Call:
    return Call("task", {"description": description, "subagent_type": subagent}, call_id)


MAIN = rounds(
    Reply("I plan first.", (_todos("call_plan", "in_progress"),)),
    Reply("", (_task("call_a", "find A", "researcher"), _task("call_b", "find B", "critic"))),
    Reply("", (Call("note", {"text": "both found"}, "call_note"),)),
    Reply("", (Call("write_file", {"file_path": "/report.md", "content": "# A and B\n"}, "call_file"),)),
    Reply("", (_todos("call_done", "completed"),)),
    Reply("A and B are both 42."),
)
RESEARCHER = rounds(
    Reply("Let me look.", (Call("lookup", {"topic": "A"}, "call_lookup"),)), Reply("A is known to be 42.")
)
CRITIC = rounds(Reply("", (Call("lookup", {"topic": "B"}, "call_lookup"),)), Reply("B seems to be 42."))


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    subagents: list[Any] = [
        {
            "name": name,
            "description": f"the {name}",
            "system_prompt": f"You are the {name}.",
            "model": model(script, tick=0.002),
            "tools": [lookup],
        }
        for name, script in (("researcher", RESEARCHER), ("critic", CRITIC))
    ]
    return create_deep_agent(
        model(MAIN),
        [note],
        system_prompt="You compare things.",
        middleware=[TodoListMiddleware()],
        subagents=subagents,
        checkpointer=checkpointer,
        name="deep",
    )


CASE = once(build, human("compare A and B"))
