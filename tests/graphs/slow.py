"""A run to be caught in the middle: a quick node, then a subgraph whose model counts as the input says."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.graphs.case import Graph, human, once
from tests.graphs.model import Reply, model
from tests.graphs.node import Invoke, Steps, node, speaker


def _asked(messages: Sequence[BaseMessage]) -> tuple[int, float]:
    """`5 x 2` asks for five words with two milliseconds after each."""
    words, _, pause = next(m.text for m in messages if isinstance(m, HumanMessage)).partition(" x ")
    return int(words), int(pause) / 1000


@node
def count(state: MessagesState) -> Steps:
    words, pause = _asked(state["messages"])
    reply = Reply(" ".join(f"n{n}" for n in range(words)))
    return {"messages": [(yield Invoke(model(reply, tick=pause), state["messages"]))]}


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    inner = StateGraph(MessagesState)
    inner.add_node("count", count)
    inner.add_edge(START, "count")
    graph = StateGraph(MessagesState)
    graph.add_node("quick", speaker(model("Quickly done.")))
    graph.add_node("inner", inner.compile())
    graph.add_node("after", speaker(model("Counted.")))
    graph.add_edge(START, "quick")
    graph.add_edge("quick", "inner")
    graph.add_edge("inner", "after")
    return graph.compile(checkpointer)


CASE = once(build, human("5 x 2"))
