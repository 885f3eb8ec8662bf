"""Server-sent events from bytes, by the WHATWG rules, in any chunking. It moves no bytes itself."""

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One dispatched event. `id` is the id line of this very frame, not the last one remembered."""

    event: str
    data: str
    id: str | None = None


class SSEDecoder:
    """`feed` bytes, get the events whose blank line has come. What is unfinished at the end is never handed out."""

    def __init__(self) -> None:
        self._tail = b""
        # Pieces of one line, joined only at its end: a huge line in small pieces must not cost its square.
        self._pending: list[bytes] = []
        self._started = False
        self._after_cr = False
        self._event = ""
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that this chunk completes."""
        if self._started and b"\n" not in chunk and b"\r" not in chunk:
            self._pending.append(chunk)
            self._after_cr = self._after_cr and not chunk
            return []
        buffer = self._tail + b"".join(self._pending) + chunk
        self._pending = []
        if not self._started:
            if len(buffer) < len(_BOM) and _BOM.startswith(buffer):
                self._tail = buffer
                return []
            buffer = buffer.removeprefix(_BOM)
            self._started = True
        # A CR at the end of one chunk and an LF at the start of the next are one line break.
        if self._after_cr and buffer:
            buffer = buffer.removeprefix(b"\n")
            self._after_cr = False
        if buffer:
            self._after_cr = buffer.endswith(b"\r")
        *lines, self._tail = buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        return [event for line in lines if (event := self._line(line)) is not None]

    @property
    def unfinished(self) -> bool:
        """Whether a frame has begun whose blank line never came."""
        return bool(self._tail or any(self._pending) or self._data or self._event)

    def _line(self, line: bytes) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode(errors="replace")
        if name == b"data":
            self._data.append(text)
        elif name == b"event":
            self._event = text
        elif name == b"id" and "\0" not in text:
            self._id = text
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        event, data, id = self._event or "message", self._data, self._id
        self._event, self._data, self._id = "", [], None
        return ServerSentEvent(event, "\n".join(data), id) if data else None
