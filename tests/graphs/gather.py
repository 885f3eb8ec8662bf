"""Two models gathered inside one node, so that their tokens interleave under one task."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.graphs.case import Graph, once
from tests.graphs.model import model
from tests.graphs.node import Invoke, Steps, node

FIRST = model("A one A two A three A four", model_name="scripted-a", tick=0.002)
SECOND = model("B one B two B three B four", model_name="scripted-b", tick=0.002)


@node
def both(state: MessagesState) -> Steps:
    said = yield [Invoke(FIRST, state["messages"]), Invoke(SECOND, state["messages"])]
    return {"messages": said}


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("both", both)
    graph.add_edge(START, "both")
    return graph.compile(checkpointer)


CASE = once(build)
