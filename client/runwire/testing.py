"""A scripted server for tests: runs told frame by frame, over connections that behave just as the script says.

It speaks what a client asks of a LangGraph server, over real sockets on loopback, in the manner of `langgraph dev`,
langhost or Aegra. It runs no graph, and it sends the frames of the script whatever stream modes are asked for.

    with ScriptedServer() as server, runwire.Client(server.url) as client:
        server.add(text_run("Hello ", "world", connections=[Cut(after=3)]))
        with client.stream("agent", "hi") as run:
            assert "".join(run.text()) == "Hello world"
    assert server.requests[0].json["assistant_id"] == "agent"
"""

import json
import re
import select
import socket
import struct
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Literal, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

from runwire_normalizers.outcome import OutcomeStatus

__all__ = [
    "Connection",
    "Cut",
    "ENGINES",
    "Engine",
    "Flood",
    "Hold",
    "Lost",
    "Request",
    "ScriptedRun",
    "ScriptedServer",
    "Stall",
    "Status",
    "text_run",
]

FIRST_MS = 1794979631046
MODES = frozenset("values updates messages messages-tuple events debug tasks checkpoints custom".split())
SSE = "text/event-stream; charset=utf-8"
POLL_SECONDS = 0.005
# Checkpoint ids sort by time, across runs too.
_serial = count(1)


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What one kind of server does in its own way on the wire. The defaults are those of `langgraph dev`."""

    newline: str = "\r\n"
    # `ms`: `<ms>-0` for every frame of a millisecond; `redis`: `<ms>-<n>`; `event`: `<run>_event_<n>`, n = 1, 3, 5.
    ids: Literal["ms", "redis", "event"] = "ms"
    frames_per_ms: int = 2
    heartbeat: float = 5.0
    # The end of a run: a last frame `end`; an `error` frame for a cancelled run; `error` frames without their text.
    end_frame: bool = False
    cancel_frame: bool = False
    errors_hidden: bool = False
    errors_replayed: bool = False
    # A run that waits for a person: one more `values` frame; its status; whether interrupts have a third key.
    interrupt_frame: bool = False
    waiting: str = "success"
    response_schema: bool = True
    # The type of a tool message in `messages`; the name of the root in `events`, where it is not the graph's own.
    tool_message: str = "tool"
    root_name: str | None = None
    counts_attempts: bool = True
    # Joins of the stream: what comes without a Last-Event-ID, and for one that the server never gave out.
    join_bare: Literal["nothing", "everything", "end"] = "nothing"
    join_garbage: Literal["nothing", "everything"] = "nothing"
    join_body: bool = True
    # Threads: whether they tell errors and interrupts; their status after a cancel; whether unknown ones are made.
    thread_tells: bool = True
    thread_cancelled: str = "interrupted"
    makes_threads: bool = False
    on_disconnect: Literal["continue", "cancel"] = "continue"
    rolls_back: bool = True
    cancel_body: Literal["empty", "error", "run"] = "empty"
    # Refusals: a second run of a thread with `reject`; unknown stream modes; unknown assistants.
    rejects: bool = True
    checks_modes: bool = True
    unknown_assistant: Literal[404, 422] = 422

    def dressed(self, event: str, data: Any) -> Any:
        """The data of a frame as this engine would send it."""
        match event.partition("|")[0], data:
            case "metadata", {"attempt": int()} if not self.counts_attempts:
                return {**data, "attempt": 1}
            case "error", {"error": str(name)} if self.errors_hidden:
                return {"error": name, "message": f"{name}: execution failed"}
            case "messages", [{"type": "tool"} as message, *rest]:
                return [{**message, "type": self.tool_message}, *rest]
            case "events", {"event": "on_chain_start", "parent_ids": []} if self.root_name:
                return {**data, "name": self.root_name}
            case "tasks", {"interrupts": list(asked)}:
                return {**data, "interrupts": self._keyed(asked)}
            case "values" | "updates", {"__interrupt__": list(asked)}:
                return {**data, "__interrupt__": self._keyed(asked)}
        return data

    def _keyed(self, interrupts: list[Any]) -> list[Any]:
        schema = {"response_schema": None} if self.response_schema else {}
        return [{"value": one["value"], "id": one["id"], **schema} for one in interrupts]

    def id_of(self, run_id: str, position: int) -> str:
        """The id of the frame at this position of a run."""
        ms, n = divmod(position, self.frames_per_ms)
        if self.ids == "event":
            return f"{run_id}_event_{2 * position + 1}"
        return f"{FIRST_MS + ms}-{n if self.ids == 'redis' else 0}"

    def place(self, id: str | None) -> tuple[int, ...] | None:
        """What orders ids; none for one that this engine could not have given out."""
        pattern = r".*_event_(\d+)" if self.ids == "event" else r"(-1|\d+)(?:-(\d+))?"
        found = re.fullmatch(pattern, id or "")
        return tuple(int(number or 0) for number in found.groups()) if found else None


ENGINES: Mapping[str, Engine] = {
    "dev": Engine(),
    "langhost": Engine(ids="redis", cancel_frame=True, join_bare="everything", cancel_body="error"),
    "aegra": Engine(
        newline="\n",
        ids="event",
        end_frame=True,
        errors_hidden=True,
        errors_replayed=True,
        interrupt_frame=True,
        waiting="interrupted",
        response_schema=False,
        tool_message="ToolMessageChunk",
        root_name="LangGraph",
        counts_attempts=False,
        join_bare="end",
        join_garbage="everything",
        join_body=False,
        thread_tells=False,
        thread_cancelled="idle",
        makes_threads=True,
        on_disconnect="cancel",
        rolls_back=False,
        cancel_body="run",
        rejects=False,
        checks_modes=False,
        unknown_assistant=404,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Connection:
    """One connection to a run's stream. It ends with the run, or breaks off `after` frames or `bytes` of its own.

    The frames at the positions `lost` (of the run) are left out. At the position `seam` the stream steps back by
    `repeats` frames, as where a replay meets live frames. `whole` sends everything, whatever was asked for. `headers`
    replace the usual ones; None leaves one out. `delay` passes before the answer, `pace` before each frame.
    """

    after: int | None = None
    bytes: int | None = None
    lost: Sequence[int] = ()
    seam: int = 0
    repeats: int = 0
    whole: bool = False
    headers: Mapping[str, str | None] = field(default_factory=dict)
    delay: float = 0.0
    pace: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Cut(Connection):
    """Breaks off in the middle of the body, ends it as if all were well, or is reset, which may take more with it."""

    how: Literal["break", "close", "reset"] = "break"


@dataclass(frozen=True, kw_only=True)
class Stall(Connection):
    """Falls silent after its frames and stays open; with a heartbeat every `beats` seconds if that is given."""

    beats: float | None = None


@dataclass(frozen=True, kw_only=True)
class Flood(Connection):
    """Sends `chunk` for ever after its frames."""

    chunk: bytes = b": flood\n"


@dataclass(frozen=True)
class Status:
    """An answer that is no stream of a run; the body is bytes, or anything else as JSON."""

    code: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after: float | None = None


@dataclass(frozen=True)
class Lost:
    """No answer: the server does what was asked, and the connection breaks before it can say so."""


@dataclass(frozen=True)
class Hold:
    """Among a run's frames: here it goes on until it is released or cancelled."""


Behaviour = Connection | Status | Lost
# The event, its data, and an id in place of the engine's own; or bytes that are sent as they are.
Frame = tuple[str, Any] | tuple[str, Any, str] | bytes | Hold


class _Entry(NamedTuple):
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

    def log(self, engine: Engine, held: bool) -> list[_Entry]:
        """The frames of the run as far as it has come: to where it is held, or to its end."""
        told, position = list[_Entry](), count()
        for frame in [*self._reached(held), *([] if held or self.bare else self._ending(engine))]:
            if isinstance(frame, bytes):
                told.append(_Entry("", None, frame))
            elif not isinstance(frame, Hold):
                event, data, *given = frame
                own = engine.id_of(self.run_id, next(position))
                id = (given[0] if given else own) if self.asked.get("stream_resumable", True) else None
                told.append(_Entry(event, id, _wire(event, engine.dressed(event, data), id, engine.newline)))
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


class Request(NamedTuple):
    """What a client asked. The names of headers are in lower case; `json` is None where the body is none."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    json: Any


class _Stream(NamedTuple):
    """A run's stream as one connection asked for it; `after` is None on the connection that started the run."""

    run: ScriptedRun
    how: Connection
    after: str | None

    def headers(self) -> dict[str, str]:
        place = f"/threads/{self.run.thread_id}/runs/{self.run.run_id}"
        usual = {"location": f"{place}/stream", "content-location": place, "content-type": SSE}
        given = {**usual, "cache-control": "no-store", "transfer-encoding": "chunked", **self.how.headers}
        return {name: value for name, value in given.items() if value is not None}

    def wires(self, engine: Engine, wait: Callable[[], None]) -> Iterator[bytes]:
        """The frames of this connection in its order; `wait` comes back when a held run goes on."""
        how, held = self.how, self.run.held
        log = self.run.log(engine, held)
        start = self._start(log, engine)
        order = [*range(start, how.seam), *range(how.seam - how.repeats, len(log))] if how.seam > start else None
        forgets = self.after is not None and not engine.errors_replayed
        for n in order or range(start, len(log)):
            if n not in how.lost and not (forgets and log[n].event == "error"):
                yield log[n].wire
        if held:
            wait()
            yield from (entry.wire for entry in self.run.log(engine, False)[len(log) :])

    def _start(self, log: list[_Entry], engine: Engine) -> int:
        """The position of the first frame that is due."""
        if self.after is None or self.how.whole:
            return 0
        kept = 0 if self.run.kept is None else len(log) - self.run.kept
        if not self.run.asked.get("stream_resumable", True):
            return len(log)
        if not self.after:
            return {"nothing": len(log), "everything": kept, "end": len(log) - engine.end_frame}[engine.join_bare]
        place = (-1,) if self.after == "-" else engine.place(self.after)
        if place is None:
            return kept if engine.join_garbage == "everything" else len(log)
        seen = [n for n, entry in enumerate(log) if (at := engine.place(entry.id)) is not None and at <= place]
        return max(kept, seen[-1] + 1 if seen else 0)


class ScriptedServer:
    """The server, at `url` while the block lasts. Runs are started in the order in which they were added.

    `engine` is a name in `ENGINES` or an `Engine`; without `assistants` every assistant is known.
    """

    def __init__(self, engine: str | Engine = "dev", *, assistants: Sequence[str] | None = None) -> None:
        self.engine = ENGINES[engine] if isinstance(engine, str) else engine
        self.requests: list[Request] = []
        self._assistants = assistants
        self._lock = threading.Lock()
        self._waiting: deque[ScriptedRun] = deque()
        self._threads: dict[str, list[ScriptedRun]] = {}
        self._answers: list[tuple[str, str, deque[Status | Lost]]] = []
        self._http = _Http(self)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._http.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.stop()

    def add(self, run: ScriptedRun, thread_id: str | None = None) -> ScriptedRun:
        """Have the next request for a run start this one; with a thread, it has been started there already."""
        run.log(self.engine, False)  # A frame that is no JSON raises here, not in the server's thread.
        if thread_id is None:
            self._waiting.append(run)
        else:
            self._start(run, thread_id, {})
        return run

    def answer(self, method: str, path: str, *answers: Status | Lost) -> None:
        """Give these answers, one each, to the next requests whose path matches, such as `*/state`."""
        self._answers.append((method, path, deque(answers)))

    def _start(self, run: ScriptedRun, thread_id: str, asked: dict[str, Any]) -> None:
        run.thread_id, run.asked = thread_id, asked
        self._threads.setdefault(thread_id, []).append(run)

    def _route(self, request: Request) -> Status | Lost | _Stream:
        with self._lock:
            self.requests.append(request)
            for method, pattern, answers in self._answers:
                if answers and method == request.method and fnmatchcase(request.path, pattern):
                    return answers.popleft()
            match request.method, request.path.strip("/").split("/"):
                case "POST", ["threads", thread_id, "runs", "stream"]:
                    return self._begin(thread_id, request.json or {})
                case "GET", ["ok"]:
                    return Status(200, {"ok": True})
                case _, ["threads", thread_id, "runs", run_id, *rest] if run := self._find(thread_id, run_id):
                    return self._of_run(request, run, rest)
                case "GET", ["threads", _, "runs", _, "stream"]:
                    error = {"error": "HTTPException", "message": "404: Run not found"}
                    return Status(200, _wire("error", error, None, self.engine.newline), {"content-type": SSE})
                case _, ["threads", thread_id, *rest] if thread_id in self._threads:
                    return self._of_thread(request, self._threads[thread_id], rest)
            return Status(404, {"detail": f"{request.path} not found"})

    def _find(self, thread_id: str, run_id: str) -> ScriptedRun | None:
        runs = self._threads.get(thread_id, [])
        return next((run for run in runs if run.run_id == run_id and (run.held or not run.rolled_back)), None)

    def _begin(self, thread_id: str, asked: dict[str, Any]) -> Status | Lost | _Stream:
        if refused := self._refused(thread_id, asked):
            return refused
        how = self._waiting[0].behaviour()
        if isinstance(how, Status):
            return how
        run = self._waiting.popleft()
        self._start(run, thread_id, asked)
        return _Stream(run, how, None) if isinstance(how, Connection) else how

    def _refused(self, thread_id: str, asked: dict[str, Any]) -> Status | None:
        engine, assistant = self.engine, asked.get("assistant_id")
        runs, modes = self._threads.get(thread_id), asked.get("stream_mode") or []
        if self._assistants is not None and assistant not in self._assistants:
            text = f"Assistant '{assistant}' not found"
            told = {"detail": text} if engine.unknown_assistant == 422 else {"error": "not_found", "message": text}
            return Status(engine.unknown_assistant, told)
        if engine.checks_modes and not MODES.issuperset([modes] if isinstance(modes, str) else modes):
            return Status(422, {"detail": f"{modes} has an unknown stream mode"})
        if runs is None and not engine.makes_threads and asked.get("if_not_exists") != "create":
            return Status(404, {"detail": f"Thread {thread_id} not found"})
        rejected = engine.rejects and asked.get("multitask_strategy") == "reject"
        if rejected and any(run.held for run in runs or ()):
            return Status(409, {"detail": "Thread is already running a task."})
        if not self._waiting:
            return Status(422, {"detail": "runwire.testing: no run is left in the script; see ScriptedServer.add"})
        return None

    def _of_run(self, request: Request, run: ScriptedRun, rest: list[str]) -> Status | Lost | _Stream:
        match request.method, rest:
            case "GET", []:
                return Status(200, run.record(self.engine))
            case "GET", ["join"]:
                return Status(200, run.result(self.engine))
            case "GET", ["stream"]:
                how = run.behaviour()
                after = request.headers.get("last-event-id", "")
                return _Stream(run, how, after) if isinstance(how, Connection) else how
            case "POST", ["cancel"]:
                rollback = request.query.get("action") == "rollback"
                if rollback and not self.engine.rolls_back:
                    return Status(422, {"detail": "action: Input should be 'interrupt' or 'cancel'"})
                run.stop(rollback)
                told = {"empty": {}, "error": {"__error__": run._stopped}, "run": run.record(self.engine)}
                return Status(200, told[self.engine.cancel_body])
        return Status(404, {"detail": f"{request.path} not found"})

    def _of_thread(self, request: Request, runs: list[ScriptedRun], rest: list[str]) -> Status:
        match request.method, rest:
            case "GET", []:
                return Status(200, runs[-1].thread(self.engine))
            case "GET", ["state"]:
                return Status(200, runs[-1].state())
            case "GET", ["runs"]:
                there = [run for run in reversed(runs) if run.held or not run.rolled_back]
                return Status(200, [run.record(self.engine) for run in there])
            case "POST", ["history"]:
                asked = request.json or {}
                namespace = (asked.get("checkpoint") or {}).get("checkpoint_ns", "")
                told = [one for run in reversed(runs) for one in run.histories.get(namespace, [])]
                return Status(200, told[: asked.get("limit", 1)])
        return Status(404, {"detail": f"{request.path} not found"})


class _Http(ThreadingHTTPServer):
    """Accepts connections, and breaks those that are open when it stops."""

    daemon_threads = False

    def __init__(self, script: ScriptedServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self._open: set[socket.socket] = set()
        self._stopped = False
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(POLL_SECONDS,), name="runwire.testing")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        with self._guard:
            self._stopped = True
            for connection in self._open:
                _hang_up(connection)
        self.server_close()

    @contextmanager
    def watched(self, connection: socket.socket) -> Iterator[None]:
        with self._guard:
            self._open.add(connection)
            if self._stopped:
                _hang_up(connection)
        try:
            yield
        finally:
            with self._guard:
                self._open.discard(connection)

    def handle_error(self, *where: Any) -> None:
        """A client that hangs up is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*where)


class _Handler(BaseHTTPRequestHandler):
    """One connection of a client: its requests, one after the other."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def handle(self) -> None:
        with self.server.watched(self.connection):
            super().handle()

    def log_message(self, *_: Any) -> None:
        """Tests read `requests`."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        with suppress(ValueError):
            body = json.loads(body)
        asked = Request(self.command, address.path, query, headers, body or None)
        match self.server.script._route(asked):
            case Status() as status:
                self._answer(status)
            case _Stream() as stream:
                self._stream(stream)
            case Lost():
                self.close_connection = True

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _answer(self, status: Status) -> None:
        body = status.body if isinstance(status.body, bytes) else _json(status.body)
        usual = {"content-type": "application/json", "content-length": str(len(body))}
        retry = {} if status.retry_after is None else {"retry-after": f"{status.retry_after:g}"}
        self._head(status.code, {**usual, **retry, **status.headers})
        self.wfile.write(body)

    def _head(self, code: int, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _stream(self, asked: _Stream) -> None:
        engine, over = self.server.script.engine, False
        try:
            self._wait(_passed(asked.how.delay))
            self._head(200, asked.headers())
            over = self._frames(asked, engine)
            self._last(asked.how)
        finally:
            given = asked.run.asked.get("on_disconnect") or engine.on_disconnect
            if asked.after is None and not over and given == "cancel":
                asked.run.stop()

    def _frames(self, asked: _Stream, engine: Engine) -> bool:
        """Sends what the script allows; whether that was all there is."""
        run, how, left = asked.run, asked.how, asked.how.bytes
        wires = asked.wires(engine, lambda: self._wait(lambda: not run.held, engine.heartbeat))
        for sent, wire in enumerate(wires):
            if sent == how.after or left == 0:
                return False
            self._wait(_passed(how.pace))
            self._chunk(wire[:left])
            left = None if left is None else max(0, left - len(wire))
        return True

    def _last(self, how: Connection) -> None:
        match how:
            case Stall(beats=beats):
                self._wait(lambda: False, beats)
            case Flood(chunk=chunk):
                while True:
                    self._chunk(chunk)
            case Cut(how="break"):
                self.close_connection = True
            case Cut(how="reset"):
                self.close_connection = True
                # A socket that closes without lingering resets its peer.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            case _:
                self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _wait(self, done: Callable[[], bool], beats: float | None = None) -> None:
        """Until it is done, with heartbeats; a client that hangs up meanwhile ends the connection."""
        beat = time.monotonic()
        while not done():
            if select.select([self.connection], [], [], POLL_SECONDS)[0]:
                raise ConnectionAbortedError("the client hung up")
            if beats is not None and time.monotonic() - beat >= beats:
                beat = time.monotonic()
                self._chunk(f": heartbeat{self.server.script.engine.newline * 2}".encode())


def _passed(seconds: float) -> Callable[[], bool]:
    until = time.monotonic() + seconds
    return lambda: seconds <= 0 or time.monotonic() >= until


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


def _wire(event: str, data: Any, id: str | None, newline: str) -> bytes:
    end = newline.encode()
    told = b"event: %b%b" % (event.encode(), end)
    told += b"data: %b%b" % (data if isinstance(data, bytes) else _json(data), end)
    return told + (b"" if id is None else b"id: %b%b" % (id.encode(), end)) + end
