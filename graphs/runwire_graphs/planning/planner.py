"""The planner: makes a plan for the user's last message, over the experts that there are."""

import json
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage

from runwire_graphs.experts.config import Expert
from runwire_graphs.experts.tools import experts
from runwire_graphs.planning.forms import Plan, filled
from runwire_graphs.planning.state import Decided, PlannedTask, PlannerResult, PlannerState, decide

SPOKEN = 20
PROMPT = """You plan work for experts. Break the user's request into steps and give each to the expert whose \
description fits; make no step that no expert can do. If nothing fits, leave the plan empty and say in the \
clarification what you can help with. If the user adds to the plan so far, append; if they want it to go on, \
continue; else replace it.

Your experts:
{experts}

The plan so far: {plan}
Tasks done of it: {done}"""


async def make_plan(state: PlannerState) -> PlannerResult:
    """The plan after the user's last message."""
    known = await experts()
    before = state.get("planner_result")
    plan = await filled(Plan, [SystemMessage(_prompt(known, before)), *spoken(state["messages"])])
    steps = [PlannedTask(expert=one.expert, task=one.task) for one in plan.plan if one.expert in known]
    clarification = plan.clarification or _unknown(plan, known)
    if not steps and plan.decision != "continue":
        clarification = clarification or f"No expert matches that. My experts are: {', '.join(known)}."
    decided = Decided(decision=plan.decision, clarification=clarification)
    if plan.decision != "continue":
        decided["plan"] = steps
    return decide(before, decided)


def _prompt(known: dict[str, Expert], before: PlannerResult | None) -> str:
    listed = "\n".join(f"- {name}: {expert.description}" for name, expert in known.items())
    plan, done = (before["plan"], before["next_task"]) if before else ([], 0)
    return PROMPT.format(experts=listed, plan=json.dumps(plan, ensure_ascii=False), done=done)


def _unknown(plan: Plan, known: dict[str, Expert]) -> str | None:
    strangers = sorted({one.expert for one in plan.plan} - known.keys())
    return f"There is no expert {', '.join(strangers)}." if strangers else None


async def clarify(state: PlannerState) -> dict[str, Any]:
    """Tell the user what could not be planned. A node of its own: what the planner filled in was no message."""
    result = state.get("planner_result")
    text = (result["clarification"] if result else None) or ""
    return {"messages": [AIMessage(text)], "task_from": len(state["messages"]) + 1}


def to_clarify(result: PlannerResult | None) -> bool:
    return bool(result and result["clarification"])


def spoken(messages: list[AnyMessage]) -> list[BaseMessage]:
    """What people and the assistant said to each other, without the work in between."""
    kept = [one for one in messages if isinstance(one, HumanMessage) or (isinstance(one, AIMessage) and one.text)]
    return [
        HumanMessage(str(one.text)) if isinstance(one, HumanMessage) else AIMessage(str(one.text))
        for one in kept[-SPOKEN:]
    ]
