"""What a resumed run needs of the runs before it: the trace and its calls, open and finished, with their positions."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from runwire_normalizers._messages import add_usage
from runwire_normalizers.envelope import Envelope

CallState = Literal["open", "suspended", "ended"]


@dataclass(frozen=True)
class CallRecord:
    """One call, as the earlier run left it."""

    call_id: str
    parent_id: str | None
    kind: Literal["run", "subgraph", "tool", "model"]
    name: str | None
    node: str | None
    agent: str | None
    tool_call_id: str | None
    seq: int
    state: CallState
    usage: dict[str, Any] = field(default_factory=dict)
    checkpoint_id: str | None = None
    interrupts: tuple[Any, ...] = ()
    namespace: tuple[str, ...] = ()


@dataclass(frozen=True)
class Continuation:
    """The prior state for `StreamAdapter(resumed_from=…)`: from an adapter, or from the envelopes it gave."""

    trace_id: str
    calls: tuple[CallRecord, ...]

    @property
    def over(self) -> bool:
        """Whether the run has ended, so that nothing can resume it."""
        return any(call.kind == "run" and call.state == "ended" for call in self.calls)

    @classmethod
    def from_envelopes(cls, envelopes: Iterable[Envelope]) -> Self:
        """All that matters is in the envelopes, because ids are derived from facts."""
        records: dict[str, CallRecord] = {}
        trace = None
        for envelope in envelopes:
            trace = envelope.trace_id
            _fold(records, envelope)
        if trace is None:
            raise ValueError("no envelopes, so there is nothing to resume from")
        return cls(trace, tuple(records.values()))


def _fold(records: dict[str, CallRecord], envelope: Envelope) -> None:
    payload, call_id = envelope.payload, envelope.call_id
    record = records.get(call_id)
    if record is None:
        model = envelope.type == "llm_start"
        record = CallRecord(
            call_id,
            envelope.parent_id,
            "model" if model else payload.get("kind", "run"),
            payload.get("model") if model else payload.get("tool_name"),
            payload.get("node"),
            envelope.agent,
            payload.get("tool_call_id"),
            0,
            "open",
            namespace=tuple(payload.get("namespace") or ()),
        )
    record = replace(record, seq=envelope.seq, agent=envelope.agent)
    match envelope.type:
        case "llm_end" | "tool_end":
            record = replace(record, state="ended")
            _add_usage(records, record, payload.get("usage"))
        case "subgraph_checkpoint" if payload["interrupts"] is not None:
            told = tuple(payload["interrupts"])
            record = replace(record, state="suspended", interrupts=told, checkpoint_id=payload["checkpoint_id"])
        case "subgraph_checkpoint":
            record = replace(record, checkpoint_id=payload["checkpoint_id"])
        case "subgraph_resume":
            record = replace(record, state="open", interrupts=())
        case _:
            pass
    records[call_id] = record


def _add_usage(records: dict[str, CallRecord], record: CallRecord, usage: dict[str, Any] | None) -> None:
    parent = record.parent_id
    while usage and parent in records:
        above = records[parent]
        records[parent] = replace(above, usage=add_usage(above.usage, usage))
        parent = above.parent_id
