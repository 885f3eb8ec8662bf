"""A deep agent with two subagents at once: one asks a person, the other works on meanwhile."""

from typing import Any

from deepagents import create_deep_agent
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import interrupt

from tests.graphs.case import Graph, asked
from tests.graphs.model import Call, Reply, model, rounds


@tool
def ask_person(question: str) -> str:
    """Ask a person."""
    return f"the person said {interrupt({'question': question})}"


@tool
def measure(thing: str) -> str:
    """Measure a thing."""
    return f"{thing} is 7 long"


def _task(call_id: str, description: str, subagent: str) -> Call:
    return Call("task", {"description": description, "subagent_type": subagent}, call_id)


MAIN = rounds(
    Reply("", (_task("call_ask", "ask for the colour", "asker"), _task("call_work", "measure it", "worker"))),
    Reply("Blue, and 7 long."),
)
ASKER = rounds(
    Reply("I ask.", (Call("ask_person", {"question": "which colour?"}, "call_person"),)),
    Reply("The colour is blue."),
)
WORKER = rounds(
    Reply("I measure slowly and with great care.", (Call("measure", {"thing": "it"}, "call_measure"),)),
    Reply("It took a good while, but now it is sure: it is 7 long, and not a bit more than that."),
)


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    subagents: list[Any] = [
        {
            "name": name,
            "description": f"the {name}",
            "system_prompt": f"You are the {name}.",
            "model": speaker,
            "tools": [helper],
        }
        for name, speaker, helper in (
            ("asker", model(ASKER), ask_person),
            ("worker", model(WORKER, tick=0.005), measure),
        )
    ]
    return create_deep_agent(
        model(MAIN), system_prompt="You ask.", subagents=subagents, checkpointer=checkpointer, name="deep_ask"
    )


CASE = asked(build, lambda asks: "blue")
