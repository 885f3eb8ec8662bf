"""A node under a retry policy: it fails in the middle of a message, then after a whole one, then it works."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import get_runtime
from langgraph.types import RetryPolicy

from tests.graphs.case import Graph, once
from tests.graphs.model import Reply, model
from tests.graphs.node import Invoke, Steps, node

POLICY = RetryPolicy(max_attempts=3, initial_interval=0.001, jitter=False, retry_on=ConnectionError)


@node
def shaky(state: MessagesState) -> Steps:
    info = get_runtime().execution_info
    attempt = info.node_attempt if info else 1
    get_stream_writer()({"attempt": attempt})
    breaks = ConnectionError("line broke") if attempt == 1 else None
    said = yield Invoke(model(Reply(f"this is attempt {attempt}", raises=breaks)), state["messages"])
    if attempt == 2:
        raise ConnectionError("lost at the end")
    return {"messages": [said]}


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    graph = StateGraph(MessagesState)
    graph.add_node("shaky", shaky, retry_policy=POLICY)
    graph.add_edge(START, "shaky")
    return graph.compile(checkpointer)


CASE = once(build)
