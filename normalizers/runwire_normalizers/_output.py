"""The normalised output of a graph's state, as the adapter knows the graph: by several names, or by none."""

import logging
from collections.abc import Iterable
from typing import Any

from runwire_normalizers._scrub import scrub
from runwire_normalizers._state import GraphState
from runwire_normalizers.coerce import json_safe
from runwire_normalizers.outputs import MEMBERS, GenericOutput, is_known, normalize_output

log = logging.getLogger("runwire_normalizers")


def normalized(names: Iterable[str | None], state: GraphState, usage: dict[str, Any]) -> dict[str, Any]:
    """What a graph's end tells, by the first of its names that a normaliser is registered for, else by its shape."""
    assistant = next((name for name in names if name and is_known(name)), None)
    before = normalize_output(assistant, {**state.values, **state.nulled}) if state.nulled else None
    output = normalize_output(assistant, state.values, usage=usage, previous=before)
    # Ours are made of safe values; walking a long state once more would double what an end costs.
    if type(output) in (*MEMBERS, GenericOutput):
        return output.to_dict()
    try:
        told: dict[str, Any] = scrub(json_safe(output.to_dict()))
    except Exception:  # an app's own output, which must not end the stream
        log.exception("the output of %r cannot be written; its state is told as it is", assistant)
        told = normalize_output(None, state.values, usage=usage).to_dict()
    common: dict[str, Any] = {"messages": [], "files": {}, "usage": usage}
    return told | {name: told.get(name, empty) for name, empty in common.items()}
