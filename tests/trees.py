"""Envelopes as a tree of calls, to compare what two streams tell of one run without regard to order and pieces."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from runwire_normalizers import Envelope


@dataclass
class CallFacts:
    """All that the envelopes tell of one call."""

    kind: str
    parent: str | None = None
    name: str | None = None
    args: Any = None
    texts: dict[str, str] = field(default_factory=dict)
    result: Any = None
    status: str | None = None
    message_id: str | None = None
    failed: bool = False
    error: tuple[Any, Any] | None = None
    interrupts: list[Any] | None = None
    usage: Any = None


Tree = dict[str, CallFacts]


def tree(envelopes: Iterable[Envelope]) -> Tree:
    calls: Tree = {}
    for e in envelopes:
        facts = calls.setdefault(e.call_id, CallFacts(_kind(e), e.parent_id))
        _TELL.get(e.type, lambda facts, payload: None)(facts, e.payload)
    return calls


def _kind(e: Envelope) -> str:
    return "model" if e.type.startswith("llm") else str(e.payload.get("kind"))


def _start(facts: CallFacts, payload: dict[str, Any]) -> None:
    facts.name, facts.args = payload["tool_name"], payload.get("args", payload.get("input"))


def _model(facts: CallFacts, payload: dict[str, Any]) -> None:
    facts.name, facts.message_id = payload["model"], payload["message_id"]


def _token(facts: CallFacts, payload: dict[str, Any]) -> None:
    channel = payload["channel"]
    key = f"{channel} {payload['tool_call_id']}" if channel == "tool_args" else channel
    facts.texts[key] = facts.texts.get(key, "") + payload["text"]


def _end(facts: CallFacts, payload: dict[str, Any]) -> None:
    facts.status, facts.result, facts.interrupts = payload["status"], payload["result"], None


def _model_end(facts: CallFacts, payload: dict[str, Any]) -> None:
    facts.status, facts.usage, facts.message_id = payload["status"], payload["usage"], payload["message_id"]


def _error(facts: CallFacts, payload: dict[str, Any]) -> None:
    facts.failed, facts.error = True, (payload["class"], payload["message"])


def _checkpoint(facts: CallFacts, payload: dict[str, Any]) -> None:
    if payload["interrupts"] is not None:
        facts.interrupts = sorted((one["id"], str(one["value"])) for one in payload["interrupts"])


_TELL = {
    "tool_start": _start,
    "llm_start": _model,
    "llm_token": _token,
    "tool_end": _end,
    "llm_end": _model_end,
    "error": _error,
    "subgraph_checkpoint": _checkpoint,
}
