"""A real LangGraph graph for the translation rows: one node, one keyless model that streams without waiting."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from benchmarks.frames import TEXT, tokens

THREAD = "thread-1"


class Speaker(BaseChatModel):
    """Streams `count` tokens and lets others run after each, as a model on the network does."""

    count: int

    @property
    def _llm_type(self) -> str:
        return "speaker"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("this model only streams")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for text in tokens(self.count):
            yield ChatGenerationChunk(message=AIMessageChunk(content=text))
            await asyncio.sleep(0)
        yield ChatGenerationChunk(message=AIMessageChunk(content="", chunk_position="last"))


@dataclass(frozen=True)
class Thread:
    """A compiled graph with a saver of its own, in which one thread has its history."""

    graph: Any
    config: Any


def thread(count: int, history: int) -> Thread:
    model = Speaker(count=count)

    async def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("speak", speak)
    graph.add_edge(START, "speak")
    made = Thread(graph.compile(InMemorySaver()), {"configurable": {"thread_id": THREAD}})
    if history:
        made.graph.update_state(made.config, {"messages": _history(history)}, as_node="speak")
    return made


def _history(count: int) -> list[BaseMessage]:
    kinds = (HumanMessage, AIMessage)
    return [kinds[number % 2](TEXT[:200], id=f"earlier-{number}") for number in range(count)]
