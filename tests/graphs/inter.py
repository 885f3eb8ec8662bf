"""A plain node that asks a person, then goes on."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.graphs.case import Graph, asked
from tests.graphs.model import model
from tests.graphs.node import speaker


def ask(state: MessagesState) -> dict[str, Any]:
    answer = interrupt({"question": "go on?", "options": ["yes", "no"]})
    return {"messages": [AIMessage(f"the answer was {answer}")]}


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("before", speaker(model("Before asking.")))
    graph.add_node("ask", ask)
    graph.add_node("after", speaker(model("After the answer.")))
    graph.add_edge(START, "before")
    graph.add_edge("before", "ask")
    graph.add_edge("ask", "after")
    return graph.compile(checkpointer)


CASE = asked(build, lambda asks: "yes")
