"""An agent as a tool that forwards what its inner agent's tool has written itself: each chunk comes twice."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_stream_writer

from tests.graphs.case import Graph, human, once
from tests.graphs.model import Call, Reply, model, rounds


def _chunk(topic: str, answer: str) -> dict[str, Any]:
    return {
        "level": "inner_agent",
        "event": "tool_result",
        "agent_name": "researcher",
        "tool_name": "lookup",
        "data": {"topic": topic, "answer": answer},
    }


@tool(response_format="content_and_artifact")
def lookup(topic: str) -> tuple[str, dict[str, Any]]:
    """Look a topic up."""
    chunk = _chunk(topic, "42")
    get_stream_writer()(chunk)
    return "42", chunk


def _look(call_id: str, topic: str) -> Reply:
    return Reply("", (Call("lookup", {"topic": topic}, call_id),))


INNER = rounds(_look("call_one", "answers"), _look("call_two", "questions"), Reply("Both are 42."))
OUTER = rounds(Reply("", (Call("research", {"query": "both"}, "call_research"),)), Reply("Both, it says."))


def _forward(update: dict[str, Any]) -> str:
    messages = [message for written in update.values() for message in written["messages"]]
    for message in messages:
        if message.type == "tool":
            get_stream_writer()(message.artifact)
    return messages[-1].text


def _tool(inner: Graph) -> StructuredTool:
    def research(query: str) -> str:
        """Let an agent research."""
        answers = [_forward(update) for update in inner.stream(human(query), stream_mode="updates")]
        return answers[-1]

    async def aresearch(query: str) -> str:
        stream = inner.astream(human(query), stream_mode="updates")
        answers = [_forward(update) async for update in stream]
        return answers[-1]

    return StructuredTool.from_function(research, aresearch)


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    inner = create_agent(model(INNER), [lookup], name="researcher")
    return create_agent(model(OUTER), [_tool(inner)], checkpointer=checkpointer, name="twins")


CASE = once(build, human("answers and questions?"))
