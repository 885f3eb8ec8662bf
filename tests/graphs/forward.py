"""An agent as a tool that forwards its inner agent's updates as custom events, beside namespaced frames."""

from collections.abc import Iterator
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_stream_writer

from tests.graphs.case import Graph, human, once
from tests.graphs.model import Call, Reply, model, rounds

MODES: Any = ["updates", "messages", "custom"]


@tool
def lookup(topic: str) -> str:
    """Look a topic up."""
    get_stream_writer()({"looking_up": topic})
    return f"{topic}: 42"


INNER = rounds(
    Reply("Let me see.", (Call("lookup", {"topic": "answers"}, "call_lookup"),)),
    Reply("The inner answer is 42."),
)
OUTER = rounds(Reply("", (Call("research", {"query": "answers"}, "call_research"),)), Reply("My agent says 42."))


def _chunk(event: str, **fields: Any) -> dict[str, Any]:
    return {"level": "inner_agent", "event": event, "agent_name": "researcher", **fields}


def _forwarded(message: BaseMessage) -> Iterator[dict[str, Any]]:
    calls = getattr(message, "tool_calls", [])
    for call in calls:
        yield _chunk("tool_request", tool_name=call["name"], toolcall_id=call["id"], data=call["args"])
    if message.type == "tool":
        call_id = getattr(message, "tool_call_id", None)
        yield _chunk("tool_result", tool_name=message.name, toolcall_id=call_id, data=message.content)
    elif not calls:
        yield _chunk("final", final_answer=message.text)


def _forward(mode: str, data: Any) -> str:
    if mode == "custom":
        get_stream_writer()(data)
    if mode != "updates":
        return ""
    messages = [message for update in data.values() for message in (update or {}).get("messages", [])]
    for message in messages:
        for chunk in _forwarded(message):
            get_stream_writer()(chunk)
    return messages[-1].text if messages else ""


def _tool(inner: Graph) -> StructuredTool:
    def research(query: str) -> str:
        """Let an agent research."""
        get_stream_writer()(_chunk("start"))
        answer = ""
        for mode, data in inner.stream(human(query), stream_mode=MODES):
            answer = _forward(mode, data) or answer
        return answer

    async def aresearch(query: str) -> str:
        get_stream_writer()(_chunk("start"))
        answer = ""
        async for mode, data in inner.astream(human(query), stream_mode=MODES):
            answer = _forward(mode, data) or answer
        return answer

    return StructuredTool.from_function(research, aresearch)


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    inner = create_agent(model(INNER), [lookup], name="researcher")
    return create_agent(model(OUTER), [_tool(inner)], checkpointer=checkpointer, name="forward")


CASE = once(build, human("what is the answer?"))
