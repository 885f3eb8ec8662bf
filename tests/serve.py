"""A real `langgraph dev` with every test graph, on a free port; its folder keeps threads over a restart."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.rooms import ROOT

FLAGS = "--no-browser --no-reload --allow-blocking --n-jobs-per-worker 8 --server-log-level warning".split()
START_SECONDS = 90
STOP_SECONDS = 10
POLL_SECONDS = 0.1

# A graph that is compiled here gets the server's checkpointer; `build` itself would be handed the config.
MODULE = """
from tests.graphs import GRAPHS

globals().update({name: case.build() for name, case in GRAPHS.items()})
"""


def prepare(folder: Path, names: tuple[str, ...]) -> None:
    """Write what the server reads."""
    (folder / "served.py").write_text(MODULE)
    graphs = {name: f"./served.py:{name}" for name in names}
    (folder / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))


@contextmanager
def serve(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The server of a prepared folder, ended when the block is left; gives its address and its process."""
    port = _free_port()
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--port", str(port), *FLAGS]
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=_environment(), stdout=log, stderr=log, start_new_session=True
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(url, process, folder)
        yield url, process
    finally:
        _end(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    paths = os.pathsep.join(str(ROOT / part) for part in ("", "normalizers", "client", "graphs"))
    return {**kept, "PYTHONPATH": paths, "LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1"}


def _wait(url: str, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/ok", timeout=2).is_success:
                return
        except httpx.TransportError:
            time.sleep(POLL_SECONDS)
    log = (folder / "server.log").read_text("utf-8", "replace")
    raise RuntimeError(
        f"the server did not answer at {url} within {START_SECONDS} s. Its log:\n{log[-4000:]}"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_SECONDS)
