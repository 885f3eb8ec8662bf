"""The choice of the model, and real langchain-openai against a server that speaks OpenAI's API."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from runwire_graphs.errors import ConfigError, ModelError
from runwire_graphs.models import chat_model, describe
from runwire_graphs.planning.forms import Assessment, filled
from runwire_graphs.scripted.model import KeylessModel
from runwire_graphs.settings import Settings
from tests.openai_server import KEY, Said, serve_openai
from tests.sites import phrase


@tool
def weigh(thing: str) -> str:
    """Weigh a thing."""
    return thing


@pytest.fixture
def openai(monkeypatch):
    with serve_openai() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


@pytest.fixture(params=["chat", "responses"])
def api(request, monkeypatch):
    monkeypatch.setenv("RUNWIRE_OPENAI_API", request.param)
    return request.param


async def streamed(model) -> tuple[list[Any], Any]:
    """The chunks of an answer, and the whole of them."""
    chunks: list[Any] = [chunk async for chunk in model.astream([HumanMessage("hi")])]
    return chunks, sum(chunks[1:], chunks[0])


def always(**said):
    return lambda messages, tools, forced: Said(**said)


def test_without_a_key_the_model_is_keyless(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert isinstance(chat_model(), KeylessModel)
    assert "keyless" in describe(Settings.read())


def test_a_base_url_alone_is_enough(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_MODEL", "llama-local")
    model: Any = chat_model()
    assert model.model_name == "llama-local"
    assert describe(Settings.read()) == "llama-local at http://127.0.0.1:1/v1"


def test_a_key_is_in_no_repr(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert KEY not in repr(Settings.read())
    assert KEY not in repr(chat_model())


def test_an_unknown_api_is_a_wrong_setting(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("RUNWIRE_OPENAI_API", "telepathy")
    with pytest.raises(ConfigError, match="chat or responses"):
        chat_model()


async def test_text_streams_in_pieces_and_tells_its_usage(openai, api):
    text = phrase(12)
    openai.mind = always(text=text)
    chunks, whole = await streamed(chat_model())
    assert whole.text == text
    assert len([chunk for chunk in chunks if chunk.text]) > 3
    assert whole.usage_metadata["total_tokens"] == 18
    assert openai.requests[0]["path"].endswith("/responses" if api == "responses" else "/chat/completions")


async def test_tool_calls_stream_and_come_out_whole(openai, api):
    thing = phrase()
    openai.mind = always(calls=(("weigh", {"thing": thing}),))
    chunks, whole = await streamed(chat_model().bind_tools([weigh]))
    assert [(call["name"], call["args"]) for call in whole.tool_calls] == [("weigh", {"thing": thing})]
    assert len([chunk for chunk in chunks if chunk.tool_call_chunks]) > 2


async def test_reasoning_comes_apart_from_the_text(openai, monkeypatch):
    monkeypatch.setenv("RUNWIRE_OPENAI_API", "responses")  # Chat Completions tell no reasoning.
    thought, text = phrase(6), phrase(6)
    openai.mind = always(text=text, reasoning=thought)
    _, whole = await streamed(chat_model())
    blocks = {block["type"]: block for block in whole.content_blocks}
    assert blocks["reasoning"]["reasoning"] == thought
    assert whole.text == text


async def test_a_form_is_filled_by_a_forced_call(openai, api):
    why = phrase()
    openai.mind = always(calls=(("Assessment", {"is_completed": True, "explanation": why, "confidence": 1}),))
    assert (await filled(Assessment, [HumanMessage("well?")])).explanation == why
    assert openai.requests[0]["tool_choice"] != "auto"


async def test_a_form_filled_wrongly_is_handed_back_once(openai, api):
    wrong = {"is_completed": True, "explanation": "x", "confidence": 7}
    openai.mind = lambda messages, tools, forced: Said(
        calls=(("Assessment", wrong if len(openai.requests) == 1 else wrong | {"confidence": 0.5}),)
    )
    assert (await filled(Assessment, [HumanMessage("well?")])).confidence == 0.5
    openai.mind = always(text="no")
    with pytest.raises(ModelError, match="can call tools"):
        await filled(Assessment, [HumanMessage("well?")])


@pytest.mark.parametrize(
    ("status", "words"),
    [(404, "OPENAI_MODEL"), (403, "may not use"), (400, "a silly request"), (422, "a silly request")],
)
async def test_a_providers_failure_is_told_with_its_cure(openai, api, status, words):
    openai.mind = always(error=(status, "a silly request"))
    with pytest.raises(ModelError, match=words):
        await chat_model().ainvoke([HumanMessage("hi")])
    with pytest.raises(ModelError, match=words):
        [chunk async for chunk in chat_model().astream([HumanMessage("hi")])]


async def test_a_wrong_key_is_named_and_not_repeated(openai, api, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-9876543210")
    with pytest.raises(ModelError, match="OPENAI_API_KEY") as caught:
        await chat_model().ainvoke([HumanMessage("hi")])
    assert "9876543210" not in str(caught.value)


async def test_a_provider_out_of_reach_is_told_with_its_address(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with pytest.raises(ModelError, match=r"http://127\.0\.0\.1:1/v1 cannot be reached"):
        await chat_model().ainvoke([HumanMessage("hi")])
