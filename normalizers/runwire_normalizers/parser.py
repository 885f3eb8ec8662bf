"""`StreamParser`: the typed events of a graph that streams in this process, in any mode and shape."""

import dataclasses
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Collection, Generator, Iterable, Sequence
from typing import Any

from runwire_normalizers.adapter import StreamAdapter
from runwire_normalizers.continuation import Continuation
from runwire_normalizers.events import ParserEvent
from runwire_normalizers.extractors import BUILT_IN, ToolExtractor
from runwire_normalizers.outcome import Outcome
from runwire_normalizers.parts import MODES
from runwire_normalizers.projections.events import EventProjection

AUTO = "auto"


class StreamParser:
    """Parses streams into events; it may parse many, also at once, for all that it keeps is how to.

    `stream_mode` is what was asked of the graph: a mode, several, or `auto`, by which the first chunks tell. Parts that
    name their own mode, such as typed parts and those of `astream_events`, are read as what they are in any case.
    `skip_tools` hides calls of these tools, not what an extractor finds in them. `label` names the run's own agent, and
    `clock`, such as `time.monotonic`, gives tool calls their duration.
    """

    def __init__(
        self,
        *,
        track_tool_lifecycle: bool = True,
        skip_tools: Collection[str] | None = None,
        include_state_updates: bool = False,
        stream_mode: str | Sequence[str] = "updates",
        extractors: Iterable[ToolExtractor] = BUILT_IN,
        label: str | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._mode = _checked(stream_mode)
        self._tools = track_tool_lifecycle
        self._skipped = frozenset([skip_tools] if isinstance(skip_tools, str) else skip_tools or ())
        self._state = include_state_updates
        self._label = label
        self._clock = clock
        self._extractors = {one.tool_name: one for one in extractors}
        self.continuation: Continuation | None = None

    def register_extractor(self, extractor: ToolExtractor) -> None:
        """Reads the results of its tool from now on; it takes the place of an earlier one."""
        self._extractors[extractor.tool_name] = extractor

    def unregister_extractor(self, tool_name: str) -> None:
        """Leaves the results of a tool alone."""
        self._extractors.pop(tool_name, None)

    def projection(self) -> EventProjection:
        """What makes events of envelopes as this parser is told to, for one run."""
        return EventProjection(
            track_tool_lifecycle=self._tools,
            skip_tools=self._skipped,
            include_state_updates=self._state,
            extractors=dict(self._extractors),
        )

    def begin(self, resumed_from: Continuation | None = None) -> "ParsedStream":
        """One stream, to be fed chunk by chunk; `parse` and `aparse` are loops around it."""
        adapter = StreamAdapter(mode=self._mode, label=self._label, clock=self._clock, resumed_from=resumed_from)
        return ParsedStream(adapter, self.projection())

    def parse(
        self, stream: Iterable[Any], *, resumed_from: Continuation | None = None
    ) -> Generator[ParserEvent, None, None]:
        """The events of `graph.stream(…)`. What the graph raises is an `ErrorEvent`; leaving early closes the stream.

        `resumed_from` is the `continuation` of the parser whose stream waited: calls that it told of go on.
        """
        source, parsed, failure = iter(stream), self.begin(resumed_from), None
        self.continuation = None
        try:
            while True:
                try:
                    chunk = next(source)
                except StopIteration:
                    break
                except Exception as error:  # the graph's: its reader is told
                    failure = error
                    break
                yield from parsed.feed(chunk)
            yield from self._finished(parsed, failure)
        finally:
            if close := getattr(source, "close", None):
                close()

    async def aparse(
        self, stream: AsyncIterable[Any], *, resumed_from: Continuation | None = None
    ) -> AsyncGenerator[ParserEvent, None]:
        """As `parse`, of `graph.astream(…)` or `graph.astream_events(…)`."""
        source, parsed, failure = aiter(stream), self.begin(resumed_from), None
        self.continuation = None
        try:
            while True:
                try:
                    chunk = await anext(source)
                except StopAsyncIteration:
                    break
                except Exception as error:  # as above
                    failure = error
                    break
                for event in parsed.feed(chunk):
                    yield event
            for event in self._finished(parsed, failure):
                yield event
        finally:
            if close := getattr(source, "aclose", None):
                await close()

    def _finished(self, parsed: "ParsedStream", failure: Exception | None) -> list[ParserEvent]:
        found = parsed.finish(failure)
        self.continuation = parsed.continuation
        return found


@dataclasses.dataclass
class ParsedStream:
    """One stream on its way from chunks to events."""

    adapter: StreamAdapter
    projection: EventProjection

    def feed(self, chunk: Any) -> list[ParserEvent]:
        """The events that one chunk brings about."""
        feed = self.projection.feed
        return [event for envelope in self.adapter.feed(chunk) for event in feed(envelope)]

    def finish(self, failure: Exception | None = None) -> list[ParserEvent]:
        """The events of the end, with what the graph raised."""
        self.projection.exception = failure
        outcome = Outcome.of(failure) if failure else None
        feed = self.projection.feed
        return [event for envelope in self.adapter.finish(outcome, exhausted=True) for event in feed(envelope)]

    @property
    def continuation(self) -> Continuation | None:
        """What a stream that resumes this one needs of it; none once the run has ended."""
        found = self.adapter.continuation()
        return None if found.over else found


def _checked(mode: str | Sequence[str]) -> str | list[str] | None:
    if mode == AUTO:
        return None
    asked = [mode] if isinstance(mode, str) else list(mode)
    if unknown := [one for one in asked if one not in MODES]:
        raise ValueError(f"stream_mode is {AUTO}, or one or several of {', '.join(sorted(MODES))}; not {unknown[0]!r}")
    return mode if isinstance(mode, str) else asked
