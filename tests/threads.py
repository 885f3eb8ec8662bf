"""What the server keeps of recorded threads, their replays, and a view reduced to what history keeps."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from runwire_normalizers import Envelope, ReplayedRun, RunView, replay
from runwire_normalizers._call_view import CallView
from runwire_normalizers._messages import is_message
from tests.feeding import FOLDER, NAMES, earlier, envelopes, frames, outcome_of, prior, told

# Recordings with the history of every namespace; the shared ones lack those of subgraphs.
KEPT = [
    name for name in NAMES if (FOLDER / name).with_suffix(".after.json").exists() and not name.startswith("shared/")
]


@cache
def after(name: str) -> dict[str, Any]:
    """What the server said after the run; the histories of graphs that only the run before entered, from there."""
    told: dict[str, Any] = json.loads((FOLDER / name).with_suffix(".after.json").read_text("utf-8"))
    before = earlier(name)
    if before:
        told["histories"] = after(before)["histories"] | told["histories"]
    return told


def histories(name: str) -> dict[str, Any]:
    return {"": after(name)["history"], **after(name)["histories"]}


@cache
def replayed(name: str) -> tuple[ReplayedRun, ...]:
    return tuple(replay(histories(name), after(name)["state"]))


def live(name: str) -> list[Envelope]:
    """The whole trace that the recording ends: a resumed run after the one that it resumes."""
    before = earlier(name)
    return [*(told(before) if before else ()), *envelopes(frames(name), prior(name), outcome_of(name))]


def retold(name: str) -> list[Envelope]:
    """The same trace from history."""
    trace = told(name)[0].trace_id
    return [envelope for run in replayed(name) if run.trace_id == trace for envelope in run.envelopes]


def kept_messages(value: Any) -> Iterator[str]:
    """The ids of all messages in what the server keeps."""
    if is_message(value) and value.get("id"):
        yield value["id"]
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(inner, dict | list):
            yield from kept_messages(inner)


def kept(view: RunView, messages: set[str]) -> dict[str, Any]:
    """What history keeps of a view: the calls whose messages it has, and of each call what docs/replay.md promises."""
    lost = {call.call_id for call in view.calls() if call.kind == "model" and call.message_id not in messages}
    return {call.call_id: facts(call) for call in view.calls() if call.call_id not in lost}


def facts(call: CallView) -> dict[str, Any]:
    common = {name: getattr(call, name) for name in ("kind", "parent_id", "name", "status", "tool_call_id")}
    match call.kind:
        case "model":
            said = {name: getattr(call, name) for name in ("text", "reasoning", "usage", "finish_reason", "message_id")}
            return common | said | {"agent": call.agent, "node": call.node}
        case "tool":
            return common | {"args": call.args, "result": call.result, "agent": call.agent, **_ends(call)}
        case _:
            state = {name: getattr(call, name) for name in ("plan", "todos", "files")}
            return common | state | {"result": _result(call.result), **_ends(call)}


def _ends(call: CallView) -> dict[str, Any]:
    asks = sorted((one["id"], json.dumps(one["value"])) for one in call.interrupts or ())
    return {"interrupts": asks, "error": (call.error["class"], call.error["message"]) if call.error else None}


def _result(result: Any) -> Any:
    """A graph's result: all but the usage, which counts lost model calls too, and the server's copies of it."""
    if not isinstance(result, dict):
        return result
    messages = [
        {key: value for key, value in message.items() if key not in ("usage_metadata", "additional_kwargs")}
        for message in result["messages"]
    ]
    return {**result, "messages": messages, "usage": None}
