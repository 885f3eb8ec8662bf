"""An agent with tool calls at once and in two rounds; one tool returns a table as its artifact."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver

from tests.graphs.case import Case, Graph, Turn, human
from tests.graphs.model import Call, Reply, model, rounds


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"sunny in {city}"


@tool(response_format="content_and_artifact")
def table(rows: int) -> tuple[str, dict[str, Any]]:
    """Make a table."""
    cells = [[n, n * n] for n in range(rows)]
    return f"{rows} rows", {"kind": "table", "columns": ["n", "square"], "rows": cells}


MODEL = rounds(
    Reply(
        "I look at three things.",
        (
            Call("weather", {"city": "Paris"}, "call_paris"),
            Call("weather", {"city": "Köln"}, "call_koeln"),
            Call("table", {"rows": 3}, "call_table"),
        ),
    ),
    Reply("", (Call("weather", {"city": "Oslo"}, "call_oslo"),)),
    Reply("It is sunny everywhere."),
)


def build(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph:
    return create_agent(
        model(MODEL), [weather, table], system_prompt="Be brief.", checkpointer=checkpointer, name="react"
    )


CASE = Case(build, (Turn(human("how is it?")),), values_only=True)
