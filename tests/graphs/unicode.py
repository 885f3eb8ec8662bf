"""Tokens that try a reader's patience: emoji, combining marks, line separators, quotes, CJK."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver

from tests.graphs.case import Graph, human, once
from tests.graphs.model import Call, Reply, model, rounds

TOKENS = (
    "👩‍🚀 ",
    "e\u0301",
    "u",
    "\u0308",
    "\u2028",
    "\u2029",
    "\u0085",
    '"quoted" ',
    "\\back\\slash\n",
    "\n\n",
    "data: x\r\n",
    "漢字",
    "한글 ",
    "שלום ",
    "\t",
    "\u200b",
    "𝒳",
)


@tool
def echo(text: str) -> str:
    """Say it back."""
    return text[::-1]


MODEL = rounds(Reply(TOKENS, (Call("echo", {"text": 'naïve 🙃 \u2028 "q" \\'}, "call_écho"),)), Reply(TOKENS[::-1]))


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    return create_agent(model(MODEL), [echo], checkpointer=checkpointer, name="unicode")


CASE = once(build, human("grüß\u2028dich 🌍"))
