"""`assist_with_planner`: plans over experts, uses their tools task by task, assesses each task, and answers.

    planner ─► orchestrate_tools ─► call_tool ─► assess_task_completion ─► advance_to_next_task … ─► generate_response
                      ▲                                     └─► ask_user (the run waits) ─┐
                      └───────────────────────────────────────────────────────────────────┘

The final state is `PlannerOutput`: `messages` and `planner_result`, and nothing else.
"""

from typing import Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send, interrupt

from runwire_graphs.planning.forms import Assessment, filled
from runwire_graphs.planning.planner import clarify, make_plan, to_clarify
from runwire_graphs.planning.state import (
    Decided,
    PlannerInput,
    PlannerOutput,
    PlannerState,
    current_task,
    decide,
    last_ai,
    since_task,
)
from runwire_graphs.planning.tasks import ask_user as question
from runwire_graphs.planning.tasks import call_tool, human_input, respond, sends, told, work

NAME = "assist_with_planner"
CONFIDENT = 0.7
TRIES = 2
ASSESS = """Judge whether the task has been completed, from the tools' results alone.

The task: {task}"""


async def planner(state: PlannerState) -> dict[str, Any]:
    return {"planner_result": await make_plan(state), "task_from": len(state["messages"]), "tries": 0}


def after_planner(state: PlannerState) -> Literal["clarify", "orchestrate_tools", "generate_response"]:
    if to_clarify(state.get("planner_result")):
        return "clarify"
    return "orchestrate_tools" if current_task(state) else "generate_response"


def after_clarifying(state: PlannerState) -> Literal["orchestrate_tools", "__end__"]:
    return "orchestrate_tools" if current_task(state) else "__end__"


async def orchestrate_tools(state: PlannerState) -> dict[str, list[AnyMessage]]:
    """The model chooses the tools of the task at hand."""
    task = current_task(state)
    return {"messages": [await work(state, task)]} if task else {"messages": []}


def after_tools_are_chosen(state: PlannerState) -> list[Send] | Literal["assess_task_completion"]:
    last = last_ai(state)
    return sends(state, "call_tool", "human_input") if last and last.tool_calls else "assess_task_completion"


def after_tools_are_used(state: PlannerState) -> Literal["orchestrate_tools", "assess_task_completion"]:
    """The same for every call of one message, so that the graph goes on in one place."""
    asked = next((one for one in reversed(state["messages"]) if isinstance(one, AIMessage) and one.tool_calls), None)
    waited = asked is not None and any(call["name"] == question.name for call in asked.tool_calls)
    return "orchestrate_tools" if waited else "assess_task_completion"


async def assess_task_completion(state: PlannerState) -> dict[str, Any]:
    """Done when the model says so with confidence; otherwise it counts as a try, and the reason goes with it."""
    task = current_task(state)
    if task is None:
        return {}
    prompt = SystemMessage(ASSESS.format(task=task["task"]))
    seen = await filled(Assessment, [prompt, HumanMessage(task["task"]), *since_task(state)])
    if seen.is_completed and seen.confidence >= CONFIDENT:
        return {"tries": -1}
    return {"tries": state.get("tries", 0) + 1, "doubt": seen.explanation}


def after_assessment(state: PlannerState) -> Literal["advance_to_next_task", "orchestrate_tools", "ask_user"]:
    tries = state.get("tries", 0)
    if tries < 0:
        return "advance_to_next_task"
    return "orchestrate_tools" if tries < TRIES else "ask_user"


async def ask_user(state: PlannerState) -> dict[str, Any]:
    """What to do with a task that does not get done is for the user to say. The run waits here."""
    task = current_task(state)
    what = task["task"] if task else ""
    answer = interrupt({"question": f"{state['doubt']} How shall I go on with {what!r}?", "task": what})
    return {"messages": [HumanMessage(told(answer))], "tries": 0}


async def advance_to_next_task(state: PlannerState) -> dict[str, Any]:
    result = state.get("planner_result")
    following = Decided(decision="continue", next_task=(result["next_task"] if result else 0) + 1)
    return {"planner_result": decide(result, following), "task_from": len(state["messages"]), "tries": 0}


async def generate_response(state: PlannerState) -> dict[str, list[AnyMessage]]:
    return await respond(state)


def build() -> Any:
    # Its own types do not know nodes that are sent to.
    builder: Any = StateGraph(PlannerState, input_schema=PlannerInput, output_schema=PlannerOutput)
    for node in (
        planner,
        clarify,
        orchestrate_tools,
        call_tool,
        human_input,
        assess_task_completion,
        ask_user,
        advance_to_next_task,
        generate_response,
    ):
        builder.add_node(node)
    builder.add_edge(START, "planner")
    builder.add_conditional_edges("planner", after_planner)
    builder.add_conditional_edges("clarify", after_clarifying)
    builder.add_conditional_edges(
        "orchestrate_tools", after_tools_are_chosen, ["call_tool", "human_input", "assess_task_completion"]
    )
    builder.add_conditional_edges("call_tool", after_tools_are_used)
    builder.add_conditional_edges("human_input", after_tools_are_used)
    builder.add_conditional_edges("assess_task_completion", after_assessment)
    builder.add_edge("ask_user", "orchestrate_tools")
    builder.add_conditional_edges("advance_to_next_task", after_planner)
    builder.add_edge("generate_response", END)
    return builder.compile(name=NAME)


graph = build()
