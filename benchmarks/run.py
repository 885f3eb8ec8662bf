"""The command line: which rows, how thoroughly, and where the results go."""

import argparse
import dataclasses
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.report import markdown, table, verdict
from benchmarks.row import FULL, QUICK, Effort, Row
from benchmarks.rows import ROWS

RESULTS = Path(__file__).parent / "results.md"


def measured(names: Sequence[str], effort: Effort) -> list[Row]:
    """The rows in the order of the registry, each told as soon as it is there."""
    found = []
    for name in names:
        row = ROWS[name](effort)
        print(f"{name}: {row.figure} (goal: {row.goal})\n{textwrap.indent(row.detail, '    ')}", flush=True)
        found.append(row)
    return found


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m benchmarks", description="Measures the core against its goals.")
    made.add_argument("--quick", action="store_true", help="small sizes and few rounds: does it run, not what it costs")
    made.add_argument("--only", metavar="NAME", choices=ROWS, action="append", help=f"one of: {', '.join(ROWS)}")
    made.add_argument("--no-peers", action="store_true", help="leave out the other libraries of the translation rows")
    made.add_argument("--date", default=None, help="the date to write; today if not given")
    made.add_argument("--out", type=Path, default=None, help="where to write; results.md only for a complete run")
    return made


def main(argv: Sequence[str] | None = None) -> list[Row]:
    asked = parser().parse_args(argv)
    effort = dataclasses.replace(QUICK if asked.quick else FULL, peers=not asked.no_peers)
    rows = measured(asked.only or list(ROWS), effort)
    print(f"\n{table(rows)}\n\n{verdict(rows)}")
    # A run of some rows, or without care, must not take the place of a whole one.
    out = asked.out or (None if asked.quick or asked.only or asked.no_peers else RESULTS)
    if out:
        out.write_text(markdown(rows, asked.date or datetime.now(UTC).date().isoformat()), "utf-8")
    return rows
