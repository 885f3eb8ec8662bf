"""A node inside a subgraph raises, and the run fails."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.graphs.case import Graph, once
from tests.graphs.model import model
from tests.graphs.node import Invoke, Steps, node, speaker


@node
def boom(state: MessagesState) -> Steps:
    yield Invoke(model("inside, about to fail"), state["messages"])
    raise ValueError("inner node blew up")


def inner() -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("fine", speaker(model("fine inside")))
    graph.add_node("boom", boom)
    graph.add_edge(START, "fine")
    graph.add_edge("fine", "boom")
    return graph.compile()


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("before", speaker(model("before it")))
    graph.add_node("inner", inner())
    graph.add_edge(START, "before")
    graph.add_edge("before", "inner")
    return graph.compile(checkpointer)


CASE = once(build, ends="error")
