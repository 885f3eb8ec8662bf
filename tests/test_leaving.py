"""A reader that is stopped, by Ctrl-C or by the end of its task, leaves no thread, no task and no socket behind."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from runwire import AsyncClient, Client
from runwire.testing import ScriptedServer, Stall, text_run
from tests.rooms import ROOT

PROGRAM = """
    import os, sys, threading
    import runwire

    def sockets():
        return sorted(link for fd in os.listdir("/proc/self/fd") if "socket" in (link := _link(fd)))

    def _link(fd):
        try:
            return os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            return ""

    before = sockets()
    try:
        with runwire.Client(sys.argv[1]) as client:
            with client.stream("chat", "hi", profile="debug") as run:
                for envelope in run:
                    print(envelope.type, flush=True)
    except KeyboardInterrupt:
        print("left", [one.name for one in threading.enumerate()], sockets() == before, flush=True)
"""


def hanging() -> ScriptedServer:
    """A server whose run says two words and then nothing more."""
    server = ScriptedServer()
    server.add(text_run("Hello ", "world", connections=[Stall(after=4)]))
    return server


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_while_reading_leaves_no_thread_and_no_socket():
    with hanging() as server:
        command = [sys.executable, "-c", textwrap.dedent(PROGRAM), server.url]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            while "llm_token" not in process.stdout.readline():
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=30)
    assert rest.splitlines()[-1] == "left ['MainThread'] True"
    assert process.returncode == 0


async def test_a_reader_whose_task_is_cancelled_leaves_no_task_and_no_socket():
    with hanging() as server:
        reading = asyncio.Event()

        async def read() -> None:
            async with client.stream("chat", "hi", profile="debug") as run:
                async for envelope in run:
                    if envelope.type == "llm_token":
                        reading.set()

        async with AsyncClient(server.url) as client:
            task = asyncio.create_task(read())
            await asyncio.wait_for(reading.wait(), 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert asyncio.all_tasks() == {asyncio.current_task()}
            assert all(connection.is_closed() or connection.is_idle() for connection in _connections(client))


def _connections(client: AsyncClient) -> list[Any]:
    transport: Any = client._http._transport
    return list(transport._pool.connections)


def test_a_reader_that_leaves_while_the_server_is_silent_does_not_wait_for_it():
    with hanging() as server, Client(server.url) as client:
        with client.stream("chat", "hi", profile="debug") as run:
            for envelope in run:
                if envelope.type == "llm_token":
                    break
        assert run._thread is not None
        assert not run._thread.is_alive()
