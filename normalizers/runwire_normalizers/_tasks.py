"""Tasks and namespaces: which graph a part comes from, which call owns that graph, what a task's end means."""

from typing import TYPE_CHECKING, Any

from runwire_normalizers._calls import Call
from runwire_normalizers._identity import Namespace, subgraph_call
from runwire_normalizers._messages import messages_in
from runwire_normalizers._scrub import scrub
from runwire_normalizers.coerce import error_facts

if TYPE_CHECKING:
    from runwire_normalizers._models import ModelCall
    from runwire_normalizers._run import Run


class Task:
    """One execution of a node, as `tasks`, `debug` or `events` tell it."""

    def __init__(self, id: str, namespace: Namespace, name: str, input: Any) -> None:
        self.id = id
        self.namespace = namespace
        self.name = name
        self.input = input
        self.open = True
        self.tools: list[Call] = []
        self.models: list[ModelCall] = []
        self.inner: list[Call] = []
        self.run_id: str | None = None
        self.agent: str | None = None
        # Whether `tasks` or `debug` tell of the task, and so would tell its failure.
        self.announced = False
        self.attempt = 1
        self.order = 0
        # As far as `events` tell it.
        self.step = 0

    @property
    def path(self) -> str:
        return "|".join((*self.namespace, f"{self.name}:{self.id}"))

    @property
    def has_inner(self) -> bool:
        return bool(self.inner)


class Tasks:
    """All tasks by id, and the owners of all namespaces."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.by_id: dict[str, Task] = {}
        self.owners: dict[Namespace, Call] = {}
        self.attempt = 1

    def of_meta(self, meta: dict[str, Any]) -> Task | None:
        path = meta.get("langgraph_checkpoint_ns")
        return self.by_id.get(path.rpartition(":")[2]) if isinstance(path, str) else None

    def owner(self, namespace: Namespace) -> Call:
        """The call that a graph belongs to; a subgraph that nobody started yet starts here."""
        if not namespace:
            return self.run.root
        call = self.owners.get(namespace)
        if call is None:
            call = self.owners[namespace] = self._adopt(namespace)
        while call.over and call.parent:
            call = call.parent
        return call

    def _adopt(self, namespace: Namespace) -> Call:
        base = namespace
        while len(base) > 1 and base[-1].isdigit():
            base = base[:-1]
        name, _, id = base[-1].rpartition(":")
        parent, task = self.owner(base[:-1]), self.by_id.get(id) or self._lasting(base)
        if task is None and self.by_id:
            text = f"nothing announced the namespace {'|'.join(namespace)}"
            self.run.warn("unannounced", text, {"namespace": list(namespace), "data": self.run.data}, parent)
        if task and len(task.tools) == 1:
            task.tools[0].owns_graph = True
            return task.tools[0]
        call_id = subgraph_call(self.run.trace_id, namespace)
        known = self.run.calls.by_id.get(call_id)
        call = known or self._open(call_id, parent, namespace, name or base[-1], task)
        call.owns_graph = True
        if task:
            task.inner.append(call)
        return call

    def _lasting(self, namespace: Namespace) -> Task | None:
        """The task of a graph that keeps its checkpoints over runs, whose namespace names the node alone."""
        found = [task for task in self.open_in(namespace[:-1]) if task.name == namespace[-1]]
        return found[0] if len(found) == 1 else None

    def _open(self, call_id: str, parent: Call, namespace: Namespace, name: str, task: Task | None) -> Call:
        call = Call(call_id, "subgraph", parent, name, name, parent.agent)
        call.namespace = namespace
        payload = {
            "kind": "subgraph",
            "tool_name": name,
            "input": scrub(task.input) if task else None,
            "node": name,
            "tool_call_id": None,
            "namespace": list(namespace),
        }
        self.run.calls.open(call, "tool_start", payload)
        return call

    def start(self, namespace: Namespace, id: str, name: str, input: Any, run_id: str | None = None) -> Task:
        task = self.by_id.get(id)
        if task is not None:
            if task.attempt != self.attempt:
                self._again(task)
                task.run_id = None
            task.run_id = task.run_id or run_id
            return task
        task = self.by_id[id] = Task(id, namespace, name, input)
        task.run_id, task.attempt, task.order = run_id, self.attempt, len(self.by_id)
        self.owner(namespace)
        for asked in _executed(input):
            task.tools.append(self.run.tools.execute(namespace, asked, name))
        for call in task.tools:
            if call.state == "suspended":
                self.run.calls.wake(call)
        # A resumed run announces its finished tasks again, and never ends them.
        task.open = not (task.tools and all(call.over for call in task.tools))
        if isinstance(input, dict):
            self.run.absorb_input(namespace, input)
        return task

    def _again(self, task: Task) -> None:
        """A new attempt of the run starts the task again: its calls go on."""
        task.attempt, task.open = self.attempt, True
        for call in (*task.tools, *task.inner):
            if not call.over:
                call.failed = False
                self.run.calls.resume(call)

    def retried(self, task: Task, run_id: str) -> None:
        """`events` show a node's retry: what its models said so far was in vain."""
        task.run_id = run_id
        for model in task.models:
            if not model.over:
                self.run.models.end(model, "cancelled")
            self._in_vain(model, "retried")
        task.models = []

    def _in_vain(self, model: "ModelCall", code: str) -> None:
        raw = {"message_id": model.message_id, "call_id": model.call_id}
        self.run.warn(code, f"what this model call said is not in the result of {model.node}", raw, model.parent)

    def end(self, namespace: Namespace, id: str, name: str, result: Any, error: Any, interrupts: list[Any]) -> None:
        task = self.by_id.get(id)
        if task is None:
            task = self.start(namespace, id, name, None)
        if not task.open:
            return
        task.open = False
        if error:
            self._failed(task, error_facts(error))
        elif interrupts:
            self._interrupted(task, interrupts)
        else:
            self._done(task, result)
        self.run.ending.settle(namespace)

    def _failed(self, task: Task, facts: dict[str, Any]) -> None:
        for model in task.models:
            self.run.models.end(model, "error")
        owner = self.owner(task.namespace)
        guilty = task.tools if task.tools else [owner]
        told = any(call.failed for call in (*task.inner, *task.tools))
        if not told:
            for call in guilty:
                self.run.calls.error(call, call.name if call in task.tools else task.name, facts, task.name)
        owner.failed = True
        # Further in, the graph around it may still catch the error.
        if not task.namespace:
            self.run.failure = facts

    def _interrupted(self, task: Task, interrupts: list[Any]) -> None:
        self.run.root_asks = self.run.root_asks or not task.namespace
        fresh = self.run.claim(interrupts)
        for model in task.models:
            self.run.models.end(model, "cancelled")
        if fresh:
            owner = task.tools[0] if len(task.tools) == 1 else self.owner(task.namespace)
            owner.interrupts.extend(fresh)
            if owner.kind == "tool" and owner in task.tools:
                self.run.ending.suspend(owner)

    def _done(self, task: Task, result: Any) -> None:
        messages = messages_in(result)
        ids = {message.get("id") for message in messages}
        for model in task.models:
            if not model.over:
                used = any(id in ids for id in model.ids)
                self.run.models.end(model, "ok" if used else "cancelled")
        if len(task.models) > 1 and any(id in ids for model in task.models for id in model.ids):
            for model in task.models:
                if not any(id in ids for id in model.ids):
                    self._in_vain(model, "unused")
        for call in task.inner:
            self.run.ending.end_graph(call, handed_up=frozenset(filter(None, ids)))
        self.run.absorb_result(task.namespace, result, messages, task.name, task)
        for call in task.tools:
            if not call.over and call.fallback is not None:
                answers = [m for m in messages_in(call.fallback) if m.get("tool_call_id") == call.tool_call_id]
                self.run.tools.end(call, "ok", answers[0] if answers else call.fallback)

    def open_in(self, namespace: Namespace) -> list[Task]:
        return [task for task in self.by_id.values() if task.open and task.namespace == namespace]

    def open_tasks(self) -> list[Task]:
        return [task for task in self.by_id.values() if task.open]

    def working(self) -> list[Task]:
        """Open tasks; of a resumed run, only those that gave a sign of life, for it announces finished ones again."""
        if not self.run.resumed:
            return self.open_tasks()
        return [task for task in self.open_tasks() if task.models or task.inner or task.tools]

    def stopped(self) -> bool:
        """Whether the root's last step has a task that never ended; one of an earlier step has handed over."""
        last = max((task.step for task in self.by_id.values() if not task.namespace), default=0)
        return any(not task.namespace and task.step == last for task in self.working())


def _executed(input: Any) -> list[dict[str, Any]]:
    """The tool calls that a task was sent: a list of them, or one with its context."""
    if isinstance(input, dict) and isinstance(input.get("tool_call"), dict):
        input = [input["tool_call"]]
    if not isinstance(input, list):
        return []
    calls = [c for c in input if isinstance(c, dict) and c.get("type") == "tool_call" and isinstance(c.get("id"), str)]
    return calls if len(calls) == len(input) else []
