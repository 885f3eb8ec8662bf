"""What web pages may do with the server: only pages of listed origins may drive it, and only under its own name.

A server on loopback is in reach of every page that is open in a browser on the same machine. CORS alone does not stop
a page from sending; it only keeps the answer from it. So requests that say where they come from are turned away here.
"""

import ipaddress
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from runwire_graphs.settings import Settings

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK_ORIGIN = r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?"


class Guard:
    """ASGI middleware."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The server's own calls to itself do not come over the network.
        if scope["type"] in ("http", "websocket") and not str(scope.get("root_path", "")).startswith("/noauth"):
            reason = refusal(dict(scope["headers"]), Settings.read())
            if reason:
                await _refuse(scope, send, reason)
                return
        await self.app(scope, receive, send)


def refusal(headers: dict[bytes, bytes], settings: Settings) -> str | None:
    """Why a request is turned away, or None."""
    host = headers.get(b"host", b"").decode("latin-1")
    if not settings.server_keys and not _is_loopback(urlsplit(f"//{host}").hostname):
        return f"This server has no keys and answers only under a local name, not as {host!r}: set RUNWIRE_SERVER_KEYS."
    origin = headers.get(b"origin", b"").decode("latin-1")
    if not origin or _allowed(origin, host, settings):
        return None
    return f"Pages of {origin!r} may not use this server: list it in RUNWIRE_ALLOWED_ORIGINS."


def _allowed(origin: str, host: str, settings: Settings) -> bool:
    near = not settings.server_keys and re.fullmatch(LOOPBACK_ORIGIN, origin)
    return bool(near) or origin in settings.allowed_origins or urlsplit(origin).netloc == host


def _is_loopback(name: str | None) -> bool:
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name or "").is_loopback
    except ValueError:
        return False


async def _refuse(scope: Scope, send: Send, reason: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": reason[:120]})
        return
    body = reason.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
