"""Commands: a node that updates and routes at once, and a subgraph's node that routes its parent."""

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from tests.graphs.case import Graph, once
from tests.graphs.model import model
from tests.graphs.node import Invoke, Steps, node, speaker


def route(state: MessagesState) -> Command[Any]:
    return Command(update={"messages": [AIMessage("routed")]}, goto="inner")


@node
def escape(state: MessagesState) -> Steps:
    said = yield Invoke(model("leaving the subgraph"), state["messages"])
    return Command(graph=Command.PARENT, update={"messages": [said]}, goto="finish")


def _inner() -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("inside", speaker(model("inside it")))
    graph.add_node("escape", escape)
    graph.add_edge(START, "inside")
    graph.add_edge("inside", "escape")
    return graph.compile()


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("route", route, destinations=("inner",))
    graph.add_node("inner", _inner(), destinations=("finish",))
    graph.add_node("finish", speaker(model("finished outside")))
    graph.add_edge(START, "route")
    return graph.compile(checkpointer)


CASE = once(build)
