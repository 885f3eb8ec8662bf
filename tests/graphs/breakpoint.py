"""A static breakpoint before the second node; the next run goes on without an input."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.graphs.case import Case, Graph, Turn, human
from tests.graphs.model import model
from tests.graphs.node import speaker


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("first", speaker(model("The first is done.")))
    graph.add_node("second", speaker(model("The second too.")))
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    return graph.compile(checkpointer)


CASE = Case(build, (Turn(human("go"), interrupt_before=("second",), ends="interrupted"), Turn()))
