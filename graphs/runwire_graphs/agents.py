"""What the agents of the bundle share: the model of the moment, and tool failures that come back as results."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, ToolErrorMiddleware
from langchain.agents.middleware.types import ToolCallRequest

from runwire_graphs.errors import ConfigError, NoBrowser
from runwire_graphs.models import chat_model


class ModelOfTheMoment(AgentMiddleware[Any, Any, Any]):
    """Chooses the model at each call, so that a wrong setting fails the run that meets it, not the server."""

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        return await handler(request.override(model=chat_model()))


def in_words(error: Exception, request: ToolCallRequest) -> str | None:
    """What the model is told of a tool's failure; None lets it fail the run, where no other call could do better."""
    return None if isinstance(error, NoBrowser | ConfigError) else failure(error)


def failure(error: Exception) -> str:
    """A failure in words; some exceptions have none of their own."""
    return str(error).strip() or type(error).__name__


def tool_failures() -> ToolErrorMiddleware[Any, Any]:
    return ToolErrorMiddleware(in_words)


def subagent_failures() -> ToolErrorMiddleware[Any, Any]:
    """Whatever ends a subagent comes back in words: its siblings may do better."""
    return ToolErrorMiddleware(lambda error, request: failure(error))
