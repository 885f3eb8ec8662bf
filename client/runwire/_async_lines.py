"""The same connections for the async client, on asyncio's own transports."""

import asyncio
import ssl
from collections import deque
from contextlib import suppress
from typing import Any

import httpcore

from runwire._lines import Options, Takeable, mapped

# Beyond the first, a connection is not read any further until its reader has come down to the second.
PAUSE_BYTES, RESUME_BYTES = 1024 * 1024, 256 * 1024
HAPPY_EYEBALLS_SECONDS = 0.25


class AsyncLine(Takeable, asyncio.Protocol, httpcore.AsyncNetworkStream):
    """A connection of the async client."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._ready: deque[bytes] = deque()
        self._held = 0
        self._paused = False
        self._ended = False
        self._failure: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._patience: float | None = None
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    # what the event loop says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._ready.append(data)
        self._held += len(data)
        if self._held > PAUSE_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended, self._failure = True, self._failure or exc
        self._writable.set()
        if self._timer is not None:
            self._timer.cancel()
        self._wake()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # what httpcore and the shell ask

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with mapped(httpcore.ReadTimeout, httpcore.ReadError):
            if not self._head.in_head:
                self._head.whole = False
                return self._head.kept() or await self.receive(timeout)
            while True:
                data = await self.receive(timeout)
                if not data:
                    return self._head.give_up()
                if (head := self._head.split(data)) is not None:
                    return head

    async def receive(self, timeout: float | None) -> bytes:
        """The next bytes, as they come; none at the end."""
        if not self._ready and not self._ended:
            await self._wait(timeout)
        if self._ready:
            data = self._ready.popleft()
            self._held -= len(data)
            if self._paused and self._held < RESUME_BYTES and self._transport is not None:
                self._paused = False
                self._transport.resume_reading()
            return data
        if self._failure is not None:
            raise self._failure if isinstance(self._failure, OSError) else OSError(str(self._failure))
        return b""

    async def _wait(self, timeout: float | None) -> None:
        """One timer watches over many waits: most are over long before."""
        self._patience, self._since = timeout, self._loop.time()
        self._waiter = self._loop.create_future()
        if timeout is not None and (self._timer is None or self._timer.when() > self._since + timeout):
            self._watch_silence(timeout)
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _watch_silence(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._waiter is None or self._waiter.done() or self._patience is None:
            return
        left = self._since + self._patience - self._loop.time()
        if left > 0:
            self._watch_silence(left)
        else:
            self._waiter.set_exception(TimeoutError(f"nothing came for {self._patience:g} s"))

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._head.begin()
        with mapped(httpcore.WriteTimeout, httpcore.WriteError):
            if self._transport is None or self._transport.is_closing():
                raise OSError("the connection is closed")
            self._transport.write(buffer)
            async with asyncio.timeout(timeout):
                await self._writable.wait()

    async def aclose(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        with mapped(httpcore.ConnectTimeout, httpcore.ConnectError):
            assert self._transport is not None
            try:
                self._transport = await self._loop.start_tls(
                    self._transport, self, ssl_context, server_hostname=server_hostname, ssl_handshake_timeout=timeout
                )
            except OSError:
                await self.aclose()
                raise
        return self

    def get_extra_info(self, info: str) -> Any:
        transport = self._transport
        if transport is None:
            return None
        match info:
            case "is_readable":
                return self._ended or bool(self._ready) or transport.is_closing()
            case "client_addr":
                return transport.get_extra_info("sockname")
            case "server_addr":
                return transport.get_extra_info("peername")
        return transport.get_extra_info(info)


class AsyncLines(httpcore.AsyncNetworkBackend):
    """Opens connections for the async client."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Options = None,
    ) -> httpcore.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        source = None if local_address is None else (local_address, 0)
        with mapped(httpcore.ConnectTimeout, httpcore.ConnectError):
            async with asyncio.timeout(timeout):
                _, line = await loop.create_connection(
                    AsyncLine, host, port, local_addr=source, happy_eyeballs_delay=HAPPY_EYEBALLS_SECONDS
                )
        sock = line.get_extra_info("socket")
        for option in socket_options or ():
            with suppress(OSError):
                sock.setsockopt(*option)
        return line

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
