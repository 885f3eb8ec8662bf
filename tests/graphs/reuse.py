"""An agent whose model gives the same tool call id in two successive rounds."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver

from tests.graphs.case import Graph, once
from tests.graphs.model import Call, Reply, model, rounds


@tool
def fetch(page: int) -> str:
    """Fetch a page."""
    return f"page {page}"


MODEL = rounds(
    Reply("", (Call("fetch", {"page": 1}, "call_same"),)),
    Reply("", (Call("fetch", {"page": 2}, "call_same"),)),
    Reply("Two pages."),
)


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    return create_agent(model(MODEL), [fetch], checkpointer=checkpointer, name="reuse")


CASE = once(build)
