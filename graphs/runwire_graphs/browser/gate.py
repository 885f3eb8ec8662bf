"""The proxy that all of the browser's traffic goes through: it resolves, checks, and connects to what it checked.

A rule inside the browser would miss redirects, service workers, sockets and names that change their address between
the check and the connection. A gate in front of it misses nothing.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from runwire_graphs.browser.policy import Place, Policy
from runwire_graphs.errors import Refused

log = logging.getLogger("runwire.browser")

HEAD_LIMIT = 64 * 1024
HEAD_SECONDS = 30.0
CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 0.5
BLOCK = 64 * 1024
HOP = (b"proxy-connection:", b"proxy-authorization:", b"connection:", b"keep-alive:")


@dataclass(frozen=True)
class Ask:
    """Where a request wants to go, and the head that is sent on; a tunnel has none."""

    place: Place
    head: bytes


def read_head(head: bytes) -> Ask:
    """What a browser asks a proxy for; raises `Refused` for anything that a browser does not say."""
    line, _, fields = head.partition(b"\r\n")
    method, _, rest = line.partition(b" ")
    target, _, version = rest.partition(b" ")
    if method == b"CONNECT":
        return Ask(Place.of(f"https://{target.decode('latin-1')}"), b"")
    place = Place.of(target.decode("latin-1"))
    path = b"/" + target.split(b"//", 1)[1].partition(b"/")[2]
    kept = [field for field in fields.split(b"\r\n") if field and not field.lower().startswith(HOP)]
    return Ask(place, b"\r\n".join([b" ".join((method, path, version)), *kept, b"Connection: close", b"", b""]))


class Gate:
    """A proxy on loopback; `policy` is asked anew for each connection."""

    def __init__(self, policy: Callable[[], Policy]) -> None:
        self._policy = policy
        self._server: asyncio.Server | None = None
        self._passing: set[asyncio.Task[Any]] = set()
        self.refusals: deque[tuple[Place, str]] = deque(maxlen=64)

    async def open(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=HEAD_LIMIT)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """No more connections, and none of those that are open."""
        if self._server:
            self._server.close()
        while self._passing:
            for task in self._passing:
                task.cancel()
            # One that still writes to a peer that reads no more is cancelled a second time.
            await asyncio.wait(self._passing, timeout=CLOSE_SECONDS)

    def refused(self, url: str) -> str | None:
        """Why the last refused connection to this address was refused."""
        place = Place.of(url)
        return next((reason for one, reason in reversed(self.refusals) if one == place), None)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        try:
            await self._pass(reader, writer)
        except Refused as refusal:
            await _answer(writer, "403 Forbidden", str(refusal))
        except (OSError, TimeoutError) as error:
            await _answer(writer, "502 Bad Gateway", f"The site did not answer: {error or type(error).__name__}.")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the browser left, or it is no browser
        finally:
            try:
                await _closed(writer)
            finally:
                self._passing.discard(task)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ask = read_head(await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_SECONDS))
        try:
            addresses = await self._policy().addresses(ask.place)
        except Refused as refusal:
            log.info("refused: %s", refusal)
            self.refusals.append((ask.place, str(refusal)))
            raise
        site_reader, site_writer = await _connect(addresses, ask.place.port)
        try:
            if ask.head:
                site_writer.write(ask.head)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(_copy(reader, site_writer), _copy(site_reader, writer))
        finally:
            await _closed(site_writer)


async def _connect(addresses: list[str], port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    failure: OSError | TimeoutError = OSError("it has no address")
    for address in addresses:
        try:
            return await asyncio.wait_for(asyncio.open_connection(address, port), CONNECT_SECONDS)
        except (OSError, TimeoutError) as error:
            failure = error
    raise failure


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """One direction to its end. A reset ends it like a close; the other direction tells on its own."""
    with suppress(OSError):
        while block := await source.read(BLOCK):
            sink.write(block)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()


async def _closed(writer: asyncio.StreamWriter) -> None:
    """What was written still goes out, unless somebody does not want to wait for it."""
    writer.close()
    try:
        with suppress(OSError):
            await writer.wait_closed()
    except asyncio.CancelledError:
        writer.transport.abort()
        raise


async def _answer(writer: asyncio.StreamWriter, status: str, reason: str) -> None:
    body = f"{reason}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    with suppress(OSError):
        writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        await writer.drain()
