"""One run read over HTTP to its end, by each client as its README says. `see` gets every token's text as it is out."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import orjson
from httpx_sse import EventSource
from langgraph_sdk import get_client, get_sync_client

import runwire

See = Callable[[str], object]
Reading = Callable[[str, str, See], int]
MODES: Any = ["tasks", "messages-tuple", "custom"]
BODY = {"assistant_id": "agent", "input": {}, "stream_mode": MODES}


def sync_runwire(url: str, thread: str, see: See) -> int:
    count = 0
    with runwire.Client(url) as client, client.stream("agent", {}, thread_id=thread, profile="debug") as run:
        for envelope in run:
            count += 1
            if envelope.type == "llm_token":
                see(envelope.payload["text"])
    return count


def async_runwire(url: str, thread: str, see: See) -> int:
    async def read() -> int:
        count = 0
        async with (
            runwire.AsyncClient(url) as client,
            client.stream("agent", {}, thread_id=thread, profile="debug") as run,
        ):
            async for envelope in run:
                count += 1
                if envelope.type == "llm_token":
                    see(envelope.payload["text"])
        return count

    return asyncio.run(read())


def sync_sdk(url: str, thread: str, see: See) -> int:
    count = 0
    with get_sync_client(url=url) as client:
        for part in client.runs.stream(thread, "agent", input={}, stream_mode=MODES):
            count += _seen(part.event, part.data, see)
    return count


def async_sdk(url: str, thread: str, see: See) -> int:
    async def read() -> int:
        count = 0
        async with get_client(url=url) as client:
            async for part in client.runs.stream(thread, "agent", input={}, stream_mode=MODES):
                count += _seen(part.event, part.data, see)
        return count

    return asyncio.run(read())


def async_httpx_sse(url: str, thread: str, see: See) -> int:
    async def read() -> int:
        count = 0
        async with (
            httpx.AsyncClient(verify=False) as client,
            client.stream("POST", f"{url}/threads/{thread}/runs/stream", json=BODY) as response,
        ):
            async for event in EventSource(response).aiter_sse():
                count += _seen(event.event, orjson.loads(event.data), see)
        return count

    return asyncio.run(read())


def _seen(event: str, data: Any, see: See) -> int:
    if event == "messages":
        see(data[0]["content"])
    return 1


READERS: dict[str, Reading] = {
    "runwire": async_runwire,
    "runwire, sync": sync_runwire,
    "langgraph-sdk": async_sdk,
    "langgraph-sdk, sync": sync_sdk,
    "httpx-sse + orjson": async_httpx_sse,
}
