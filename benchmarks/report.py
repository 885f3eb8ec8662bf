"""The measured rows as a table for the terminal and as benchmarks/results.md."""

import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

from benchmarks.row import Row

PACKAGES = """
runwire orjson pydantic httpx httpx-sse langgraph-sdk langgraph langchain-core msgspec ag-ui-protocol ag-ui-langgraph
langstage-core langgraph-stream-parser
""".split()
HEAD = ("row", "figure", "goal", "holds")
HOLDS = {True: "yes", False: "**no**", None: "–"}


def table(rows: Iterable[Row]) -> str:
    """A Markdown table, its columns padded to be read as it is."""
    lines = [HEAD, *((row.name, row.figure, row.goal, HOLDS[row.holds]) for row in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(HEAD))]
    padded = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    rule = " | ".join("-" * width for width in widths)
    return "\n".join(f"| {line} |" for line in [padded[0], rule, *padded[1:]])


def environment(date: str) -> str:
    machine = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    return f"Measured on {date} with {machine}.\n\nPackages: {', '.join(_versions())}."


def _versions() -> list[str]:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} (not installed)")
    return found


def markdown(rows: Sequence[Row], date: str) -> str:
    parts = [
        "# What the core costs",
        "Written by `make bench`. Ratios are taken within one interleaved run; absolute figures are this machine's.",
        environment(date),
        table(rows),
        verdict(rows),
        *(f"## {row.name}\n\n{row.method}\n\n{row.detail}" for row in rows),
    ]
    return "\n\n".join(parts) + "\n"


def verdict(rows: Sequence[Row]) -> str:
    missed = [row.name for row in rows if row.holds is False]
    return f"Does not hold: {'; '.join(missed)}." if missed else "Every goal that was measured holds."
