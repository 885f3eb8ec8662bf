"""`computer_use`: a model that uses a screen for the user, a browser page or a virtual desktop.

    setup ─► brain ─► act ─► brain … ─► finish
               └► human (the run waits) ─► act, brain or finish

A run tells `status`, `user_request` and `human_intervention_reason` while it goes on, and all of `ComputerOutput` at
its end. The desktop (RUNWIRE_COMPUTER=desktop) is NOT a security sandbox: its programs run on this machine.
"""

import asyncio
from typing import Any, Literal

from langchain_core.messages import SystemMessage
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from runwire_graphs.computer.calls import ASK, COMPUTER, GIVE_UP, NAVIGATE, answer, asked, shortened
from runwire_graphs.computer.questions import question_in
from runwire_graphs.computer.requests import earlier_request, opening, request_of, spoken
from runwire_graphs.computer.sandboxes import Sandbox
from runwire_graphs.computer.state import ComputerInput, ComputerOutput, ComputerState, Outcome, last_said
from runwire_graphs.computer.telling import tell_sandbox
from runwire_graphs.computer.thinking import ending, exceeded, out_of_time, think
from runwire_graphs.computer.verdicts import read_verdict
from runwire_graphs.computer.work import (
    ANEW,
    GONE,
    LOST,
    Clock,
    Work,
    answered,
    end_sandbox,
    failed,
    keep_sandbox,
    sandbox_of,
    step_of_work,
)
from runwire_graphs.errors import BundleError
from runwire_graphs.settings import Settings

NAME = "computer_use"


async def setup(state: ComputerState) -> dict[str, Any]:
    """A transcript of its own for each run, and the thread's sandbox if it was kept, else a new one."""
    request, before, kept = request_of(state), earlier_request(state), state.get("sandbox_id")
    anew = {"performed": None, "interactions": None, "screenshots": None, "seconds": None, "verdict": None}
    update = {**anew, "user_request": request, "messages": opening(request), "notes": [], "outcome": None}
    if not request:
        return {**update, "outcome": failed("Say what to do: neither messages nor user_request tells it.")}
    clock, notes = Clock(0, 0), list[str]()
    try:
        async with sandbox_of(kept) as (sandbox, new):
            if new and kept:
                notes.append(LOST)
                tell_sandbox("lost", kept, LOST)
            elif not new:
                notes.append(f"The screen is as the user's earlier request left it, which was: {before!r}.")
            tell_sandbox("started" if new else "reused", sandbox.id)
    except BundleError as error:
        return {**update, "sandbox_id": "", "outcome": failed(str(error))}
    return {**update, "sandbox_id": sandbox.id, "notes": notes, "seconds": clock.seconds}


@step_of_work
async def brain(state: ComputerState) -> dict[str, Any]:
    """The model's next message, within the limits; what cannot go on is decided here."""
    settings = Settings.read()
    clock = Clock(state["seconds"], settings.computer_seconds)
    if reason := exceeded(state, settings, clock):
        return {"outcome": failed(reason)}
    async with sandbox_of(state["sandbox_id"]) as (sandbox, new):
        update = _anew(state, sandbox) if new else {}
        messages = update.get("messages", [])
        try:
            async with asyncio.timeout(clock.left):
                said = await think(
                    settings, state["notes"], [*state["messages"], *messages], sandbox.computer.environment
                )
        except TimeoutError:
            return {**update, "outcome": failed(out_of_time(settings))}
    return {**update, "messages": [*messages, said], "outcome": ending(said)}


def _anew(state: ComputerState, sandbox: Sandbox) -> dict[str, Any]:
    """The server was restarted in the middle of the run."""
    tell_sandbox("lost", state["sandbox_id"], LOST)
    tell_sandbox("started", sandbox.id)
    return {"sandbox_id": sandbox.id, "notes": [*state["notes"], LOST], "messages": [SystemMessage(ANEW)]}


def after_setup(state: ComputerState) -> Literal["brain", "finish"]:
    return "finish" if state.get("outcome") else "brain"


def after_brain(state: ComputerState) -> Literal["human", "act", "finish"]:
    said = last_said(state)
    if state.get("outcome") or said is None:
        return "finish"
    return "human" if question_in(said) else "act"


@step_of_work
async def human(state: ComputerState) -> dict[str, Any]:
    """A person decides. The run waits here; the node runs again from its top when they have."""
    said = last_said(state)
    question = question_in(said) if said else None
    if question is None:
        return {}
    await keep_sandbox(state["sandbox_id"])
    told = interrupt(
        {
            "kind": question.kind,
            "reason": question.reason,
            "checks": list(question.checks),
            "actions": list(question.actions),
            "sandbox_id": state["sandbox_id"],
            "screenshot": next((one.artifact for one in reversed(state["messages"]) if one.type == "tool"), None),
            "decisions": ["approve", "reject"],
        }
    )
    verdict = read_verdict(told, question.kind == "question")
    if not verdict["approved"]:
        reason = f"{question.reason} The person answered: {verdict['words']}" if verdict["words"] else question.reason
        return {"outcome": Outcome(status="human_intervention_required", reason=reason)}
    if question.spoken:
        return {"messages": [spoken(verdict["words"] or "Yes, go on.")]}
    return {"verdict": verdict}


def after_human(state: ComputerState) -> Literal["act", "brain", "finish"]:
    if state.get("outcome"):
        return "finish"
    return "act" if last_said(state) else "brain"


@step_of_work
async def act(state: ComputerState) -> dict[str, Any]:
    """Every call of the model's message, carried out and answered."""
    said, settings = last_said(state), Settings.read()
    clock, step = Clock(state["seconds"], settings.computer_seconds), state["interactions"] + 1
    async with sandbox_of(state["sandbox_id"]) as (sandbox, new):
        work = Work(sandbox, clock, step)
        update = _anew(state, sandbox) if new else {}
        for call in asked(said) if said else []:
            await _answer(work, call, state, new)
    done = work.done
    return {
        **update,
        "messages": [*done.messages, *update.get("messages", []), *shortened([*state["messages"], *done.messages])],
        "performed": done.performed,
        "interactions": 1,
        "screenshots": done.screenshots,
        "verdict": None,
    }


async def _answer(work: Work, call: Any, state: ComputerState, new: bool) -> None:
    verdict = state.get("verdict")
    if call.name == ASK:
        words = (verdict["words"] if verdict else "") or "The person has approved. Go on."
        work.done.messages += answered([call], ASK, words)
    elif call.name not in (COMPUTER, NAVIGATE):
        work.done.messages.append(answer(call, f"There is no tool {call.name!r}.", failed=True))
    elif new:
        # What was meant for another screen is not done on this one.
        await work.show(call, ANEW)
    else:
        await work.carry_out(call)


def after_act(state: ComputerState) -> Literal["brain", "finish"]:
    return "finish" if state.get("outcome") else "brain"


async def finish(state: ComputerState) -> dict[str, Any]:
    """The whole output. The sandbox stays for a person who is needed, and ends otherwise."""
    outcome = state.get("outcome") or failed("The run came to no end of its own.")
    id, status = state.get("sandbox_id") or "", outcome["status"]
    waits = status == "human_intervention_required"
    kept = waits and await keep_sandbox(id)
    if waits:
        tell_sandbox("kept" if kept else "lost", id)
    elif id:
        await end_sandbox(id)
    said = last_said(state)
    lost = [LOST] if LOST in state["notes"] else []
    error, reason = outcome.get("error", ""), outcome.get("reason", "")
    return {
        "status": status,
        "answer": "\n\n".join([*lost, outcome.get("answer", "")]).strip(),
        "total_interactions": state["interactions"],
        "execution_time_seconds": round(state["seconds"], 3),
        "error_message": " ".join([error, *lost]) if error else "",
        "screenshots_taken": state["screenshots"],
        "actions_performed": state["performed"],
        "human_intervention_reason": " ".join([reason, *lost, *([] if kept else [GONE])]) if waits else "",
        "sandbox_preserved": kept,
        "task_completed_successfully": status == "completed",
        "requires_human_intervention": waits,
        "sandbox_id": id if kept else "",
        "messages": answered(asked(said) if said else [], GIVE_UP, "The task was given up."),
    }


def build() -> Any:
    builder: Any = StateGraph(ComputerState, input_schema=ComputerInput, output_schema=ComputerOutput)
    for node in (setup, brain, human, act, finish):
        builder.add_node(node)
    builder.add_edge(START, "setup")
    builder.add_conditional_edges("setup", after_setup)
    builder.add_conditional_edges("brain", after_brain)
    builder.add_conditional_edges("human", after_human)
    builder.add_conditional_edges("act", after_act)
    builder.add_edge("finish", END)
    return builder.compile(name=NAME)


graph = build()
