"""Peak memory of a reader over HTTP: a long run of tokens, and one frame that is large."""

import subprocess
import sys

from benchmarks.loopback import ROOT, running
from benchmarks.readers import READERS
from benchmarks.row import Effort, Row, listing

TOKENS, LARGE = 50_000, 50_000_000
MB = 1_000_000
METHOD = (
    "A new process for every reader, tracemalloc's peak over a whole run, after a short one. runwire holds the view of "
    "the run, its text included; the others keep nothing. The large frame is one `custom` event on one line."
)


def measure(effort: Effort) -> Row:
    tokens, large = effort.size(TOKENS), effort.size(LARGE)
    with running() as url:
        long = {name: peak(name, url, f"flat.{tokens}") for name in READERS}
        whole = {name: peak(name, url, f"large.{large}") for name in READERS}
    ratios = [whole["runwire"] / whole["langgraph-sdk"], long["runwire"] / long["langgraph-sdk"]]
    return Row(
        f"memory over HTTP, {tokens:,} tokens; a frame of {large / MB:g} MB",
        f"{long['runwire']:.1f} MB ({ratios[1]:.2f} × langgraph-sdk); {whole['runwire']:.0f} MB ({ratios[0]:.2f} ×)",
        "for information",
        None,
        listing("peak MB, tokens / large frame", [f"{n}: {long[n]:.1f} / {whole[n]:.0f}" for n in READERS]),
        METHOD,
    )


def peak(reader: str, url: str, thread: str) -> float:
    command = [sys.executable, "-m", "benchmarks.http_probe", reader, url, thread]
    return int(subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout) / MB
