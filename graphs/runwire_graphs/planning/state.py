"""The planners' state, its reducers, and what a decision makes of a plan."""

from typing import Annotated, Literal, NotRequired

from langchain_core.messages import AIMessage, AnyMessage, ToolCall
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

Decision = Literal["replace", "append", "continue"]


class PlannedTask(TypedDict):
    """A task, and the expert who is to do it."""

    expert: str
    task: str


class PlannerResult(TypedDict):
    """The plan as it stands; `next_task` is an index into it, and equals its length when all is done."""

    decision: str
    plan: list[PlannedTask]
    next_task: int
    clarification: str | None


class Decided(TypedDict):
    """What a node decided: new tasks to replace or to append, or to go on, at a certain task."""

    decision: Decision
    plan: NotRequired[list[PlannedTask]]
    next_task: NotRequired[int]
    clarification: NotRequired[str | None]


def latest_result(before: PlannerResult | None, after: PlannerResult | None) -> PlannerResult | None:
    """The reducer of `planner_result`: a result replaces the one before, and a null takes none away."""
    return before if after is None else after


def decide(before: PlannerResult | None, decided: Decided) -> PlannerResult:
    """The plan after a decision; the one before is not changed."""
    plan = list(before["plan"]) if before else []
    at = before["next_task"] if before else 0
    match decided["decision"]:
        case "replace":
            plan, at = list(decided.get("plan", [])), 0
        case "append":
            plan = plan + list(decided.get("plan", []))
        case "continue":
            pass
    at = min(decided.get("next_task", at), len(plan))
    clarification = decided.get("clarification")
    return {"decision": decided["decision"], "plan": plan, "next_task": at, "clarification": clarification}


class PlannerInput(TypedDict):
    """What a run begins with."""

    messages: Annotated[list[AnyMessage], add_messages]


class PlannerOutput(TypedDict):
    """What a run ends with."""

    messages: Annotated[list[AnyMessage], add_messages]
    planner_result: Annotated[PlannerResult | None, latest_result]


class PlannerState(PlannerOutput):
    """The output, where the messages of the task at hand begin, how often it was tried, and why it is not done."""

    task_from: int
    tries: int
    doubt: str


class ToolTask(TypedDict):
    """One tool call, sent to a node of its own: one that waits for a person does not repeat its siblings."""

    tool_call: ToolCall
    expert: str


def current_task(state: PlannerState) -> PlannedTask | None:
    """The task at hand, or none when the plan is done or empty."""
    result = state.get("planner_result")
    return result["plan"][result["next_task"]] if result and result["next_task"] < len(result["plan"]) else None


def since_task(state: PlannerState) -> list[AnyMessage]:
    return state["messages"][state.get("task_from", 0) :]


def last_ai(state: PlannerState) -> AIMessage | None:
    last = state["messages"][-1] if state["messages"] else None
    return last if isinstance(last, AIMessage) else None
