"""`planner_style_agent`: plans over experts, lets each expert work on its task as an agent, and answers.

    planner ─► execute_task ─► tools, human_input ─► execute_task … ─► planner (next task) … ─► respond

The final state is `PlannerOutput`: `messages` and `planner_result`, and nothing else.
"""

from typing import Any, Literal

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from runwire_graphs.planning.planner import clarify, make_plan, to_clarify
from runwire_graphs.planning.state import (
    Decided,
    PlannerInput,
    PlannerOutput,
    PlannerState,
    current_task,
    decide,
    last_ai,
)
from runwire_graphs.planning.tasks import call_tool, human_input, respond, sends, work

NAME = "planner_style_agent"


async def planner(state: PlannerState) -> dict[str, Any]:
    """A new plan for a new message; after a task the next one, without asking the model."""
    messages, result = state["messages"], state.get("planner_result")
    if result is None or not messages or isinstance(messages[-1], HumanMessage):
        return {"planner_result": await make_plan(state), "task_from": len(messages)}
    following = Decided(decision="continue", next_task=result["next_task"] + 1)
    return {"planner_result": decide(result, following), "task_from": len(messages)}


def after_planner(state: PlannerState) -> Literal["clarify", "execute_task", "respond"]:
    if to_clarify(state.get("planner_result")):
        return "clarify"
    return "execute_task" if current_task(state) else "respond"


def after_clarifying(state: PlannerState) -> Literal["execute_task", "__end__"]:
    return "execute_task" if current_task(state) else "__end__"


async def execute_task(state: PlannerState) -> dict[str, list[AnyMessage]]:
    task = current_task(state)
    return {"messages": [await work(state, task)]} if task else {"messages": []}


def after_task(state: PlannerState) -> list[Send] | Literal["planner"]:
    last = last_ai(state)
    return sends(state, "tools", "human_input") if last and last.tool_calls else "planner"


def build() -> Any:
    # Its own types do not know nodes that are sent to.
    builder: Any = StateGraph(PlannerState, input_schema=PlannerInput, output_schema=PlannerOutput)
    for node in (planner, clarify, execute_task, human_input, respond):
        builder.add_node(node)
    builder.add_node("tools", call_tool)
    builder.add_edge(START, "planner")
    builder.add_conditional_edges("planner", after_planner)
    builder.add_conditional_edges("clarify", after_clarifying)
    builder.add_conditional_edges("execute_task", after_task, ["tools", "human_input", "planner"])
    builder.add_edge("tools", "execute_task")
    builder.add_edge("human_input", "execute_task")
    builder.add_edge("respond", END)
    return builder.compile(name=NAME)


graph = build()
