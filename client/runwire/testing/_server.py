"""The scripted server: which run a request starts, joins or asks about."""

import threading
from collections import deque
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Self

from runwire.testing._behaviour import Connection, Lost, Status
from runwire.testing._engines import ENGINES, Engine
from runwire.testing._http import Http
from runwire.testing._requests import SSE, Request, Stream
from runwire.testing._runs import ScriptedRun, wire

MODES = frozenset("values updates messages messages-tuple events debug tasks checkpoints custom".split())


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
        self._http = Http(self)
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

    def route(self, request: Request) -> Status | Lost | Stream:
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
                    return Status(200, wire("error", error, None, self.engine.newline), {"content-type": SSE})
                case _, ["threads", thread_id, *rest] if thread_id in self._threads:
                    return self._of_thread(request, self._threads[thread_id], rest)
            return Status(404, {"detail": f"{request.path} not found"})

    def _find(self, thread_id: str, run_id: str) -> ScriptedRun | None:
        runs = self._threads.get(thread_id, [])
        return next((run for run in runs if run.run_id == run_id and (run.held or not run.rolled_back)), None)

    def _begin(self, thread_id: str, asked: dict[str, Any]) -> Status | Lost | Stream:
        if refused := self._refused(thread_id, asked):
            return refused
        how = self._waiting[0].behaviour()
        if isinstance(how, Status):
            return how
        run = self._waiting.popleft()
        self._start(run, thread_id, asked)
        return Stream(run, how, None) if isinstance(how, Connection) else how

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

    def _of_run(self, request: Request, run: ScriptedRun, rest: list[str]) -> Status | Lost | Stream:
        match request.method, rest:
            case "GET", []:
                return Status(200, run.record(self.engine))
            case "GET", ["join"]:
                return Status(200, run.result(self.engine))
            case "GET", ["stream"]:
                how = run.behaviour()
                after = request.headers.get("last-event-id", "")
                return Stream(run, how, after) if isinstance(how, Connection) else how
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
