"""A keyless chat model that streams what a script says. The script sees only the messages, so runs repeat."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    message_chunk_to_message,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable

ARGS_FRAGMENT = 9
TICK = 0.001


@dataclass(frozen=True)
class Call:
    """A tool call that a reply asks for."""

    name: str
    args: dict[str, Any]
    id: str


@dataclass(frozen=True)
class Reply:
    """One message of the model: its tokens, its tool calls, and what goes wrong in the middle of it."""

    text: str | tuple[str, ...] = ""
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    raises: Exception | None = None
    renamed: str | None = None


Script = Callable[[Sequence[BaseMessage]], Reply]


def rounds(*replies: Reply) -> Script:
    """The n-th reply to the n-th question since the last human message."""

    def pick(messages: Sequence[BaseMessage]) -> Reply:
        done = 0
        for message in reversed(messages):
            if isinstance(message, HumanMessage):
                break
            done += isinstance(message, AIMessage)
        return replies[min(done, len(replies) - 1)]

    return pick


def tokens(text: str | tuple[str, ...]) -> list[str]:
    """Words with the space after them, or the given pieces as they are."""
    return list(text) if isinstance(text, tuple) else re.findall(r"\s*\S+\s*", text)


def chunks(reply: Reply, model_name: str, input_tokens: int) -> Iterator[AIMessageChunk]:
    """The reply as a provider streams it; `raises` and `renamed` take effect after its first half."""
    parts = [*_content(reply), *_calls(reply)]
    half = len(parts) // 2
    for position, part in enumerate(parts):
        late = position >= half
        if late and reply.raises:
            raise type(reply.raises)(*reply.raises.args)
        yield part.model_copy(update={"id": reply.renamed if late else None})
    usage = UsageMetadata(input_tokens=input_tokens, output_tokens=len(parts), total_tokens=input_tokens + len(parts))
    finish = {"finish_reason": "tool_calls" if reply.calls else "stop", "model_name": model_name}
    yield AIMessageChunk(
        [] if reply.reasoning else "",
        id=reply.renamed,
        usage_metadata=usage,
        response_metadata=finish,
        chunk_position="last",
    )


def _content(reply: Reply) -> Iterator[AIMessageChunk]:
    if not reply.reasoning:
        yield from (AIMessageChunk(token) for token in tokens(reply.text))
        return
    for token in tokens(reply.reasoning):
        yield AIMessageChunk([{"type": "reasoning", "reasoning": token, "index": 0}])
    for token in tokens(reply.text):
        yield AIMessageChunk([{"type": "text", "text": token, "index": 1}])


def _calls(reply: Reply) -> Iterator[AIMessageChunk]:
    for index, call in enumerate(reply.calls):
        args = json.dumps(call.args, ensure_ascii=False)
        yield _fragment(reply, tool_call_chunk(name=call.name, args="", id=call.id, index=index))
        for start in range(0, len(args), ARGS_FRAGMENT):
            yield _fragment(reply, tool_call_chunk(args=args[start : start + ARGS_FRAGMENT], index=index))


def _fragment(reply: Reply, chunk: ToolCallChunk) -> AIMessageChunk:
    return AIMessageChunk([] if reply.reasoning else "", tool_call_chunks=[chunk])


class ScriptedModel(BaseChatModel):
    """Streams its script's reply chunk by chunk, giving way to others by `tick` seconds after each."""

    script: Script
    model_name: str = "scripted-1"
    temperature: float = 0.0
    tick: float = TICK

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """The script knows its tools already."""
        return self

    def _chunks(self, messages: Sequence[BaseMessage]) -> Iterator[ChatGenerationChunk]:
        for chunk in chunks(self.script(messages), self.model_name, len(messages)):
            yield ChatGenerationChunk(message=chunk)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        said: AIMessageChunk = reduce(add, (chunk.message for chunk in self._stream(messages)))
        return ChatResult(generations=[ChatGeneration(message=message_chunk_to_message(said))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages):
            yield chunk
            time.sleep(self.tick)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages):
            yield chunk
            await asyncio.sleep(self.tick)


def model(script: Script | Reply | str, **fields: Any) -> ScriptedModel:
    """A model for a script, for one fixed reply or for one fixed text."""
    reply = Reply(script) if isinstance(script, str) else script
    return ScriptedModel(script=(lambda _: reply) if isinstance(reply, Reply) else reply, **fields)
