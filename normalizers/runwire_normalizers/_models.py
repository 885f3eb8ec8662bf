"""Model calls: one per message id, its text exactly once whatever number of sources tell it."""

from typing import TYPE_CHECKING, Any

from runwire_normalizers._calls import Call
from runwire_normalizers._identity import Namespace, canonical, model_call
from runwire_normalizers._messages import add_usage, finish_reason, pieces, tool_calls, usage_of
from runwire_normalizers._scrub import scrub
from runwire_normalizers.envelope import Envelope, Status

if TYPE_CHECKING:
    from runwire_normalizers._run import Run
    from runwire_normalizers._tasks import Task

LOCAL = "lc_run--"
SPOKEN = "messages text"


class ModelCall(Call):
    """A model call with what each source has told of each of its channels."""

    def __init__(self, call_id: str, parent: Call, model: str | None, node: str | None, agent: str | None) -> None:
        super().__init__(call_id, "model", parent, model, node, agent)
        self.message_id = ""
        self.ids: list[str] = []
        self.task: Task | None = None
        self.emitted: dict[Any, int] = {}
        self.heard: dict[Any, int] = {}
        self.slots: dict[Any, list[Any]] = {}
        self.last_slot: Any = None
        # What a message that came whole asks for.
        self.asked: list[dict[str, Any]] = []
        self.finish: str | None = None
        self.told_usage: dict[str, Any] = {}


class Models:
    """Finds the model call of a message, opens it, and moves its text."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.by_id: dict[str, ModelCall] = {}
        self.by_run: dict[str, ModelCall] = {}
        self.by_path: dict[Any, list[ModelCall]] = {}
        self.sources: set[str] = set()
        self.nameless: dict[str, int] = {}
        # By the ids of the tool calls that fragments ask for.
        self.asking: dict[str, ModelCall] = {}

    def hear(
        self,
        namespace: Namespace,
        message: dict[str, Any],
        meta: dict[str, Any],
        source: str,
        whole: bool,
        run_id: str | None = None,
    ) -> None:
        """A chunk of a message, or a whole one, from one source."""
        id = message.get("id") or self._nameless(namespace, message, meta, whole)
        call = self._found(namespace, id, meta, run_id)
        if call is None:
            return
        if run_id:
            self.by_run[run_id] = call
        if call.over:
            self._late(call, message, source, whole)
            return
        self._text(call, message, source, whole)
        if not whole:
            self._fragments(call, message, source)
        elif source == "messages":
            call.asked = tool_calls(message)
        self._facts(call, message, source, whole)
        if whole or message.get("chunk_position") == "last":
            self.end(call, "ok")

    def say(self, call: ModelCall, text: str) -> list[Envelope]:
        """More text of an open model call, from `messages`: what `hear` does with a chunk that tells nothing else."""
        size, start, done = len(text), call.heard.get(SPOKEN, 0), call.emitted.get("text", 0)
        calls, parent = self.run.calls, call.parent
        call.heard[SPOKEN] = start + size
        if start != done or not size or parent is None:
            self._move(call, "text", "text", start, text)
            return calls.taken()
        call.emitted["text"] = done + size
        call.seq += size
        payload = {"text": text, "channel": "text", "offset": done}
        trace, run, above = calls.trace_id, calls.run_id, parent.call_id
        return [
            Envelope(
                "llm_token", calls.ts, trace, run, above, call.call_id, call.seq, calls.origin, call.agent, payload
            )
        ]

    def hear_so_far(self, namespace: Namespace, message: dict[str, Any], meta: dict[str, Any], done: bool) -> None:
        """A message that repeats all that was said before: the cumulative `messages` mode."""
        id = message.get("id") or self._nameless(namespace, message, meta, done)
        call = self._found(namespace, id, meta, None)
        if call and not call.over:
            self._text(call, message, "cumulative", True)
            self._facts(call, message, "cumulative", True)
            if done or message.get("chunk_position") == "last":
                self.end(call, "ok")

    def _found(self, namespace: Namespace, id: str, meta: dict[str, Any], run_id: str | None) -> ModelCall | None:
        """The model call of a message, opened if it is new; none if an earlier run of the trace ended it."""
        call = self.by_id.get(id) or self.by_id.get(canonical(id)) or (self.by_run.get(run_id) if run_id else None)
        if call is None:
            if self.finished_before(id):
                return None
            call = self._alias(id, meta) or self._open(namespace, id, meta)
        if id not in call.ids:
            self._name(call, id)
        return call

    def _nameless(self, namespace: Namespace, message: dict[str, Any], meta: dict[str, Any], whole: bool) -> str:
        """An id from namespace and node; the next message of the same place gets the next number."""
        place = meta.get("langgraph_checkpoint_ns") or "|".join((*namespace, str(meta.get("langgraph_node") or "")))
        number = self.nameless.setdefault(place, 1)
        if whole or message.get("chunk_position") == "last":
            self.nameless[place] = number + 1
        return f"{place}#{number}"

    def finished_before(self, id: str) -> bool:
        """Whether an earlier run of the trace had this model call already."""
        return model_call(self.run.trace_id, id) in self.run.calls.by_id

    def _alias(self, id: str, meta: dict[str, Any]) -> ModelCall | None:
        """A provider's own id for the one open model call of the task, or the other way round."""
        local = id.startswith(LOCAL)
        candidates = [
            call
            for call in self.by_path.get(meta.get("langgraph_checkpoint_ns"), ())
            if not call.over
            and len(call.ids) == 1
            and call.ids[0].startswith(LOCAL) is not local
            and call.name == meta.get("ls_model_name", call.name)
        ]
        return candidates[0] if len(candidates) == 1 else None

    def _open(self, namespace: Namespace, id: str, meta: dict[str, Any]) -> ModelCall:
        run, task = self.run, self.run.tasks.of_meta(meta)
        owner = run.tasks.owner(namespace)
        parent = task.tools[0] if task and len(task.tools) == 1 and not task.tools[0].over else owner
        agent = meta.get("lc_agent_name") or parent.agent
        call = ModelCall(
            model_call(run.trace_id, id), parent, meta.get("ls_model_name"), meta.get("langgraph_node"), agent
        )
        call.task, call.namespace, call.message_id = task, namespace, id
        if meta.get("lc_agent_name") and owner.kind in ("tool", "subgraph"):
            owner.agent = agent
        if task:
            task.models.append(call)
        if path := meta.get("langgraph_checkpoint_ns"):
            self.by_path.setdefault(path, []).append(call)
        self._name(call, id)
        run.learn(meta)
        params = {key[3:]: value for key, value in meta.items() if key.startswith("ls_") and key != "ls_model_name"}
        payload = {"model": call.name, "params": scrub(params) or None, "node": call.node, "message_id": id}
        payload["namespace"] = list(namespace)
        run.calls.open(call, "llm_start", payload)
        return call

    def _name(self, call: ModelCall, id: str) -> None:
        call.ids.append(id)
        self.by_id[id] = call
        self.by_id.setdefault(canonical(id), call)
        if not id.startswith(LOCAL):
            call.message_id = id

    def _late(self, call: ModelCall, message: dict[str, Any], source: str, whole: bool) -> None:
        """Text after the end belongs to nobody: it is told, never appended."""
        if whole or call.heard.get((source, "done")) or source != "messages":
            return
        fresh = any(
            text and call.heard.get(f"{source} {channel}", 0) + len(text) > call.emitted.get(channel, 0)
            for channel, text in pieces(message)
        )
        for channel, text in pieces(message):
            call.heard[f"{source} {channel}"] = call.heard.get(f"{source} {channel}", 0) + len(text)
        if fresh:
            raw = {"message_id": message.get("id"), "content": message.get("content")}
            self.run.warn("late", "text came after the end of its model call", raw)

    def _text(self, call: ModelCall, message: dict[str, Any], source: str, whole: bool) -> None:
        position = {"text": 0, "reasoning": 0} if whole else None
        for channel, text in pieces(message):
            if not text:
                continue
            if channel == "?":
                self.run.warn("content", f"a content block of type {text} has no text", message.get("content"))
                continue
            if position is None:
                heard = f"{source} {channel}"
                start = call.heard.get(heard, 0)
                call.heard[heard] = start + len(text)
            else:
                start = position[channel]
                position[channel] += len(text)
            self._move(call, channel, channel, start, text)

    def _move(self, call: ModelCall, key: Any, channel: str, start: int, text: str, **more: Any) -> None:
        """Emits what lies beyond the text that some source has told already."""
        done = call.emitted.get(key, 0)
        if start + len(text) <= done:
            return
        fresh = text[done - start :] if done > start else text
        call.emitted[key] = done + len(fresh)
        payload = {"text": fresh, "channel": channel, "offset": done, **more}
        self.run.calls.emit(call, "llm_token", payload, len(fresh))

    def _fragments(self, call: ModelCall, message: dict[str, Any], source: str) -> None:
        for fragment in message.get("tool_call_chunks") or ():
            key = self._slot(call, fragment, source)
            slot = call.slots[key]
            text = fragment.get("args") or ""
            start = call.heard.get((source, key), 0)
            call.heard[source, key] = start + len(text)
            if text and start + len(text) > call.emitted.get(key, 0):
                slot[2].append(text[max(0, call.emitted.get(key, 0) - start) :])
                self._move(call, key, "tool_args", start, text, tool_call_id=slot[0], tool_name=slot[1])

    def _slot(self, call: ModelCall, fragment: dict[str, Any], source: str) -> Any:
        """Where a fragment belongs: its index; a new id at the same index is a new call."""
        index, id, last = fragment.get("index"), fragment.get("id"), call.last_slot or {}
        id = id if isinstance(id, str) else None
        key = ("tool_args", index, id) if id else last.get((source, index))
        if key is None:
            key = ("tool_args", index, None)
        call.last_slot = {**last, (source, index): key}
        slot = call.slots.setdefault(key, [id, fragment.get("name"), []])
        if id:
            self.asking[id] = call
        slot[1] = slot[1] or fragment.get("name")
        return key

    def _facts(self, call: ModelCall, message: dict[str, Any], source: str, whole: bool) -> None:
        usage = scrub(usage_of(message))
        if usage and whole:
            call.told_usage = {source: usage}
        elif usage:
            call.told_usage[source] = add_usage(call.told_usage.get(source, {}), usage)
        call.finish = finish_reason(message) or call.finish
        if call.name is None:
            call.name = (message.get("response_metadata") or {}).get("model_name")

    def end(self, call: ModelCall, status: Status) -> None:
        if call.over:
            return
        usage = next(iter(call.told_usage.values()), None)
        call.usage = usage or {}
        payload = {
            "usage": usage,
            "finish_reason": call.finish,
            "status": status,
            "message_id": call.message_id,
        }
        self.run.calls.ended(call, "llm_end", payload)
        call.emitted = dict(call.emitted)
        if status == "ok":
            self.run.tools.message_done(call)

    def in_state(self, namespace: Namespace, message: dict[str, Any], node: str | None, task: "Task | None") -> None:
        """An AI message that entered the state: a model call of its own only where no token source is on."""
        id = message.get("id")
        if id and (id in self.by_id or canonical(id) in self.by_id):
            call = self.by_id.get(id) or self.by_id[canonical(id)]
            if not call.over:
                self._text(call, message, "state", True)
                self._facts(call, message, "state", True)
                self.end(call, "ok")
            return
        streamed = self.sources - {"events"} or (self.sources and task and (task.models or task.has_inner))
        if streamed:
            if not id:
                self._end_nameless(namespace, message, node, task)
            return
        meta = {"langgraph_node": node}
        if task:
            meta["langgraph_checkpoint_ns"] = task.path
            if task.agent:
                meta["lc_agent_name"] = task.agent
        told = message.get("response_metadata") or {}
        if told.get("model_name"):
            meta["ls_model_name"] = told["model_name"]
        self.hear(namespace, message, meta, "state", True)

    def _end_nameless(
        self, namespace: Namespace, message: dict[str, Any], node: str | None, task: "Task | None"
    ) -> None:
        """A whole message without an id ends the one that its place has streamed."""
        place = task.path if task else "|".join((*namespace, node or ""))
        call = self.by_id.get(f"{place}#{self.nameless.get(place, 1)}")
        if call and not call.over:
            self.nameless[place] += 1
            self._facts(call, message, "state", True)
            self.end(call, "ok")

    def answered(self, tool_call_id: str) -> None:
        """The answer to a tool call ends the message that asked for it, where nothing has told that it is whole."""
        call = self.asking.pop(tool_call_id, None)
        if call is None or call.over:
            return
        place = self.place_of(call)
        if place and call.message_id == f"{place}#{self.nameless[place]}":
            self.nameless[place] += 1
        self.end(call, "ok")

    def place_of(self, call: ModelCall) -> str | None:
        """Where a message without an id was said."""
        place = call.message_id.rpartition("#")[0]
        return place if place in self.nameless else None

    def accumulated(self, call: ModelCall) -> list[dict[str, Any]]:
        """The tool calls of a message that was only seen in fragments."""
        return tool_calls(
            {"tool_calls": [{"id": s[0], "name": s[1], "args": "".join(s[2])} for s in call.slots.values()]}
        )
