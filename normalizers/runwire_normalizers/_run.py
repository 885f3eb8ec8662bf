"""One run as facts arrive; its parts share their state through it. Modes say what a frame means, this what follows."""

import re
from collections import deque
from collections.abc import Mapping
from typing import Any, Literal

from runwire_normalizers._calls import Call, Calls
from runwire_normalizers._ending import Ending
from runwire_normalizers._identity import Namespace, canonical, digest, root_call, signal_call
from runwire_normalizers._messages import AI_TYPES, TOOL_TYPES, kind_of, messages_in, tool_calls
from runwire_normalizers._models import ModelCall, Models
from runwire_normalizers._output import normalized
from runwire_normalizers._scrub import scrub
from runwire_normalizers._state import GraphState, as_values, delta
from runwire_normalizers._tasks import Task, Tasks
from runwire_normalizers._tools import Tools
from runwire_normalizers.continuation import Continuation
from runwire_normalizers.outcome import Outcome

TWINS_REMEMBERED = 32
# What LangGraph's `add_messages` gives; a model's messages have ids of other forms.
GIVEN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Run:
    """The trace's calls, tasks, models, tools and states."""

    def __init__(
        self,
        trace_id: str,
        run_id: str | None,
        label: str | None,
        input: Any,
        resumed_from: Continuation | None,
        completion: str | Mapping[str, str] | None,
        long_open: float | None,
    ) -> None:
        self.trace_id = trace_id
        self.label = label
        self.completion = completion
        self.calls = Calls(trace_id, run_id, long_open)
        self.models = Models(self)
        self.tools = Tools(self)
        self.tasks = Tasks(self)
        self.ending = Ending(self)
        self.graphs: dict[Namespace, GraphState] = {}
        self.state_source: Literal["values", "tasks", "updates"] | None = None
        self.state_seen = False
        self.results_seen = False
        self.nameless_seen = False
        self.failure: dict[str, Any] | None = None
        self.told_outcome: Outcome | None = None
        self.interrupted = False
        # Whether the run's own graph was interrupted, which nobody can catch: servers have called such a run a success.
        self.root_asks = False
        self.claimed: set[str] = set()
        self.root_chain: Literal["unseen", "open", "ended"] = "unseen"
        self.checkpoints: set[tuple[Namespace, str]] = set()
        # Whether it is known that nothing else tells the state.
        self.only_checkpoints = False
        self.customs: deque[tuple[str, Namespace]] = deque(maxlen=TWINS_REMEMBERED)
        self.data: Any = None
        self.cumulative: dict[str, dict[str, Any]] = {}
        self.metadata_seen = False
        # Whether a new attempt has begun and not told anything yet.
        self.awaiting = False
        self.root_run: str | None = None
        self.graph_names: list[str] = []
        self.input = input
        self.resumed = resumed_from
        if resumed_from:
            for record in resumed_from.calls:
                self.calls.restore(record)
        self.root = self.calls.by_id.get(root_call(trace_id)) or Call(
            root_call(trace_id), "run", None, label, None, label
        )

    def begin(self, meta: dict[str, Any] | None) -> None:
        """The first envelope: the root's start, or its resume."""
        if self.root.state == "suspended":
            self.calls.wake(self.root)
        elif self.root.state == "open":
            self.calls.resume(self.root)
        else:
            payload = {
                "kind": "run",
                "tool_name": self.root.name,
                "input": scrub(self.input),
                "node": None,
                "tool_call_id": None,
                "namespace": [],
            }
            self.calls.open(self.root, "tool_start", payload | ({"meta": scrub(meta)} if meta else {}))

    def warn(self, code: str, message: str, raw: Any, call: Call | None = None) -> None:
        target = call or self.root
        while target.over and target.parent:
            target = target.parent
        self.calls.warn(target, code, message, raw)

    def learn(self, meta: dict[str, Any]) -> None:
        """Names that frames tell of the root."""
        if self.graph_names:
            return
        self.graph_names = [meta[key] for key in ("graph_id", "assistant_id") if isinstance(meta.get(key), str)]
        if self.root.name is None and isinstance(meta.get("graph_id"), str):
            self.root.name = meta["graph_id"]

    def all_calls(self) -> list[Call]:
        return list(self.calls.by_id.values())

    # state

    def graph(self, namespace: Namespace) -> GraphState:
        return self.graphs.setdefault(namespace, GraphState())

    def state_of(self, call: Call) -> GraphState:
        if call is self.root:
            return self.graph(())
        spaces = [space for space, owner in self.tasks.owners.items() if owner is call]
        return self.graph(spaces[0]) if spaces else GraphState()

    def output_of(self, call: Call) -> dict[str, Any]:
        """The normalised output of a run or a subgraph, as far as its state is known."""
        names = [call.name, *self.graph_names] if call is self.root else [call.name]
        return normalized(names, self.state_of(call), call.usage)

    def digest_of(self, call: Call) -> str | None:
        values = self.state_of(call).values
        return digest(values) if values else None

    def message_key(self, id: str) -> str:
        model = self.models.by_id.get(id) or self.models.by_id.get(canonical(id))
        return canonical(model.ids[0]) if model else canonical(id)

    def absorb_input(self, namespace: Namespace, input: dict[str, Any]) -> None:
        """What a node was given: messages in it were there before, or have been seen as they came."""
        graph = self.graph(namespace)
        graph.known.update(m["id"] for m in messages_in(input) if m.get("id"))
        if self.state_source != "values":
            graph.merge_input({key: value for key, value in input.items() if not key.startswith("__")})

    def absorb_result(
        self,
        namespace: Namespace,
        result: Any,
        messages: list[dict[str, Any]],
        node: str | None,
        task: Task | None,
    ) -> None:
        """What a node returned."""
        self.results_seen = True
        if task is None and self.tasks.by_id:
            # Tasks tell the same message, and without an id nothing ties the two together.
            messages = [m for m in messages if m.get("id") or kind_of(m) not in AI_TYPES]
        self.absorb_messages(namespace, messages, node, task)
        source: Literal["tasks", "updates"] = "tasks" if task else "updates"
        self._prefer(source)
        if self.state_source == source:
            graph = self.graph(namespace)
            before = dict(graph.values)
            if task:
                graph.finished(task.order, result)
            else:
                graph.update(result)
            self._tell(namespace, before, graph.values, node)

    def absorb_values(self, namespace: Namespace, values: dict[str, Any]) -> None:
        """The whole state; in a graph not seen before, it is what was there before the run."""
        self._prefer("values")
        self.tasks.owner(namespace)
        graph = self.graph(namespace)
        if not isinstance(values.get("messages"), list | dict | None):
            raise TypeError("messages are a list")
        listed = {key: messages_in({key: value}) for key, value in values.items() if key != "__interrupt__"}
        first = not graph.told
        before, graph.told = dict(graph.values), True
        for key, messages in listed.items():
            if first:
                graph.known.update(m["id"] for m in messages if m.get("id"))
            else:
                # A message without an id is known only by its place, and where nodes' results are told, by those.
                count = len(messages) if self.results_seen else graph.counts.get(key, 0)
                new = [message for n, message in enumerate(messages) if message.get("id") or n >= count]
                self.absorb_messages(namespace, new, None, None)
            graph.counts[key] = len(messages)
        graph.replace(values)
        if not first:
            self._tell(namespace, before, graph.values)

    def settle_values(self, values: Any) -> None:
        """The final state, as the caller knows it: what the frames could not tell of it is told now."""
        graph = self.graph(())
        before = dict(graph.values)
        graph.replace(as_values(values))
        self._tell((), before, graph.values)

    def _prefer(self, source: Literal["values", "tasks", "updates"]) -> None:
        self.state_seen = True
        rank = {None: 0, "updates": 1, "tasks": 2, "values": 3}
        if rank[source] > rank[self.state_source]:
            self.state_source = source

    def absorb_messages(
        self, namespace: Namespace, messages: list[dict[str, Any]], node: str | None, task: Task | None
    ) -> None:
        graph = self.graph(namespace)
        self.state_seen = True
        for message in messages:
            id, kind = message.get("id"), kind_of(message)
            if id and id in graph.known and kind in AI_TYPES | TOOL_TYPES:
                if kind in AI_TYPES:
                    self._rewritten(namespace, message, node)
                continue
            if id and kind in AI_TYPES and self._was_nameless(namespace, str(id), message):
                graph.known.add(id)
                continue
            handed_up = bool(id) and self._known_inside(namespace, str(id))
            if id:
                graph.known.add(id)
            elif kind in AI_TYPES and node:
                graph.remember_nameless(message)
                self.nameless_seen = True
            if kind in AI_TYPES and not handed_up:
                self._spoken(namespace, message, node, task)
            elif kind in TOOL_TYPES:
                self.tools.answer(namespace, message, node)

    def _was_nameless(self, namespace: Namespace, id: str, message: dict[str, Any]) -> bool:
        """Whether a node of this graph, or of one inside it, returned the message before the state gave it its id."""
        if not self.nameless_seen or id in self.models.by_id or not GIVEN_ID.fullmatch(id):
            return False
        size = len(namespace)
        inside = [graph for space, graph in self.graphs.items() if space[:size] == namespace]
        return any(graph.forget_nameless(message) for graph in inside)

    def _known_inside(self, namespace: Namespace, id: str) -> bool:
        """Whether a graph inside this one had the message before the run, and hands it up now."""
        if id in self.models.by_id or canonical(id) in self.models.by_id:
            return False
        size = len(namespace)
        return any(
            id in graph.known for space, graph in self.graphs.items() if len(space) > size and space[:size] == namespace
        )

    def _spoken(self, namespace: Namespace, message: dict[str, Any], node: str | None, task: Task | None) -> None:
        id, asked = message.get("id"), tool_calls(message)
        before = id and self.models.finished_before(id) and id not in self.models.by_id
        self.models.in_state(namespace, message, node, task)
        if (asked or id) and not before:
            key = self.message_key(id) if id else self.tools.nameless_key(namespace, asked)
            self.tools.request(namespace, key, asked, node)

    def _rewritten(self, namespace: Namespace, message: dict[str, Any], node: str | None) -> None:
        """Text that was said is not taken back, but a message of this run may ask for more tools than it did."""
        if asked := tool_calls(message):
            self.tools.request_more(namespace, self.message_key(message["id"]), asked, node)

    def _tell(
        self, namespace: Namespace, before: dict[str, Any], after: dict[str, Any], node: str | None = None
    ) -> None:
        changed = delta(before, after)
        if changed:
            self._update(namespace, "state", changed, node)

    def _update(self, namespace: Namespace, kind: str, data: Any, node: str | None) -> None:
        payload = {"kind": kind, "data": scrub(data), "node": node, "namespace": list(namespace)}
        self.calls.emit(self.tasks.owner(namespace), "tool_update", payload)

    # interrupts

    def claim(self, interrupts: list[Any]) -> list[Any]:
        """Those that no inner call has claimed yet."""
        self.interrupted = True
        fresh = [one for one in interrupts if not (isinstance(one, dict) and one.get("id") in self.claimed)]
        self.claimed.update(one["id"] for one in fresh if isinstance(one, dict) and one.get("id"))
        return list(scrub(fresh))

    def claim_for_root(self, interrupts: list[Any]) -> None:
        self.root.interrupts.extend(self.claim(interrupts))

    def interrupt(self, namespace: Namespace, interrupts: list[Any]) -> None:
        """`updates` and `values` name no task; where tasks are told, those say whose interrupt it is."""
        self.interrupted = True
        self.root_asks = self.root_asks or not namespace
        if not self.tasks.by_id:
            self.tasks.owner(namespace).interrupts.extend(self.claim(interrupts))

    # the rest

    def attempt(self, raw: Any) -> None:
        """A second `metadata` frame: the server runs the run again."""
        for call in reversed(self.all_calls()):
            if isinstance(call, ModelCall) and not call.over:
                self.models.end(call, "cancelled")
        self.tasks.attempt += 1
        self.tools.by_run = {}
        self.root_chain = "unseen"
        self.failure = None
        self.root_asks = False
        self.warn("attempt", "the server started a new attempt of the run", raw)
        self.awaiting = True
        if self.root.failed:
            self.root.failed = False
            self.calls.resume(self.root)

    def custom(self, namespace: Namespace, data: Any) -> None:
        """A writer's data; an inner agent's chunk that its tool forwarded counts once."""
        if isinstance(data, dict) and self._is_twin(namespace, data):
            return
        self._update(namespace, "custom", data, None)

    def _is_twin(self, namespace: Namespace, data: dict[str, Any]) -> bool:
        """Whether a graph inside this one has just said the same, so that it was forwarded."""
        inner = [one for one in self.customs if len(one[1]) > len(namespace) and one[1][: len(namespace)] == namespace]
        # Nothing is inside the root's own, and most data have nobody to be the twin of: those are not read through.
        if not inner and not namespace:
            return False
        key = digest(data)
        twin = next((one for one in inner if one[0] == key), None)
        if twin:
            self.customs.remove(twin)
            return True
        if namespace:
            self.customs.append((key, namespace))
        return False

    def signal(self, call: Call, result: Any) -> None:
        """The completion signal that some front ends wait for, around a normalised result."""
        name = self.completion
        if isinstance(name, Mapping):
            name = name.get(call.name or "") or name.get(call.agent or "")
        if not name:
            return
        child = Call(signal_call(self.trace_id, call.call_id, name), "tool", call, name, call.node, call.agent)
        child.namespace = call.namespace
        payload: dict[str, Any] = {"kind": "tool", "tool_name": name, "args": None, "node": call.node}
        payload |= {"tool_call_id": None, "namespace": list(call.namespace)}
        self.calls.open(child, "tool_start", payload)
        self.calls.ended(child, "tool_end", {"tool_name": name, "result": result, "status": "ok"})
