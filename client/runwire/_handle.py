"""What a run's handle knows and decides, for the sync and the async one alike: the reader's end of a watched run."""

import base64
import json
import zlib
from collections.abc import Callable
from typing import Any, Literal

from runwire._watch import Watch
from runwire.errors import ConfigError, RunCancelled, RunFailed, RunInterrupted, RunTimeout, ServerError
from runwire_normalizers import (
    CallView,
    Envelope,
    EventProjection,
    EventSampler,
    GraphOutput,
    ParserEvent,
    RunView,
    normalize_output,
)
from runwire_normalizers.envelope import step
from runwire_normalizers.sampler import Profile

STARTS = frozenset({"tool_start", "llm_start", "subgraph_resume"})
RunStatus = Literal["running", "success", "error", "cancelled", "timeout", "interrupted"]


class Handle:
    """The envelopes that wait for the reader, and the view of those that it has got. Guarded by its shell."""

    def __init__(
        self,
        watch: Watch,
        assistant: str | None,
        profile: Profile,
        timeout: float | None,
        after: str | None,
        clock: Callable[[], float],
    ) -> None:
        self._watch = watch
        self._assistant = assistant
        self._profile: Profile = profile
        self._clock = clock
        self._deadline = None if timeout is None else clock() + timeout
        self._sampler = EventSampler(None, profile, clock=clock)
        self._known = read_cursor(after) if after else {}
        self._positions = dict(self._known)
        # By call, also those before the cursor: events of a call need what its start told.
        self._starts: dict[str, Envelope] = {}
        self._over = False
        self._failure: BaseException | None = None
        self.view = RunView()
        watch.cursor = lambda: self.cursor

    # What the reader asks.

    @property
    def thread_id(self) -> str:
        return self._watch.thread_id

    @property
    def run_id(self) -> str | None:
        """The run, once the server has named it."""
        return self._watch.run_id

    @property
    def trace_id(self) -> str | None:
        """The run that brought the input; a resumed run keeps it."""
        return self.view.trace_id

    @property
    def cursor(self) -> str | None:
        """Where this reader stands, for `client.attach(…, after=cursor)`; none before the first envelope."""
        return write_cursor(self._positions) if self._positions else None

    @property
    def interrupts(self) -> list[Any]:
        """What the run waits for, each with its id and the call that owns it."""
        return self.view.interrupts

    @property
    def usage(self) -> dict[str, Any]:
        """What all model calls used, as far as it was told."""
        return self.view.usage

    def calls(self) -> list[CallView]:
        """Every call that was told of so far."""
        return list(self.view.calls())

    @property
    def status(self) -> RunStatus:
        """How the run stands, to this reader."""
        match self.view.status:
            case "open":
                return "running"
            case "waiting":
                return "interrupted"
            case "ok":
                return "success"
            case "error" if self._watch.outcome and self._watch.outcome.status == "timeout":
                return "timeout"
            case status:
                return status

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.run_id} of thread {self.thread_id}: {self.status}>"

    # What both shells do with it.

    def _push(self, envelopes: list[Envelope]) -> None:
        push = self._sampler.push
        for envelope in envelopes:
            fresh = self._unknown(envelope) if self._known else envelope
            if fresh is not None:
                push(fresh)
            elif envelope.type in STARTS:
                self._starts[envelope.call_id] = envelope

    def _unknown(self, envelope: Envelope) -> Envelope | None:
        """The envelope, or what of it lies beyond the cursor that the reader came with."""
        known = self._known.get(envelope.call_id, 0)
        if envelope.seq <= known:
            return None
        begin = envelope.seq - step(envelope)
        if envelope.type != "llm_token" or begin >= known:
            return envelope
        payload = envelope.payload
        cut = known - begin
        rest = {**payload, "text": payload["text"][cut:], "offset": payload["offset"] + cut}
        return Envelope.from_dict(envelope.to_dict() | {"payload": rest})

    def _taken(self) -> list[Envelope]:
        return self._sampler.flush() if self._over else self._sampler.take()

    def _fold(self, envelope: Envelope) -> Envelope:
        self._positions[envelope.call_id] = envelope.seq
        self.view.fold(envelope)
        if envelope.type in STARTS:
            self._starts[envelope.call_id] = envelope
        return envelope

    def _told(self, projection: EventProjection, envelope: Envelope) -> list[ParserEvent]:
        start = None if projection.knows(envelope.call_id) else self._starts.get(envelope.call_id)
        if start is not None and start is not envelope:
            projection.learn(start)
        return projection.feed(envelope)

    def _patience(self) -> float | None:
        """How long to wait for the next envelope: until one is due, or until the reader's time is over."""
        due = self._sampler.due
        times = [one for one in (due, self._deadline) if one is not None]
        if not times:
            return None
        now = self._clock()
        if self._deadline is not None and now >= self._deadline:
            raise RunTimeout("the time for watching the run is over; the run itself goes on", **self._watch.where)
        return max(0.0, min(times) - now)

    def _cancel_path(self) -> str:
        if self.run_id is None:
            raise ConfigError("the server has not named the run yet: wait for its first envelope", **self._watch.where)
        return f"/threads/{self.thread_id}/runs/{self.run_id}/cancel?wait=false"

    def _check_cancel(self, status: int) -> None:
        """A run that has ended, or is no longer there, needs no stopping."""
        if status >= 300 and status not in (404, 409):
            raise ServerError(f"the server answered {status} when asked to stop the run", status, **self._watch.where)

    def _output(self) -> GraphOutput:
        """The typed result, or why there is none."""
        root, where = self.view.root, self._watch.where
        error = next((call.error for call in self.view.calls() if call.error), None)
        match self.status:
            case "success":
                result = root.result if root else None
                return self._normalized(result)
            case "interrupted":
                if (waiting := self._normalized(root.result if root else None)).tells_waiting:
                    return waiting
                raise RunInterrupted("the run waits for a person", self.interrupts, **where)
            case "cancelled":
                raise RunCancelled("the run was cancelled", error, **where)
            case "running":
                raise RunFailed("the run has not ended yet", error, **where)
            case "timeout":
                raise RunFailed("the run took too long for its server", error, **where)
            case "error":
                told = f": {error['class'] or 'error'}: {error['message']}" if error else ""
                raise RunFailed(f"the run failed{told}", error, **where)

    def _normalized(self, result: Any) -> GraphOutput:
        outcome = self._watch.outcome
        values = outcome.values if outcome and outcome.values is not None else (result or {})
        names = [self.view.root.name if self.view.root else None, self._assistant]
        name = next((one for one in names if one), None)
        interrupts = self.interrupts if self.status == "interrupted" else ()
        return normalize_output(name, values, usage=(result or {}).get("usage"), interrupts=interrupts)


def write_cursor(positions: dict[str, int]) -> str:
    packed = zlib.compress(json.dumps(positions, separators=(",", ":")).encode(), 9)
    return base64.urlsafe_b64encode(packed).decode()


def read_cursor(cursor: str) -> dict[str, int]:
    """The position in each call; a cursor that is none is the caller's mistake."""
    try:
        unpacked = zlib.decompressobj().decompress(base64.urlsafe_b64decode(cursor), 16 * 1024 * 1024)
        found = json.loads(unpacked)
    except (ValueError, zlib.error) as error:
        raise ConfigError("this is no cursor of a run") from error
    if not isinstance(found, dict) or not all(isinstance(seq, int) for seq in found.values()):
        raise ConfigError("this is no cursor of a run")
    return found
