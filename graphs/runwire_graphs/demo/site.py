"""The demo site's server: a thread of its own, on loopback, on the port that is set or the next free one."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from runwire_graphs.demo.pages import PAGES, page

HOST = "127.0.0.1"
TRIES = 50

_server: ThreadingHTTPServer | None = None


class Handler(BaseHTTPRequestHandler):
    """GET of a known page; nothing else."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        known = PAGES.get(parts.path)
        body = known(dict(parse_qsl(parts.query))) if known else page("Not found", "<p>There is no such page.</p>")
        self._answer(200 if known else 404, body.encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Visits are not worth a line."""


def start(port: int) -> str:
    """Serve from now on; gives the origin. A second start changes nothing."""
    global _server
    if _server is None:
        _server = _bound(port)
        threading.Thread(target=_server.serve_forever, name="runwire-demo", daemon=True).start()
    return _origin(_server)


def origin() -> str | None:
    """Where the site is, if it is served by this process."""
    return _origin(_server) if _server else None


def stop() -> None:
    global _server
    server, _server = _server, None
    if server:
        server.shutdown()
        server.server_close()


def _bound(port: int) -> ThreadingHTTPServer:
    for candidate in range(port, port + TRIES):
        try:
            return ThreadingHTTPServer((HOST, candidate), Handler)
        except OSError:
            continue
    return ThreadingHTTPServer((HOST, 0), Handler)


def _origin(server: ThreadingHTTPServer) -> str:
    return f"http://{HOST}:{server.server_address[1]}"
