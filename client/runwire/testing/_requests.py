"""What a client asks, and the stream that it is given for it."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from runwire.testing._behaviour import Connection
from runwire.testing._engines import Engine
from runwire.testing._runs import Entry, ScriptedRun

SSE = "text/event-stream; charset=utf-8"


class Request(NamedTuple):
    """What a client asked. The names of headers are in lower case; `json` is None where the body is none."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    json: Any


class Stream(NamedTuple):
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

    def _start(self, log: list[Entry], engine: Engine) -> int:
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
