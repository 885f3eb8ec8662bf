"""History and state JSON as the snapshots of each graph of a thread, and the way of each run through them."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runwire_normalizers._identity import Namespace
from runwire_normalizers._state import as_values
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

    @property
    def failed(self) -> bool:
        """Whether a run ended here with a task that failed or was stopped, and nobody was asked."""
        return not self.interrupts and any(task.error for task in self.tasks)

    def goes_on(self, before: "Snapshot") -> bool:
        """Whether another run made this one by taking up the tasks of the one before."""
        return self.run_id != before.run_id and self.source not in ("input", "update", "fork")


Chain = tuple[Snapshot, ...]


class Graph:
    """All snapshots of one graph of a thread, and the way that each run took through them."""

    def __init__(self, snapshots: Iterable[Snapshot]) -> None:
        self.by_id: dict[str, Snapshot] = {}
        for snapshot in snapshots:
            # The state stands last: it repeats the newest snapshot, and knows less of its tasks.
            self.by_id.setdefault(snapshot.id, snapshot)

    def runs(self) -> list[str | None]:
        """The runs that made snapshots, in their order. Checkpoint ids sort by time."""
        made = sorted(one.id for one in self.by_id.values() if one.source != "update")
        return list(dict.fromkeys(self.by_id[id].run_id for id in made))

    def way(self, run_id: str | None) -> Chain:
        """From the oldest snapshot to the last of this run; branches that it did not take are left out."""
        own = [one.id for one in self.by_id.values() if one.run_id == run_id and one.source != "update"]
        at, found = max(own, default=None), list[Snapshot]()
        while at is not None and at in self.by_id and len(found) < len(self.by_id):
            found.append(self.by_id[at])
            at = found[-1].parent
        return tuple(reversed(found))

    def taken_up(self, snapshot: Snapshot) -> Snapshot | None:
        """The snapshot with which another run went on from here, without an input and not as a fork."""
        after = [one.id for one in self.by_id.values() if one.parent == snapshot.id and one.goes_on(snapshot)]
        return self.by_id[max(after)] if after else None


def graphs(histories: Mapping[str, Sequence[Any]], state: Any = None) -> dict[Namespace, Graph]:
    """Every graph of the thread by its namespace, whatever namespace the server was asked for.

    A graph that keeps its checkpoints over runs has one chain, which the server gives for each of its tasks.
    """
    told: dict[Namespace, list[Snapshot]] = {}
    for asked, history in [*histories.items(), *((asked, [newest]) for asked, newest in _nested("", state))]:
        for entry in _list(json_safe(history)):
            snapshot = _snapshot(entry)
            if snapshot is not None:
                own = _dict(entry.get("checkpoint")).get("checkpoint_ns")
                told.setdefault(_path(own if isinstance(own, str) else asked), []).append(snapshot)
    return {namespace: Graph(snapshots) for namespace, snapshots in told.items()}


def _path(namespace: str) -> Namespace:
    return tuple(namespace.split("|")) if namespace else ()


def _nested(namespace: str, state: Any) -> Iterator[tuple[str, Any]]:
    """The state itself, and the states inside it, which it has while they wait."""
    if not isinstance(state, dict) or not state.get("checkpoint"):
        return
    yield namespace, state
    for task in _list(state.get("tasks")):
        inner = _dict(task).get("state")
        if isinstance(inner, dict):
            yield from _nested(_inner_namespace(namespace, task), inner)


def _inner_namespace(namespace: str, task: dict[str, Any]) -> str:
    return "|".join(filter(None, [namespace, f"{task.get('name')}:{task.get('id')}"]))


def _snapshot(entry: Any) -> Snapshot | None:
    if not isinstance(entry, dict):
        return None
    checkpoint, metadata = _dict(entry.get("checkpoint")), _dict(entry.get("metadata"))
    id = checkpoint.get("checkpoint_id") or entry.get("checkpoint_id")
    if not isinstance(id, str):
        return None
    parent = _dict(entry.get("parent_checkpoint")).get("checkpoint_id") or entry.get("parent_checkpoint_id")
    tasks = [task for task in _list(entry.get("tasks")) if isinstance(task, dict)]
    return Snapshot(
        id,
        _text(parent),
        _text(metadata.get("run_id")),
        _text(metadata.get("source")),
        as_values(entry.get("values")),
        tuple(_task(task) for task in tasks if task.get("name") != "__start__"),
        tuple(map(str, _list(entry.get("next")))),
        _seconds(entry.get("created_at")),
        metadata | {"input": next((task.get("result") for task in tasks if task.get("name") == "__start__"), None)},
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _task(task: dict[str, Any]) -> TaskRecord:
    return TaskRecord(
        str(task.get("id")),
        str(task.get("name")),
        tuple(_list(task.get("path"))),
        task.get("result"),
        _error(task.get("error")),
        _list(task.get("interrupts")),
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
    for entry in _list(json_safe(list(history))):
        for task in _list(_dict(entry).get("tasks")):
            if isinstance(task, dict) and task.get("name") != "__start__":
                told = _dict(task.get("checkpoint")).get("checkpoint_ns")
                found[_text(told) or _inner_namespace(namespace, task)] = None
    return list(found)
