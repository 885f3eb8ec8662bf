"""The keyless model as LangChain sees it: it streams words and fragments of tool arguments and reports what it used."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, message_chunk_to_message
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from runwire_graphs.scripted.brain import think
from runwire_graphs.scripted.reply import NAME, Reply

FRAGMENT = 16
PACE_SECONDS = 0.004
# A token is about four characters of English.
PER_TOKEN = 4


class KeylessModel(BaseChatModel):
    """Rules instead of weights."""

    model_name: str = NAME
    pace: float = PACE_SECONDS

    @property
    def _llm_type(self) -> str:
        return NAME

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        schemas = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=schemas, tool_choice=_forced(tool_choice, schemas))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        said: AIMessageChunk = reduce(add, _chunks(messages, kwargs))
        return ChatResult(generations=[ChatGeneration(message=message_chunk_to_message(said))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(messages, kwargs):
            yield ChatGenerationChunk(message=chunk)
            await asyncio.sleep(self.pace)


def _forced(choice: str | dict[str, Any] | bool | None, schemas: list[dict[str, Any]]) -> str | None:
    """The name of the tool that must be called, in the forms that LangChain and OpenAI know."""
    names = [schema["function"]["name"] for schema in schemas]
    if isinstance(choice, dict):
        choice = choice.get("function", choice).get("name")
    if choice in ("any", "required", True):
        return str(names[0]) if len(names) == 1 else None
    return choice if isinstance(choice, str) and choice in names else None


def _chunks(messages: list[BaseMessage], bound: dict[str, Any]) -> Iterator[AIMessageChunk]:
    reply = think(messages, bound.get("tools") or [], bound.get("tool_choice"))
    written = 0
    for chunk in _parts(reply):
        written += len(str(chunk.content)) + sum(len(one["args"] or "") for one in chunk.tool_call_chunks)
        yield chunk
    finish = "tool_calls" if reply.calls else "stop"
    yield AIMessageChunk(
        content="",
        usage_metadata=_usage(messages, written),
        response_metadata={"finish_reason": finish, "model_name": NAME, "model_provider": "runwire"},
        chunk_position="last",
    )


def _parts(reply: Reply) -> Iterator[AIMessageChunk]:
    yield from (AIMessageChunk(content=word) for word in re.findall(r"\s*\S+\s*", reply.text))
    for index, call in enumerate(reply.calls):
        args = json.dumps(call.args, ensure_ascii=False)
        opening = tool_call_chunk(name=call.name, args="", id=f"call_{uuid4().hex[:24]}", index=index)
        yield AIMessageChunk(content="", tool_call_chunks=[opening])
        for start in range(0, len(args), FRAGMENT):
            part = tool_call_chunk(args=args[start : start + FRAGMENT], index=index)
            yield AIMessageChunk(content="", tool_call_chunks=[part])


def _usage(messages: list[BaseMessage], written: int) -> UsageMetadata:
    read = sum(len(str(message.text)) for message in messages) // PER_TOKEN
    wrote = max(1, written // PER_TOKEN)
    return UsageMetadata(input_tokens=read, output_tokens=wrote, total_tokens=read + wrote)
