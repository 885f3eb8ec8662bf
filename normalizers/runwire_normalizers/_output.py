"""The normalised output of a graph's state, as the adapter knows the graph: by several names, or by none."""

from collections.abc import Iterable
from typing import Any

from runwire_normalizers._state import GraphState
from runwire_normalizers.outputs import is_known, normalize_output


def normalized(names: Iterable[str | None], state: GraphState, usage: dict[str, Any]) -> dict[str, Any]:
    """What a graph's end tells, by the first of its names that a normaliser is registered for, else by its shape."""
    assistant = next((name for name in names if name and is_known(name)), None)
    before = normalize_output(assistant, {**state.values, **state.nulled}) if state.nulled else None
    return normalize_output(assistant, state.values, usage=usage, previous=before).to_dict()
