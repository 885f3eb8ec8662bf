"""The middleware of the deep agent: todos, places that it knows, summaries, browsers that are left, approvals."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, NotRequired

from deepagents.backends import StateBackend
from deepagents.middleware.summarization import create_summarization_middleware
from langchain.agents import AgentState
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    InterruptOnConfig,
    ModelRequest,
    TodoListMiddleware,
    dynamic_prompt,
)
from langchain.agents.middleware.todo import Todo
from langchain.agents.middleware.types import OmitFromInput
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage, ToolCall, get_buffer_string
from langgraph.config import get_config
from langgraph.runtime import Runtime

from runwire_graphs.browser.tools import leave
from runwire_graphs.demo import site
from runwire_graphs.models import chat_model
from runwire_graphs.scripted.model import KeylessModel

SUMMARIZE = """Summarize this conversation for yourself: what was asked, what was found out and decided, which files \
were written, and what is still to be done."""
# Keeps what is said for oneself out of the stream of tokens.
UNTOLD = "nostream"
WRONG_ANSWERS = 20


def latest(before: list[Todo], after: list[Todo]) -> list[Todo]:
    """The reducer of `todos`; having one, the list is there from the start, empty."""
    return after


class _Todos(AgentState[Any]):
    todos: NotRequired[Annotated[list[Todo], OmitFromInput, latest]]


class TodoList(TodoListMiddleware[Any]):
    """LangChain's list of things to do."""

    state_schema = _Todos


@dynamic_prompt
def known_places(request: ModelRequest[Any]) -> str:
    """The agent's instructions, and where the demo site is."""
    said, demo = request.system_prompt or "", site.origin()
    return f"{said}\nThe demo site is at {demo}" if demo else said


class LeaveBrowser(AgentMiddleware[Any, Any, Any]):
    """Closes the browser of a subagent when it is done."""

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        await leave(get_config())
        return None


def summarization() -> AgentMiddleware[Any, Any, Any]:
    """deepagents' own, with summaries by the model of the moment."""
    return create_summarization_middleware(KeylessModel(), StateBackend(), summarizer=_summary)


async def _summary(messages: Sequence[AnyMessage]) -> str:
    asked = [SystemMessage(SUMMARIZE), HumanMessage(get_buffer_string(messages))]
    return str((await chat_model().with_config(tags=[UNTOLD]).ainvoke(asked)).text)


def _described(action: str) -> InterruptOnConfig:
    def describe(tool_call: ToolCall, state: AgentState[Any], runtime: Runtime[Any]) -> str:
        return f"{action} {tool_call['args'].get('file_path')}?"

    return InterruptOnConfig(allowed_decisions=["approve", "edit", "reject"], description=describe)


class Approval(HumanInTheLoopMiddleware[Any, Any, Any]):
    """LangChain's pause for a person, before a file is changed. What is no decision is asked for again."""

    def __init__(self) -> None:
        actions = {"write_file": "Write", "edit_file": "Edit", "delete": "Delete"}
        super().__init__({name: _described(action) for name, action in actions.items()})

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        # LangGraph keeps a wrong answer and gives it again whenever the node runs: the next question is another one.
        for _ in range(WRONG_ANSWERS):
            with suppress(TypeError, KeyError, ValueError):
                return super().after_model(state, runtime)
        return super().after_model(state, runtime)
