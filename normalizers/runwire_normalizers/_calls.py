"""The table of calls: opening, moving, suspending, waking and ending them, with their positions. Rules 1 to 3, 5, 7."""

import logging
from collections import deque
from typing import Any, Literal

from runwire_normalizers._identity import Namespace
from runwire_normalizers._messages import add_usage
from runwire_normalizers._scrub import scrub_raw
from runwire_normalizers.continuation import CallRecord
from runwire_normalizers.envelope import Envelope, EnvelopeType, Origin, Status

log = logging.getLogger("runwire_normalizers")

CallKind = Literal["run", "subgraph", "tool", "model"]


class Call:
    """A run, a subgraph, a tool call or a model call, while it is open and after."""

    def __init__(
        self,
        call_id: str,
        kind: CallKind,
        parent: "Call | None",
        name: str | None,
        node: str | None,
        agent: str | None,
    ) -> None:
        self.call_id = call_id
        self.kind = kind
        self.parent = parent
        self.name = name
        self.node = node
        self.agent = agent
        # Of the run or a subgraph, that of its own graph; of the others, that of the graph they were called in.
        self.namespace: Namespace = ()
        self.tool_call_id: str | None = None
        self.seq = 0
        self.state: Literal["new", "open", "suspended", "ended"] = "new"
        self.children: dict[str, Call] = {}
        self.usage: dict[str, Any] = {}
        self.failed = False
        self.interrupts: list[Any] = []
        self.checkpoint_id: str | None = None
        self.fallback: Any = None
        self.pending_error: dict[str, Any] | None = None
        self.owns_graph = False

    @property
    def over(self) -> bool:
        return self.state == "ended"


class Calls:
    """Emits envelopes and knows every call of the trace by its id."""

    def __init__(self, trace_id: str, run_id: str | None, long_open: float | None) -> None:
        self.trace_id = trace_id
        self.run_id = run_id
        self.origin: Origin = "live"
        self.ts: float | None = None
        self.out: list[Envelope] = []
        self.by_id: dict[str, Call] = {}
        self._long_open = long_open
        self._watched: deque[tuple[float, Call]] = deque()

    def emit(self, call: Call, type_: EnvelopeType, payload: dict[str, Any], step: int = 1) -> None:
        if call.state == "suspended":
            self.wake(call)
        call.seq += step
        parent = call.parent
        self.out.append(
            Envelope(
                type_,
                self.ts,
                self.trace_id,
                self.run_id,
                parent.call_id if parent else None,
                call.call_id,
                call.seq,
                self.origin,
                call.agent,
                payload,
            )
        )

    def taken(self) -> list[Envelope]:
        """The envelopes since the last time, handed over."""
        out, self.out = self.out, []
        return out

    def open(self, call: Call, type_: EnvelopeType, payload: dict[str, Any]) -> None:
        if call.parent and call.parent.state == "suspended":
            self.wake(call.parent)
        self.by_id[call.call_id] = call
        call.state = "open"
        if call.parent:
            call.parent.children[call.call_id] = call
        self.emit(call, type_, payload)
        if self._long_open is not None and self.ts is not None:
            self._watched.append((self.ts, call))

    def wake(self, call: Call) -> None:
        """The resume of a suspended call, after that of its parents."""
        if call.parent and call.parent.state == "suspended":
            self.wake(call.parent)
        call.state = "open"
        call.interrupts = []
        self.resume(call)

    def resume(self, call: Call) -> None:
        payload = {
            "checkpoint_id": call.checkpoint_id,
            "node": call.node,
            "kind": call.kind,
            "tool_name": call.name,
            "tool_call_id": call.tool_call_id,
            "namespace": list(call.namespace),
        }
        self.emit(call, "subgraph_resume", payload)

    def checkpoint(self, call: Call, state_digest: str | None, interrupts: list[Any] | None) -> None:
        payload = {
            "checkpoint_id": call.checkpoint_id,
            "node": call.node,
            "state_digest": state_digest,
            "interrupts": interrupts,
        }
        self.emit(call, "subgraph_checkpoint", payload)

    def ended(self, call: Call, type_: EnvelopeType, payload: dict[str, Any]) -> None:
        """The call's last envelope; its parent has one open child less."""
        self.emit(call, type_, payload)
        call.state = "ended"
        if call.parent:
            call.parent.children.pop(call.call_id, None)
            if call.usage and (call.kind == "model" or call.parent.kind != "model"):
                call.parent.usage = add_usage(call.parent.usage, call.usage)

    def warn(self, call: Call, code: str, message: str, raw: Any) -> None:
        self.emit(call, "warning", {"code": code, "message": message, "raw": scrub_raw(raw)})

    def error(self, call: Call, name: str | None, facts: dict[str, Any], node: str | None) -> None:
        call.failed = True
        payload = {
            "name": name,
            "message": facts.get("message"),
            "stack": facts.get("stack"),
            "class": facts.get("error"),
            "node": node,
        }
        self.emit(call, "error", payload)

    def tick(self) -> None:
        """Tells the log of calls that have been open for unusually long; each is told once."""
        if self._long_open is None or self.ts is None:
            return
        while self._watched and self._watched[0][0] + self._long_open <= self.ts:
            since, call = self._watched.popleft()
            if call.state == "open":
                told = (call.kind, call.name, call.call_id, self.trace_id, self.ts - since)
                log.warning("%s %s (call %s, trace %s) has been open for %.0f s", *told)

    def restore(self, record: CallRecord) -> Call:
        """A call of an earlier run of the same trace, as it was left."""
        parent = self.by_id.get(record.parent_id) if record.parent_id else None
        call = Call(record.call_id, record.kind, parent, record.name, record.node, record.agent)
        call.tool_call_id, call.seq, call.state = record.tool_call_id, record.seq, record.state
        call.usage, call.checkpoint_id = dict(record.usage), record.checkpoint_id
        call.interrupts, call.namespace = list(record.interrupts), record.namespace
        self.by_id[call.call_id] = call
        if parent and not call.over:
            parent.children[call.call_id] = call
        return call

    def records(self) -> tuple[CallRecord, ...]:
        return tuple(
            CallRecord(
                call.call_id,
                call.parent.call_id if call.parent else None,
                call.kind,
                call.name,
                call.node,
                call.agent,
                call.tool_call_id,
                call.seq,
                call.state if call.state != "new" else "ended",
                call.usage,
                call.checkpoint_id,
                tuple(call.interrupts),
                call.namespace,
            )
            for call in self.by_id.values()
        )


def end_status(call: Call, otherwise: Status) -> Status:
    return "error" if call.failed else otherwise
