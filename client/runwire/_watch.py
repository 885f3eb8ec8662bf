"""One run from its start to its true end, whatever happens to its connections: a flow of effects for a shell."""

import json
import logging
import re
from collections.abc import Callable, Generator
from email.utils import parsedate_to_datetime
from typing import Any, cast

from runwire._config import Retry, WireLimits
from runwire._effects import READ, Effect, Give, Open, Reply, Send, TransportFailed, Wait
from runwire._requests import ASSISTANT, KEY, checked_answer
from runwire._seam import Seam
from runwire.errors import ConfigError, ConnectionLost, NotFound, ProtocolError, Refused, ServerError
from runwire_normalizers import (
    Continuation,
    Envelope,
    Outcome,
    ServerSentEvent,
    SSEDecoder,
    StreamAdapter,
    inner_namespaces,
    replay,
)
from runwire_normalizers.replay import retell

log = logging.getLogger("runwire")

Flow = Generator[Effect, Any, Any]
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
GOING = frozenset({"pending", "running"})
LOCATION = re.compile(r"/runs/([^/]+)")
# What may stand in a path without changing it.
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,199}")
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
STATUSES = frozenset({"pending", "running", "success", "error", "timeout", "interrupted"})
STAMP = re.compile(r"(\d{13})-\d+$")
HISTORY_LIMIT = 1000
GAP = "the server's log no longer has all of the run: the rest is told from its history"
NO_LONGER_THERE = "HTTPException"
LOST = {"error": "RunLost", "message": "the server no longer knows the run nor its thread: they were lost or deleted"}
# Frames of the server itself and not of the graph.
SERVERS_OWN = frozenset({"error", "metadata"})


class Watch:
    """The flow of one run. `body` starts it; without one it is joined, and what had happened before is `replay`."""

    def __init__(
        self,
        adapter: StreamAdapter,
        thread_id: str,
        run_id: str | None,
        body: dict[str, Any] | None,
        *,
        limits: WireLimits,
        retry: Retry,
        clock: Callable[[], float],
        chance: Callable[[], float],
        scrub: Callable[[str], str] = str,
    ) -> None:
        self.adapter = adapter
        self.thread_id = thread_id
        self.run_id = run_id
        self.outcome: Outcome | None = None
        self.cursor: Callable[[], str | None] = lambda: None
        # Whether a resumed run must first learn from history what was before it.
        self.prior = False
        self._body = body
        self.limits = limits
        self._retry = retry
        self._clock = clock
        self._chance = chance
        self._scrub = scrub
        self._seam = Seam(limits.id)
        self._decoder = SSEDecoder()
        self._pending = 0
        self._failures = 0
        self._error: dict[str, Any] | None = None
        # When a watcher joined a run that was going, by the server's clock; later frames are live to it.
        self._joined_at: float | None = None
        self._joins_going = False
        self._gone = False

    @property
    def where(self) -> dict[str, str | None]:
        return {"thread_id": self.thread_id, "run_id": self.run_id, "cursor": self.cursor()}

    def flow(self) -> Flow:
        """Everything, to the envelope that ends the run."""
        if self._body is not None:
            yield from self._learn_graph(self._body)
            if self.prior:
                yield from self._learn_prior()
            yield from self._start(self._body)
        else:
            yield from self._attach()
        drained = False
        while True:
            before = self._seam.delivered
            cut = yield from self._read()
            nothing = self._seam.delivered == before
            known = yield from self._ask_run()
            if known and known.get("status") in GOING:
                if nothing or not cut:
                    yield from self._pause(None)
                yield from self._join()
                continue
            outcome = yield from self._ask_outcome(known)
            # A body ends alike when a run is over and when a proxy has had enough: asked for more, there must be none.
            if self._gone or (not cut and (self._is_whole(outcome) or (drained and nothing))):
                break
            if cut and nothing:
                yield from self._pause(None)
            drained = True
            yield from self._join()
        yield from self._finish(outcome)

    def _is_whole(self, outcome: Outcome) -> bool:
        """The last frame of a run that failed is its error; siblings may still speak after the task that failed."""
        return self._error is not None if outcome.status == "error" else self.adapter.is_whole(outcome)

    # starting

    def _start(self, body: dict[str, Any]) -> Flow:
        while True:
            try:
                reply = yield Open("POST", f"/threads/{self.thread_id}/runs/stream", body)
            except TransportFailed as failure:
                if failure.sent and (yield from self._found(body)):
                    return
                yield from self._pause(failure)
                continue
            if reply.status in RETRIED:
                # A server that failed may have started the run all the same.
                if reply.status >= 500 and (yield from self._found(body)):
                    return
                yield from self._pause(self._refusal(reply), reply)
                continue
            self._check(reply)
            self._locate(reply)
            return

    def _learn_graph(self, body: dict[str, Any]) -> Flow:
        """The graph of an assistant that is named by its own id: it is the root's name, and tells the output's type."""
        asked = body["assistant_id"]
        if not UUID.fullmatch(asked):
            return
        known = (yield from self._send(Send("GET", f"/assistants/{asked}"), missing=True)).json()
        graph = known.get("graph_id") if isinstance(known, dict) else None
        if isinstance(graph, str) and graph:
            self.adapter.label = body["metadata"][ASSISTANT] = graph

    def _learn_prior(self) -> Flow:
        """What a run continues that another process started: the trace and its calls, from history."""
        histories = yield from read_histories(self.thread_id, self._send)
        state = (yield from self._send(Send("GET", f"/threads/{self.thread_id}/state?subgraphs=true"))).json()
        runs = replay(histories, state, label=self.adapter.label)
        place = next((n for n, run in enumerate(runs) if run.run_id == self.run_id), len(runs))
        trace = [e for run in runs[:place] if run.trace_id == runs[place - 1].trace_id for e in run.envelopes]
        before = Continuation.from_envelopes(trace) if trace else None
        if before is not None and not before.over:
            self.adapter.resume_from(before)
        elif self._body is not None:
            raise ConfigError("nothing waits for an answer on this thread", **self.where)
        if self._body is not None and before is not None:
            interrupts = [one for call in before.calls if call.kind == "run" for one in call.interrupts]
            self._body["command"]["resume"] = checked_answer(interrupts, self._body["command"]["resume"])

    def _found(self, body: dict[str, Any]) -> Generator[Effect, Any, bool]:
        """Looks for the run of a request whose answer was lost, and joins it: never two runs."""
        yield Wait(self._retry.delay(1, self._chance()))
        reply = yield from self._send(Send("GET", f"/threads/{self.thread_id}/runs?limit=20"), missing=True)
        runs = _json(reply) if reply.status < 400 else []
        for run in runs if isinstance(runs, list) else ():
            if isinstance(run, dict) and (run.get("metadata") or {}).get(KEY) == body["metadata"][KEY]:
                self.run_id = run["run_id"]
                yield from self._join()
                return True
        return False

    def _locate(self, reply: Reply) -> None:
        for name in ("content-location", "location"):
            match = LOCATION.search(reply.headers.get(name, ""))
            if match and RUN_ID.fullmatch(match[1]):
                self.run_id = match[1]
                return

    def _attach(self) -> Flow:
        known = yield from self._ask_run()
        if known is None:
            raise NotFound("the server knows no such run", 404, **self.where)
        self.adapter.origin = "replay"
        asked = _dict(known.get("kwargs"))
        graph = _dict(_dict(asked.get("config")).get("configurable")).get("graph_id")
        self.adapter.introduce(_dict(known.get("metadata")).get(ASSISTANT) or graph, asked.get("input"))
        if isinstance(asked.get("command"), dict):
            yield from self._learn_prior()
        self._joins_going = known.get("status") in GOING
        yield from self._join()

    # reading

    def _read(self) -> Generator[Effect, Any, bool]:
        """To the end of the connection; whether it broke off, so that the rest must be asked for."""
        spoke = self._clock()
        while not self._gone:
            try:
                chunk = cast("bytes | None", (yield READ))
            except TransportFailed as failure:
                log.debug("the stream of run %s broke off: %s", self.run_id, failure)
                return True
            if chunk is None:
                return self._decoder.unfinished
            frames = self._decoder.feed(chunk)
            self._pending = 0 if frames else self._pending + len(chunk)
            if self._pending > min(self.limits.frame, self.limits.line):
                raise ProtocolError(f"a frame is longer than {self.limits.frame:,} bytes", **self.where)
            if frames:
                spoke = self._clock()
            elif self._clock() - spoke > self.limits.silence and not self._decoder.unfinished:
                # A connection that only keeps itself alive may do so for a run that is over.
                spoke = self._clock()
                known = yield from self._ask_run()
                if known is None or known.get("status") not in GOING:
                    return False
            told, verdict = self._told(frames)
            if told:
                yield Give(told)
            if verdict == "again":
                return True
        return False

    def _told(self, frames: list[ServerSentEvent]) -> tuple[list[Envelope], str]:
        told: list[Envelope] = []
        for frame in frames:
            if len(frame.raw) > self.limits.frame:
                raise ProtocolError(f"a frame is longer than {self.limits.frame:,} bytes", **self.where)
            verdict = self._seam.accept(frame)
            if verdict == "again":
                return told, "again"
            if verdict == "deliver" and not (frame.event in SERVERS_OWN and self._is_farewell(frame)):
                self._failures = 0
                if self._joins_going:
                    self._turn_live(frame)
                told += self.adapter.feed(frame, self._clock())
        return told, "deliver"

    def _is_farewell(self, frame: ServerSentEvent) -> bool:
        """Errors that are the server's and not the run's: a join of a run that is no longer there."""
        if frame.event == "metadata" and self.run_id is None:
            told = _parsed(frame.raw)
            named = told.get("run_id") if isinstance(told, dict) else None
            self.run_id = named if isinstance(named, str) and RUN_ID.fullmatch(named) else None
        if frame.event != "error":
            return False
        told = _parsed(frame.raw)
        facts = told if isinstance(told, dict) else {}
        self._gone = facts.get("error") == NO_LONGER_THERE and str(facts.get("message", "")).startswith("404")
        self._error = self._error or (None if self._gone else facts)
        return self._gone

    def _turn_live(self, frame: ServerSentEvent) -> None:
        """What happened after this watcher came is live; ids tell when, where they are times."""
        if self.adapter.origin == "live":
            return
        match = STAMP.match(frame.id or "")
        if match is None or self._joined_at is None or int(match[1]) / 1000 >= self._joined_at:
            self.adapter.origin = "live"

    def _join(self) -> Flow:
        """Opens the run's stream again, from before the last frame that was delivered."""
        while True:
            headers = {"Last-Event-ID": self._seam.cursor}
            try:
                reply = yield Open("GET", f"/threads/{self.thread_id}/runs/{self.run_id}/stream", None, headers)
            except TransportFailed as failure:
                yield from self._pause(failure)
                continue
            if reply.status in RETRIED:
                yield from self._pause(self._refusal(reply), reply)
                continue
            if reply.status == 404:
                self._gone = True
                return
            self._check(reply)
            self._decoder, self._pending = SSEDecoder(), 0
            self._seam.resumed()
            if self._joined_at is None:
                self._joined_at = _seconds(reply.headers.get("date"))
            return

    # the end

    def _ask_run(self) -> Generator[Effect, Any, dict[str, Any] | None]:
        if self.run_id is None:
            raise ProtocolError("the server did not say which run it started", **self.where)
        reply = yield from self._send(Send("GET", f"/threads/{self.thread_id}/runs/{self.run_id}"), missing=True)
        if reply.status == 404:
            return None
        known = _json(reply)
        if not isinstance(known, dict) or known.get("status") not in STATUSES:
            raise ProtocolError("the server's record of the run is none that this client knows", **self.where)
        return known

    def _ask_outcome(self, known: dict[str, Any] | None) -> Generator[Effect, Any, Outcome]:
        """How the run really ended."""
        if known is None:
            return (yield from self._ask_thread())
        match known.get("status"):
            case "error":
                return Outcome("error", (yield from self._ask_error()))
            case "timeout":
                return Outcome("timeout")
            case "interrupted":
                # Some servers say so of a run that waits for a person, too.
                outcome = yield from self._ask_state()
                return outcome if outcome.interrupts else Outcome("cancelled")
            case _:
                return (yield from self._ask_state())

    def _ask_thread(self) -> Generator[Effect, Any, Outcome]:
        """A run that was rolled back leaves its thread behind; one that went with it was lost and not stopped."""
        reply = yield from self._send(Send("GET", f"/threads/{self.thread_id}"), missing=True)
        return Outcome("error", LOST, blameless=True) if reply.status == 404 else Outcome("cancelled")

    def _ask_error(self) -> Generator[Effect, Any, dict[str, Any] | None]:
        if self._error:
            return None
        reply = yield from self._send(Send("GET", f"/threads/{self.thread_id}/runs/{self.run_id}/join"), missing=True)
        told = _json(reply) if reply.status < 400 else None
        facts = told.get("__error__") if isinstance(told, dict) else None
        return facts if isinstance(facts, dict) else None

    def _ask_state(self) -> Generator[Effect, Any, Outcome]:
        """A success has an end or waits for a person: the state tells, unless another run has changed it since."""
        reply = yield from self._send(Send("GET", f"/threads/{self.thread_id}/state?subgraphs=true"), missing=True)
        state = _json(reply) if reply.status < 400 else None
        if not isinstance(state, dict) or (state.get("metadata") or {}).get("run_id") not in (None, self.run_id):
            return Outcome("success")
        interrupts = tuple(state.get("interrupts") or ())
        waits = bool(state.get("next")) or bool(interrupts)
        values = state.get("values")
        return Outcome("interrupted" if waits else "success", interrupts=interrupts, values=values)

    def _finish(self, outcome: Outcome) -> Flow:
        if self.adapter.lacks(outcome):
            yield Give(self.adapter.warn("gap", GAP, None, self._clock()))
            yield from self._rebuild()
        self.outcome = outcome
        yield Give(self.adapter.finish(outcome, self._clock()))

    def _rebuild(self) -> Flow:
        histories = yield from read_histories(self.thread_id, self._send)
        for part, _ in retell(histories, None, str(self.run_id)):
            told = self.adapter.feed(part, self._clock())
            if told:
                yield Give(told)

    # requests that must succeed

    def _send(self, effect: Send, missing: bool = False) -> Generator[Effect, Any, Reply]:
        while True:
            try:
                reply = cast(Reply, (yield effect))
            except TransportFailed as failure:
                yield from self._pause(failure)
                continue
            if reply.status in RETRIED:
                yield from self._pause(self._refusal(reply), reply)
                continue
            if reply.status >= 300 and not (missing and reply.status in (404, 405, 422)):
                raise self._refusal(reply)
            return reply

    def _pause(self, failure: Exception | None, reply: Reply | None = None) -> Flow:
        """Waits before the next attempt, longer each time that there was no progress; in the end it gives up."""
        self._failures += 1
        if self._failures > self._retry.attempts:
            if isinstance(failure, ServerError):
                raise failure
            text = f"{self._failures} attempts in a row failed; the last: {failure or 'the stream ended at once'}"
            raise ConnectionLost(text, **self.where) from failure
        yield Wait(max(_retry_after(reply), self._retry.delay(self._failures, self._chance())))

    def _check(self, reply: Reply) -> None:
        if reply.status >= 300:
            raise self._refusal(reply)
        if "text/event-stream" not in reply.headers.get("content-type", ""):
            kind = reply.headers.get("content-type") or "no content type"
            raise ProtocolError(f"the server answered with {kind}, not with an event stream", **self.where)
        if reply.headers.get("content-encoding", "identity") != "identity":
            raise ProtocolError("the server compresses its stream, which was not asked for", **self.where)

    def _refusal(self, reply: Reply) -> ServerError:
        told = _json(reply)
        detail = told.get("detail") or told.get("message") or told.get("error") if isinstance(told, dict) else None
        text = f"the server answered {reply.status}" + (f": {self._scrub(str(detail)[:500])}" if detail else "")
        kind = NotFound if reply.status == 404 else Refused if 400 <= reply.status < 500 else ServerError
        return kind(text, reply.status, **self.where)


Ask = Callable[..., Generator[Effect, Any, Reply]]


def read_histories(thread_id: str, send: Ask) -> Generator[Effect, Any, dict[str, list[Any]]]:
    """The history of every namespace of a thread."""
    found: dict[str, list[Any]] = {}
    asked, waiting = {""}, [""]
    while waiting:
        namespace = waiting.pop(0)
        body: dict[str, Any] = {"limit": HISTORY_LIMIT}
        if namespace:
            body["checkpoint"] = {"thread_id": thread_id, "checkpoint_ns": namespace}
        reply = yield from send(Send("POST", f"/threads/{thread_id}/history", body), missing=True)
        told = _json(reply) if reply.status < 400 else []
        history = told if isinstance(told, list) else []
        if not history:
            continue
        found[namespace] = history
        again = f"{namespace}|1" if not namespace.rpartition("|")[2].isdigit() else _next(namespace)
        inner = [*inner_namespaces(namespace, history), *([again] if namespace else [])]
        waiting += [one for one in inner if one not in asked]
        asked.update(inner)
    return found


def _next(namespace: str) -> str:
    head, _, number = namespace.rpartition("|")
    return f"{head}|{int(number) + 1}"


def _json(reply: Reply) -> Any:
    return _parsed(reply.body)


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _dict(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _retry_after(reply: Reply | None) -> float:
    told = reply.headers.get("retry-after", "") if reply else ""
    return min(60.0, float(told)) if told.replace(".", "", 1).isdigit() else 0.0


def _seconds(date: str | None) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() if date else None
    except (TypeError, ValueError):
        return None
