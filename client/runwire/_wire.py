"""Between effects and httpx: what both shells make of requests, answers and failures."""

from typing import Any

import httpx

from runwire._effects import Open, Reply, Send

# The request cannot have arrived when these are raised.
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


def request_options(effect: Send | Open) -> dict[str, Any]:
    headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Cache-Control": "no-store"}
    options: dict[str, Any] = {"headers": {**headers, **effect.headers} if isinstance(effect, Open) else {}}
    if effect.json is not None:
        options["json"] = effect.json
    return options


def headers_of(response: httpx.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def reply_of(response: httpx.Response) -> Reply:
    return Reply(response.status_code, headers_of(response), response.content)


def was_sent(error: httpx.HTTPError) -> bool:
    return not isinstance(error, NEVER_SENT)
