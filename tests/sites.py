"""A web site of random pages, on loopback, so that no answer about it can be known beforehand."""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = "amber birch cedar delta ember fjord grove heath inlet jetty knoll larch maple north ocean pearl".split()


def phrase(count: int = 3) -> str:
    """A few words that were never said before."""
    return " ".join([*(secrets.choice(WORDS) for _ in range(count - 1)), secrets.token_hex(4)])


@dataclass
class Site:
    """Pages by path, each HTML or an address to be sent on to; and which paths were asked for, with their cookies."""

    origin: str
    pages: dict[str, str] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def page(self, path: str, title: str, body: str) -> str:
        self.pages[path] = f"<!doctype html><meta charset=utf-8><title>{title}</title><body>{body}</body>"
        return self.origin + path

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked if path != "/favicon.ico"]


def _handler(find: Callable[[], Site]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site = find()
            path = self.path.partition("?")[0]
            site.asked.append((self.path, self.headers.get("Cookie", "")))
            if path in site.moved:
                self.send_response(302)
                self.send_header("Location", site.moved[path])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            body = site.pages.get(path, "nothing here").encode()
            self.send_response(200 if path in site.pages else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Set-Cookie", f"seen={secrets.token_hex(4)}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    return Handler


@contextmanager
def serve_site() -> Iterator[Site]:
    held: list[Site] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(lambda: held[0]))
    held.append(Site(f"http://127.0.0.1:{server.server_address[1]}"))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield held[0]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
