"""Peak memory of one long run over the idle client, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.row import Effort, Row

TOKENS = 100_000
GOAL_MB = 2.0
MB = 1_000_000
ROOT = Path(__file__).parent.parent.parent
METHOD = (
    "A new process reads one run; tracemalloc's peak, less what an idle decoder, adapter and view hold, less the "
    "length of the text in UTF-8. That is strict: with an emoji in it, a Python "
    "string takes four bytes for every character. Nobody keeps the envelopes. Beside it: the same with `updates` "
    "and `tasks` on, whose last frames tell the whole message twice more, so that text is held as state and result "
    "too."
)


def measure(effort: Effort) -> Row:
    tokens = effort.size(TOKENS)
    plain, full = probe(tokens, ending=False), probe(tokens, ending=True)
    beyond = (plain["peak"] - plain["utf8"]) / MB
    detail = (
        f"{tokens:,} tokens: peak {plain['peak'] / MB:.2f} MB, at the end {plain['held'] / MB:.2f} MB; "
        f"the text is {plain['utf8'] / MB:.2f} MB in UTF-8, {plain['string'] / MB:.2f} MB as a string; "
        f"with results told: peak {full['peak'] / MB:.2f} MB, at the end {full['held'] / MB:.2f} MB"
    )
    return Row(
        "memory over the idle client, beyond the text",
        f"{beyond:.2f} MB",
        f"≤ {GOAL_MB:g} MB",
        beyond <= GOAL_MB,
        detail,
        METHOD,
    )


def probe(tokens: int, ending: bool) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.probe", str(tokens), str(int(ending))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
