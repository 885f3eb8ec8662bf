"""`RunView`: the pure fold of envelopes into the tree of calls that they tell of."""

from collections.abc import Iterable, Iterator
from typing import Any, Self

import orjson

from runwire_normalizers._call_view import CallStatus
from runwire_normalizers._call_view import CallView as CallView
from runwire_normalizers._messages import add_usage
from runwire_normalizers._rendering import rendered
from runwire_normalizers.envelope import Envelope


class RunView:
    """A run as far as its envelopes have told it: live, cut and rejoined, or replayed.

    `fold` each envelope as it comes. One that was folded before changes nothing, merged envelopes and single ones
    give the same view, and a replay folded onto a live beginning completes it.
    """

    def __init__(self) -> None:
        self.trace_id: str | None = None
        self.run_ids: list[str] = []
        self.root: CallView | None = None
        self._calls: dict[str, CallView] = {}
        # Calls whose parent never came, as in a stream that was joined in its middle.
        self._strays: list[CallView] = []

    @classmethod
    def of(cls, envelopes: Iterable[Envelope]) -> Self:
        """The view of a whole stream, or of several runs of one trace after each other."""
        view = cls()
        for envelope in envelopes:
            view.fold(envelope)
        return view

    def fold(self, envelope: Envelope) -> None:
        """One more envelope."""
        call = self._calls.get(envelope.call_id)
        if call is None:
            call = self._met(envelope)
        elif envelope.origin == "replay" and envelope.type in ("tool_start", "llm_start"):
            self._met_again(call)
        if envelope.run_id and envelope.run_id not in self.run_ids[-1:]:
            self._learn_run(envelope.run_id)
        call.fold(envelope)
        if envelope.type == "tool_end":
            _close(call)

    def _met(self, envelope: Envelope) -> CallView:
        call = CallView(envelope.call_id, envelope.parent_id, "model" if envelope.type[:3] == "llm" else "tool")
        self.trace_id = self.trace_id or envelope.trace_id
        self._place(call, envelope.origin == "replay")
        return call

    def _met_again(self, call: CallView) -> None:
        """A replay tells calls in their order: those that the view lacks stand after the last that it told."""
        parent = self._calls.get(call.parent_id) if call.parent_id else None
        if parent:
            parent.place = parent.calls.index(call) + 1
        call.place = 0

    def _place(self, call: CallView, replayed: bool = False) -> None:
        self._calls[call.call_id] = call
        parent = self._calls.get(call.parent_id) if call.parent_id else None
        if parent:
            parent.place = parent.place if replayed else len(parent.calls)
            parent.calls.insert(parent.place, call)
            parent.place += 1
        elif call.parent_id is None and self.root is None:
            self.root = call
        else:
            self._strays.append(call)
        if self._strays:
            self._adopt(call)

    def _adopt(self, parent: CallView) -> None:
        """The calls that were heard of before their parent."""
        inner = [call for call in self._strays if call.parent_id == parent.call_id and call is not parent]
        parent.calls[:0] = inner
        self._strays = [call for call in self._strays if call not in inner]

    def _learn_run(self, run_id: str) -> None:
        if run_id not in self.run_ids:
            self.run_ids.append(run_id)

    def call(self, call_id: str) -> CallView | None:
        """The call of this id."""
        return self._calls.get(call_id)

    def calls(self) -> Iterator[CallView]:
        """Every call, parents before their children, in the order in which they were first heard of."""
        yield from self._calls.values()

    @property
    def status(self) -> CallStatus:
        """How the run stands: `open` until its end, or its wait for a person, was told."""
        return self.root.status if self.root else "open"

    @property
    def result(self) -> Any:
        """The normalised output, once the run has ended."""
        return self.root.result if self.root else None

    @property
    def interrupts(self) -> list[Any]:
        """What the run waits for, each with its owner: the innermost call that asked, its name and its agent."""
        waiting = (self.root.interrupts or ()) if self.root else ()
        return [{**one, "owner": self._owner(one.get("id"))} if isinstance(one, dict) else one for one in waiting]

    def _owner(self, id: Any) -> dict[str, Any] | None:
        """Parents come before their children, so the last that waits for it is the innermost."""
        asking = [call for call in self.calls() if any(_has_id(one, id) for one in call.interrupts or ())]
        return {name: getattr(asking[-1], name) for name in ("call_id", "name", "agent")} if asking else None

    @property
    def usage(self) -> dict[str, Any]:
        """The sum over all model calls."""
        total: dict[str, Any] = {}
        for call in self._calls.values():
            total = add_usage(total, call.usage)
        return total

    @property
    def text(self) -> str:
        """The answer alone: what the run's own model said last, not what subagents or tools' models said."""
        own = [call for call in self._speakers(self.root) if call.text] if self.root else []
        return own[-1].text if own else ""

    def _speakers(self, call: CallView) -> Iterator[CallView]:
        for inner in call.calls:
            if inner.kind == "model":
                yield inner
            elif inner.kind == "subgraph":
                yield from self._speakers(inner)

    @property
    def plan(self) -> Any:
        """The plan of the run, or null."""
        return self.root.plan if self.root else None

    @property
    def todos(self) -> Any:
        """The todos of the run, or null."""
        return self.root.todos if self.root else None

    @property
    def files(self) -> dict[str, Any]:
        """The files of the run by name."""
        return self.root.files if self.root else {}

    def to_dict(self) -> dict[str, Any]:
        """The whole view as JSON-safe data: the tree of calls under `root`."""
        strays = [call.to_dict() for call in self._strays]
        root = self.root.to_dict() if self.root else None
        return {"trace_id": self.trace_id, "run_ids": list(self.run_ids), "root": root, "strays": strays}

    def to_json(self) -> bytes:
        """The JSON form."""
        return orjson.dumps(self.to_dict())

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """The view of its JSON form; more envelopes may be folded onto it."""
        view = cls()
        view.trace_id, view.run_ids = fields["trace_id"], list(fields["run_ids"])
        for facts in [fields["root"], *fields["strays"]]:
            if facts is not None:
                view._restore(CallView.from_dict(facts))
        return view

    @classmethod
    def from_json(cls, text: bytes | str) -> Self:
        return cls.from_dict(orjson.loads(text))

    def _restore(self, call: CallView) -> None:
        inner, call.calls = call.calls, []
        self._place(call)
        for one in inner:
            self._restore(one)

    def __eq__(self, other: object) -> bool:
        """Whether both tell the same; a replay that is being folded counts for what has been taken over of it."""
        return _told(self.to_dict()) == _told(other.to_dict()) if isinstance(other, RunView) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<RunView {self.trace_id}: {self.status}, {len(self._calls)} calls>"

    def __str__(self) -> str:
        return self.render()

    def render(self, width: int = 100) -> str:
        """The tree for a terminal, a line a call, no line longer than `width`."""
        return rendered(self.root, self._strays, width)


def _close(call: CallView) -> None:
    """Nothing goes on under a call that has ended: what a replay does not tell the end of was stopped with it."""
    if call.status in ("open", "waiting"):
        return
    for inner in call.calls:
        if inner.status in ("open", "waiting"):
            inner.status, inner.interrupts = "cancelled", None
            _close(inner)


def _told(facts: Any) -> Any:
    """A view's JSON without what only its folding needs."""
    if isinstance(facts, dict) and "call_id" in facts and "calls" in facts:
        kept = {name: fact for name, fact in facts.items() if name not in ("again", "begun", "calls")}
        return {**kept, "calls": [_told(call) for call in facts["calls"]]}
    if isinstance(facts, dict):
        return {**facts, "root": _told(facts["root"]), "strays": [_told(call) for call in facts["strays"]]}
    return facts


def _has_id(interrupt: Any, id: Any) -> bool:
    return isinstance(interrupt, dict) and interrupt.get("id") == id
