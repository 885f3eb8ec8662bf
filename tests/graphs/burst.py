"""A run that emits without a pause: many frames in one millisecond, and many of them the same, byte for byte."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph

from tests.graphs.case import Graph, once
from tests.graphs.model import Reply, model
from tests.graphs.node import speaker

WORDS = ("ha ", "ha ", "hä ", "👩‍🚀 ") * 50


def shout(state: MessagesState) -> dict[str, Any]:
    write = get_stream_writer()
    for number in range(200):
        write({"shout": "again"})
        if number % 20 == 0:
            write({"count": number})
    return {}


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("shout", shout)
    graph.add_node("laugh", speaker(model(Reply(WORDS), tick=0)))
    graph.add_edge(START, "shout")
    graph.add_edge("shout", "laugh")
    return graph.compile(checkpointer)


CASE = once(build)
