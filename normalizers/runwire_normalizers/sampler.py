"""`EventSampler`: envelopes at a reader's pace. Tokens merge and updates are rate-limited; nothing else is touched."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from runwire_normalizers._merging import Pending, trimmed
from runwire_normalizers.envelope import Envelope

Profile = Literal["user", "debug"]
Emitter = Callable[[Envelope], object]

# Nothing waits longer than this, whatever the limits: the promise that limits are checked against.
FLUSH_SECONDS = 0.25


class Cancellable(Protocol):
    """What a timer hands out, such as `asyncio.TimerHandle`."""

    def cancel(self) -> object: ...


# `loop.call_later`, or anything that calls back after so many seconds.
Timer = Callable[[float, Callable[[], None]], Cancellable]


@dataclass(frozen=True, slots=True)
class Limits:
    """How the `user` profile merges: seconds, and the sizes at which a tool's log is trimmed.

    `backlog` is for `debug`, which merges nothing until so many envelopes wait for a reader that does not read.
    """

    window: float = 0.05
    update_interval: float = 0.1
    log_text: int = 4000
    log_entries: int = 64
    backlog: int = 1024

    def __post_init__(self) -> None:
        if not (0.025 <= self.window <= 0.075):
            raise ValueError(f"tokens merge within 0.025 to 0.075 s, not {self.window}")
        if not (0 <= self.update_interval <= FLUSH_SECONDS):
            raise ValueError(f"everything is flushed within {FLUSH_SECONDS} s, so updates cannot wait longer")
        if self.log_entries < 2 or self.log_text < 2 or self.backlog < 1:
            raise ValueError("a log keeps at least two entries and two characters, a backlog one envelope")


class EventSampler:
    """Takes envelopes by `push`; gives them to `emitter`, or, where there is none, to whoever calls `take`.

    Tokens of one call and channel merge for `window` seconds, updates of one call come `update_interval` apart, and
    whatever is not taken when it is due goes on merging: a reader that stops costs memory by the calls, not by the
    tokens. Any other envelope goes out at once, after all that came before it. Order within a call never changes.
    `clock` tells the time in seconds (without it, each envelope's `ts`; without both, nothing is merged). `timer` wakes
    the sampler when its source falls silent; without one, call `tick` (or `take`) by the time that `due` tells.
    """

    def __init__(
        self,
        emitter: Emitter | None = None,
        profile: Profile = "user",
        *,
        clock: Callable[[], float] | None = None,
        timer: Timer | None = None,
        limits: Limits | None = None,
    ) -> None:
        if profile not in ("user", "debug"):
            raise ValueError(f"the profiles are user and debug, not {profile!r}")
        self.emitter = emitter
        self.profile = profile
        self.limits = limits or Limits()
        self._clock = clock
        self._timer = timer
        self._now = 0.0
        self._ready: list[Envelope | Pending] = []
        self._waiting: list[Pending] = []
        self._open: dict[str, Pending] = {}
        self._updated: dict[str, float] = {}
        self._armed: tuple[float, Cancellable] | None = None

    @property
    def due(self) -> float | None:
        """When the next envelope is due, by the clock; none when nothing waits."""
        if self._ready:
            return self._now
        return min((pending.due for pending in self._waiting), default=None)

    def push(self, envelope: Envelope) -> None:
        """One more envelope; whatever is due goes to the emitter."""
        timed = self._tell_time(envelope.ts)
        # A window that is over takes nothing more; only a reader that does not read makes it grow.
        self._emit_due()
        if envelope.type == "llm_token" or envelope.type == "tool_update":
            self._push_mergeable(envelope, timed)
        else:
            self._seal()
            self._ready.append(envelope)
        self._deliver()

    def tick(self) -> None:
        """Gives the emitter what has become due."""
        self._tell_time(None)
        self._deliver()

    def take(self) -> list[Envelope]:
        """What is due, for a reader that asks."""
        self._tell_time(None)
        return self._taken()

    def flush(self) -> list[Envelope]:
        """Everything, due or not; it goes to the emitter, where there is one, and is returned."""
        self._seal()
        found = self._taken()
        self._emit(found)
        return found

    def _push_mergeable(self, envelope: Envelope, timed: bool) -> None:
        pending = self._open.get(envelope.call_id)
        if self.profile == "user" and envelope.type == "tool_update":
            envelope = trimmed(envelope, self.limits.log_text)
        if pending and self._may_merge() and pending.add(envelope, self.limits.log_entries):
            return
        pending = self._open[envelope.call_id] = Pending(envelope, self._due(envelope, timed))
        self._waiting.append(pending)

    def _may_merge(self) -> bool:
        return self.profile == "user" or len(self._ready) + len(self._waiting) >= self.limits.backlog

    def _due(self, envelope: Envelope, timed: bool) -> float:
        if self.profile == "debug" or not timed:
            return self._now
        if envelope.type == "llm_token":
            return self._now + self.limits.window
        last = self._updated.get(envelope.call_id)
        return self._now if last is None else max(self._now, last + self.limits.update_interval)

    def _seal(self) -> None:
        """What comes next may overtake nothing, so nothing merges past this point."""
        self._ready += self._waiting
        self._waiting, self._open = [], {}

    def _deliver(self) -> None:
        self._emit_due()
        self._arm()

    def _emit_due(self) -> None:
        if self.emitter:
            self._emit(self._taken())

    def _emit(self, envelopes: list[Envelope]) -> None:
        if self.emitter:
            for envelope in envelopes:
                self.emitter(envelope)

    def _taken(self) -> list[Envelope]:
        due = [pending for pending in self._waiting if pending.due <= self._now]
        if due:
            self._waiting = [pending for pending in self._waiting if pending.due > self._now]
            for pending in due:
                if self._open.get(pending.call_id) is pending:
                    del self._open[pending.call_id]
        ready, self._ready = self._ready + due, []
        return [self._handed_out(entry) for entry in ready]

    def _handed_out(self, entry: Envelope | Pending) -> Envelope:
        envelope = entry if isinstance(entry, Envelope) else entry.envelope()
        if envelope.type == "tool_update":
            self._updated[envelope.call_id] = self._now
        elif envelope.type == "tool_end":
            self._updated.pop(envelope.call_id, None)
        return envelope

    def _tell_time(self, ts: float | None) -> bool:
        now = self._clock() if self._clock else ts
        self._now = max(self._now, now) if now is not None else self._now
        return now is not None

    def _arm(self) -> None:
        """One timer at most, for the first that is due."""
        due = self.due if self.emitter else None
        if self._timer is None or due is None or (self._armed and self._armed[0] <= due):
            return
        if self._armed:
            self._armed[1].cancel()
        self._armed = (due, self._timer(max(0.0, due - self._now), self._fire))

    def _fire(self) -> None:
        self._armed = None
        self.tick()
