"""A real `langgraph dev` with every test graph on a free port, and the few requests that tests make of it."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.rooms import ROOT

FLAGS = "--no-browser --no-reload --n-jobs-per-worker 8 --server-log-level warning".split()
LENIENT = ("--allow-blocking",)
START_SECONDS = 90
STOP_SECONDS = 10
POLL_SECONDS = 0.1
RUN_SECONDS = 60
NAMESPACE = re.compile(rb"^event: \w+\|(\S+?)\r?$", re.MULTILINE)
END = b"\r\n\r\n"

# A graph that is compiled here gets the server's checkpointer; `build` itself would be handed the config.
MODULE = """
from tests.graphs import GRAPHS

globals().update({name: case.build() for name, case in GRAPHS.items()})
"""

AUTH = """
from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def whoever(authorization: str | None) -> Auth.types.MinimalUserDict:
    user = {"identity": "ada", "display_name": "Ada", "is_authenticated": True}
    return {**user, "permissions": ["read"], "token": authorization}
"""


def prepare(folder: Path, names: tuple[str, ...], auth: bool = False) -> None:
    """Write what the server reads; with `auth` every caller is Ada, and her token is a field of the user."""
    (folder / "served.py").write_text(MODULE)
    (folder / "auth.py").write_text(AUTH)
    graphs = {name: f"./served.py:{name}" for name in names}
    config = {
        "dependencies": ["."],
        "graphs": graphs,
        **({"auth": {"path": "./auth.py:auth"}} if auth else {}),
    }
    (folder / "langgraph.json").write_text(json.dumps(config))


@contextmanager
def serve(
    folder: Path, env: dict[str, str] | None = None, flags: tuple[str, ...] = LENIENT, port: int | None = None
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The server of a prepared folder, ended when the block is left; gives its address and its process."""
    port = port or free_port()
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--port", str(port), *FLAGS, *flags]
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=_environment() | (env or {}), stdout=log, stderr=log, start_new_session=True
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(url, process, folder)
        yield url, process
    finally:
        _end(process)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    return {**kept, "PYTHONPATH": str(ROOT), "LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1"}


def _wait(url: str, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/ok", timeout=2).is_success:
                return
        except httpx.TransportError:
            time.sleep(POLL_SECONDS)
    log = (folder / "server.log").read_text("utf-8", "replace")
    raise RuntimeError(f"the server did not answer at {url} within {START_SECONDS} s. Its log:\n{log[-4000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_SECONDS)


Watch = Callable[[str, bytes], None]


@dataclass(frozen=True)
class Stream:
    """The address of a run and the bytes that it has sent."""

    location: str
    content: bytes


def _look_on(location: str, content: bytes) -> None:
    """A watch that does nothing."""


@dataclass(frozen=True)
class Api:
    """A client of the server, for whole runs at a time."""

    http: httpx.Client

    def get(self, path: str) -> Any:
        return self.http.get(path).raise_for_status().json()

    def post(self, path: str, body: Any) -> Any:
        return self.http.post(path, json=body).raise_for_status().json()

    def thread(self) -> str:
        return f"/threads/{self.post('/threads', {})['thread_id']}"

    def ended(self, location: str) -> Any:
        """The run, once the server has noted its end; the stream closes a moment before."""
        deadline = time.monotonic() + RUN_SECONDS
        while (run := self.get(location))["status"] in ("pending", "running"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{location} is still {run['status']} after {RUN_SECONDS} s")
            time.sleep(POLL_SECONDS)
        return run

    def stream(self, path: str, body: Any, watch: Watch = _look_on) -> Stream:
        """A new run's body to its end, or the whole frames of it if the server dies; `watch` sees it grow."""
        return self._stream(self.http.stream("POST", f"{path}/runs/stream", json=body), watch)

    def join(self, location: str) -> Stream:
        """A run's body from its first frame."""
        headers = {"Last-Event-ID": "0"}
        return self._stream(self.http.stream("GET", f"{location}/stream", headers=headers), _look_on)

    def _stream(self, opened: AbstractContextManager[httpx.Response], watch: Watch) -> Stream:
        deadline, content = time.monotonic() + RUN_SECONDS, b""
        with opened as answer:
            location = answer.raise_for_status().headers["content-location"]
            try:
                for part in answer.iter_raw():
                    content += part
                    watch(location, content)
                    # Heartbeats keep a run that hangs from ever being a silent one.
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"{location} still streams after {RUN_SECONDS} s")
            except httpx.TransportError:
                content = content[: content.rfind(END) + len(END)]
        return Stream(location, content)

    def after(self, thread: str, stream: Stream) -> dict[str, Any]:
        """What the server says about the run and the thread once the stream is over."""
        namespaces = sorted({found.decode() for found in NAMESPACE.findall(stream.content)})

        def history(namespace: str) -> Any:
            return self.post(f"{thread}/history", {"limit": 100, "checkpoint": {"checkpoint_ns": namespace}})

        return {
            "run": self.ended(stream.location),
            "state": self.get(f"{thread}/state?subgraphs=true"),
            "history": self.post(f"{thread}/history", {"limit": 100}),
            "histories": {namespace: history(namespace) for namespace in namespaces},
        }


@contextmanager
def connect(folder: Path) -> Iterator[tuple[Api, subprocess.Popen[bytes]]]:
    """A server of a prepared folder with a client for it."""
    with serve(folder) as (url, process), httpx.Client(base_url=url, timeout=RUN_SECONDS) as http:
        yield Api(http), process
