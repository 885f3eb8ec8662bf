"""`StreamAdapter`: parts of any LangGraph stream in, envelopes out."""

from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from typing import Any

from runwire_normalizers._adapting import Emitter, Hand
from runwire_normalizers._chunks import ChunkReader, plain
from runwire_normalizers._frames import FrameReader, is_plain_text
from runwire_normalizers._identity import trace_of
from runwire_normalizers._models import ModelCall
from runwire_normalizers._run import Run
from runwire_normalizers._wholeness import is_whole, lacks
from runwire_normalizers.coerce import json_safe
from runwire_normalizers.continuation import Continuation
from runwire_normalizers.envelope import Envelope, Origin
from runwire_normalizers.modes import READERS
from runwire_normalizers.outcome import Outcome, OutcomeStatus
from runwire_normalizers.parts import Malformed, StreamPart
from runwire_normalizers.sampler import EventSampler, Profile, Timer
from runwire_normalizers.sse import ServerSentEvent

LONG_OPEN = 600.0
TOKENS = frozenset({"messages", "messages-tuple"})
RESULTS = frozenset({"updates", "tasks", "debug"})


class StreamAdapter:
    """Turns the parts of one run into envelopes: `feed` each, then `finish` with what is known of the end.

    `clock` gives `ts`; without it, and without `ts` given to `feed`, envelopes carry null. `mode` is what was asked of
    `stream_mode`, where that is known: one mode names bare chunks whose shape leaves it open; with `messages` among
    several no text is taken from whole messages; with `messages` alone tool calls start with the end of their message.
    `completion` names a signal (such as `research_done`) to put around the result of every graph, or, as a mapping, of
    those it names. `profile` and `timer` are for `adapt`, which hands out through an `EventSampler`; `feed` and
    `finish` return everything as it comes.
    """

    def __init__(
        self,
        emitter: Emitter | None = None,
        profile: Profile = "user",
        *,
        trace_id: str | None = None,
        run_id: str | None = None,
        label: str | None = None,
        input: Any = None,
        meta: dict[str, Any] | None = None,
        mode: str | Sequence[str] | None = None,
        resumed_from: Continuation | None = None,
        completion: str | Mapping[str, str] | None = None,
        clock: Callable[[], float] | None = None,
        timer: Timer | None = None,
        long_open: float | None = LONG_OPEN,
    ) -> None:
        self.emitter = emitter
        self.profile = profile
        self.origin: Origin = "live"
        self._given = (trace_id, run_id)
        self._label = label
        self._input = input
        self._meta = meta
        self._mode = mode if isinstance(mode, str) else None
        self._modes = frozenset([mode] if isinstance(mode, str) else mode or ())
        self._resumed_from: Continuation | None = None
        self._completion = completion
        self._clock = clock
        self._timer = timer
        self._long_open = long_open
        self._run: Run | None = None
        self._finished = False
        self._frames = FrameReader()
        self._chunks = ChunkReader()
        if resumed_from:
            self.resume_from(resumed_from)

    @property
    def label(self) -> str | None:
        """The name of the root, as the caller gave it; it may be changed until the first part is fed."""
        return self._label

    @label.setter
    def label(self, label: str | None) -> None:
        self._label = label

    def introduce(self, label: str | None, input: Any) -> None:
        """The name and the input of a run that somebody else started, told before its first part is fed."""
        self._label, self._input = self._label or label, input if self._input is None else self._input

    def resume_from(self, before: Continuation) -> None:
        """What the run continues, told before its first part is fed."""
        if before.over:
            raise ValueError(f"the run of trace {before.trace_id} has ended, so nothing can resume it")
        if self._run is not None:
            raise ValueError("the run has begun already, so it is too late to say what it resumes")
        self._resumed_from = before

    @property
    def trace_id(self) -> str | None:
        """The trace, once it is known."""
        return self._run.trace_id if self._run else None

    def feed(self, item: Any, ts: float | None = None) -> list[Envelope]:
        """The envelopes that one item of any source brings about."""
        if type(item) is ServerSentEvent:
            said, run = self._frames.token(item), self._run
            if said is None or run is None or said[0].state == "ended":
                return self._feed_frame(item, ts)
            # `_say`, written out: a server's tokens are the hottest parts of all.
            run.awaiting, run.calls.origin = False, self.origin
            if ts is not None or self._clock:
                run.calls.ts = self._now(ts)
                run.calls.tick()
            return run.models.say(*said)
        told = plain(item)
        if told is not None and self._run is not None:
            call = self._run.models.by_id.get(told[0])
            if call is not None and not call.over and told[0] in call.ids:
                return self._say(self._run, call, told[1], ts)
        part = self._chunks.read(item, self._mode)
        if self._mode is None and isinstance(item, Mapping) and part.mode in ("values", "updates"):
            self._mode = part.mode if "ns" not in item and "event" not in item else None
        return self._feed_part(part, ts)

    def _say(self, run: Run, call: ModelCall, text: str, ts: float | None) -> list[Envelope]:
        """More text of an open model call, and nothing else: what most parts are."""
        run.awaiting, run.calls.origin = False, self.origin
        if ts is not None or self._clock:
            run.calls.ts = self._now(ts)
            run.calls.tick()
        return run.models.say(call, text)

    def _feed_frame(self, frame: ServerSentEvent, ts: float | None) -> list[Envelope]:
        part = self._frames.read(frame)
        found = self._feed_part(part, ts)
        self._learn(frame, part)
        return found

    def _learn(self, frame: ServerSentEvent, part: StreamPart) -> None:
        if part.mode != "messages" or not is_plain_text(part.data):
            return
        call = self._run.models.by_id.get(part.data[0]["id"]) if self._run else None
        if call and not call.over:
            self._frames.learn_text(frame, part.data[0], call)

    def _feed_part(self, part: StreamPart, ts: float | None) -> list[Envelope]:
        run = self._run or self._begin(part, ts)
        run.calls.ts, run.calls.origin, run.data = self._now(ts), self.origin, None
        if not self._finished:
            self._read(run, part)
            run.calls.tick()
        return run.calls.taken()

    def finish(
        self, outcome: Outcome | OutcomeStatus | None = None, ts: float | None = None, *, exhausted: bool = False
    ) -> list[Envelope]:
        """The envelopes that close the stream; nothing follows them.

        Without an outcome the parts decide; `exhausted` says that they came from a graph in this process that returned.
        """
        run = self._run or self._begin(StreamPart("metadata", (), {}), ts)
        run.calls.ts, run.calls.origin = self._now(ts), self.origin
        if not self._finished:
            self._finished = True
            run.ending.finish(Outcome.read(outcome), exhausted)
        return run.calls.taken()

    def is_whole(self, outcome: Outcome) -> bool:
        """Whether the frames fed so far can lack nothing of a run that ended so; ask before `finish`."""
        return self._run is not None and is_whole(self._run, outcome)

    def lacks(self, outcome: Outcome) -> bool:
        """Whether the frames fed so far surely lack something of a run that ended so; ask before `finish`."""
        return self._run is None or lacks(self._run, outcome)

    def warn(self, code: str, message: str, raw: Any = None, ts: float | None = None) -> list[Envelope]:
        """A warning of what the caller knows and no frame tells, such as a `gap`; nothing once the run has ended."""
        run = self._run or self._begin(StreamPart("metadata", (), {}), ts)
        run.calls.ts, run.calls.origin = self._now(ts), self.origin
        if not self._finished:
            run.warn(code, message, json_safe(raw))
        return run.calls.taken()

    def continuation(self) -> Continuation:
        """What `resumed_from` of the next run's adapter takes."""
        if self._run is None:
            raise ValueError("nothing was fed yet, so there is nothing to resume from")
        return Continuation(self._run.trace_id, self._run.calls.records())

    async def adapt(self, events: AsyncIterable[Any], label: str) -> None:
        """Feeds a whole stream and hands the sampled envelopes to the emitter; a graph that raises is told, and raises.

        Without a `timer`, such as `loop.call_later`, what merges is handed out with the next part that comes.
        """
        self._label = self._label or label
        sampler = EventSampler(None, self.profile, clock=self._clock)
        hand = Hand(self.emitter, sampler, self._clock, self._timer)
        try:
            await self._give_all(hand, events)
            await hand.done()
        finally:
            hand.drop()

    async def _give_all(self, hand: Hand, events: AsyncIterable[Any]) -> None:
        source = aiter(events)
        while True:
            try:
                item = await anext(source)
            except StopAsyncIteration:
                break
            except Exception as error:
                await hand.give(self.finish(Outcome.of(error)))
                raise
            await hand.give(self.feed(item))
        await hand.give(self.finish())

    def _now(self, ts: float | None) -> float | None:
        return self._clock() if ts is None and self._clock else ts

    def _begin(self, part: StreamPart, ts: float | None) -> Run:
        trace_id, run_id = self._given
        told = part.data if isinstance(part.data, dict) else {}
        if part.mode in ("metadata", "events"):
            run_id = run_id or (told["run_id"] if isinstance(told.get("run_id"), str) else None)
        if self._resumed_from:
            trace_id = self._resumed_from.trace_id
        input = self._input
        if input is None and part.mode == "events":
            data = told.get("data")
            input = data.get("input") if isinstance(data, dict) else None
        trace = trace_id or run_id or trace_of(json_safe([part.mode, str(part.data)]))
        self._run = Run(
            trace,
            run_id,
            self._label,
            json_safe(input),
            self._resumed_from,
            self._completion,
            self._long_open,
        )
        self._run.calls.ts, self._run.calls.origin = self._now(ts), self.origin
        self._run.only_checkpoints = "checkpoints" in self._modes and self._modes <= {"checkpoints", "custom"}
        if self._modes & TOKENS:
            self._run.models.sources.add("messages")
            self._run.tools.at_once = self._modes <= TOKENS | {"custom"}
            self._run.tools.in_state = bool(self._modes & RESULTS)
        self._run.begin(self._meta)
        return self._run

    def _read(self, run: Run, part: StreamPart) -> None:
        reader = READERS.get(part.mode)
        if isinstance(part.data, Malformed):
            run.warn("malformed", f"the data of a {part.mode} frame is no JSON", part.data.text)
        elif reader is None:
            run.warn("unknown_mode", f"a frame of the unknown mode {part.mode}", part.data)
        else:
            run.data = part.data
            run.awaiting = run.awaiting and part.mode == "metadata"
            try:
                reader(run, part)
            except (AttributeError, KeyError, TypeError, ValueError, IndexError, RecursionError) as error:
                text = f"a {part.mode} frame has an unknown shape ({type(error).__name__}: {error})"
                run.warn("malformed", text, part.data)
