"""An agent that calls two tools at once: one raises and fails the run, the other is still at work."""

import time
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_stream_writer

from tests.graphs.case import Graph, once
from tests.graphs.model import TICK, Call, Reply, model, rounds


@tool
def explode(fuse: int) -> str:
    """Explode."""
    time.sleep(TICK)
    raise ValueError("tool blew up")


@tool
def dig(depth: int) -> str:
    """Dig slowly."""
    write = get_stream_writer()
    for metre in range(1, depth + 1):
        write({"dug": metre})
        time.sleep(2 * TICK)
    return f"{depth} metres"


MODEL = rounds(
    Reply("Both.", (Call("explode", {"fuse": 1}, "call_explode"), Call("dig", {"depth": 6}, "call_dig"))),
    Reply("Never said."),
)


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    return create_agent(model(MODEL), [explode, dig], checkpointer=checkpointer, name="digger")


CASE = once(build, ends="error")
