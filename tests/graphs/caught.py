"""Errors that the graph catches: of a subgraph in a node's `try`, and three kinds of handled tool errors."""

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ToolErrorMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.graphs.case import Graph, once
from tests.graphs.model import Call, Reply, model, rounds
from tests.graphs.node import Invoke, Steps, node
from tests.graphs.sub_raises import inner


class State(MessagesState):
    caught: str


@tool
def divide(by: int) -> float:
    """Divide one by a number."""
    return 1 / by


MODEL = rounds(
    Reply(
        "Three wrong calls.",
        (
            Call("divide", {"by": 0}, "call_raises"),
            Call("divide", {"by": "many"}, "call_bad_args"),
            Call("multiply", {"by": 2}, "call_unknown"),
        ),
    ),
    Reply("None of them worked."),
)


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    fails = inner()

    @node
    def careful(state: MessagesState) -> Steps:
        try:
            yield Invoke(fails, {"messages": state["messages"]})
        except ValueError as error:
            return {"caught": str(error)}

    middleware = ToolErrorMiddleware(lambda error, request: f"{type(error).__name__}: {error}")
    graph = StateGraph(State)
    graph.add_node("careful", careful)
    graph.add_node("agent", create_agent(model(MODEL), [divide], middleware=[middleware], name="divider"))
    graph.add_edge(START, "careful")
    graph.add_edge("careful", "agent")
    return graph.compile(checkpointer)


CASE = once(build)
