"""The expert `tables`, an MCP server of its own process: `python -m runwire_graphs.experts.tables ROOT`.

It reads CSV files and gives structured results, in the form of `TablePayload`.
"""

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

from runwire_graphs.experts.rooted import inside, shown

ROWS = 200
Measure = Literal["sum", "average", "minimum", "maximum", "count"]

server = MCPServer("tables")
root = Path()


class Table(BaseModel):
    """Rows under columns."""

    kind: Literal["table"] = "table"
    columns: list[str]
    rows: list[list[Any]]


def _load(path: str) -> tuple[list[str], list[list[Any]]]:
    file = inside(root, path)
    if not file.is_file():
        raise ToolError(f"There is no table {path!r}. There are: {', '.join(_names()) or 'none'}.")
    with file.open(encoding="utf-8-sig", newline="") as opened:
        columns, *rows = list(csv.reader(opened)) or [[]]
    return columns, [[_value(cell) for cell in row] for row in rows]


def _names() -> list[str]:
    return sorted(shown(root, path.resolve()) for path in root.rglob("*.csv") if not path.is_symlink())


def _value(cell: str) -> Any:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell


def _position(columns: list[str], column: str) -> int:
    wanted = column.strip().lower()
    # People say `the amounts` of a column `amount`.
    for same in (wanted, wanted.removesuffix("s")):
        for position, name in enumerate(columns):
            if name.strip().lower() == same:
                return position
    raise ToolError(f"There is no column {column!r}; the columns are {', '.join(columns)}.")


@server.tool()
def list_tables() -> Table:
    """List the tables, spreadsheets or CSV files that there are, with their columns and numbers of rows."""
    loaded = [(name, *_load(name)) for name in _names()]
    rows = [[name, ", ".join(columns), len(rows)] for name, columns, rows in loaded]
    return Table(columns=["table", "columns", "rows"], rows=rows)


@server.tool()
def show_rows(path: str, limit: int = 20) -> Table:
    """Show the rows of a table, spreadsheet or CSV file, from the first.

    Args:
        path: The file of the table.
        limit: How many rows at most.
    """
    columns, rows = _load(path)
    return Table(columns=columns, rows=rows[: min(max(limit, 0), ROWS)])


@server.tool()
def filter_rows(path: str, column: str, value: str) -> Table:
    """Filter the rows of a table where a column is a value.

    Args:
        path: The file of the table.
        column: The column to compare.
        value: What it must be.
    """
    columns, rows = _load(path)
    at = _position(columns, column)
    kept = [row for row in rows if str(row[at]).lower() == value.strip().lower()]
    return Table(columns=columns, rows=kept[:ROWS])


@server.tool()
def compute(path: str, column: str, measure: Measure = "sum", by: str | None = None) -> Table:
    """Compute the sum, total, average, minimum, maximum or count of a column of a table, whole or by group.

    Args:
        path: The file of the table.
        column: The column to compute from.
        measure: What to compute.
        by: Another column, to compute for each of its values.
    """
    columns, rows = _load(path)
    at, group = _position(columns, column), None if by is None else _position(columns, by)
    groups: dict[Any, list[Any]] = {}
    for row in rows:
        groups.setdefault("all" if group is None else row[group], []).append(row[at])
    told = [[key, _measured(values, column, measure)] for key, values in groups.items()]
    return Table(columns=[by or "rows", f"{measure} of {columns[at]}"], rows=told)


def _measured(values: list[Any], column: str, measure: Measure) -> float:
    if measure == "count":
        return len(values)
    if any(isinstance(value, str) for value in values):
        raise ToolError(f"The column {column!r} holds text, so it has no {measure}.")
    functions: dict[str, Callable[[list[Any]], float]] = {"sum": sum, "average": fmean, "minimum": min, "maximum": max}
    return round(float(functions[measure](values)), 6)


if __name__ == "__main__":
    root = Path(sys.argv[1])
    server.run("stdio")
