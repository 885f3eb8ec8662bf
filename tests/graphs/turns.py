"""A plain chat, with a second turn on the same thread."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.graphs.case import Case, Graph, Turn, human
from tests.graphs.model import Reply, model
from tests.graphs.node import speaker

ECHO = model(lambda messages: Reply(f"You said {messages[-1].text} as message {len(messages)}."))


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("chat", speaker(ECHO))
    graph.add_edge(START, "chat")
    return graph.compile(checkpointer)


CASE = Case(build, (Turn(human("hello")), Turn(human("and again"))), values_only=True)
