"""What one run did, told again from its snapshots as the parts that a stream of `tasks` and `values` would have had."""

from collections.abc import Iterator, Mapping
from typing import Any

from runwire_normalizers._history import Chain, Graph, Snapshot, TaskRecord
from runwire_normalizers._identity import Namespace
from runwire_normalizers._messages import AI_TYPES, kind_of, messages_in, tool_calls
from runwire_normalizers.parts import StreamPart

Told = tuple[StreamPart, float | None]


class Retelling:
    """The parts of one run, from all graphs of its thread; `asked` are the ids of what it asked, if they are known."""

    def __init__(
        self, graphs: Mapping[Namespace, Graph], run_id: str | None, asked: frozenset[str] | None = None
    ) -> None:
        self.graphs = graphs
        self.run_id = run_id
        self.asked = asked
        self._entered: set[Namespace] = set()

    def graph(self, namespace: Namespace) -> Iterator[Told]:
        """Every step of one graph that this run took, with the graphs inside it."""
        self._entered.add(namespace)
        way = self.graphs[namespace].way(self.run_id)
        for place, snapshot in enumerate(way):
            after = way[place + 1] if place + 1 < len(way) else self.graphs[namespace].taken_up(snapshot)
            mine = snapshot.run_id == self.run_id and snapshot.source != "update"
            taken_up = not mine and after is not None and self._goes_on(after)
            if mine and place == 0 and snapshot.source not in ("input", "fork") and snapshot.parent is None:
                # `durability: exit` keeps the end alone: all of it is new.
                yield self._values(namespace, {}, snapshot.ts)
            if (mine and snapshot.source != "input") or taken_up:
                yield self._values(namespace, snapshot.values, snapshot.ts)
            if mine or taken_up:
                yield from self._step(namespace, snapshot, after, taken_up)
        if way and way[0].source == "input":
            yield from self._strays(namespace, way)

    def _goes_on(self, after: Snapshot) -> bool:
        return after.run_id == self.run_id and after.source not in ("input", "update", "fork")

    def _values(self, namespace: Namespace, values: dict[str, Any], ts: float | None) -> Told:
        return StreamPart("values", namespace, values), ts

    def _step(self, namespace: Namespace, at: Snapshot, after: Snapshot | None, taken_up: bool) -> Iterator[Told]:
        stopped = after is None or not self._goes_on(after)
        left = stopped and after is not None
        tasks = list(self._told(namespace, at, left, taken_up))
        for task in tasks:
            yield self._start(namespace, at, task)
        done = after.ts if after else at.ts
        for task in tasks:
            for inner in self._inside(namespace, task):
                yield from self.graph(inner)
            yield from self._end(namespace, task, stopped, left, done)

    def _told(self, namespace: Namespace, at: Snapshot, left: bool, taken_up: bool) -> Iterator[TaskRecord]:
        """The tasks of a step in which this run had a hand; `left` is a step that another run took up."""
        if taken_up:
            # The others had finished when the run before stopped; at a breakpoint, none had begun.
            yield from [task for task in at.tasks if task.interrupts or (at.failed and task.error)] or at.tasks
        elif left and not at.interrupts and not at.failed:
            return
        else:
            for task in at.tasks:
                begun = task.result is not None or task.error or task.interrupts
                if begun or any(self._inside(namespace, task)):
                    yield task

    def _inside(self, namespace: Namespace, task: TaskRecord) -> list[Namespace]:
        """The graphs that ran in a task: one, or, where it invoked it again, several with a number after them.

        One that keeps its checkpoints over runs has the name of the node alone.
        """
        base, lasting = (*namespace, f"{task.name}:{task.id}"), (*namespace, task.name)
        found = [
            space
            for space, graph in self.graphs.items()
            if space == lasting
            or (space[: len(base)] == base and all(segment.isdigit() for segment in space[len(base) :]))
            if self.run_id in graph.runs()
        ]
        return sorted(found, key=lambda space: (len(space), [int(s) for s in space[len(base) :]]))

    def _start(self, namespace: Namespace, at: Snapshot, task: TaskRecord) -> Told:
        asked = _asked(at, task) if task.pushed else None
        data = {"id": task.id, "name": task.name, "input": [asked] if asked else None, "metadata": at.metadata}
        return StreamPart("tasks", namespace, data), at.ts

    def _end(
        self, namespace: Namespace, task: TaskRecord, stopped: bool, left: bool, ts: float | None
    ) -> Iterator[Told]:
        """Nothing for a task that never ended. A result in a step that was left is that of the run which took it up."""
        data: dict[str, Any] = {"id": task.id, "name": task.name, "error": None, "result": {}, "interrupts": []}
        if stopped and task.interrupts:
            data["interrupts"] = [one for one in task.interrupts if self.asked is None or _id(one) in self.asked]
            if not data["interrupts"]:
                return
        elif task.error and (left or task.result is None):
            # An error beside a result, in a step that went on, is that of an earlier attempt.
            if task.cancelled or not stopped:
                return
            data["error"] = task.error
        elif task.result is not None:
            data["result"] = task.result
        else:
            return
        yield StreamPart("tasks", namespace, data), ts

    def _strays(self, namespace: Namespace, chain: Chain) -> Iterator[Told]:
        """Graphs inside tasks that no snapshot names, such as a node behind several others.

        Not where the history was trimmed: there the task may have been one of those that are lost.
        """
        for space, graph in self.graphs.items():
            if len(space) == len(namespace) + 1 and space[:-1] == namespace and space not in self._entered:
                name, _, id = space[-1].rpartition(":")
                if name and self.run_id in graph.runs():
                    task = TaskRecord(id, name, (), {}, None, [])
                    yield self._start(namespace, chain[-1], task)
                    yield from self.graph(space)
                    yield from self._end(namespace, task, False, False, chain[-1].ts)


def _id(interrupt: Any) -> Any:
    return interrupt.get("id") if isinstance(interrupt, dict) else None


def _asked(at: Snapshot, task: TaskRecord) -> dict[str, Any] | None:
    """The tool call that a task was sent: the one that it answers, or, of one that it never answered, by its place."""
    messages = messages_in(at.values)
    spoken = next((message for message in reversed(messages) if kind_of(message) in AI_TYPES), None)
    calls = tool_calls(spoken) if spoken else []
    answered = {message.get("tool_call_id") for message in messages_in(task.result)}
    found = next((call for call in calls if call["id"] in answered), None)
    if found is None and not answered:
        done = {message.get("tool_call_id") for message in messages}
        open_calls = [call for call in calls if call["id"] not in done]
        sent = [other for other in at.tasks if other.pushed and other.name == task.name]
        place = sent.index(task)
        found = open_calls[place] if len(sent) == len(open_calls) else None
    return {"type": "tool_call", "id": found["id"], "name": found["name"], "args": found.get("args")} if found else None
