"""One call as its envelopes tell it, folded one after the other; how calls hang together is the view's business."""

from collections import deque
from typing import Any, Literal

from runwire_normalizers.envelope import Envelope, step

CallKind = Literal["run", "subgraph", "tool", "model"]
CallStatus = Literal["open", "waiting", "ok", "error", "cancelled"]

# Custom data that a call keeps; the sampler keeps as many of the last ones, so that merging changes no view.
RECENT = 32
LOST = "\ufffd"
STATE = ("plan", "todos", "files", "output")
FACTS = (
    *("call_id", "parent_id", "kind", "name", "node", "agent", "tool_call_id", "status", "args", "params"),
    *("message_id", "result", "error", "interrupts", "usage", "finish_reason", "plan", "todos", "files", "output"),
    *("progress", "updated", "warnings", "checkpoint_id", "started", "ended", "resumes", "seq"),
)


class Text:
    """Text that grows at its end: in UTF-8, because pieces of text cost more than what they hold."""

    __slots__ = ("_bytes", "holed", "size")

    def __init__(self, text: str = "") -> None:
        self._bytes = bytearray(text.encode(errors="replace"))
        self.size = len(text)
        self.holed = LOST in text

    def add(self, offset: int, text: str) -> None:
        """The piece at its place: what is there already is passed over, what is missing before it is marked."""
        if offset > self.size:
            text, offset = LOST * (offset - self.size) + text, self.size
            self.holed = True
        fresh = text[self.size - offset :] if offset < self.size else text
        self._bytes += fresh.encode(errors="replace")
        self.size += len(fresh)

    def __str__(self) -> str:
        return self._bytes.decode()


class CallView:
    """A run, a subgraph, a tool call or a model call: who, what was asked, what was said, how it stands."""

    def __init__(self, call_id: str, parent_id: str | None = None, kind: CallKind = "run") -> None:
        self.call_id = call_id
        self.parent_id = parent_id
        self.kind: CallKind = kind
        self.name: str | None = None
        self.node: str | None = None
        self.agent: str | None = None
        self.tool_call_id: str | None = None
        self.status: CallStatus = "open"
        self.args: Any = None
        self.params: dict[str, Any] | None = None
        self.message_id: str | None = None
        self.result: Any = None
        self.error: dict[str, Any] | None = None
        self.interrupts: list[Any] | None = None
        self.usage: dict[str, Any] | None = None
        self.finish_reason: str | None = None
        self.plan: Any = None
        self.todos: Any = None
        self.files: dict[str, Any] = {}
        self.output: dict[str, Any] = {}
        self.progress: Any = None
        self.updated = 0
        self.recent: deque[Any] = deque(maxlen=RECENT)
        self.warnings: list[dict[str, Any]] = []
        self.checkpoint_id: str | None = None
        self.started: float | None = None
        self.ended: float | None = None
        self.resumes = 0
        self.seq = 0
        self.calls: list[CallView] = []
        self._said: dict[str, Text] = {}
        self._asked: list[tuple[str | None, str | None, Text]] = []
        # What a replay tells of the call again, until it has told all.
        self._again: CallView | None = None
        self._begun = False
        # Where the next call that a replay tells stands among the calls under this one.
        self.place = 0

    @property
    def text(self) -> str:
        """What the model said."""
        return str(self._said.get("text", ""))

    @property
    def reasoning(self) -> str:
        """What the model thought aloud."""
        return str(self._said.get("reasoning", ""))

    @property
    def arguments(self) -> list[dict[str, Any]]:
        """The tool arguments that the model wrote, as far as they have come: text, not parsed."""
        return [{"tool_call_id": id, "tool_name": name, "text": str(text)} for id, name, text in self._asked]

    def fold(self, envelope: Envelope) -> None:
        """One more envelope of this call; one that was folded before changes nothing.

        A replay tells a call from its start again, at positions of its own where history does not keep everything. It
        is folded aside, and taken over once it tells how the call went on.
        """
        if envelope.origin == "replay" and self.seq and envelope.type in ("tool_start", "llm_start"):
            self._again = CallView(self.call_id, self.parent_id)
            if not self._begun:
                _APPLY[envelope.type](self, envelope)
        if self._again is not None and envelope.origin == "replay":
            self._fold_again(self._again, envelope)
        elif envelope.seq > self.seq:
            self.apply(envelope)

    def _fold_again(self, again: "CallView", envelope: Envelope) -> None:
        if envelope.seq <= again.seq:
            return
        again.apply(envelope)
        if again._stands_beyond(self):
            self._take_over(again)
        if again.status not in ("open", "waiting"):
            self._mend(again)
            self._again = None

    def apply(self, envelope: Envelope) -> None:
        _APPLY[envelope.type](self, envelope)
        self.agent = envelope.agent or self.agent
        self.seq = envelope.seq

    def _stands_beyond(self, other: "CallView") -> bool:
        """An end is the furthest; of two that did not end, the one that was resumed more often."""
        if self.status not in ("open", "waiting") or other.status not in ("open", "waiting"):
            return other.status in ("open", "waiting")
        return (self.resumes, self.status == "waiting") > (other.resumes, other.status == "waiting")

    def _take_over(self, other: "CallView") -> None:
        """What is told of the call now; text and facts that only the stream had stay."""
        for name in ("status", "result", "error", "interrupts", "resumes", *STATE):
            setattr(self, name, getattr(other, name))
        for name in ("name", "usage", "finish_reason", "ended", "message_id", "checkpoint_id"):
            setattr(self, name, getattr(other, name) if getattr(self, name) is None else getattr(self, name))
        self.agent = other.agent or self.agent
        for channel, text in other._said.items():
            self._said.setdefault(channel, Text()).add(0, str(text))

    def _mend(self, other: "CallView") -> None:
        """Text that this one lacks in its middle, from one that has all of it."""
        for channel, text in other._said.items():
            mine = self._said.get(channel)
            if mine is None or (mine.holed and text.size >= mine.size):
                self._said[channel] = text

    # One function for each type of envelope.

    def _started(self, envelope: Envelope) -> None:
        payload = envelope.payload
        self.kind = payload["kind"]
        self.name, self.node, self.tool_call_id = payload["tool_name"], payload["node"], payload["tool_call_id"]
        self.args = payload.get("args", payload.get("input"))
        self.started, self._begun = envelope.ts, True

    def _model_started(self, envelope: Envelope) -> None:
        payload = envelope.payload
        self.kind, self.name, self.node = "model", payload["model"], payload["node"]
        self.params, self.message_id = payload["params"], payload["message_id"]
        self.started, self._begun = envelope.ts, True

    def _token(self, envelope: Envelope) -> None:
        payload = envelope.payload
        channel, offset, text = payload["channel"], payload["offset"], payload["text"]
        if channel != "tool_args":
            said = self._said.get(channel)
            if said is None:
                said = self._said[channel] = Text()
            said.add(offset, text)
            return
        id = payload["tool_call_id"]
        asked = next((t for known, _, t in reversed(self._asked) if known == id), None)
        # Two calls may share an id, or have none: arguments that begin anew are those of the next one.
        if asked is None or (offset == 0 and asked.size and envelope.seq - len(text) >= self.seq):
            asked = Text()
            self._asked.append((id, payload["tool_name"], asked))
        asked.add(offset, text)

    def _update(self, envelope: Envelope) -> None:
        data, kind = envelope.payload["data"], envelope.payload["kind"]
        fresh = min(step(envelope), envelope.seq - self.seq)
        self.updated += fresh
        if kind == "state":
            self._change(data)
        elif kind == "progress":
            self.progress = data
        else:
            entries = data if "merged" in envelope.payload else [data]
            self.recent.extend(entries[-fresh:])

    def _change(self, data: dict[str, Any]) -> None:
        if "plan" in data:
            self.plan = data["plan"]
        if "todos" in data:
            self.todos = data["todos"]
        if changed := data.get("files"):
            kept = {name: file for name, file in self.files.items() if name not in changed["removed"]}
            self.files = {**kept, **changed["added"], **changed["changed"]}
        self.output = {**self.output, **data.get("output", {})}

    def _ended(self, envelope: Envelope) -> None:
        payload = envelope.payload
        self.status, self.result, self.ended = payload["status"], payload["result"], envelope.ts
        self.name = self.name or payload["tool_name"]
        self.interrupts = None
        if self.kind in ("run", "subgraph") and isinstance(self.result, dict):
            self._settle(self.result)

    def _settle(self, result: dict[str, Any]) -> None:
        """The normalised output is the whole state: what no delta told is in it."""
        self.files = result.get("files", self.files)
        self.todos = result.get("todos", self.todos)
        planned = result.get("plannerResult")
        if isinstance(planned, dict) and self.plan is None:
            self.plan = planned.get("plan")

    def _model_ended(self, envelope: Envelope) -> None:
        payload = envelope.payload
        self.status, self.usage, self.finish_reason = payload["status"], payload["usage"], payload["finish_reason"]
        self.message_id, self.ended = payload["message_id"], envelope.ts

    def _checkpoint(self, envelope: Envelope) -> None:
        self.checkpoint_id = envelope.payload["checkpoint_id"] or self.checkpoint_id
        if envelope.payload["interrupts"] is not None:
            self.status, self.interrupts = "waiting", envelope.payload["interrupts"]

    def _resume(self, envelope: Envelope) -> None:
        payload = envelope.payload
        self.kind, self.name, self.node = payload["kind"], payload["tool_name"] or self.name, payload["node"]
        self.tool_call_id = payload["tool_call_id"]
        self.status, self.interrupts, self.error = "open", None, None
        self.resumes += 1

    def _warn(self, envelope: Envelope) -> None:
        self.warnings.append({"code": envelope.payload["code"], "message": envelope.payload["message"]})

    def _fail(self, envelope: Envelope) -> None:
        self.error = self.error or envelope.payload

    # The JSON form.

    def to_dict(self) -> dict[str, Any]:
        """All facts by name, with the calls under this one. What payloads held is shared with them, not copied."""
        facts = {name: getattr(self, name) for name in FACTS} | {"warnings": list(self.warnings)}
        said = {"text": self.text, "reasoning": self.reasoning, "arguments": self.arguments}
        more = {"recent": list(self.recent), "calls": [call.to_dict() for call in self.calls]}
        # Only while a replay is being folded: what it has told so far.
        again = {"again": self._again.to_dict()} if self._again else {}
        return {**facts, **said, **more, **again, "begun": self._begun}

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> "CallView":
        """The call of its JSON form; more envelopes may be folded onto it."""
        call = cls(facts["call_id"], facts["parent_id"], facts["kind"])
        for name in FACTS:
            setattr(call, name, facts[name])
        call.warnings = list(facts["warnings"])
        call.recent.extend(facts["recent"])
        call._begun = facts["begun"]
        call._again = cls.from_dict(facts["again"]) if "again" in facts else None
        call._said = {channel: Text(facts[channel]) for channel in ("text", "reasoning") if facts[channel]}
        call._asked = [(one["tool_call_id"], one["tool_name"], Text(one["text"])) for one in facts["arguments"]]
        call.calls = [cls.from_dict(inner) for inner in facts["calls"]]
        return call


_APPLY = {
    "tool_start": CallView._started,
    "llm_start": CallView._model_started,
    "llm_token": CallView._token,
    "tool_update": CallView._update,
    "tool_end": CallView._ended,
    "llm_end": CallView._model_ended,
    "subgraph_checkpoint": CallView._checkpoint,
    "subgraph_resume": CallView._resume,
    "warning": CallView._warn,
    "error": CallView._fail,
}
