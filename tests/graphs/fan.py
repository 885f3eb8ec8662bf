"""A fan-out by `Send`: one worker node, three items, three tasks of one name."""

from operator import add
from typing import Annotated, Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from tests.graphs.case import Graph, once
from tests.graphs.model import Reply, model
from tests.graphs.node import Invoke, Steps, node


class State(TypedDict):
    items: list[str]
    lines: Annotated[list[str], add]


class Item(TypedDict):
    item: str


WORKER = model(lambda messages: Reply(f"the {messages[-1].text} is done now"))


@node
def worker(state: Item) -> Steps:
    said = yield Invoke(WORKER, [HumanMessage(state["item"])])
    return {"lines": [said.text]}


def collect(state: State) -> dict[str, Any]:
    return {"items": sorted(state["lines"])}


def scatter(state: State) -> list[Send]:
    return [Send("worker", Item(item=item)) for item in state["items"]]


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(State)
    graph.add_node("worker", worker)
    graph.add_node("collect", collect)
    graph.add_conditional_edges(START, scatter, ["worker"])
    graph.add_edge("worker", "collect")
    return graph.compile(checkpointer)


CASE = once(build, {"items": ["red", "green", "blue"]})
