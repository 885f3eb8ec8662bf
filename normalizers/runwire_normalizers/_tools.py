"""Tool calls: requested by a message, executed by a task, answered by a tool message, each exactly once."""

from typing import TYPE_CHECKING, Any

import orjson

from runwire_normalizers._calls import Call
from runwire_normalizers._identity import Namespace, canonical, digest, tool_call
from runwire_normalizers._messages import text_of
from runwire_normalizers._scrub import scrub
from runwire_normalizers.envelope import Status
from runwire_normalizers.results import tool_result

if TYPE_CHECKING:
    from runwire_normalizers._models import ModelCall
    from runwire_normalizers._run import Run


class Tools:
    """Ties requests, executions and answers to the uses of each tool call id in each namespace."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.uses: dict[tuple[Namespace, str], list[Call]] = {}
        self.requested: dict[str, Namespace] = {}
        self.repeats: dict[str, int] = {}
        self.unclaimed: set[str] = set()
        self.answered: set[str] = set()
        self.pending: list[tuple[ModelCall, list[dict[str, Any]]]] = []
        self.by_run: dict[str, Call] = {}
        # Whether it is known that nothing but messages is streamed, or that nodes' results are too.
        self.at_once = self.in_state = False

    def request(self, namespace: Namespace, message_key: str, calls: list[dict[str, Any]], node: str | None) -> None:
        """A message that asks for tools, or for none, has entered the state."""
        if message_key in self.requested:
            return
        self.requested[message_key] = namespace
        for asked in calls:
            uses = self._known(namespace, asked["id"])
            # Executed before the request was seen: the same use, unless it has been asked for already.
            if uses and uses[-1].call_id in self.unclaimed:
                self.unclaimed.discard(uses[-1].call_id)
                continue
            self._open(namespace, asked, node)

    def request_more(
        self, namespace: Namespace, message_key: str, calls: list[dict[str, Any]], node: str | None
    ) -> None:
        """A message that has entered the state is there again, and may have been rewritten."""
        if self.requested.get(message_key) != namespace:
            return
        for asked in calls:
            if not self._known(namespace, asked["id"]):
                self._open(namespace, asked, node)

    def nameless_key(self, namespace: Namespace, calls: list[dict[str, Any]]) -> str:
        """The key of a message without an id: the same request is a new one once the last was answered."""
        base = digest([list(namespace), calls])
        number = self.repeats.setdefault(base, 1)
        known = f"{base}#{number}" in self.requested
        if known and all(uses and uses[-1].over for uses in (self._known(namespace, one["id"]) for one in calls)):
            self.repeats[base] += 1
        return f"{base}#{self.repeats[base]}"

    def execute(self, namespace: Namespace, asked: dict[str, Any], node: str | None) -> Call:
        """A task that executes the tool call has started."""
        uses = self._known(namespace, asked["id"])
        if uses:
            uses[-1].node = node or uses[-1].node
            return uses[-1]
        call = self._open(namespace, asked, node)
        self.unclaimed.add(call.call_id)
        return call

    def _known(self, namespace: Namespace, id: str) -> list[Call]:
        """The uses of this id in this graph, those of earlier runs of the trace included."""
        uses = self.uses.setdefault((namespace, id), [])
        while (key := tool_call(self.run.trace_id, namespace, id, len(uses) + 1)) in self.run.calls.by_id:
            uses.append(self.run.calls.by_id[key])
        return uses

    def _open(self, namespace: Namespace, asked: dict[str, Any], node: str | None) -> Call:
        uses = self._known(namespace, asked["id"])
        parent = self.run.tasks.owner(namespace)
        args, name = asked.get("args"), asked.get("name")
        agent = args.get("subagent_type") if name == "task" and isinstance(args, dict) else None
        call_id = tool_call(self.run.trace_id, namespace, asked["id"], len(uses) + 1)
        call = Call(call_id, "tool", parent, name, node, agent if isinstance(agent, str) else parent.agent)
        call.tool_call_id, call.namespace = asked["id"], namespace
        uses.append(call)
        self._start(call, scrub(args))
        return call

    def _start(self, call: Call, args: Any) -> None:
        payload = {
            "kind": "tool",
            "tool_name": call.name,
            "args": args,
            "node": call.node,
            "tool_call_id": call.tool_call_id,
            "namespace": list(call.namespace),
        }
        self.run.calls.open(call, "tool_start", payload)

    def hear(self, namespace: Namespace, message: dict[str, Any], node: str | None) -> None:
        """A tool message of `messages`: where nodes' results are asked for, those tell it.

        Where state only happens to come, one that answers no open call waits for it.
        """
        if self.in_state:
            return
        id = message.get("tool_call_id")
        waiting = isinstance(id, str) and any(not use.over for use in self._known(namespace, id))
        if waiting or not self.run.state_seen:
            self.answer(namespace, message, node)

    def answer(self, namespace: Namespace, message: dict[str, Any], node: str | None) -> None:
        """A tool message: it ends the use that it answers."""
        id, message_id = message.get("tool_call_id"), message.get("id")
        if not isinstance(id, str) or (message_id and message_id in self.answered):
            return
        if message_id:
            self.answered.add(message_id)
        self._start_pending(id)
        uses = self._known(namespace, id)
        call = next((use for use in uses if not use.over), None)
        if call is None:
            if uses or self._elsewhere(namespace, id):
                return
            call = self._open(namespace, {"id": id, "name": message.get("name"), "args": None}, node)
            self.unclaimed.add(call.call_id)
        if call.name is None:
            call.name = message.get("name")
        failed = message.get("status") == "error"
        if failed and not call.failed:
            facts = call.pending_error or {"message": _text(message)}
            self.run.calls.error(call, call.name, facts, call.node)
        self.end(call, "error" if failed else "ok", message)

    def _elsewhere(self, namespace: Namespace, id: str) -> bool:
        """A subgraph hands its messages up: the tool call was answered in there."""
        return any(
            key == id and space[: len(namespace)] == namespace for space, key in self.uses if self.uses[space, key]
        )

    def end(self, call: Call, status: Status, message: Any) -> None:
        if call.over:
            return
        if call.state == "suspended":
            self.run.calls.wake(call)
        self.run.ending.close_children(call, "cancelled" if status == "error" else "ok")
        result = None if message is None else tool_result(message)
        if status == "ok" and call.owns_graph:
            self.run.signal(call, result)
        self.run.calls.ended(call, "tool_end", {"tool_name": call.name, "result": result, "status": status})

    # Streams of messages alone: requests known only from them, started at the first sign that they were taken up.

    def message_done(self, model: "ModelCall") -> None:
        if self.in_state or self.run.state_seen:
            model.slots = {}
            return
        asked = model.asked or self.run.models.accumulated(model)
        if asked:
            self.pending.append((model, asked))
        if self.at_once:
            self.start_all_pending()

    def _start_pending(self, id: str) -> None:
        if self.run.state_seen:
            self.pending = []
        else:
            self.run.models.answered(id)
        for model, asked in self.pending:
            if any(call["id"] == id for call in asked):
                self.pending.remove((model, asked))
                self._take(model, asked)
                return

    def start_all_pending(self) -> None:
        pending, self.pending = self.pending, []
        if not self.run.state_seen:
            for model, asked in pending:
                self._take(model, asked)

    def _take(self, model: "ModelCall", asked: list[dict[str, Any]]) -> None:
        calls = [{**call, "args": _parsed(call["args"])} for call in asked]
        self.request(model.namespace, canonical(model.ids[0]), calls, model.node)
        if self.run.models.place_of(model):
            # The state may tell the same message yet, and nothing ties the two together but this.
            self.unclaimed.update(self._known(model.namespace, call["id"])[-1].call_id for call in calls)

    # `events` alone name tools without their ids.

    def run_started(self, namespace: Namespace, run_id: str, name: str, args: Any, node: str | None) -> None:
        bound = set(map(id, self.by_run.values()))
        waiting = [
            call
            for (space, _), uses in self.uses.items()
            if space == namespace
            for call in uses
            if not call.over and call.name == name and id(call) not in bound
        ]
        if waiting:
            self.by_run[run_id] = waiting[0]
            return
        parent = self.run.tasks.owner(namespace)
        call = Call(tool_call(self.run.trace_id, namespace, run_id, 1), "tool", parent, name, node, parent.agent)
        call.namespace, self.by_run[run_id] = namespace, call
        self._start(call, scrub(args))

    def run_ended(self, run_id: str, output: Any) -> None:
        call = self.by_run.get(run_id)
        if call and call.tool_call_id is None:
            self.end(call, "ok", output)
        elif call:
            call.fallback = output


def _parsed(args: Any) -> Any:
    if not isinstance(args, str):
        return args
    try:
        return orjson.loads(args) if args else {}
    except orjson.JSONDecodeError:
        return args


def _text(message: dict[str, Any]) -> str:
    return text_of(message) or orjson.dumps(message.get("content")).decode()
