"""The public checker of the ten rules that every stream of envelopes keeps. It knows nothing of how they were made."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from runwire_normalizers._identity import root_call
from runwire_normalizers._scrub import MARK, is_secret
from runwire_normalizers.envelope import TYPES, Envelope, step

STARTS = frozenset({"tool_start", "llm_start"})
ENDS = frozenset({"tool_end", "llm_end"})
STATUSES = frozenset({"ok", "error", "cancelled"})

FIELDS: dict[str, frozenset[str]] = {
    "tool_start": frozenset({"kind", "tool_name", "node", "tool_call_id"}),
    "tool_update": frozenset({"kind", "data"}),
    "tool_end": frozenset({"tool_name", "result", "status"}),
    "llm_start": frozenset({"model", "params", "node", "message_id"}),
    "llm_token": frozenset({"text", "channel", "offset"}),
    "llm_end": frozenset({"usage", "finish_reason", "status", "message_id"}),
    "subgraph_checkpoint": frozenset({"checkpoint_id", "node", "state_digest", "interrupts"}),
    "subgraph_resume": frozenset({"checkpoint_id", "node", "kind", "tool_name", "tool_call_id"}),
    "warning": frozenset({"code", "message", "raw"}),
    "error": frozenset({"name", "message", "stack", "class", "node"}),
}
CHOICES: dict[tuple[str, str], frozenset[str]] = {
    ("tool_start", "kind"): frozenset({"run", "subgraph", "tool"}),
    ("tool_update", "kind"): frozenset({"custom", "state", "progress"}),
    ("tool_end", "status"): STATUSES,
    ("llm_end", "status"): STATUSES,
    ("llm_token", "channel"): frozenset({"text", "reasoning", "tool_args"}),
}


@dataclass(frozen=True)
class Violation:
    """A broken rule: its number, where (index in the stream), and what is wrong."""

    rule: int
    index: int
    message: str

    def __str__(self) -> str:
        return f"rule {self.rule}, envelope {self.index}: {self.message}"


@dataclass
class _Call:
    parent_id: str | None
    kind: str
    state: str = "open"
    seq: int = 0
    status: str | None = None
    failed: bool = False
    children: set[str] = field(default_factory=set)
    offsets: dict[Any, int] = field(default_factory=dict)


def check(envelopes: Iterable[Envelope], after: Iterable[Envelope] | None = None) -> list[Violation]:
    """The rules that the stream breaks, `after` being the whole stream of the run that it resumes. Empty is sound."""
    checker = _Checker()
    if after is not None:
        for envelope in after:
            checker.read(-1, envelope)
        checker.next_run()
    stream = list(envelopes)
    for index, envelope in enumerate(stream):
        checker.read(index, envelope)
    checker.close(len(stream) - 1)
    return [violation for violation in checker.found if violation.index >= 0]


class _Checker:
    def __init__(self) -> None:
        self.found: list[Violation] = []
        self.calls: dict[str, _Call] = {}
        self.root: str | None = None
        self.trace: str | None = None
        self.resumed = False
        self.first = True
        self.over = False
        self.replay_over = False

    def next_run(self) -> None:
        self.resumed, self.first, self.over, self.replay_over = True, True, False, False

    def broken(self, rule: int, index: int, message: str) -> None:
        self.found.append(Violation(rule, index, message))

    def read(self, index: int, e: Envelope) -> None:
        for rule, message in _shape(e):
            self.broken(rule, index, message)
        if any(v.index == index and v.rule == 10 for v in self.found):
            return
        self._order(index, e)
        self._call(index, e)
        self._identity(index, e)
        if e.origin == "live":
            self.replay_over = True
        elif self.replay_over:
            self.broken(7, index, "what had happened before comes after what is live")

    def _order(self, index: int, e: Envelope) -> None:
        if self.over:
            self.broken(1, index, f"{e.type} follows the end of the run")
        if self.first:
            self.first = False
            wanted = "subgraph_resume" if self.resumed else "tool_start"
            if e.parent_id is not None or e.type != wanted:
                self.broken(1, index, f"the first envelope is {e.type}, not the root's {wanted}")
            self.root = self.root or e.call_id
        if e.call_id == self.root and (e.type == "tool_end" or _suspends(e)):
            self.over = True

    def _call(self, index: int, e: Envelope) -> None:
        call = self.calls.get(e.call_id)
        if e.type in STARTS:
            if call is not None:
                self.broken(2, index, "the call starts a second time")
            call = self._started(index, e)
        elif call is None:
            self.broken(2, index, f"{e.type} of a call that never started")
            call = self._started(index, e)
            call.seq = e.seq - step(e)
        self._open(index, e, call)
        if e.parent_id != call.parent_id:
            self.broken(3, index, "the call changes its parent")
        if e.seq - step(e) != call.seq:
            self.broken(5, index, f"seq {e.seq} does not follow {call.seq} by {step(e)}")
        call.seq = e.seq
        self._token(index, e, call)
        self._moved(index, e, call)

    def _started(self, index: int, e: Envelope) -> _Call:
        kind = "model" if e.type.startswith("llm") else str(e.payload.get("kind") or "tool")
        call = self.calls[e.call_id] = _Call(e.parent_id, kind)
        if e.parent_id is None:
            if e.call_id != self.root:
                self.broken(3, index, "a second call has no parent")
        elif e.parent_id not in self.calls or self.calls[e.parent_id].state != "open":
            self.broken(3, index, "the parent is not open")
        else:
            self.calls[e.parent_id].children.add(e.call_id)
        return call

    def _open(self, index: int, e: Envelope, call: _Call) -> None:
        if call.state == "ended":
            self.broken(2, index, f"{e.type} after the end of its call")
        elif call.state == "suspended" and e.type != "subgraph_resume":
            self.broken(2, index, f"{e.type} of a call that waits, before its resume")
        elif call.state == "suspended" and call.parent_id and self.calls[call.parent_id].state != "open":
            self.broken(3, index, "a call goes on before its parent")

    def _token(self, index: int, e: Envelope, call: _Call) -> None:
        if e.type != "llm_token":
            return
        text, offset = e.payload["text"], e.payload["offset"]
        if not text:
            self.broken(5, index, "an empty token")
        key = (e.payload["channel"], e.payload.get("tool_call_id"))
        # Two tool calls may share an id, or have none: then only the moves of a channel as a whole are known.
        if key[0] != "tool_args" and offset != call.offsets.get(key, 0):
            self.broken(5, index, f"offset {offset} does not follow {call.offsets.get(key, 0)}")
        call.offsets[key] = offset + len(text)

    def _moved(self, index: int, e: Envelope, call: _Call) -> None:
        if e.type == "subgraph_resume":
            # A new attempt of the run takes up what failed in the one before.
            call.state, call.failed = "open", False
        elif e.type == "error":
            call.failed = True
            if call.kind == "model":
                self.broken(4, index, "a model call is never the guilty one")
        elif e.type in ENDS or _suspends(e):
            if working := self._working(call):
                self.broken(3, index, f"{len(working)} calls under it are still open")
            call.state = "ended" if e.type in ENDS else "suspended"
        if e.type in ENDS:
            self._ended(index, e, call)

    def _working(self, call: _Call) -> list[str]:
        return [child for child in call.children if self.calls[child].state == "open"]

    def _ended(self, index: int, e: Envelope, call: _Call) -> None:
        call.status = e.payload["status"]
        if call.failed and call.status != "error":
            self.broken(4, index, f"the call failed and ends {call.status}")
        below = any(self.calls[child].status == "error" for child in call.children)
        if call.kind != "model" and call.status == "error" and not (call.failed or below):
            self.broken(4, index, "the call ends in an error that nobody told")
        waiting = [child for child in call.children if self.calls[child].state == "suspended"]
        if waiting:
            self.broken(2, index, f"{len(waiting)} calls under it still wait")

    def _identity(self, index: int, e: Envelope) -> None:
        if self.trace is None:
            self.trace = e.trace_id
        if e.trace_id != self.trace:
            self.broken(6, index, "the trace changes")
        if e.parent_id is None and e.call_id != root_call(e.trace_id):
            self.broken(6, index, "the root's id is not derived from the trace")

    def close(self, last: int) -> None:
        if not self.over:
            self.broken(1, max(last, 0), "the stream does not end with the root's end or wait")
        for call in self.calls.values():
            if call.state == "open" and self.over:
                self.broken(2, max(last, 0), f"a {call.kind} call neither ends nor waits")


def _suspends(e: Envelope) -> bool:
    return e.type == "subgraph_checkpoint" and e.payload.get("interrupts") is not None


def _shape(e: Envelope) -> Iterator[tuple[int, str]]:
    """What is wrong with one envelope by itself: rules 7 to 10."""
    if e.type not in TYPES:
        yield 10, f"{e.type!r} is none of the ten types"
        return
    if missing := FIELDS[e.type] - e.payload.keys():
        yield 10, f"{e.type} lacks {', '.join(sorted(missing))}"
    if e.type == "tool_start" and not e.payload.keys() & {"args", "input"}:
        yield 10, "tool_start has neither args nor input"
    if e.type == "llm_token" and e.payload.get("channel") == "tool_args" and "tool_call_id" not in e.payload:
        yield 10, "tool arguments without their tool_call_id"
    for (type_, name), choices in CHOICES.items():
        if e.type == type_ and name in e.payload and e.payload[name] not in choices:
            yield 10, f"{name} is {e.payload[name]!r}"
    if e.origin not in ("live", "replay"):
        yield 7, f"origin is {e.origin!r}"
    if e.type == "warning" and not (isinstance(e.payload.get("code"), str) and e.payload["code"]):
        yield 8, "a warning without a code"
    try:
        orjson.dumps(e.payload)
    except TypeError as error:
        yield 9, f"the payload is no JSON: {error}"
        return
    yield from ((9, f"{name} is in the payload") for name in _secrets(e.payload))


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if is_secret(name) and inner != MARK:
                yield name
            yield from _secrets(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _secrets(inner)
