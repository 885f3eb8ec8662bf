"""Messages that were never streamed, in a channel that gives ids and in a plain list that does not."""

from operator import add
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from tests.graphs.case import Graph, once


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[Any], add]


def finished(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage("Whole, never streamed.")]}


def nameless(state: State) -> dict[str, Any]:
    return {"notes": [AIMessage("A note without an id."), {"role": "assistant", "content": "a plain dict"}]}


def single(state: State) -> dict[str, Any]:
    return {"messages": AIMessage("Not even in a list.", id="given-id")}


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(State)
    graph.add_sequence([finished, nameless, single])
    graph.add_edge(START, "finished")
    return graph.compile(checkpointer)


CASE = once(build)
