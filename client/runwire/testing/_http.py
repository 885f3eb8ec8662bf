"""The scripted server's sockets: one thread a connection, which does what the script says of it."""

import json
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from runwire.testing._behaviour import Connection, Cut, Flood, Lost, Stall, Status
from runwire.testing._engines import Engine
from runwire.testing._requests import Request, Stream
from runwire.testing._runs import written

if TYPE_CHECKING:
    from runwire.testing._server import ScriptedServer

POLL_SECONDS = 0.005


class Http(ThreadingHTTPServer):
    """Accepts connections, and breaks those that are open when it stops."""

    daemon_threads = False

    def __init__(self, script: "ScriptedServer") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self._open: set[socket.socket] = set()
        self._stopped = False
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=(POLL_SECONDS,), name="runwire.testing")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        with self._guard:
            self._stopped = True
            for connection in self._open:
                _hang_up(connection)
        self.server_close()

    @contextmanager
    def watched(self, connection: socket.socket) -> Iterator[None]:
        with self._guard:
            self._open.add(connection)
            if self._stopped:
                _hang_up(connection)
        try:
            yield
        finally:
            with self._guard:
                self._open.discard(connection)

    def handle_error(self, *where: Any) -> None:
        """A client that hangs up is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(*where)


class Handler(BaseHTTPRequestHandler):
    """One connection of a client: its requests, one after the other."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Http

    def handle(self) -> None:
        with self.server.watched(self.connection):
            super().handle()

    def log_message(self, *_: Any) -> None:
        """Tests read `requests`."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(address.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        with suppress(ValueError):
            body = json.loads(body)
        asked = Request(self.command, address.path, query, headers, body or None)
        match self.server.script.route(asked):
            case Status() as status:
                self._answer(status)
            case Stream() as stream:
                self._stream(stream)
            case Lost():
                self.close_connection = True

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _answer(self, status: Status) -> None:
        body = status.body if isinstance(status.body, bytes) else written(status.body)
        usual = {"content-type": "application/json", "content-length": str(len(body))}
        retry = {} if status.retry_after is None else {"retry-after": f"{status.retry_after:g}"}
        self._head(status.code, {**usual, **retry, **status.headers})
        self.wfile.write(body)

    def _head(self, code: int, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _stream(self, asked: Stream) -> None:
        engine, over = self.server.script.engine, False
        try:
            self._wait(_passed(asked.how.delay))
            self._head(200, asked.headers())
            over = self._frames(asked, engine)
            self._last(asked.how)
        finally:
            given = asked.run.asked.get("on_disconnect") or engine.on_disconnect
            if asked.after is None and not over and given == "cancel":
                asked.run.stop()

    def _frames(self, asked: Stream, engine: Engine) -> bool:
        """Sends what the script allows; whether that was all there is."""
        run, how, left = asked.run, asked.how, asked.how.bytes
        wires = asked.wires(engine, lambda: self._wait(lambda: not run.held, engine.heartbeat))
        for sent, wire in enumerate(wires):
            if sent == how.after or left == 0:
                return False
            self._wait(_passed(how.pace))
            self._chunk(wire[:left])
            left = None if left is None else max(0, left - len(wire))
        return True

    def _last(self, how: Connection) -> None:
        match how:
            case Stall(beats=beats):
                self._wait(lambda: False, beats)
            case Flood(chunk=chunk):
                while True:
                    self._chunk(chunk)
            case Cut(how="break"):
                self.close_connection = True
            case Cut(how="reset"):
                self.close_connection = True
                # A socket that closes without lingering resets its peer.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            case _:
                self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _wait(self, done: Callable[[], bool], beats: float | None = None) -> None:
        """Until it is done, with heartbeats; a client that hangs up meanwhile ends the connection."""
        beat = time.monotonic()
        while not done():
            if select.select([self.connection], [], [], POLL_SECONDS)[0]:
                raise ConnectionAbortedError("the client hung up")
            if beats is not None and time.monotonic() - beat >= beats:
                beat = time.monotonic()
                self._chunk(f": heartbeat{self.server.script.engine.newline * 2}".encode())


def _passed(seconds: float) -> Callable[[], bool]:
    until = time.monotonic() + seconds
    return lambda: seconds <= 0 or time.monotonic() >= until


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
