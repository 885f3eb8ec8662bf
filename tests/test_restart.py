"""A real server that is stopped in the middle of a run and started again: its reader is told the truth to the end."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from runwire import AsyncClient, Client, Envelope, RunView, conformance
from tests.serve import free_port, prepare, serve

SECONDS = 90.0
ASKED = "150 x 20"


def watch(kind: str, url: str, see: Callable[[Envelope], None]) -> tuple[list[Envelope], Any]:
    """A run of the slow graph by one of the two clients."""
    found: list[Envelope] = []

    def note(envelope: Envelope) -> None:
        found.append(envelope)
        see(envelope)

    if kind == "sync":
        with Client(url) as client, client.stream("slow", ASKED, profile="debug") as run:
            for envelope in run:
                note(envelope)
            return found, run

    async def read() -> Any:
        async with AsyncClient(url) as client, client.stream("slow", ASKED, profile="debug") as run:
            async for envelope in run:
                note(envelope)
            return run

    return found, asyncio.run(asyncio.wait_for(read(), SECONDS))


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_run_that_is_begun_again_by_a_restarted_server_is_a_new_attempt_and_never_a_second_run(kind, tmp_path: Path):
    prepare(tmp_path, ("slow",))
    port, spoken, told = free_port(), threading.Event(), list[Any]()

    def see(envelope: Envelope) -> None:
        if envelope.type == "llm_token" and envelope.payload["text"].startswith("n5 "):
            spoken.set()

    with ExitStack() as second:
        with serve(tmp_path, port=port) as (url, _):
            reader = threading.Thread(target=lambda: told.append(watch(kind, url, see)))
            reader.start()
            assert spoken.wait(SECONDS)
        second.enter_context(serve(tmp_path, port=port))
        reader.join(SECONDS)
        assert not reader.is_alive()
        with Client(url) as client:
            runs = client.sdk.runs.list(told[0][1].thread_id)
    ((found, run),) = told
    assert run.status == "success"
    assert [one["run_id"] for one in runs] == [run.run_id]
    assert conformance.check(found) == []
    assert next(one.payload["code"] for one in found if one.type == "warning") == "attempt"
    orphan, whole = [call for call in RunView.of(found).calls() if call.kind == "model" and call.text.startswith("n0")]
    assert (orphan.status, whole.status) == ("cancelled", "ok")
    assert whole.text == " ".join(f"n{n}" for n in range(150))
    assert whole.text.startswith(orphan.text)
