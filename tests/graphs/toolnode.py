"""The classic loop of a model and a `ToolNode`, which runs several tool calls inside one task."""

import time
from typing import Any

from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from tests.graphs.case import Graph, human, once
from tests.graphs.model import TICK, Call, Reply, model, rounds
from tests.graphs.node import speaker


@tool
def double(number: int) -> int:
    """Double a number."""
    get_stream_writer()({"doubling": number})
    time.sleep(TICK)
    return 2 * number


@tool
def shout(text: str) -> str:
    """Shout a text."""
    return text.upper()


MODEL = rounds(
    Reply(
        "",
        (
            Call("double", {"number": 4}, "call_four"),
            Call("shout", {"text": "hi"}, "call_hi"),
            Call("double", {"number": 5}, "call_five"),
        ),
    ),
    Reply("8, HI and 10."),
)


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("agent", speaker(model(MODEL)))
    graph.add_node("tools", ToolNode([double, shout]))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    return graph.compile(checkpointer)


CASE = once(build, human("4, hi, 5"))
