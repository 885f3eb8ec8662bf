"""Replay: the history and state JSON of a thread to the envelopes of its runs, with the ids that they had live."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runwire_normalizers._history import Chain, Snapshot, chains, inner_namespaces
from runwire_normalizers._identity import Namespace
from runwire_normalizers._retelling import Retelling
from runwire_normalizers.adapter import StreamAdapter
from runwire_normalizers.continuation import Continuation
from runwire_normalizers.envelope import Envelope
from runwire_normalizers.outcome import Outcome
from runwire_normalizers.parts import StreamPart

__all__ = ["ReplayedRun", "inner_namespaces", "replay"]

GAP = "the history begins in the middle of the run: what came before it is lost"


@dataclass(frozen=True)
class ReplayedRun:
    """One run of a thread. One that `resumes` goes on with the trace of the run before it."""

    trace_id: str
    run_id: str | None
    resumes: bool
    envelopes: tuple[Envelope, ...]


def replay(
    histories: Mapping[str, Sequence[Any]],
    state: Any = None,
    *,
    outcomes: Mapping[str, Outcome] | None = None,
    trace_id: str | None = None,
    label: str | None = None,
) -> list[ReplayedRun]:
    """The runs of a thread, oldest first, from the history of every namespace (`""` is the thread's own graph).

    `state` is the thread's state, with its subgraphs' states where it waits. `outcomes` tell by run id how runs ended:
    history itself does not tell a run that was cancelled from one that stopped at a breakpoint. `trace_id` is for a
    history that begins in a resumed run; without it, such a run's own id is the trace.
    """
    told = chains(histories, state)
    found: list[ReplayedRun] = []
    before: Continuation | None = None
    for span in _spans(told.get((), ())):
        outcome = _outcome(span, (outcomes or {}).get(span.run_id or ""))
        resumed = before if span.resumes and before and not before.over else None
        trace = None if resumed else (trace_id if span.gap and not found else None) or span.run_id
        adapter = StreamAdapter(trace_id=trace, run_id=span.run_id, label=label, input=span.input, resumed_from=resumed)
        adapter.origin = "replay"
        envelopes = tuple(_envelopes(adapter, told, span, outcome))
        before = adapter.continuation()
        found.append(ReplayedRun(before.trace_id, span.run_id, resumed is not None, envelopes))
    return found


@dataclass(frozen=True)
class _Span:
    """What the thread's own graph keeps of one run."""

    run_id: str | None
    resumes: bool
    gap: bool
    input: Any
    snapshots: Chain
    # The snapshot from which a resumed run goes on, and the one with which another run goes on from here.
    begins: Snapshot | None
    goes_on: Snapshot | None


def _spans(chain: Chain) -> Iterator[_Span]:
    own = [place for place, snapshot in enumerate(chain) if snapshot.source != "update"]
    starts = [n for n, place in enumerate(own) if n == 0 or _begins(chain[own[n - 1]], chain[place])]
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(own)
        places = own[start:end]
        first = chain[places[0]]
        begins = chain[places[0] - 1] if places[0] and first.source != "input" else None
        after = chain[own[end]] if end < len(own) else None
        yield _Span(
            first.run_id,
            begins is not None and bool(begins.next),
            begins is None and first.parent is not None and first.source != "input",
            first.metadata["input"] if first.source == "input" else None,
            tuple(chain[place] for place in places),
            begins,
            after if after and after.source != "input" and chain[places[-1]].next else None,
        )


def _begins(before: Snapshot, snapshot: Snapshot) -> bool:
    return snapshot.source == "input" or snapshot.run_id != before.run_id


def _outcome(span: _Span, known: Outcome | None) -> Outcome:
    """How the run ended: as the caller knows, else as its last snapshot shows."""
    last = span.snapshots[-1]
    outcome = known or _shown(span, last)
    if outcome.status == "interrupted" and not outcome.interrupts:
        outcome = replace(outcome, interrupts=tuple(last.interrupts))
    return outcome if outcome.values is not None else replace(outcome, values=last.values)


def _shown(span: _Span, last: Snapshot) -> Outcome:
    if span.goes_on or last.interrupts:
        return Outcome("interrupted")
    unanswered = [task for task in last.tasks if task.result is None]
    errors = [task.error for task in unanswered if task.error and not task.cancelled]
    if errors:
        return Outcome("error", errors[0])
    if any(task.cancelled for task in unanswered):
        return Outcome("cancelled")
    return Outcome("interrupted") if last.next else Outcome("success")


def _envelopes(
    adapter: StreamAdapter, told: Mapping[Namespace, Chain], span: _Span, outcome: Outcome
) -> Iterator[Envelope]:
    first = span.snapshots[0]
    ts = span.begins.ts if span.begins and span.resumes else first.ts
    yield from adapter.feed(StreamPart("metadata", (), {**first.metadata, "run_id": span.run_id}), ts)
    if span.gap:
        yield from adapter.warn("gap", GAP, {"checkpoint_id": first.id}, ts)
    for part, at in Retelling(told, span.run_id).graph(()):
        yield from adapter.feed(part, at)
    yield from adapter.finish(outcome, span.snapshots[-1].ts)
