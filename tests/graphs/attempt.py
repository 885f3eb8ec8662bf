"""A run that the server itself tries again: the first attempt dies of an error that its queue retries."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config

from tests.graphs.case import Case, Graph, Turn, human
from tests.graphs.model import Call, Reply, model, rounds


@tool
def fragile(part: str) -> str:
    """Touch a fragile part."""
    if get_config()["metadata"].get("run_attempt") == 1:
        from langgraph_runtime_inmem.retry import RetryableException

        raise RetryableException("the queue tries this again")
    return f"{part} held"


MODEL = rounds(Reply("I touch it.", (Call("fragile", {"part": "handle"}, "call_touch"),)), Reply("It held."))


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    return create_agent(model(MODEL), [fragile], checkpointer=checkpointer, name="attempt")


CASE = Case(build, (Turn(human("go")),), in_process=False)
