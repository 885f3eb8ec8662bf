"""An agent whose model thinks before it speaks: reasoning, text and tool arguments in one message."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver

from tests.graphs.case import Graph, once
from tests.graphs.model import Call, Reply, model, rounds


@tool
def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


MODEL = rounds(
    Reply("I add them.", (Call("add", {"left": 2, "right": 3}, "call_add"),), "Two and three, so add."),
    Reply("It is 5.", reasoning="The tool said five."),
)


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    return create_agent(model(MODEL), [add], checkpointer=checkpointer, name="reason")


CASE = once(build)
