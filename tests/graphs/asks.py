"""Two parallel nodes that ask a person at once; both are answered by interrupt id in one resume."""

from operator import add
from typing import Annotated, Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from tests.graphs.case import Case, Graph, Turn
from tests.graphs.model import model
from tests.graphs.node import Invoke, Steps, node


class State(TypedDict):
    answers: Annotated[list[str], add]


def one(state: State) -> dict[str, Any]:
    return {"answers": [f"one: {interrupt({'ask': 'one?'})}"]}


def two(state: State) -> dict[str, Any]:
    return {"answers": [f"two: {interrupt({'ask': 'two?'})}"]}


@node
def report(state: State) -> Steps:
    said = yield Invoke(model("Both have answered."), [HumanMessage(" ".join(state["answers"]))])
    return {"answers": [said.text]}


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(State)
    graph.add_node("one", one)
    graph.add_node("two", two)
    graph.add_node("report", report)
    graph.add_edge(START, "one")
    graph.add_edge(START, "two")
    graph.add_edge(["one", "two"], "report")
    return graph.compile(checkpointer)


CASE = Case(
    build,
    (
        Turn({"answers": []}, ends="interrupted"),
        Turn(answer=lambda asks: {ask["id"]: f"yes to {ask['value']['ask']}" for ask in asks}),
    ),
)
