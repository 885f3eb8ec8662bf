"""The deep agent in this process: a conversation that grows too long is summarized by the model of the moment."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from runwire_graphs.deep_agent import build
from tests.openai_server import KEY, Said, serve_openai
from tests.sites import phrase

LONG = 60_000


@pytest.fixture
def openai(monkeypatch):
    with serve_openai() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server


async def test_a_conversation_that_is_too_long_is_summarized_by_the_model_that_is_set_and_not_aloud(openai):
    summary, answer = phrase(), phrase()

    def mind(messages, tools, forced):
        return Said(text=answer if tools else summary)

    openai.mind = mind
    turns: list[AnyMessage] = []
    for number in range(6):
        turns += [HumanMessage(f"{number} {'word ' * (LONG // 5)}"), AIMessage(f"{number} {'said ' * (LONG // 5)}")]
    asked: Any = {"messages": [*turns, HumanMessage("and now?")]}
    spoken = [chunk async for chunk, _ in build().astream(asked, stream_mode="messages")]
    assert "".join(str(chunk.text) for chunk in spoken if chunk.type == "AIMessageChunk") == answer
    first, last = openai.requests[0], openai.requests[-1]
    assert "still to be done" in str(first["messages"])
    assert "0 word word" in str(first["messages"])
    assert summary in str(last["messages"])
    assert "0 word word" not in str(last["messages"])
