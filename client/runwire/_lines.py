"""Connections of the sync client whose body can be taken over: httpcore reads an answer's head, and no byte beyond it.

A stream's body then comes straight from the socket, without the layers that hand out every HTTP chunk by itself. Nobody
has to take it: `read` gives httpcore the body like any other connection.
"""

import re
import select
import socket
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore

READ_BYTES = 256 * 1024
HEAD_LIMIT = 128 * 1024
BLANK_LINE = re.compile(rb"\n\r?\n")
Options = Iterable[tuple[Any, ...]] | None


class Head:
    """How much of what was read is the head of the answer: that, httpcore may have."""

    def __init__(self) -> None:
        self._kept = b""
        self._in_head = False
        # Whether the body that begins now is still whole.
        self.whole = False

    def begin(self) -> None:
        """A request is sent: what comes next is a head."""
        self._in_head, self.whole = True, False

    @property
    def in_head(self) -> bool:
        return self._in_head

    def kept(self) -> bytes:
        """What was read already and not handed out."""
        kept, self._kept = self._kept, b""
        return kept

    def taken(self) -> bytes | None:
        """The first bytes of the body, for somebody else than httpcore; none where that has had a part of it."""
        whole, self.whole = self.whole, False
        return self.kept() if whole else None

    def split(self, data: bytes) -> bytes | None:
        """The head if it is whole; the rest is kept. None: more is needed, and this was kept."""
        data = self._kept + data
        found = BLANK_LINE.search(data)
        if found is None and len(data) <= HEAD_LIMIT:
            self._kept = data
            return None
        end = found.end() if found else len(data)
        self._kept, self._in_head, self.whole = data[end:], False, found is not None
        return data[:end]

    def give_up(self) -> bytes:
        """The connection ended: what there is."""
        self._in_head = False
        return self.kept()

    def put_back(self, data: bytes) -> None:
        self._kept = data + self._kept


@contextmanager
def mapped(timed_out: type[Exception], failed: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise timed_out(str(error)) from error
    except OSError as error:
        raise failed(str(error)) from error


class Takeable:
    """A connection whose body can be taken over."""

    def __init__(self) -> None:
        self._head = Head()

    def take(self) -> bytes | None:
        """The body's first bytes, to go on with `receive`; none where httpcore has had a part of it."""
        return self._head.taken()

    def put_back(self, data: bytes) -> None:
        """What `read` gives next."""
        self._head.put_back(data)


class Line(Takeable, httpcore.NetworkStream):
    """A connection of the sync client."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._socket = sock
        self._patience: float | None = None

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with mapped(httpcore.ReadTimeout, httpcore.ReadError):
            if not self._head.in_head:
                self._head.whole = False
                return self._head.kept() or self.receive(timeout)
            while True:
                data = self.receive(timeout)
                if not data:
                    return self._head.give_up()
                if (head := self._head.split(data)) is not None:
                    return head

    def receive(self, timeout: float | None) -> bytes:
        """The next bytes, as they come; none at the end."""
        if timeout != self._patience:
            self._socket.settimeout(timeout)
            self._patience = timeout
        return self._socket.recv(READ_BYTES)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._head.begin()
        with mapped(httpcore.WriteTimeout, httpcore.WriteError):
            self._socket.settimeout(timeout)
            self._patience = timeout
            self._socket.sendall(buffer)

    def close(self) -> None:
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        with mapped(httpcore.ConnectTimeout, httpcore.ConnectError):
            try:
                self._socket.settimeout(timeout)
                return Line(ssl_context.wrap_socket(self._socket, server_hostname=server_hostname))
            except OSError:
                self.close()
                raise

    def get_extra_info(self, info: str) -> Any:
        match info:
            case "socket":
                return self._socket
            case "ssl_object" if isinstance(self._socket, ssl.SSLSocket):
                return self._socket
            case "client_addr":
                return self._socket.getsockname()
            case "server_addr":
                return self._socket.getpeername()
            case "is_readable":
                return _is_readable(self._socket)
        return None


def _is_readable(sock: socket.socket) -> bool:
    if sock.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


class Lines(httpcore.NetworkBackend):
    """Opens connections for the sync client."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Options = None,
    ) -> httpcore.NetworkStream:
        source = None if local_address is None else (local_address, 0)
        with mapped(httpcore.ConnectTimeout, httpcore.ConnectError):
            sock = socket.create_connection((host, port), timeout, source_address=source)
            for option in socket_options or ():
                sock.setsockopt(*option)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Line(sock)
