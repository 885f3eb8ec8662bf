"""The body of a stream as it comes: from the connection itself where it can be taken over, else through httpx."""

import time
from collections.abc import AsyncIterator, Iterator
from enum import Enum
from typing import Literal

import httpx

from runwire._async_lines import AsyncLine
from runwire._chunked import ChunkedBody, NotChunked
from runwire._effects import TransportFailed
from runwire._lines import Line


class NotYet(Enum):
    NOT_YET = "not yet"


NOT_YET = NotYet.NOT_YET
# A wait of no time at all would not look at the connection.
LEAST_SECONDS = 0.001
# What httpcore is told of a body that was taken over: that it is at its end, so that the connection can be used again.
LAST_CHUNK = b"0\r\n\r\n"


def _is_chunked(response: httpx.Response) -> bool:
    return bool(response.headers.get("transfer-encoding", "").lower() == "chunked")


class _Taken:
    """A chunked body that was taken over, from its first bytes on."""

    def __init__(self, first: bytes) -> None:
        self._chunked = ChunkedBody()
        self._first = first

    @property
    def done(self) -> bool:
        return self._chunked.done

    def first(self) -> bytes:
        first, self._first = self._first, b""
        return first

    def feed(self, data: bytes) -> bytes:
        if not data:
            raise TransportFailed("the connection ended in the middle of a body")
        try:
            return self._chunked.feed(data)
        except NotChunked as error:
            raise TransportFailed(str(error)) from error


class Body:
    """For the sync shell."""

    def __init__(self, response: httpx.Response, silence: float) -> None:
        self._response = response
        self._silence = silence
        self._spoke = 0.0
        line = response.extensions.get("network_stream")
        first = line.take() if isinstance(line, Line) and _is_chunked(response) else None
        self._line = line if isinstance(line, Line) else None
        self._taken = None if first is None else _Taken(first)
        self._pieces: Iterator[bytes] = iter(()) if self._taken else response.iter_raw()

    @property
    def is_patient(self) -> bool:
        """Whether `read` can wait for a while and go on later."""
        return self._taken is not None

    def read(self, patience: float | None = None) -> bytes | Literal[NotYet.NOT_YET] | None:
        """The next bytes; none at the end, NOT_YET where none came in so many seconds."""
        taken, line = self._taken, self._line
        if taken is None or line is None:
            return next(self._pieces, None)
        while not taken.done:
            data = taken.first() or self._received(line, patience)
            if data is NOT_YET:
                return NOT_YET
            if body := taken.feed(data):
                return body
        self._taken = None
        line.put_back(LAST_CHUNK)
        self._pieces = self._response.iter_raw()
        return next(self._pieces, None)

    def _received(self, line: Line, patience: float | None) -> bytes | Literal[NotYet.NOT_YET]:
        """A connection is dead after so much silence, however often somebody asked in that time."""
        if patience is None or patience >= self._silence:
            return line.receive(self._silence)
        try:
            data = line.receive(max(patience, LEAST_SECONDS))
        except TimeoutError:
            now = time.monotonic()
            self._spoke = self._spoke or now - patience
            if now - self._spoke >= self._silence:
                raise
            return NOT_YET
        self._spoke = 0.0
        return data


class AsyncBody:
    """For the async shell."""

    def __init__(self, response: httpx.Response, silence: float) -> None:
        self._response = response
        self._silence = silence
        line = response.extensions.get("network_stream")
        first = line.take() if isinstance(line, AsyncLine) and _is_chunked(response) else None
        self._line = line if isinstance(line, AsyncLine) else None
        self._taken = None if first is None else _Taken(first)
        self._pieces: AsyncIterator[bytes] | None = None if self._taken else response.aiter_raw()

    async def read(self) -> bytes | None:
        """The next bytes; none at the end."""
        taken, line = self._taken, self._line
        if taken is not None and line is not None:
            while not taken.done:
                if body := taken.feed(taken.first() or await line.receive(self._silence)):
                    return body
            self._taken = None
            line.put_back(LAST_CHUNK)
            self._pieces = self._response.aiter_raw()
        return await anext(self._pieces, None) if self._pieces is not None else None
