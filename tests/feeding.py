"""Recordings as frames and envelopes: which there are, what each resumes, how its run really ended."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from runwire_normalizers import Continuation, Envelope, Outcome, ServerSentEvent, SSEDecoder, StreamAdapter
from runwire_normalizers.outcome import OutcomeStatus
from tests.rooms import ROOT

FOLDER = ROOT / "tests" / "recordings"
GOLDENS = ROOT / "tests" / "goldens"
NAMES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.sse"))
# A second turn with an input of its own is a run of its own.
NEW_TURNS = frozenset({"turns", "exit_turns"})


def earlier(name: str) -> str | None:
    """The recording of the run that this one resumes."""
    if name.split("/")[0] not in NEW_TURNS and name.endswith(".2.sse"):
        return name.removesuffix(".2.sse") + ".sse"
    return name.replace("__resume", "") if "__resume" in name and "shared/" in name else None


RESUMED = frozenset(filter(None, map(earlier, NAMES)))


@cache
def frames(name: str) -> tuple[ServerSentEvent, ...]:
    return tuple(SSEDecoder().feed((FOLDER / name).read_bytes()))


def envelopes(
    items: Iterable[Any], resumed_from: Continuation | None = None, outcome: Outcome | None = None
) -> list[Envelope]:
    adapter = StreamAdapter(resumed_from=resumed_from)
    found = [envelope for item in items for envelope in adapter.feed(item)]
    return found + adapter.finish(outcome)


@cache
def told(name: str) -> tuple[Envelope, ...]:
    """The envelopes of a recording; its own frames say how it ended, but one that is resumed had been waiting."""
    return tuple(envelopes(frames(name), prior(name), Outcome("interrupted") if name in RESUMED else None))


def prior(name: str) -> Continuation | None:
    before = earlier(name)
    return Continuation.from_envelopes(told(before)) if before else None


def outcome_of(name: str) -> Outcome:
    """How the run of an `every` recording ended, by what the server said afterwards."""
    after = json.loads((FOLDER / name).with_suffix(".after.json").read_text("utf-8"))
    if after["run"]["status"] == "error":
        return Outcome("error")
    state = after["state"]
    if after["run"]["status"] == "interrupted":
        return Outcome("cancelled", values=state["values"])
    interrupts = tuple(state.get("interrupts") or ())
    status: OutcomeStatus = "interrupted" if state["next"] else "success"
    return Outcome(status, interrupts=interrupts, values=state["values"])


def golden_path(name: str) -> Path:
    return (GOLDENS / name).with_suffix(".jsonl")


def lines(found: Iterable[Envelope]) -> bytes:
    return b"".join(envelope.to_json() + b"\n" for envelope in found)
