"""The tools of an expert, as LangChain's. Structured results travel in the artifact, failures as the tool's error."""

import asyncio
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from mcp.types import CallToolResult, TextContent, Tool

from runwire_graphs.errors import ExpertError
from runwire_graphs.experts.config import Expert, load_experts
from runwire_graphs.experts.sessions import sessions
from runwire_graphs.hands import HANDS
from runwire_graphs.settings import Settings


async def experts() -> dict[str, Expert]:
    """The experts as they are configured now."""
    return await asyncio.to_thread(load_experts, Settings.read())


async def expert_tools(name: str) -> list[BaseTool]:
    """The tools of one expert; the expert is started if it does not run."""
    known = await experts()
    if name not in known:
        raise ExpertError(f"There is no expert {name!r}; there are {', '.join(known)}.")

    async def listed() -> list[Tool]:
        return await sessions().tools(name, known[name])

    return [_tool(name, known[name], told) for told in await HANDS.reach(listed())]


def _tool(name: str, expert: Expert, told: Tool) -> BaseTool:
    async def call(**args: Any) -> tuple[str, Any]:
        async def work() -> CallToolResult:
            return await sessions().call(name, expert, told.name, args)

        return _result(await HANDS.reach(work()))

    return StructuredTool.from_function(
        coroutine=call,
        name=told.name,
        description=told.description or told.title or told.name,
        args_schema=told.input_schema,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _result(result: CallToolResult) -> tuple[str, Any]:
    text = "\n".join(part.text if isinstance(part, TextContent) else f"({part.type})" for part in result.content)
    if result.is_error:
        raise ToolException(text or "The tool failed and did not say why.")
    structured = result.structured_content
    return text, None if structured is None else {"structured_content": structured}
