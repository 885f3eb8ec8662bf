"""History and state JSON as chains of snapshots, one chain for each graph of a thread."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runwire_normalizers._identity import Namespace
from runwire_normalizers.coerce import error_facts, json_safe

REPR = re.compile(r"(?P<name>[A-Za-z_][\w.]*)\((?P<args>.*)\)", re.DOTALL)
CANCELLED = "CancelledError"


@dataclass(frozen=True)
class TaskRecord:
    """A task as a snapshot keeps it: of its end one of result, error and interrupts, or, once resumed, two."""

    id: str
    name: str
    path: tuple[Any, ...]
    result: Any
    error: dict[str, Any] | None
    interrupts: list[Any]

    @property
    def cancelled(self) -> bool:
        return self.error is not None and self.error["error"] == CANCELLED

    @property
    def pushed(self) -> bool:
        """Whether a `Send` made the task; tool calls are sent so."""
        return self.path[:1] == ("__pregel_push",)


@dataclass(frozen=True)
class Snapshot:
    """The state of one graph at one checkpoint, and the tasks that went on from it."""

    id: str
    parent: str | None
    run_id: str | None
    source: str | None
    values: dict[str, Any]
    tasks: tuple[TaskRecord, ...]
    next: tuple[str, ...]
    ts: float | None
    metadata: dict[str, Any]

    @property
    def interrupts(self) -> list[Any]:
        return [one for task in self.tasks for one in task.interrupts]


Chain = tuple[Snapshot, ...]


def chains(histories: Mapping[str, Sequence[Any]], state: Any = None) -> dict[Namespace, Chain]:
    """The snapshots of each namespace, oldest first, on the way to the newest one; other branches are left out."""
    told: dict[str, list[Any]] = {namespace: list(history) for namespace, history in histories.items()}
    for namespace, newest in _nested("", state):
        if namespace == "" or not told.get(namespace):
            told.setdefault(namespace, []).append(newest)
    return {_path(namespace): chain for namespace, history in told.items() if (chain := _chain(history))}


def _path(namespace: str) -> Namespace:
    return tuple(namespace.split("|")) if namespace else ()


def _nested(namespace: str, state: Any) -> Iterator[tuple[str, Any]]:
    """The state itself, and the states inside it, which it has while they wait."""
    if not isinstance(state, dict) or not state.get("checkpoint"):
        return
    yield namespace, state
    for task in state.get("tasks") or ():
        inner = task.get("state") if isinstance(task, dict) else None
        if isinstance(inner, dict):
            own = (inner.get("checkpoint") or {}).get("checkpoint_ns")
            yield from _nested(own or "|".join(filter(None, [namespace, f"{task['name']}:{task['id']}"])), inner)


def _chain(history: Iterable[Any]) -> Chain:
    found: dict[str, Snapshot] = {}
    for entry in history:
        snapshot = _snapshot(json_safe(entry))
        # The state stands last: it repeats the newest snapshot, and knows less of its tasks.
        if snapshot is not None:
            found.setdefault(snapshot.id, snapshot)
    # Checkpoint ids sort by time: LangGraph itself finds the newest so.
    at, chain = max(found, default=None), list[Snapshot]()
    while at is not None and at in found:
        chain.append(found.pop(at))
        at = chain[-1].parent
    return tuple(reversed(chain))


def _snapshot(entry: Any) -> Snapshot | None:
    if not isinstance(entry, dict):
        return None
    checkpoint, metadata = entry.get("checkpoint") or {}, entry.get("metadata") or {}
    id = checkpoint.get("checkpoint_id") or entry.get("checkpoint_id")
    if not isinstance(id, str):
        return None
    parent = entry.get("parent_checkpoint") or {}
    values, tasks = entry.get("values"), entry.get("tasks") or ()
    return Snapshot(
        id,
        parent.get("checkpoint_id") or entry.get("parent_checkpoint_id"),
        metadata.get("run_id"),
        metadata.get("source"),
        values if isinstance(values, dict) else {},
        tuple(_task(task) for task in tasks if isinstance(task, dict) and task.get("name") != "__start__"),
        tuple(entry.get("next") or ()),
        _seconds(entry.get("created_at")),
        metadata | {"input": _input(tasks)},
    )


def _input(tasks: Iterable[Any]) -> Any:
    return next((task.get("result") for task in tasks if isinstance(task, dict) and task["name"] == "__start__"), None)


def _task(task: dict[str, Any]) -> TaskRecord:
    path = task.get("path")
    return TaskRecord(
        str(task.get("id")),
        str(task.get("name")),
        tuple(path) if isinstance(path, list) else (),
        task.get("result"),
        _error(task.get("error")),
        list(task.get("interrupts") or ()),
    )


def _error(told: Any) -> dict[str, Any] | None:
    """History keeps an error as its `repr`."""
    if told is None:
        return None
    match = REPR.fullmatch(told) if isinstance(told, str) else None
    return error_facts({"error": match["name"], "message": _message(match["args"])} if match else told)


def _message(args: str) -> str:
    """What `str` of the error gives: its one argument, or all of them."""
    try:
        values = ast.literal_eval(f"({args},)") if args else ()
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return args
    return str(values[0] if len(values) == 1 else values) if values else ""


def _seconds(created_at: Any) -> float | None:
    try:
        return datetime.fromisoformat(created_at).timestamp()
    except (TypeError, ValueError):
        return None


def inner_namespaces(namespace: str, history: Iterable[Any]) -> list[str]:
    """The namespaces in which graphs may have run inside the tasks of this one: ask for the history of each.

    For a subgraph that is a node the server tells it; a graph that a node or a tool invoked shows nowhere, so every
    task may have one. A graph that is invoked again in one task has `|1`, `|2` and so on after it.
    """
    found: dict[str, None] = {}
    for entry in history:
        for task in (json_safe(entry) or {}).get("tasks") or ():
            if task.get("name") != "__start__":
                told = (task.get("checkpoint") or {}).get("checkpoint_ns")
                found[told or "|".join(filter(None, [namespace, f"{task['name']}:{task['id']}"]))] = None
    return list(found)
