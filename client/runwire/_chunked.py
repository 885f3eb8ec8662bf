"""A body in HTTP's chunked coding, taken out of its chunks in one pass over what was read. It moves no bytes itself."""

from typing import Final

LINE_LIMIT: Final = 4096
TRAILER_LIMIT: Final = 64 * 1024
HEX: Final = frozenset(b"0123456789abcdefABCDEF")


class NotChunked(ValueError):
    """The bytes do not follow the coding."""


class ChunkedBody:
    """`feed` bytes, get those of the body that they hold. `done` once the last chunk and its trailers have come."""

    def __init__(self) -> None:
        self.done = False
        # What is left of the chunk that has begun; its line break still to come counts as two.
        self._left = 0
        # A line that has begun: a chunk's size, or a trailer.
        self._line = b""
        self._in_trailers = False
        self._trailers = 0

    def feed(self, data: bytes) -> bytes:
        """The body's bytes in `data`; what follows the body is left out."""
        if self._line:
            data, self._line = self._line + data, b""
        body: list[bytes] = []
        position, size = 0, len(data)
        while position < size and not self.done:
            if self._left:
                position = self._inside(data, position, body)
                continue
            end = data.find(b"\n", position)
            if end < 0:
                self._line = data[position:]
                if len(self._line) > LINE_LIMIT:
                    raise NotChunked(f"a chunk's first line is longer than {LINE_LIMIT:,} bytes")
                break
            self._read_line(data[position:end].rstrip(b"\r"))
            position = end + 1
        return body[0] if len(body) == 1 else b"".join(body)

    def _inside(self, data: bytes, position: int, body: list[bytes]) -> int:
        """What of the open chunk is here, and its line break."""
        text = self._left - 2
        if text > 0:
            piece = data[position : position + text]
            body.append(piece)
            self._left -= len(piece)
            position += len(piece)
        while 0 < self._left <= 2 and position < len(data):
            if data[position] != b"\r\n"[-self._left]:
                raise NotChunked("a chunk is longer than it says")
            self._left -= 1
            position += 1
        return position

    def _read_line(self, line: bytes) -> None:
        if self._in_trailers:
            self._trailers += len(line)
            if self._trailers > TRAILER_LIMIT:
                raise NotChunked(f"the trailers are longer than {TRAILER_LIMIT:,} bytes")
            self.done = not line
            return
        digits = line.partition(b";")[0].strip(b" \t")
        if not digits or len(digits) > 15 or not HEX.issuperset(digits):
            raise NotChunked("a chunk begins without its size")
        size = int(digits, 16)
        self._left = size + 2 if size else 0
        self._in_trailers = not size
