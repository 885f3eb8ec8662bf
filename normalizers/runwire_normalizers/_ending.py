"""How calls end: one graph, a whole subtree, or the run. Rules 1 to 4 and the lines on cuts and interrupts."""

from typing import TYPE_CHECKING, Any

from runwire_normalizers._calls import Call, end_status
from runwire_normalizers._identity import Namespace
from runwire_normalizers._messages import messages_in
from runwire_normalizers._models import ModelCall
from runwire_normalizers._scrub import scrub
from runwire_normalizers.coerce import json_safe
from runwire_normalizers.envelope import Status
from runwire_normalizers.outcome import Outcome

if TYPE_CHECKING:
    from runwire_normalizers._run import Run


class Ending:
    """Ends and suspends calls, innermost first."""

    def __init__(self, run: "Run") -> None:
        self.run = run

    def end_graph(self, call: Call, status: Status = "ok", handed_up: frozenset[str] = frozenset()) -> None:
        """The end of a run or a subgraph, with its normalised output; `handed_up` are the messages of its node."""
        if call.over or call.kind == "tool":
            return
        if call.state == "suspended":
            self.run.calls.wake(call)
        if call.kind == "subgraph" and not call.failed and status == "ok":
            self._unfinished(call, handed_up)
        status = end_status(call, status)
        self.close_children(call, "ok" if status == "ok" else "cancelled")
        result = self.run.output_of(call)
        if status == "ok":
            self.run.signal(call, result)
        self.run.calls.ended(call, "tool_end", {"tool_name": call.name, "result": result, "status": status})

    def _unfinished(self, call: Call, handed_up: frozenset[str]) -> None:
        """A graph that went on without a task's end: the task handed over to the graph above, or failed and was caught.

        `tasks` and `debug` tell a failure; `events` do not, but a message that came up tells that nothing failed.
        """
        for namespace, owner in self.run.tasks.owners.items():
            for task in self.run.tasks.open_in(namespace) if owner is call else ():
                task.open = False
                above = handed_up | {m.get("id") for m in messages_in(self.run.graph(namespace[:-1]).values)}
                handed = task.announced or any(id in above for model in task.models for id in model.ids)
                for model in task.models:
                    self.run.models.end(model, "ok" if handed else "error")
                if not handed and not any(tool.interrupts for tool in task.tools):
                    self.run.calls.error(call, task.name, {}, task.name)

    def close_children(self, call: Call, status: Status) -> None:
        for child in reversed(list(call.children.values())):
            if isinstance(child, ModelCall):
                self.run.models.end(child, end_status(child, status))
            elif child.kind == "tool":
                self.run.tools.end(child, end_status(child, "cancelled"), None)
            else:
                self.end_graph(child, status)

    def suspend(self, call: Call) -> None:
        """The call and all that is open under it wait for a person."""
        if call.state != "open":
            return
        for child in reversed(list(call.children.values())):
            if isinstance(child, ModelCall):
                self.run.models.end(child, "cancelled")
            else:
                self.suspend(child)
        call.interrupts = _union(call)
        self.run.calls.checkpoint(call, self.run.digest_of(call), call.interrupts)
        call.state = "suspended"

    def settle(self, namespace: Namespace) -> None:
        """An interrupted subgraph is checkpointed once none of its tasks works on."""
        call = self.run.tasks.owners.get(namespace)
        if call and call.kind == "subgraph" and call.interrupts and not self.run.tasks.open_in(namespace):
            self.suspend(call)

    def finish(self, outcome: Outcome | None, exhausted: bool) -> None:
        run = self.run
        # A server's stream may close at any place; a graph that returns has ended or waits.
        returned = outcome is None and exhausted and not run.metadata_seen
        for call in run.all_calls() if returned else ():
            if isinstance(call, ModelCall) and not call.over and not run.failure:
                run.models.end(call, "ok")
        run.tools.start_all_pending()
        outcome = outcome or self._inferred(returned)
        if outcome.values is not None:
            run.settle_values(scrub(json_safe(outcome.values)))
        if outcome.status in ("error", "timeout") or (run.failure and outcome.status == "success"):
            self._fail(outcome)
        elif outcome.status == "interrupted" or (outcome.status == "success" and run.root_asks):
            run.claim_for_root(outcome.safe_interrupts())
            self.suspend(run.root)
        elif outcome.status == "cancelled":
            self.end_graph(run.root, "cancelled")
        else:
            self.end_graph(run.root, "ok")

    def _inferred(self, returned: bool) -> Outcome:
        """Without an outcome: what the frames tell of the end."""
        run = self.run
        if run.told_outcome is not None:
            return run.told_outcome
        if run.failure:
            return Outcome("error", run.failure)
        ended = run.root_chain == "ended"
        if run.interrupted or (ended and run.tasks.stopped()):
            return Outcome("interrupted")
        speaking = any(isinstance(call, ModelCall) and not call.over for call in run.all_calls())
        unfinished = run.root_chain == "open" or (run.tasks.working() and not ended)
        if not returned and (unfinished or speaking or run.awaiting):
            run.warn("cut", "the stream ended in the middle of the run", None)
            return Outcome("cancelled")
        return Outcome("success")

    def _fail(self, outcome: Outcome) -> None:
        run, root = self.run, self.run.root
        facts = outcome.error or run.failure or {}
        if outcome.status == "timeout" and not facts:
            facts = {"error": "TimeoutError", "message": "the run took too long"}
        if outcome.blameless:
            run.calls.error(root, root.name, facts, None)
        elif not any(call.failed and not call.over for call in run.all_calls()):
            self._blame(facts)
        for call in [call for call in run.all_calls() if call.failed and not call.over]:
            while call.parent:
                call = call.parent
                call.failed = True
        root.failed = True
        self.end_graph(root, "error")

    def _blame(self, facts: dict[str, Any]) -> None:
        """No task told its error: the innermost open task is guilty, or, of several, the call that holds them all."""
        tasks = self.run.tasks.open_tasks()
        told = [call for task in tasks for call in task.tools if call.pending_error and not call.over]
        if len(told) == 1:
            self.run.calls.error(told[0], told[0].name, {**(told[0].pending_error or {}), **_told(facts)}, told[0].node)
            return
        inner = [
            t
            for t in tasks
            if not any(o.namespace[: len(t.namespace) + 1] == (*t.namespace, f"{t.name}:{t.id}") for o in tasks)
        ]
        if len(inner) == 1:
            task = inner[0]
            for model in task.models:
                self.run.models.end(model, "error")
            call = task.tools[0] if len(task.tools) == 1 else self.run.tasks.owner(task.namespace)
            self.run.calls.error(call, task.name if call not in task.tools else call.name, facts, task.name)
            return
        common = inner[0].namespace if inner else ()
        for task in inner:
            while task.namespace[: len(common)] != common:
                common = common[:-1]
        owner = self.run.tasks.owner(common)
        self.run.calls.error(owner, owner.name, facts, None)


def _told(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if value is not None}


def _union(call: Call) -> list[Any]:
    """The interrupts of a call and of all that waits under it, each once by its id."""
    found: list[Any] = list(call.interrupts)
    for child in call.children.values():
        found += [one for one in _union(child) if not any(_same(one, other) for other in found)]
    return found


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict) and one.get("id") is not None:
        return bool(one["id"] == other.get("id"))
    return bool(one == other)
