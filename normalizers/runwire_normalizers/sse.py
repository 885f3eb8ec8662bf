"""Server-sent events from bytes, by the WHATWG rules, in any chunking. It moves no bytes itself."""

_BOM = b"\xef\xbb\xbf"


class ServerSentEvent:
    """One dispatched event. `id` is the id line of this very frame, not the last one remembered.

    Data and id stay in bytes until somebody asks for them as text: most frames are parsed, not read.
    """

    __slots__ = ("_id", "event", "raw")

    def __init__(self, event: str, data: str | bytes, id: str | bytes | None = None) -> None:
        self.event = event
        self.raw = data if type(data) is bytes else str(data).encode(errors="surrogatepass")
        self._id = id

    @property
    def data(self) -> str:
        """The data as text, with U+FFFD for what is no UTF-8."""
        return self.raw.decode(errors="replace")

    @property
    def id(self) -> str | None:
        """The id as text, or none."""
        return self._id.decode(errors="replace") if isinstance(self._id, bytes) else self._id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ServerSentEvent):
            return NotImplemented
        return (self.event, self.data, self.id) == (other.event, other.data, other.id)

    def __hash__(self) -> int:
        return hash((self.event, self.data, self.id))

    def __repr__(self) -> str:
        return f"ServerSentEvent(event={self.event!r}, data={self.data!r}, id={self.id!r})"


class SSEDecoder:
    """`feed` bytes, get the events whose blank line has come. What is unfinished at the end is never handed out."""

    def __init__(self) -> None:
        self._tail = b""
        # Pieces of one line, joined only at its end: a huge line in small pieces must not cost its square.
        self._pending: list[bytes] = []
        self._started = False
        self._after_cr = False
        self._event = ""
        self._data: bytes | None = None
        self._more: list[bytes] = []
        self._id: bytes | None = None
        # Frame after frame names the same event: its line is decoded once.
        self._known = (b"event: message", "message")

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that this chunk completes."""
        if self._started and b"\n" not in chunk and b"\r" not in chunk:
            self._pending.append(chunk)
            self._after_cr = self._after_cr and not chunk
            return []
        buffer = b"".join((self._tail, *self._pending, chunk)) if self._tail or self._pending else chunk
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
        # The line breaks of bytes are CR, LF and CRLF, just those of the protocol; those of text are many more.
        lines = buffer.splitlines()
        self._tail = lines.pop() if buffer and not buffer.endswith((b"\r", b"\n")) else b""
        return self._events(lines)

    @property
    def unfinished(self) -> bool:
        """Whether a frame has begun whose blank line never came."""
        return bool(self._tail or any(self._pending) or self._data is not None or self._event)

    def _events(self, lines: list[bytes]) -> list[ServerSentEvent]:
        found = []
        known, name = self._known
        event, data, id = self._event, self._data, self._id
        for line in lines:
            if line == known:
                event = name
            elif not line:
                if data is not None:
                    found.append(ServerSentEvent(event or "message", self._joined(data), id))
                event, data, id = "", None, None
            elif data is None and line[:6] == b"data: ":
                data = line[6:]
            elif line[:4] == b"id: " and b"\0" not in line:
                id = line[4:]
            else:
                event, data, id = self._field(line, event, data, id)
                known, name = self._known
        self._event, self._data, self._id = event, data, id
        return found

    def _joined(self, data: bytes) -> bytes:
        if not self._more:
            return data
        more, self._more = self._more, []
        return b"\n".join([data, *more])

    def _field(
        self, line: bytes, event: str, data: bytes | None, id: bytes | None
    ) -> tuple[str, bytes | None, bytes | None]:
        """Any line but the most common ones; event, data and id after it."""
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            if data is None:
                return event, value, id
            self._more.append(value)
        elif field == b"event":
            event = value.decode(errors="replace")
            self._known = (line, event)
        elif field == b"id" and b"\0" not in value:
            id = value
        return event, data, id
