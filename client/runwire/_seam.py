"""Frames of one run over several connections: which to deliver, which were delivered before, where to go on from."""

import hashlib
import re
from collections import Counter
from typing import Literal

from runwire_normalizers import ServerSentEvent

Verdict = Literal["deliver", "drop", "again"]
START = "0-0"
# Frames of a resumed connection that are remembered to know them when they come twice.
REMEMBERED = 10_000
# How often a run is joined again only because two equal frames of one id could be one that came twice.
DOUBTS = 200
COUNTED = re.compile(r"_event_(\d+)$")

Mark = tuple[str, bytes]
# What is longer is remembered by its hash at once.
SHORT = 4096


class Seam:
    """Servers send all frames of a millisecond under one id and replay only what is later, so a run is resumed one id
    back, and the frames of the last id are matched against what was delivered. A server that attaches the live stream
    before it reads its log sends frames twice: those that are new on a resumed connection and come again are dropped.
    """

    def __init__(self, id_limit: int) -> None:
        self.cursor = START
        self.delivered = 0
        self._id_limit = id_limit
        self._first: Mark | None = None
        self._last_id: str | None = None
        # Hashed only when a connection is resumed: most never are.
        self._group: list[Mark | ServerSentEvent] = []
        self._resumed = False
        self._expected: list[Mark] = []
        # The id of the last frames before the connection was opened: what has it was made before, and comes once.
        self._settled: str | None = None
        self._skip = 0
        self._fresh: Counter[Mark] = Counter()
        self._repeated: Counter[Mark] = Counter()
        self._doubling = False
        self._is_first = False
        self._doubts = DOUBTS
        self._number: int | None = None
        self._step: int | None = None

    def resumed(self) -> None:
        """A new connection was opened at the cursor."""
        self._resumed, self._doubling, self._skip, self._is_first = True, False, 0, True
        self._expected, self._settled = [_marked(one) for one in self._group], self._last_id
        self._fresh, self._repeated = Counter(), Counter()

    def accept(self, frame: ServerSentEvent) -> Verdict:
        """Whether a frame is new; "again" means that the run must be joined anew to know."""
        id = self._id(frame)
        if self._resumed and id is not None:
            verdict = self._on_resumed(_mark(frame))
            if verdict != "deliver":
                return verdict
        # An end that is all that is left after a rejoin is the end, whatever its number.
        if id is not None and not (frame.event == "end" and self._is_first) and self._is_hole(id):
            return "again"
        self._is_first = False
        # Errors are not kept by servers: they come once, and no replay has them.
        if frame.event != "error":
            self._note(id, frame)
        return "deliver"

    def _id(self, frame: ServerSentEvent) -> str | None:
        id = frame.id
        fits = id is not None and 0 < len(id) <= self._id_limit and id.isascii() and id.isprintable()
        return id if fits else None

    def _on_resumed(self, mark: Mark) -> Verdict:
        if self._skip:
            self._skip -= 1
            return "drop"
        if self._expected:
            if mark == self._expected[0]:
                self._expected.pop(0)
                return "drop"
            if mark == self._first and self.delivered > 1:
                # The server ignored the cursor and tells everything again.
                self._skip, self._expected = self.delivered - 1, []
                return "drop"
            self._expected = []
        if mark[0] == self._settled:
            return "deliver"
        if mark in self._fresh:
            return self._twice(mark)
        self._fresh[mark] += 1
        # Something new after what came twice: from here on the stream is live.
        self._resumed = not self._doubling and len(self._fresh) < REMEMBERED
        return "deliver"

    def _twice(self, mark: Mark) -> Verdict:
        if mark[0] != self._last_id or (self._doubling and self._repeated[mark] < self._fresh[mark]):
            self._doubling = True
            self._repeated[mark] += 1
            return "drop"
        if self._doubling:
            # One more than came before: it is new, though it looks the same.
            self._fresh[mark] += 1
            return "deliver"
        if self._doubts:
            self._doubts -= 1
            return "again"
        self._fresh[mark] += 1
        return "deliver"

    def _is_hole(self, id: str) -> bool:
        """Ids that count in even steps show what a server failed to send."""
        match = COUNTED.search(id)
        if match is None:
            return False
        number, before = int(match[1]), self._number
        if before is not None and number > before:
            step = number - before
            if self._step is not None and step > self._step and self._doubts:
                self._doubts -= 1
                return True
            self._step = step if self._step is None else min(self._step, step)
        self._number = number if before is None else max(before, number)
        return False

    def _note(self, id: str | None, frame: ServerSentEvent) -> None:
        self.delivered += 1
        if self._first is None:
            self._first = _mark(frame)
        if id is None:
            return
        if id != self._last_id:
            if self._last_id is not None:
                self.cursor = self._last_id
            self._last_id, self._group = id, []
        self._group.append(frame if len(frame.raw) <= SHORT else _mark(frame))


def _mark(frame: ServerSentEvent) -> Mark:
    return frame.id or "", hashlib.blake2b(frame.event.encode() + b"\0" + frame.raw, digest_size=12).digest()


def _marked(one: Mark | ServerSentEvent) -> Mark:
    return _mark(one) if isinstance(one, ServerSentEvent) else one
