"""A run as a script tells it: its frames, its end, and what the server says about it."""

import json
import threading
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from runwire.testing._behaviour import Behaviour, Connection, Frame, Hold
from runwire.testing._engines import Engine
from runwire_normalizers.outcome import OutcomeStatus

# Checkpoint ids sort by time, across runs too.
_serial = count(1)


class Entry(NamedTuple):
    event: str
    id: str | None
    wire: bytes


@dataclass
class ScriptedRun:
    """A run: its frames, how it ends, and how each connection to it behaves; the first is the one that starts it.

    The engine adds the frames of the end, unless the run is `bare`. `status` is the SDK's word: a run that waits for a
    person is `interrupted`, one that somebody stopped `cancelled`. `histories` are its checkpoints by namespace, newest
    first. `kept` is how many of its last frames can be replayed, `late` how often the run is still said to be running
    after its end, and one that is `rolled_back` is unknown then.
    """

    frames: Sequence[Frame] = ()
    status: OutcomeStatus = "success"
    values: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    interrupts: list[dict[str, Any]] = field(default_factory=list)
    connections: Sequence[Behaviour] = ()
    histories: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    run_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    bare: bool = False
    kept: int | None = None
    late: int = 0
    rolled_back: bool = False
    # Set when the run is started.
    thread_id: str = field(default="", init=False)
    asked: dict[str, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._behaviours = deque(self.connections)
        self._released = threading.Event()

    def release(self) -> None:
        """Let a held run go on to its end."""
        self._released.set()

    def stop(self, rollback: bool = False) -> None:
        """Cancel the run as a client would; one that has ended stays as it is."""
        if self.held:
            self.status, self.rolled_back = "cancelled", rollback
            self._released.set()

    @property
    def held(self) -> bool:
        """Whether the run is still going."""
        return any(isinstance(frame, Hold) for frame in self.frames) and not self._released.is_set()

    def behaviour(self) -> Behaviour:
        """How the next connection behaves."""
        return self._behaviours.popleft() if self._behaviours else Connection()

    def log(self, engine: Engine, held: bool) -> list[Entry]:
        """The frames of the run as far as it has come: to where it is held, or to its end."""
        told, position = list[Entry](), count()
        for frame in [*self._reached(held), *([] if held or self.bare else self._ending(engine))]:
            if isinstance(frame, bytes):
                told.append(Entry("", None, frame))
            elif not isinstance(frame, Hold):
                event, data, *given = frame
                own = engine.id_of(self.run_id, next(position))
                id = (given[0] if given else own) if self.asked.get("stream_resumable", True) else None
                told.append(Entry(event, id, wire(event, engine.dressed(event, data), id, engine.newline)))
        return told

    def _reached(self, held: bool) -> Sequence[Frame]:
        holds = [n for n, frame in enumerate(self.frames) if isinstance(frame, Hold)]
        return self.frames[: holds[0]] if holds and (held or self.status == "cancelled") else self.frames

    def _ending(self, engine: Engine) -> Iterator[Frame]:
        if self.status in ("error", "timeout") and self.error is not None:
            yield "error", self.error
        elif self.status == "cancelled" and engine.cancel_frame:
            yield "error", self._stopped
        elif self.status == "interrupted" and engine.interrupt_frame:
            yield "values", {**self.values, "__interrupt__": self.interrupts}
        if engine.end_frame:
            words = {"cancelled": "interrupted", "timeout": "error"}
            yield "end", {"status": words.get(self.status, self.status)}

    @property
    def _stopped(self) -> dict[str, Any]:
        name = "UserRollback" if self.rolled_back else "UserInterrupt"
        return {"error": name, "message": "An internal error occurred"}

    def record(self, engine: Engine) -> dict[str, Any]:
        """What `GET /threads/T/runs/R` tells."""
        words = {"cancelled": "interrupted", "interrupted": engine.waiting}
        going, self.late = self.held or self.late > 0, max(0, self.late - (not self.held))
        return {
            "run_id": self.run_id,
            "thread_id": self.thread_id,
            "assistant_id": self.asked.get("assistant_id"),
            "metadata": {"created_by": "system", **(self.asked.get("metadata") or {})},
            "status": "running" if going else words.get(self.status, self.status),
        }

    def state(self) -> dict[str, Any]:
        """What `GET /threads/T/state` tells."""
        told = self.histories.get("") or [_snapshot(self.run_id, {}, [])]
        left = {} if self.status == "success" or told[0]["next"] else {"next": ["model"]}
        return {**told[0], **left, "values": self.values, "interrupts": self.interrupts}

    def result(self, engine: Engine) -> dict[str, Any]:
        """What `GET /threads/T/runs/R/join` tells."""
        if not engine.join_body:
            return {}
        if self.status in ("error", "timeout"):
            return {"__error__": self.error}
        return {**self.values, **({"__interrupt__": self.interrupts} if self.interrupts else {})}

    def thread(self, engine: Engine) -> dict[str, Any]:
        """What `GET /threads/T` tells."""
        words = {"success": "idle", "timeout": "error", "cancelled": engine.thread_cancelled}
        told: dict[str, Any] = {"interrupts": None, "error": None}
        if engine.thread_tells:
            asked = {task["id"]: task["interrupts"] for task in self.state()["tasks"] if task["interrupts"]}
            told = {"interrupts": asked, "error": self._stopped if self.status == "cancelled" else self.error}
        status = "busy" if self.held else words.get(self.status, self.status)
        return {"thread_id": self.thread_id, "status": status, "values": self.values, "metadata": {}, **told}


def text_run(*tokens: str, node: str = "model", question: str = "hi", **script: Any) -> ScriptedRun:
    """A run of one node whose model says these tokens; `script` is all else that a `ScriptedRun` takes."""
    run = ScriptedRun(**script)
    task_id, message_id = str(uuid.uuid5(uuid.NAMESPACE_OID, run.run_id)), f"lc_run--{run.run_id}"
    human = {"content": question, "type": "human", "id": f"human-{run.run_id}"}
    meta = {"run_id": run.run_id, "langgraph_node": node, "langgraph_step": 1, "ls_model_name": "scripted"}
    meta |= {"langgraph_checkpoint_ns": f"{node}:{task_id}"}
    chunk = {"content": "", "type": "AIMessageChunk", "id": message_id, "tool_calls": [], "tool_call_chunks": []}
    usage = {"input_tokens": 1, "output_tokens": len(tokens), "total_tokens": len(tokens) + 1}
    last = {**chunk, "response_metadata": {"finish_reason": "stop"}, "usage_metadata": usage, "chunk_position": "last"}
    answer = {**last, "content": "".join(tokens), "type": "ai", "tool_call_chunks": []}
    ended = {"id": task_id, "name": node, "error": run.error, "result": {}, "interrupts": run.interrupts}
    if run.status == "success":
        ended["result"] = {"messages": [answer]}
    messages = [human, answer] if run.status == "success" else [human]
    run.frames = run.frames or [
        ("metadata", {"run_id": run.run_id, "attempt": 1}),
        ("tasks", {"id": task_id, "name": node, "input": {"messages": [human]}, "triggers": [f"branch:to:{node}"]}),
        *(("messages", [{**chunk, "content": token}, meta]) for token in tokens),
        ("messages", [last, meta]),
        *([("tasks", ended)] if run.status not in ("cancelled", "timeout") else []),
    ]
    run.values = run.values or {"messages": messages}
    run.histories = run.histories or {"": _history(run, ended, human)}
    return run


def _history(run: ScriptedRun, ended: dict[str, Any], human: dict[str, Any]) -> list[dict[str, Any]]:
    """What checkpoints keep of a run of one node, newest first."""
    error = run.error and f"{run.error.get('error')}({run.error.get('message')!r})"
    task = {**ended, "path": ["__pregel_pull", ended["name"]], "error": error, "result": ended["result"] or None}
    start = {**task, "id": f"start-{run.run_id}", "name": "__start__", "path": ["__pregel_pull", "__start__"]}
    start |= {"result": {"messages": [human]}, "error": None, "interrupts": []}
    first = _snapshot(run.run_id, {}, [start], "input")
    second = _snapshot(run.run_id, {"messages": [human]}, [task], parent=first)
    done = [_snapshot(run.run_id, run.values, [], parent=second)] if run.status == "success" else []
    return [*done, second, first]


def _snapshot(
    run_id: str, values: Any, tasks: list[Any], source: str = "loop", parent: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "values": values,
        "next": [task["name"] for task in tasks],
        "tasks": tasks,
        "metadata": {"run_id": run_id, "source": source, "step": parent["metadata"]["step"] + 1 if parent else -1},
        "created_at": "2026-11-18T12:00:00+00:00",
        "checkpoint": {"checkpoint_id": f"{next(_serial):08}", "checkpoint_ns": ""},
        "parent_checkpoint": parent and parent["checkpoint"],
    }


def written(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


def wire(event: str, data: Any, id: str | None, newline: str) -> bytes:
    end = newline.encode()
    told = b"event: %b%b" % (event.encode(), end)
    told += b"data: %b%b" % (data if isinstance(data, bytes) else written(data), end)
    return told + (b"" if id is None else b"id: %b%b" % (id.encode(), end)) + end
