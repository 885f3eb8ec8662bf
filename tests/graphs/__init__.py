"""The keyless test graphs by name. A new one is a module with a `CASE` and a line here."""

from importlib import import_module

from tests.graphs.case import Case

NAMES = (
    "asks",
    "attempt",
    "breakpoint",
    "caught",
    "cmd",
    "deep",
    "deep_ask",
    "fan",
    "forward",
    "gather",
    "inter",
    "nested",
    "node_raises",
    "planner",
    "react",
    "reason",
    "remove",
    "renamed",
    "retry",
    "reuse",
    "slow",
    "sub_ask",
    "sub_raises",
    "tool_raises",
    "toolnode",
    "turns",
    "twins",
    "unicode",
    "whole",
)

GRAPHS: dict[str, Case] = {name: import_module(f"{__name__}.{name}").CASE for name in NAMES}
