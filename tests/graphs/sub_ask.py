"""A question inside a subgraph, after a finished node of it and beside a finished branch of the root."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from tests.graphs.case import Graph, asked
from tests.graphs.model import model
from tests.graphs.node import speaker


def ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage(f"the answer was {interrupt({'question': 'inside?'})}")]}


def _inner() -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("first", speaker(model("First, inside.")))
    graph.add_node("ask", ask)
    graph.add_node("last", speaker(model("Last, inside.")))
    graph.add_edge(START, "first")
    graph.add_edge("first", "ask")
    graph.add_edge("ask", "last")
    return graph.compile()


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("side", speaker(model("The side branch is done.")))
    graph.add_node("inner", _inner())
    graph.add_node("join", speaker(model("Joined.")))
    graph.add_edge(START, "side")
    graph.add_edge(START, "inner")
    graph.add_edge(["side", "inner"], "join")
    return graph.compile(checkpointer)


CASE = asked(build, lambda asks: "yes")
