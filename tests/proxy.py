"""A proxy on loopback that breaks connections on command. It speaks just enough HTTP/1.1 for a test server."""

import errno
import re
import select
import socket
import struct
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self, TypeVar

How = Literal["fin", "reset", "clean", "stall"]
HOWS: tuple[How, ...] = ("fin", "reset", "clean")
# The place of a cut in a body, of which all that came so far is given; None until it is reached.
Where = Callable[[bytes], int | None]

END = b"\r\n\r\n"
POST_STREAM = re.compile(r"POST \S*/runs/stream\b")
ANY = re.compile("")
CONNECT_SECONDS = 5.0
CLOSE_SECONDS = 5.0
PIECE = 65536


def at_byte(position: int) -> Where:
    """After so many bytes of the body."""
    return lambda body: position if len(body) >= position else None


def after_mark(start: int, mark: bytes) -> Where:
    """Behind the first bytes of this pattern that begin at `start` or later."""
    pattern = re.compile(mark)

    def where(body: bytes) -> int | None:
        found = pattern.search(body, start)
        return found.end() if found else None

    return where


def in_frame(number: int, share: float, shift: int = 0) -> Where:
    """In a frame by its number, at a share of its length and some bytes further."""

    def where(body: bytes) -> int | None:
        frames = body.split(END, number + 1)
        if len(frames) < number + 2:
            return None
        start = sum(len(frame) + len(END) for frame in frames[:number])
        return start + int(share * (len(frames[number]) + len(END))) + shift

    return where


class Fresh:
    """Cuts every connection once it has brought `size` bytes, and a whole frame, that none before it had brought.

    A resumed connection repeats frames before it brings new ones; with cuts at a fixed place nobody would ever arrive.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._brought: Counter[bytes] = Counter()

    def where(self, body: bytes) -> int | None:
        """The place of the cut; what comes before it counts as brought from then on."""
        with self._lock:
            here: Counter[bytes] = Counter()
            fresh = position = 0
            for frame in body.split(END)[:-1]:
                end = position + len(frame) + len(END)
                here[frame] += 1
                if here[frame] > self._brought[frame]:
                    place = position + self._size - fresh if fresh else end
                    fresh += end - position
                    if fresh >= self._size:
                        return self._cut(body, place)
                position = end
            return None

    def _cut(self, body: bytes, place: int) -> int:
        self._brought |= Counter(body[:place].split(END)[:-1])
        return place


@dataclass(frozen=True)
class Cut:
    """An end of a streaming response in the middle of it: `clean` pretends that the body is whole."""

    where: Where
    how: How
    then: Callable[["Proxy"], None] | None = None
    match: re.Pattern[str] = ANY


@dataclass(frozen=True)
class Drip:
    """A streaming response in pieces of `size` bytes with pauses between them."""

    pause: float
    size: int = 1
    match: re.Pattern[str] = ANY


@dataclass(frozen=True)
class Answer:
    """A reply of the proxy's own to a request; `reached` if the server got the request all the same."""

    status: int
    match: re.Pattern[str] = POST_STREAM
    retry_after: str | None = None
    reached: bool = False


@dataclass(frozen=True)
class Lose:
    """A connection that is reset before the server gets the request, or once it has replied."""

    what: Literal["request", "reply"]
    match: re.Pattern[str] = POST_STREAM


StreamFault = Cut | Drip
RequestFault = Answer | Lose
Fault = TypeVar("Fault", bound=StreamFault | RequestFault)


class Proxy:
    """Listens on `url` in front of a port until the block is left. Faults come in the order in which they were asked.

    Each fault in `streaming` befalls one streaming response, the next that it matches; `always` befalls all others.
    What happened is in `requests` (those that reached the server), `bodies` (what it streamed) and `cuts`.
    """

    def __init__(self, upstream: int, *streaming: StreamFault, always: StreamFault | None = None) -> None:
        self._upstream = upstream
        self._streaming = deque(streaming)
        self._always = always
        self._asked: deque[RequestFault] = deque()
        self._refused = 0
        self._changed = threading.Condition()
        self._open = True
        self._shut = False
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.requests: list[str] = []
        self.bodies: list[bytearray] = []
        self.cuts = 0
        self._listener = _listener()
        self.url = "http://{}:{}".format(*self._listener.getsockname())
        self._spawn(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End every connection and wait for the threads."""
        with self._changed:
            self._open = False
            self._changed.notify_all()
            for connection in (self._listener, *self._sockets):
                _end(connection)
        for thread in self._threads:
            thread.join(CLOSE_SECONDS)
        self._listener.close()
        if alive := [thread.name for thread in self._threads if thread.is_alive()]:
            raise RuntimeError(f"the proxy at {self.url} could not end {', '.join(alive)}")

    @property
    def posts(self) -> int:
        """How many requests for a new run reached the server."""
        with self._changed:
            return sum(bool(POST_STREAM.match(request)) for request in self.requests)

    def ask(self, *faults: RequestFault) -> None:
        """Have each of these befall the next request that it matches."""
        with self._changed:
            self._asked.extend(faults)

    def refuse(self, connections: int) -> None:
        """Reset so many of the next connections before a byte is read."""
        with self._changed:
            self._refused += connections

    def shut(self, seconds: float) -> None:
        """Let the system refuse every connection for a while."""
        with self._changed:
            self._shut = True
            _end(self._listener)
        self._spawn(self._reopen, seconds)

    def _reopen(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._open, seconds)
            self._shut = False
            if self._open:
                self._listener.listen()
            self._changed.notify_all()

    # connections

    def _spawn(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True, name=f"proxy-{target.__name__}")
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while self._open:
            try:
                client, _ = self._listener.accept()
            except OSError:
                with self._changed:
                    self._changed.wait_for(lambda: not (self._open and self._shut))
                continue
            with self._changed:
                refused, self._refused = self._refused > 0, max(self._refused - 1, 0)
            if refused or not self._keep(client):
                _reset(client)
            else:
                self._spawn(self._serve, client)

    def _keep(self, connection: socket.socket) -> bool:
        """Whether there is still time for it; `close` ends what is kept."""
        with self._changed:
            self._sockets.add(connection)
            return self._open

    def _serve(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = _Reader(client)
        try:
            while self._exchange(client, reader):
                pass
        except (OSError, EOFError):
            pass
        finally:
            with self._changed:
                self._sockets.discard(client)
            client.close()

    def _exchange(self, client: socket.socket, reader: "_Reader") -> bool:
        """One request and its response; whether the connection can be used again."""
        head = reader.until(END)
        request = head.split(b" HTTP/", 1)[0].decode("latin-1")
        content = reader.exactly(int(_header(head, b"content-length") or 0))
        fault = self._fault(self._asked, request)
        if isinstance(fault, Lose) and fault.what == "request":
            return _reset(client)
        if isinstance(fault, Answer) and not fault.reached:
            return _answer(client, fault)
        with socket.create_connection(("127.0.0.1", self._upstream), CONNECT_SECONDS) as server:
            server.settimeout(None)
            if not self._keep(server):
                return False
            with self._changed:
                self.requests.append(request)
            try:
                server.sendall(head + content)
                source = _Reader(server, client)
                answered = source.until(END)
                if isinstance(fault, Lose):
                    return _reset(client)
                if isinstance(fault, Answer):
                    return _answer(client, fault)
                return self._respond(client, request, answered, source)
            finally:
                with self._changed:
                    self._sockets.discard(server)

    def _fault(self, waiting: deque[Fault], request: str) -> Fault | None:
        with self._changed:
            found = next((fault for fault in waiting if fault.match.match(request)), None)
            if found:
                waiting.remove(found)
            return found

    # responses

    def _respond(self, client: socket.socket, request: str, head: bytes, source: "_Reader") -> bool:
        client.sendall(head)
        chunked = _header(head, b"transfer-encoding") == b"chunked"
        if (_header(head, b"content-type") or b"").startswith(b"text/event-stream") and chunked:
            return self._stream(client, request, source)
        if chunked:
            while chunk := source.chunk():
                client.sendall(_chunk(chunk))
            client.sendall(_chunk(b""))
        elif not request.startswith("HEAD "):
            client.sendall(source.exactly(int(_header(head, b"content-length") or 0)))
        return _header(head, b"connection") != b"close"

    def _stream(self, client: socket.socket, request: str, source: "_Reader") -> bool:
        body = bytearray()
        fault = self._fault(self._streaming, request) or self._always
        with self._changed:
            self.bodies.append(body)
        while chunk := source.chunk():
            sent = len(body)
            body += chunk
            place = fault.where(bytes(body)) if isinstance(fault, Cut) else None
            if isinstance(fault, Cut) and place is not None:
                if piece := chunk[: max(place - sent, 0)]:
                    client.sendall(_chunk(piece))
                return self._cut(client, fault)
            if isinstance(fault, Drip):
                _drip(client, _chunk(chunk), fault)
            else:
                client.sendall(_chunk(chunk))
        client.sendall(_chunk(b""))
        return True

    def _cut(self, client: socket.socket, fault: Cut) -> bool:
        with self._changed:
            self.cuts += 1
        if fault.then:
            fault.then(self)
        match fault.how:
            case "fin":
                _end(client)
            case "reset":
                _reset(client)
            case "clean":
                client.sendall(_chunk(b""))
                return True
            case "stall":
                # Only the client, or the end of the proxy, can end this.
                while client.recv(PIECE):
                    pass
        return False


class _Reader:
    """Whole pieces of HTTP from a socket; it gives up as soon as the `watched` one is closed by its peer."""

    def __init__(self, source: socket.socket, watched: socket.socket | None = None) -> None:
        self._source = source
        self._watched = watched
        self._buffer = bytearray()

    def until(self, mark: bytes) -> bytes:
        while (found := self._buffer.find(mark)) < 0:
            self._fill()
        return self._take(found + len(mark))

    def exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._fill()
        return self._take(size)

    def chunk(self) -> bytes:
        """The next chunk of a chunked body, empty at its end."""
        content = self.exactly(int(self.until(b"\r\n").split(b";")[0], 16))
        self.until(b"\r\n")
        return content

    def _take(self, size: int) -> bytes:
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _fill(self) -> None:
        if self._watched:
            ready, _, _ = select.select([self._source, self._watched], [], [])
            if self._watched in ready and not self._watched.recv(1, socket.MSG_PEEK):
                raise EOFError
        if not (data := self._source.recv(PIECE)):
            raise EOFError
        self._buffer += data


def _listener() -> socket.socket:
    """Bound to a port by its number, which the system then keeps for it while it does not listen."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = probe.getsockname()
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen()
        except OSError as error:
            listener.close()
            # Somebody was quicker to take the port.
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return listener


def _header(head: bytes, name: bytes) -> bytes | None:
    found = re.search(rb"(?im)^%s:[ \t]*([^\r\n]*)" % name, head)
    return found[1].strip() if found else None


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _drip(client: socket.socket, data: bytes, fault: Drip) -> None:
    for start in range(0, len(data), fault.size):
        client.sendall(data[start : start + fault.size])
        time.sleep(fault.pause)


def _answer(client: socket.socket, fault: Answer) -> bool:
    after = f"Retry-After: {fault.retry_after}\r\n" if fault.retry_after is not None else ""
    content = '{"detail":"the proxy says no"}'
    head = f"HTTP/1.1 {fault.status} No\r\n{after}Content-Type: application/json\r\nContent-Length: {len(content)}"
    client.sendall(f"{head}\r\n\r\n{content}".encode())
    return True


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        # Its peer was quicker.
        return


def _reset(connection: socket.socket) -> bool:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    return False
