"""A node that removes a message and one that replaces a message by its id."""

from typing import Any

from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.graphs.case import Graph, once
from tests.graphs.model import model
from tests.graphs.node import speaker


def trim(state: MessagesState) -> dict[str, Any]:
    return {"messages": [RemoveMessage(id=state["messages"][0].id or "")]}


def rewrite(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage("A better wording.", id=state["messages"][-1].id)]}


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_sequence([("say", speaker(model("A first wording."))), ("trim", trim), ("rewrite", rewrite)])
    graph.add_edge(START, "say")
    return graph.compile(checkpointer)


CASE = once(build)
