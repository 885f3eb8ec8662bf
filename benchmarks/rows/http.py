"""What a run costs its reader over HTTP: CPU per event flat out and paced, and the time from send to yield."""

import statistics
import time
from collections.abc import Callable
from functools import partial

from benchmarks.loopback import STAMP, running
from benchmarks.readers import READERS
from benchmarks.row import Effort, Row, listing
from benchmarks.timing import Side, Timed, interleaved, micros

GOAL = 0.9
FLAT, PACED, STAMPED = 6_000, 1_500, 1_000
SERVER = (
    "A server in a process of its own sends a run's frames over loopback, each as one HTTP chunk, as a real server "
    "does. Every side makes its client, streams the run to its end and looks at the text of each token. runwire's "
    "figure holds all that the others leave out: envelopes and their view, the run's true end asked for (two requests "
    "more). Profile `debug`, so that no token waits for another. CPU time of the reading process, least of the rounds."
)


def measure_flat(effort: Effort) -> Row:
    return _cpu(effort, "flat", FLAT, "client CPU per event over HTTP, flat out", "The stream is written in 64 kB.")


def measure_paced(effort: Effort) -> Row:
    method = "One frame a millisecond: each is a packet and a wake-up of its own."
    return _cpu(effort, "paced", PACED, "client CPU per event over HTTP, one packet each", method)


def _cpu(effort: Effort, kind: str, full: int, name: str, method: str) -> Row:
    count = effort.size(full)
    with running() as url:
        rounds = effort.few(2 if kind == "flat" else 3)
        found = interleaved({one: _side(one, url, f"{kind}.{count}") for one in READERS}, rounds)
    ratios = [_ratio(found, "runwire", "langgraph-sdk"), _ratio(found, "runwire, sync", "langgraph-sdk, sync")]
    spent = [f"{one}: {micros(timed.seconds, count):.1f}" for one, timed in found.items()]
    return Row(
        name,
        f"{ratios[0]:.2f} × langgraph-sdk; sync {ratios[1]:.2f} ×",
        f"≤ {GOAL:g} ×",
        max(ratios) <= GOAL,
        listing(f"µs per event, {count:,} tokens", spent),
        f"{SERVER} {method}",
    )


def _ratio(found: dict[str, Timed], ours: str, theirs: str) -> float:
    return found[ours].seconds / found[theirs].seconds


def _side(reader: str, url: str, thread: str) -> Side:
    def prepare() -> Callable[[], int]:
        return partial(READERS[reader], url, thread, len)

    return prepare


def measure_latency(effort: Effort) -> Row:
    count, rounds = effort.size(STAMPED), effort.few(5)
    seen: dict[str, list[float]] = {name: [] for name in READERS}
    with running() as url:
        for _ in range(rounds):
            for name, read in READERS.items():
                read(url, f"stamped.{count}", partial(_note, seen[name]))
    middle = {name: statistics.median(times) for name, times in seen.items()}
    late = {name: statistics.quantiles(times, n=100)[98] for name, times in seen.items()}
    return Row(
        "send to yield over HTTP",
        f"{middle['runwire'] / middle['langgraph-sdk']:.2f} × langgraph-sdk; "
        f"sync {middle['runwire, sync'] / middle['langgraph-sdk, sync']:.2f} ×",
        "for information",
        None,
        listing("µs, median / 99th percentile", [f"{n}: {middle[n]:.0f} / {late[n]:.0f}" for n in READERS]),
        f"The server writes the time into each token, one a millisecond, {count:,} tokens in each of {rounds} rounds; "
        "the reader looks at its clock when it has the token. Profile `debug`.",
    )


def _note(times: list[float], text: str) -> None:
    if text.startswith(STAMP):
        times.append((time.monotonic_ns() - int(text[1:])) / 1000)
