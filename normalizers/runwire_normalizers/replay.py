"""Replay: the history and state JSON of a thread to the envelopes of its runs, with the ids that they had live."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runwire_normalizers._history import Chain, Graph, Snapshot, graphs, inner_namespaces
from runwire_normalizers._retelling import Retelling
from runwire_normalizers.adapter import StreamAdapter
from runwire_normalizers.continuation import Continuation
from runwire_normalizers.envelope import Envelope
from runwire_normalizers.outcome import Outcome
from runwire_normalizers.parts import StreamPart

__all__ = ["ReplayedRun", "inner_namespaces", "replay", "retell"]

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
    outcomes: Mapping[str, Outcome | None] | None = None,
    trace_id: str | None = None,
    label: str | Mapping[str, str] | None = None,
) -> list[ReplayedRun]:
    """The runs of a thread, oldest first, from the history of every namespace (`""` is the thread's own graph).

    `state` is the thread's state, with its subgraphs' states where it waits. `outcomes` tell by run id how runs ended,
    which history shows only in part; a run whose outcome is None is still going, and its calls stay open. `trace_id` is
    for a history that begins in a resumed run; without it, such a run's own id is the trace. `label` is the name of the
    roots, or their names by run id.
    """
    told, known = graphs(histories, state), outcomes or {}
    found: list[ReplayedRun] = []
    before: dict[str | None, Continuation] = {}
    for span in _spans(told[()]) if () in told else ():
        outcome = _outcome(span, known[span.run_id]) if span.run_id in known else _outcome(span, _shown(span))
        earlier = before.get(span.begins.run_id) if span.begins and span.resumes else None
        resumed = earlier if earlier and not earlier.over else None
        trace = None if resumed else (trace_id if span.gap and not found else None) or span.run_id
        name = label.get(span.run_id) if isinstance(label, Mapping) else label
        adapter = StreamAdapter(trace_id=trace, run_id=span.run_id, label=name, input=span.input, resumed_from=resumed)
        adapter.origin = "replay"
        asked = _asked(known.get(span.run_id)) if span.run_id in known else None
        envelopes = tuple(_envelopes(adapter, Retelling(told, span.run_id, asked), span, outcome))
        before[span.run_id] = adapter.continuation()
        found.append(ReplayedRun(before[span.run_id].trace_id, span.run_id, resumed is not None, envelopes))
    return found


def retell(histories: Mapping[str, Sequence[Any]], state: Any, run_id: str) -> list[tuple[StreamPart, float | None]]:
    """What history keeps of one run, as parts with their times, for an adapter that has seen only some of it."""
    told = graphs(histories, state)
    known = () in told and run_id in told[()].runs()
    return list(Retelling(told, run_id).graph(())) if known else []


@dataclass(frozen=True)
class _Span:
    """What the thread's own graph keeps of one run."""

    run_id: Any
    resumes: bool
    gap: bool
    input: Any
    snapshots: Chain
    # The snapshot that a resumed run took up, and the one with which another run took up this one's last.
    begins: Snapshot | None
    goes_on: Snapshot | None


def _spans(graph: Graph) -> Iterator[_Span]:
    for run_id in graph.runs():
        way = graph.way(run_id)
        own = tuple(one for one in way if one.run_id == run_id and one.source != "update")
        first = own[0]
        begins = graph.by_id.get(first.parent or "") if first.source not in ("input", "fork") else None
        yield _Span(
            run_id,
            begins is not None and _waits(graph, begins),
            begins is None and first.parent is not None and first.source not in ("input", "fork"),
            first.metadata["input"] if first.source == "input" else None,
            own,
            begins,
            graph.taken_up(own[-1]) if own[-1].next else None,
        )


def _waits(graph: Graph, snapshot: Snapshot) -> bool:
    """Whether a run stopped here to be resumed: the last that it made, with tasks to do, and no failure."""
    last = graph.way(snapshot.run_id)[-1:]
    return last == (snapshot,) and bool(snapshot.next) and not snapshot.failed


def _asked(outcome: Outcome | None) -> frozenset[str] | None:
    """The ids of what the run asked, where the caller knows them: history keeps only what was asked last."""
    if outcome is None or outcome.status != "interrupted" or not outcome.interrupts:
        return None
    return frozenset(one["id"] for one in outcome.safe_interrupts() if isinstance(one, dict) and "id" in one)


def _outcome(span: _Span, outcome: Outcome | None) -> Outcome | None:
    """What is known of the end, completed by what the last snapshot keeps."""
    if outcome is None:
        return None
    last = span.snapshots[-1]
    if outcome.status == "interrupted" and not outcome.interrupts:
        outcome = replace(outcome, interrupts=tuple(last.interrupts))
    return outcome if outcome.values is not None else replace(outcome, values=last.values)


def _shown(span: _Span) -> Outcome:
    """How the run ended, as its last snapshot shows; one with nothing left to do reads as a success."""
    last = span.snapshots[-1]
    if last.interrupts:
        return Outcome("interrupted")
    ended = [task for task in last.tasks if task.error and (span.goes_on or task.result is None)]
    errors = [task.error for task in ended if not task.cancelled]
    if errors:
        return Outcome("error", errors[0])
    if ended:
        return Outcome("cancelled")
    return Outcome("interrupted") if last.next else Outcome("success")


def _envelopes(adapter: StreamAdapter, told: Retelling, span: _Span, outcome: Outcome | None) -> Iterator[Envelope]:
    first = span.snapshots[0]
    ts = span.begins.ts if span.begins and span.resumes else first.ts
    yield from adapter.feed(StreamPart("metadata", (), {**first.metadata, "run_id": span.run_id}), ts)
    if span.gap:
        yield from adapter.warn("gap", GAP, {"checkpoint_id": first.id}, ts)
    for part, at in told.graph(()):
        yield from adapter.feed(part, at)
    if outcome is not None:
        yield from adapter.finish(outcome, span.snapshots[-1].ts)
