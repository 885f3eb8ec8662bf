"""Which model the graphs run on: OpenAI, or whatever speaks its API, where it is configured; else the keyless one."""

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from openai import APIConnectionError, APIStatusError, OpenAIError
from pydantic import SecretStr

from runwire_graphs.computer.tools import Form
from runwire_graphs.errors import ModelError
from runwire_graphs.scripted.model import KeylessModel
from runwire_graphs.scripted.reply import NAME
from runwire_graphs.settings import Settings

RETRIES = 2
SECONDS = 120.0


def chat_model() -> BaseChatModel:
    """The model of the environment as it is now."""
    settings = Settings.read()
    if not settings.has_openai:
        return KeylessModel()
    return _openai(settings, settings.openai_model, settings.openai_api == "responses")


def computer_model(form: Form) -> BaseChatModel:
    """The model that uses a computer. OpenAI's computer tool is known to the Responses API alone."""
    settings = Settings.read()
    if not settings.has_openai:
        return KeylessModel()
    responses = form != "functions" or settings.openai_api == "responses"
    return _openai(settings, settings.computer_model, responses, truncation="auto" if form == "preview" else None)


def _openai(settings: Settings, name: str, responses: bool, truncation: str | None = None) -> BaseChatModel:
    return OpenAIModel(
        model=name,
        # A server of one's own often asks for no key; the client does.
        api_key=SecretStr(settings.openai_api_key or "not-needed"),
        base_url=settings.openai_base_url,
        use_responses_api=responses,
        truncation=truncation,
        stream_usage=True,
        max_retries=RETRIES,
        timeout=SECONDS,
    )


def describe(settings: Settings) -> str:
    """The model in a line, without its key."""
    if not settings.has_openai:
        return f"{NAME} (set OPENAI_API_KEY or OPENAI_BASE_URL for a language model)"
    return f"{settings.openai_model} at {settings.openai_base_url or 'OpenAI'}"


class OpenAIModel(ChatOpenAI):
    """langchain-openai for async graphs, with the provider's failures as `ModelError`, whose message reaches users."""

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        whole = False
        try:
            async for chunk in super()._astream(*args, **kwargs):
                whole = whole or _ends(chunk)
                yield chunk
        except OpenAIError as error:
            raise _told(error, self.openai_api_base) from error
        if not whole:
            raise ModelError(f"The model's provider at {self.openai_api_base or 'OpenAI'} broke off in its answer.")

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        try:
            return await super()._agenerate(messages, *args, **kwargs)
        except OpenAIError as error:
            raise _told(error, self.openai_api_base) from error


def _ends(chunk: ChatGenerationChunk) -> bool:
    """Whether the provider says here that its answer is whole; a stream that is cut ends without a word."""
    told = (chunk.generation_info or {}) | chunk.message.response_metadata
    return bool(told.get("finish_reason") or told.get("status"))


CURES = {
    401: "Check OPENAI_API_KEY.",
    403: "The key may not use this model; check OPENAI_API_KEY and OPENAI_MODEL.",
    404: "Check OPENAI_MODEL and OPENAI_BASE_URL.",
    429: "The provider's limit is reached; try again later.",
}


def _told(error: OpenAIError, base: str | None) -> ModelError:
    """What happened and what to do. A provider repeats a part of a wrong key in its message, so that is left out."""
    where = base or "OpenAI"
    match error:
        case APIStatusError(status_code=401):
            return ModelError(f"The model's provider at {where} refused the key (401). {CURES[401]}")
        case APIStatusError(status_code=status):
            said = error.body.get("message") if isinstance(error.body, dict) else error.message
            return ModelError(
                f"The model's provider at {where} answered {status}: {said} {CURES.get(status, '')}".strip()
            )
        case APIConnectionError():
            return ModelError(f"The model's provider at {where} cannot be reached: {error}. Check OPENAI_BASE_URL.")
    return ModelError(f"The model's provider at {where} failed: {error}")
