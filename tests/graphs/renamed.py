"""A model whose message gets the provider's own id in mid-stream, once with a tool call and once without."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver

from tests.graphs.case import Graph, once
from tests.graphs.model import Call, Reply, model, rounds


@tool
def search(query: str) -> str:
    """Search."""
    return f"found {query}"


MODEL = rounds(
    Reply("I will search.", (Call("search", {"query": "names"}, "call_search"),), renamed="msg_abc123"),
    Reply("My name changed twice.", renamed="msg_def456"),
)


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    return create_agent(model(MODEL), [search], checkpointer=checkpointer, name="renamed")


CASE = once(build)
