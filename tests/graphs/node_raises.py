"""A node that raises after some tokens, while a healthy sibling is still in the middle of its own."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.graphs.case import Graph, once
from tests.graphs.model import model
from tests.graphs.node import Invoke, Steps, node, speaker

HEALTHY = " ".join(f"step {n}" for n in range(1, 13))


@node
def boom(state: MessagesState) -> Steps:
    yield Invoke(model("about to fail"), state["messages"])
    raise ValueError("node blew up")


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("boom", boom)
    graph.add_node("healthy", speaker(model(HEALTHY, tick=0.002)))
    graph.add_edge(START, "boom")
    graph.add_edge(START, "healthy")
    return graph.compile(checkpointer)


CASE = once(build, ends="error")
