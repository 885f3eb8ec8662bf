"""Chunks through the parser's two loops, and events without what differs from run to run."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from typing import Any

from runwire import ParserEvent, StreamParser

SECONDS = 60
# Ids of tasks in namespaces, and of interrupts.
DERIVED = re.compile(r":[0-9a-f-]{36}|^[0-9a-f]{32}$")
VARYING = frozenset({"call_id", "parent_id", "duration_ms", "created_at", "modified_at"})


async def astream(chunks: Iterable[Any]) -> AsyncIterator[Any]:
    for chunk in chunks:
        yield chunk


async def gathered(events: AsyncIterator[ParserEvent]) -> list[Any]:
    async with asyncio.timeout(SECONDS):
        return [event async for event in events]


def parsed(chunks: Iterable[Any], way: str = "parse", **options: Any) -> list[Any]:
    """The events of some chunks by either loop; no loop may run in this thread already."""
    parser = StreamParser(**options)
    if way == "parse":
        return list(parser.parse(iter(chunks)))
    return asyncio.run(gathered(parser.aparse(astream(chunks))))


def of(events: Iterable[ParserEvent], *kinds: type) -> list[Any]:
    return [event for event in events if isinstance(event, kinds)]


def facts(events: Iterable[ParserEvent]) -> list[Any]:
    """The events as JSON, with neither derived ids nor times; of a namespace only the names are left."""
    return [_without(event.to_dict()) for event in events]


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(inner) for key, inner in value.items() if key not in VARYING}
    if isinstance(value, list):
        return [_without(inner) for inner in value]
    return DERIVED.sub("", value) if isinstance(value, str) else value
