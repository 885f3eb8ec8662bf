"""What a test graph is, what goes in, turn by turn, and how each turn ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

Outcome = Literal["success", "error", "interrupted"]
Graph = CompiledStateGraph[Any, Any, Any, Any]


class Build(Protocol):
    """Compiles the graph; the server brings its own checkpointer."""

    def __call__(self, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Graph: ...


@dataclass(frozen=True)
class Turn:
    """One run on the thread: an input, or an answer made from the pending interrupts (`id`, `value` each)."""

    input: dict[str, Any] | None = None
    answer: Callable[[Sequence[dict[str, Any]]], Any] | None = None
    interrupt_before: tuple[str, ...] = ()
    ends: Outcome = "success"


@dataclass(frozen=True)
class Case:
    """A test graph with its turns. One that is not `in_process` needs a server to show what it is for."""

    build: Build
    turns: tuple[Turn, ...]
    values_only: bool = False
    in_process: bool = True


def human(text: str) -> dict[str, Any]:
    """The input of a chat."""
    return {"messages": [{"role": "user", "content": text}]}


def once(build: Build, input: dict[str, Any] | None = None, ends: Outcome = "success") -> Case:
    """A case of a single turn."""
    return Case(build, (Turn(input or human("go"), ends=ends),))


def asked(build: Build, answer: Callable[[Sequence[dict[str, Any]]], Any]) -> Case:
    """A case that waits for a person in its first turn and goes on in its second."""
    return Case(build, (Turn(human("go"), ends="interrupted"), Turn(answer=answer)))
