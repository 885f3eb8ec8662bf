"""Subgraphs two deep in two parallel branches, beside a node that invokes one subgraph twice."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.graphs.case import Graph, once
from tests.graphs.model import model
from tests.graphs.node import Invoke, Steps, node, speaker


def _leaf(text: str) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("say", speaker(model(text)))
    graph.add_edge(START, "say")
    return graph.compile()


def _branch(side: str) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("leaf", _leaf(f"{side} leaf speaks"))
    graph.add_node("note", speaker(model(f"{side} note speaks too")))
    graph.add_edge(START, "leaf")
    graph.add_edge(START, "note")
    return graph.compile()


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    echo = _leaf("an echo")

    @node
    def twice(state: MessagesState) -> Steps:
        first = yield Invoke(echo, {"messages": state["messages"]})
        second = yield Invoke(echo, {"messages": first["messages"]})
        return {"messages": second["messages"][-2:]}

    graph = StateGraph(MessagesState)
    for name, action in (("left", _branch("left")), ("right", _branch("right")), ("twice", twice)):
        graph.add_node(name, action)
        graph.add_edge(START, name)
    graph.add_node("join", speaker(model("all joined")))
    graph.add_edge(["left", "right", "twice"], "join")
    return graph.compile(checkpointer)


CASE = once(build)
