"""What one run did, told again from its snapshots as the parts that a stream of `tasks` and `values` would have had."""

from collections.abc import Iterator, Mapping
from typing import Any

from runwire_normalizers._history import Chain, Snapshot, TaskRecord
from runwire_normalizers._identity import Namespace
from runwire_normalizers._messages import AI_TYPES, kind_of, messages_in, tool_calls
from runwire_normalizers.parts import StreamPart

Told = tuple[StreamPart, float | None]


class Retelling:
    """The parts of one run, from the chains of all graphs of its thread."""

    def __init__(self, chains: Mapping[Namespace, Chain], run_id: str | None) -> None:
        self.chains = chains
        self.run_id = run_id
        self._entered: set[Namespace] = set()

    def graph(self, namespace: Namespace) -> Iterator[Told]:
        """Every step of one graph that this run took, with the graphs inside it."""
        self._entered.add(namespace)
        chain = self.chains[namespace]
        first = True
        for place, snapshot in enumerate(chain):
            after = chain[place + 1] if place + 1 < len(chain) else None
            mine = snapshot.run_id == self.run_id and snapshot.source != "update"
            taken_up = not mine and after is not None and self._goes_on(after)
            if mine and first and place == 0 and snapshot.source != "input" and snapshot.parent is None:
                # `durability: exit` keeps the end alone: all of it is new.
                yield self._values(namespace, {}, snapshot.ts)
            if (mine and snapshot.source != "input") or taken_up:
                yield self._values(namespace, snapshot.values, snapshot.ts)
            if mine or taken_up:
                first = False
                yield from self._step(namespace, snapshot, after, taken_up)
        if chain[0].source == "input":
            yield from self._strays(namespace, chain)

    def _goes_on(self, after: Snapshot) -> bool:
        return after.run_id == self.run_id and after.source not in ("input", "update")

    def _values(self, namespace: Namespace, values: dict[str, Any], ts: float | None) -> Told:
        return StreamPart("values", namespace, values), ts

    def _step(self, namespace: Namespace, at: Snapshot, after: Snapshot | None, taken_up: bool) -> Iterator[Told]:
        stopped = after is None or not self._goes_on(after)
        tasks = list(self._told(namespace, at, after, taken_up, stopped))
        for task in tasks:
            yield self._start(namespace, at, task)
        done = after.ts if after else at.ts
        for task in tasks:
            for inner in self._inside(namespace, task):
                yield from self.graph(inner)
            yield from self._end(namespace, task, stopped, done)

    def _told(
        self, namespace: Namespace, at: Snapshot, after: Snapshot | None, taken_up: bool, stopped: bool
    ) -> Iterator[TaskRecord]:
        """The tasks of a step in which this run had a hand."""
        waited = [task for task in at.tasks if task.interrupts]
        if taken_up:
            # The others had finished when the run before stopped; at a breakpoint, none had begun.
            yield from waited or at.tasks
        elif stopped and after is not None and not waited and after.source not in ("input", "update"):
            return
        else:
            for task in at.tasks:
                begun = task.result is not None or task.error or task.interrupts
                if begun or any(self._inside(namespace, task)):
                    yield task

    def _inside(self, namespace: Namespace, task: TaskRecord) -> list[Namespace]:
        """The graphs that ran in a task: one, or, where it invoked it again, several with a number after them."""
        base = (*namespace, f"{task.name}:{task.id}")
        found = [
            space
            for space, chain in self.chains.items()
            if space[: len(base)] == base and all(segment.isdigit() for segment in space[len(base) :])
            if any(snapshot.run_id == self.run_id for snapshot in chain)
        ]
        return sorted(found, key=lambda space: (len(space), [int(segment) for segment in space[len(base) :]]))

    def _start(self, namespace: Namespace, at: Snapshot, task: TaskRecord) -> Told:
        asked = _asked(at, task) if task.pushed else None
        data = {"id": task.id, "name": task.name, "input": [asked] if asked else None, "metadata": at.metadata}
        return StreamPart("tasks", namespace, data), at.ts

    def _end(self, namespace: Namespace, task: TaskRecord, stopped: bool, ts: float | None) -> Iterator[Told]:
        """Nothing for a task that never ended."""
        data: dict[str, Any] = {"id": task.id, "name": task.name, "error": None, "result": {}, "interrupts": []}
        if stopped and task.interrupts:
            data["interrupts"] = task.interrupts
        elif task.result is not None:
            # An error beside a result is that of an earlier attempt.
            data["result"] = task.result
        elif task.error and not task.cancelled and stopped:
            data["error"] = task.error
        else:
            return
        yield StreamPart("tasks", namespace, data), ts

    def _strays(self, namespace: Namespace, chain: Chain) -> Iterator[Told]:
        """Graphs inside tasks that no snapshot names, such as a node behind several others.

        Not where the history was trimmed: there the task may have been one of those that are lost.
        """
        for space in list(self.chains):
            if len(space) == len(namespace) + 1 and space[:-1] == namespace and space not in self._entered:
                name, _, id = space[-1].rpartition(":")
                if name and any(snapshot.run_id == self.run_id for snapshot in self.chains[space]):
                    task = TaskRecord(id, name, (), {}, None, [])
                    yield self._start(namespace, chain[-1], task)
                    yield from self.graph(space)
                    yield from self._end(namespace, task, False, chain[-1].ts)


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
