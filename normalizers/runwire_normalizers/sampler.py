"""`EventSampler`: envelopes at a reader's pace. Tokens merge and updates are rate-limited; nothing else is touched."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from runwire_normalizers._merging import Pending, collapsed, trimmed
from runwire_normalizers.envelope import Envelope

Profile = Literal["user", "debug"]
Emitter = Callable[[Envelope], object]

# Nothing waits longer than this, whatever the limits: the promise that limits are checked against.
FLUSH_SECONDS = 0.25
# Pieces of one call that may wait side by side for a reader that does not read. More of them merge by channel or kind,
# wherever they stood: their positions then agree with the unmerged stream only after the last of them.
PIECES = 32


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
        # Everything as it comes, to a reader that asks: until it falls behind there is nothing to decide.
        self._passes = profile == "debug" and emitter is None
        self._now: float | None = None
        self._ready: list[Envelope | Pending] = []
        self._waiting: list[Pending] = []
        # The waiting pieces of each call, in their order; the last one may still grow.
        self._pieces: dict[str, list[Pending]] = {}
        self._updated: dict[str, float] = {}
        self._armed: tuple[float, Cancellable] | None = None

    @property
    def due(self) -> float | None:
        """When the next envelope is due, by the clock; none when nothing waits."""
        if self._ready:
            return self._now or 0.0
        if not self._waiting:
            return None
        return min((pending.due for pending in self._waiting), default=None)

    def push(self, envelope: Envelope) -> None:
        """One more envelope; whatever is due goes to the emitter."""
        if self._passes and not self._waiting and len(self._ready) < self.limits.backlog:
            self._ready.append(envelope)
            return
        timed = self._tell_time(envelope.ts)
        # A window that is over takes nothing more; only a reader that does not read makes it grow.
        self._emit_due()
        if envelope.type == "llm_token" or envelope.type == "tool_update":
            self._push_mergeable(envelope, timed)
        else:
            self._seal()
            self._ready.append(envelope)
        self._emit_due()
        self._arm()

    def tick(self) -> None:
        """Gives the emitter what has become due."""
        self._tell_time(None)
        self._emit_due()
        self._arm()

    def take(self) -> list[Envelope]:
        """What is due, for a reader that asks."""
        if not self._waiting and not self._ready:
            return []
        self._tell_time(None)
        return self._taken()

    def flush(self) -> list[Envelope]:
        """Everything, due or not; it goes to the emitter, where there is one, and is returned."""
        self._seal()
        found = self._taken()
        self._disarm()
        self._emit(list(found))
        return found

    def _push_mergeable(self, envelope: Envelope, timed: bool) -> None:
        if self.profile == "user" and envelope.type == "tool_update":
            envelope = trimmed(envelope, self.limits.log_text)
        pieces = self._pieces.setdefault(envelope.call_id, [])
        if pieces and self._may_merge() and pieces[-1].add(envelope, self.limits.log_entries):
            return
        # What came later in a call is never due earlier.
        due = max([self._due(envelope, timed), *(piece.due for piece in pieces[-1:])])
        pending = Pending(envelope, due)
        pieces.append(pending)
        self._waiting.append(pending)
        if len(pieces) > PIECES and self.emitter is None and self._may_merge():
            self._collapse(pieces)

    def _may_merge(self) -> bool:
        return self.profile == "user" or len(self._ready) + len(self._waiting) >= self.limits.backlog

    def _collapse(self, pieces: list[Pending]) -> None:
        """One piece for each channel and kind in place of many that took turns."""
        gone = {id(piece) for piece in pieces}
        first = next(place for place, piece in enumerate(self._waiting) if id(piece) in gone)
        rest = [piece for piece in self._waiting if id(piece) not in gone]
        pieces[:] = collapsed(pieces, self.limits.log_entries)
        self._waiting = [*rest[:first], *pieces, *rest[first:]]

    def _due(self, envelope: Envelope, timed: bool) -> float:
        now = self._now or 0.0
        if self.profile == "debug" or not timed:
            return now
        if envelope.type == "llm_token":
            return now + self.limits.window
        last = self._updated.get(envelope.call_id)
        return now if last is None else max(now, last + self.limits.update_interval)

    def _seal(self) -> None:
        """What comes next may overtake nothing, so nothing merges past this point."""
        self._ready += self._waiting
        self._waiting, self._pieces = [], {}

    def _emit_due(self) -> None:
        if self.emitter:
            self._emit(self._taken())

    def _emit(self, envelopes: list[Envelope]) -> None:
        if not self.emitter:
            return
        while envelopes:
            envelope = envelopes.pop(0)
            try:
                self.emitter(envelope)
            except BaseException:
                # The emitter has seen this one; what it has not seen yet stays.
                self._ready[:0] = envelopes
                raise

    def _taken(self) -> list[Envelope]:
        now = self._now or 0.0
        due = [pending for pending in self._waiting if pending.due <= now] if self._waiting else []
        if due:
            self._waiting = [pending for pending in self._waiting if pending.due > now]
            for call_id in {pending.call_id for pending in due}:
                self._pieces[call_id] = [piece for piece in self._pieces[call_id] if piece.due > now]
                if not self._pieces[call_id]:
                    del self._pieces[call_id]
        ready, self._ready = self._ready + due, []
        if self._passes:
            return [entry if isinstance(entry, Envelope) else entry.envelope() for entry in ready]
        return [self._handed_out(entry) for entry in ready]

    def _handed_out(self, entry: Envelope | Pending) -> Envelope:
        envelope = entry if isinstance(entry, Envelope) else entry.envelope()
        if envelope.type == "tool_update":
            self._updated[envelope.call_id] = self._now or 0.0
        elif envelope.type in ("tool_end", "subgraph_checkpoint"):
            self._updated.pop(envelope.call_id, None)
        return envelope

    def _tell_time(self, ts: float | None) -> bool:
        now = self._clock() if self._clock else ts
        if now is None:
            return False
        if self._now is not None and now < self._now:
            self._turn_back(now - self._now)
        self._now = now
        return True

    def _turn_back(self, by: float) -> None:
        """A clock that was set back makes nothing wait longer."""
        for pending in self._waiting:
            pending.due += by
        self._updated = {call_id: at + by for call_id, at in self._updated.items()}
        self._disarm()

    def _arm(self) -> None:
        """One timer at most, for the first that is due."""
        due = self.due if self.emitter else None
        if due is None:
            self._disarm()
        elif self._timer and not (self._armed and self._armed[0] <= due):
            self._disarm()
            self._armed = (due, self._timer(max(0.0, due - (self._now or 0.0)), self._fire))

    def _disarm(self) -> None:
        if self._armed:
            self._armed[1].cancel()
            self._armed = None

    def _fire(self) -> None:
        self._armed = None
        self.tick()
