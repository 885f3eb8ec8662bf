"""httpx transports over connections whose body can be taken over. Requests, TLS and keep-alive stay httpcore's."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from runwire._async_lines import AsyncLines
from runwire._lines import Lines

KEPT_ALIVE = 20
KEEP_SECONDS = 5.0


def goes_by_proxy(url: str) -> bool:
    """Whether the environment names a proxy for this address: then httpx knows the way, and it alone."""
    parts = urlsplit(url)
    proxies = getproxies()
    return bool({parts.scheme, "all"} & proxies.keys()) and not proxy_bypass(parts.hostname or "")


def _pool_options(url: str) -> dict[str, Any]:
    # Without TLS there is nothing to verify, and making a context costs more than the rest of a client.
    context = httpx.create_ssl_context() if url.startswith("https") else None
    keep = {"max_keepalive_connections": KEPT_ALIVE, "keepalive_expiry": KEEP_SECONDS}
    return {"ssl_context": context, "max_connections": None, **keep}


@contextmanager
def _as_httpx() -> Iterator[None]:
    """httpcore's errors as httpx's, which have the same names."""
    try:
        yield
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, httpcore.ProxyError) as error:
        raise getattr(httpx, type(error).__name__, httpx.NetworkError)(str(error)) from error
    except httpcore.UnsupportedProtocol as error:
        raise httpx.UnsupportedProtocol(str(error)) from error


def _asked(request: httpx.Request) -> httpcore.Request:
    url = request.url
    target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    stream = cast(Any, request.stream)
    return httpcore.Request(
        request.method, target, headers=request.headers.raw, content=stream, extensions=request.extensions
    )


def _answered(response: httpcore.Response, stream: Any) -> httpx.Response:
    return httpx.Response(response.status, headers=response.headers, stream=stream, extensions=response.extensions)


class _Body(httpx.SyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx():
            yield from cast(Iterable[bytes], self._stream)

    def close(self) -> None:
        self._stream.close()


class Transport(httpx.BaseTransport):
    """What `runwire.Client` sends through."""

    def __init__(self, url: str) -> None:
        self._pool = httpcore.ConnectionPool(network_backend=Lines(), **_pool_options(url))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        with _as_httpx():
            response = self._pool.handle_request(_asked(request))
        return _answered(response, _Body(response.stream))

    def close(self) -> None:
        self._pool.close()


class _AsyncBody(httpx.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx():
            async for piece in cast(AsyncIterable[bytes], self._stream):
                yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class AsyncTransport(httpx.AsyncBaseTransport):
    """What `runwire.AsyncClient` sends through."""

    def __init__(self, url: str) -> None:
        self._pool = httpcore.AsyncConnectionPool(network_backend=AsyncLines(), **_pool_options(url))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with _as_httpx():
            response = await self._pool.handle_async_request(_asked(request))
        return _answered(response, _AsyncBody(response.stream))

    async def aclose(self) -> None:
        await self._pool.aclose()
