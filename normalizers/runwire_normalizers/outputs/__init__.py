"""A graph's state as a typed result, whatever the assistant. A new member is a new file and a line in `MEMBERS`."""

import importlib.metadata
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar
from uuid import UUID, uuid5

from pydantic import ValidationError

from runwire_normalizers._messages import AI_TYPES, add_usage, kind_of, usage_of
from runwire_normalizers._scrub import scrub
from runwire_normalizers.coerce import json_safe
from runwire_normalizers.outputs.base import GraphOutput, OutputState
from runwire_normalizers.outputs.chat import ChatOutput
from runwire_normalizers.outputs.computer_use import ComputerUseOutput, ExecutionDetails
from runwire_normalizers.outputs.deep_agent import DeepAgentOutput
from runwire_normalizers.outputs.generic import GenericOutput
from runwire_normalizers.outputs.planning import PlannerResult, PlanningOutput

__all__ = [
    "ChatOutput",
    "ComputerUseOutput",
    "DeepAgentOutput",
    "ExecutionDetails",
    "GenericOutput",
    "GraphOutput",
    "OutputState",
    "PlannerResult",
    "PlanningOutput",
    "normalize_output",
    "register_output",
    "unregister_output",
]

Reader = Callable[[OutputState], GraphOutput]
Given = TypeVar("Given", bound=type[GraphOutput] | Reader)

GROUP = "runwire.outputs"
# The server gives each graph a default assistant whose id is derived in this namespace.
ASSISTANTS = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")

# In the order in which their shapes are tried.
MEMBERS: tuple[type[GraphOutput], ...] = (PlanningOutput, ComputerUseOutput, DeepAgentOutput, ChatOutput)

_BUNDLED: dict[str, Reader] = {graph_id: member.read for member in MEMBERS for graph_id in member.graph_ids}
_registered: dict[str, Reader] = {}
_log = logging.getLogger("runwire_normalizers")


def normalize_output(
    assistant: str | None,
    values: Mapping[str, Any],
    *,
    usage: Mapping[str, Any] | None = None,
    interrupts: Sequence[Any] = (),
    previous: GraphOutput | None = None,
) -> GraphOutput:
    """The state of an assistant, by assistant or graph id, else by its shape, as a typed result.

    `usage` is what the caller counted, else the sum over the messages; `previous` the output of the state before.
    """
    state = _state(values, usage, interrupts, previous)
    output = _by_name(assistant, state) if assistant else None
    return _checked(_by_shape(state.values), state) if output is None else output


def register_output(*names: str) -> Callable[[Given], Given]:
    """Decorates a function of an `OutputState`, or a `GraphOutput` with its `read`, as these ids' normaliser."""
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError("register_output takes the ids of graphs or assistants: @register_output('my_graph')")

    def register(given: Given) -> Given:
        _registered.update(dict.fromkeys(names, _reader(given)))
        return given

    return register


def unregister_output(name: str) -> None:
    """Takes back what `register_output` did for this id; one that is not registered is no error."""
    _registered.pop(name, None)


def _reader(given: Any) -> Reader:
    if isinstance(given, type) and issubclass(given, GraphOutput):
        return given.read
    if isinstance(given, type) or not callable(given):
        raise TypeError(f"a normaliser is a function of an OutputState or a GraphOutput subclass, not {given!r}")
    reader: Reader = given
    return reader


def _state(values: Any, usage: Any, interrupts: Any, previous: GraphOutput | None) -> OutputState:
    safe = _safe(values)
    if not isinstance(safe, dict):
        # LangGraph's own name for a state that is one bare value.
        safe = {} if safe is None else {"__root__": safe}
    told = safe.pop("__interrupt__", None)
    waiting = _safe(list(interrupts or ())) or (told if isinstance(told, list) else [])
    used = _summed(safe.get("messages")) if usage is None else usage
    return OutputState(safe, _safe(dict(used)), tuple(waiting), previous)


def _safe(value: Any) -> Any:
    return scrub(json_safe(value))


def _summed(messages: Any) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and kind_of(message) in AI_TYPES:
            total = add_usage(total, usage_of(message))
    return total


def is_known(assistant: str) -> bool:
    """Whether a normaliser is there for this assistant or graph."""
    return _known(assistant) is not None


def _known(assistant: str) -> Reader | None:
    return _in(_registered, assistant) or _in(_BUNDLED, assistant) or _in(_packaged(), assistant)


def _in(readers: Mapping[str, Reader], assistant: str) -> Reader | None:
    if assistant in readers:
        return readers[assistant]
    return next((reader for name, reader in readers.items() if _default_assistant(name) == assistant), None)


@cache
def _default_assistant(graph_id: str) -> str:
    return str(uuid5(ASSISTANTS, graph_id))


@cache
def _packaged() -> Mapping[str, Reader]:
    """What installed packages bring, read once; what cannot be loaded is told in the log."""
    found: dict[str, Reader] = {}
    for entry in importlib.metadata.entry_points(group=GROUP):
        try:
            found[entry.name] = _reader(entry.load())
        except Exception:  # foreign code: whatever its import raises
            _log.exception("the entry point %r of the group %s cannot be loaded: %s", entry.name, GROUP, entry.value)
    return found


def _by_name(assistant: str, state: OutputState) -> GraphOutput | None:
    """The output of the assistant's own normaliser; None where there is none, or where it fails."""
    try:
        reader = _known(assistant)
        output = _checked(reader, state) if reader else None
    except Exception:  # an app's code, which must not end the stream
        _log.exception("the output normaliser of %r failed; its state is read by its shape", assistant)
        return None
    if output is None or isinstance(output, GraphOutput):
        return output
    _log.error("the output normaliser of %r gave no GraphOutput but %r", assistant, type(output).__name__)
    return None


def _checked(reader: Reader, state: OutputState) -> GraphOutput:
    """A state without the promised shape is generic."""
    try:
        return reader(state)
    except ValidationError:
        _log.debug("the state has not the shape that its assistant promises", exc_info=True)
        return GenericOutput.read(state)


def _by_shape(values: dict[str, Any]) -> Reader:
    return next((member.read for member in MEMBERS if member.fits(values)), GenericOutput.read)
