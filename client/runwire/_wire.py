"""Between effects and httpx: what both shells make of requests, answers and failures."""

from typing import Any

import httpx

from runwire._config import WireLimits
from runwire._effects import Open, Reply, Send
from runwire.errors import ProtocolError

# The request cannot have arrived when these are raised.
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


def request_options(effect: Send | Open) -> dict[str, Any]:
    headers = {"Accept-Encoding": "identity"}
    if isinstance(effect, Open):
        headers |= {"Accept": "text/event-stream", "Cache-Control": "no-store", **effect.headers}
    options: dict[str, Any] = {"headers": headers}
    if effect.json is not None:
        options["json"] = effect.json
    return options


def headers_of(response: httpx.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


class Answer:
    """A whole answer as it comes: not compressed, and no longer than a frame may be."""

    def __init__(self, response: httpx.Response, limits: WireLimits) -> None:
        self._response = response
        self._limit = limits.frame
        self._body = bytearray()
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ProtocolError("the server compresses its answers, which was not asked for")

    def feed(self, chunk: bytes) -> None:
        self._body += chunk
        if len(self._body) > self._limit:
            raise ProtocolError(f"an answer is longer than {self._limit:,} bytes")

    def reply(self) -> Reply:
        return Reply(self._response.status_code, headers_of(self._response), bytes(self._body))


def was_sent(error: httpx.HTTPError) -> bool:
    return not isinstance(error, NEVER_SENT)
