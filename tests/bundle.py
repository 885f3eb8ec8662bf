"""The bundle as users get it: the repository's own langgraph.json, served from a folder of its own."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.rooms import ROOT
from tests.serve import serve

SECONDS = 60.0


@dataclass(frozen=True)
class Bundle:
    """A served bundle: its address, its process, and the folder that holds its data."""

    url: str
    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def files(self) -> Path:
        return self.folder / "files"

    def demo(self) -> str:
        return str(httpx.get(f"{self.url}/runwire/about", timeout=SECONDS).raise_for_status().json()["demo"])

    def log(self) -> str:
        return (self.folder / "server.log").read_text("utf-8", "replace")


def prepare_bundle(folder: Path) -> None:
    """What `langgraph dev` finds in the repository, by links, so that nothing is written there."""
    for name in ("langgraph.json", "app.py", "graphs"):
        (folder / name).symlink_to(ROOT / name)


@contextmanager
def bundle(folder: Path, **env: str) -> Iterator[Bundle]:
    """Serve it as `make serve` does: strict about blocking calls, keyless unless `env` says otherwise."""
    if not (folder / "langgraph.json").exists():
        prepare_bundle(folder)
        (folder / "files").mkdir()
    settings = {
        "RUNWIRE_DATA": str(folder / "data"),
        "RUNWIRE_FILES_ROOT": str(folder / "files"),
        "OPENAI_BASE_URL": "",
        **env,
    }
    with serve(folder, settings, flags=()) as (url, process):
        yield Bundle(url, process, folder)


def run_by_http(url: str, assistant: str, text: str, thread: str | None = None, **body: Any) -> list[tuple[str, Any]]:
    """A run by plain HTTP, as with curl: every event of the stream by its name."""
    with httpx.Client(base_url=url, timeout=SECONDS) as http:
        if thread is None:
            thread = http.post("/threads", json={}).raise_for_status().json()["thread_id"]
        asked = {"assistant_id": assistant, "input": {"messages": [{"role": "user", "content": text}]}, **body}
        told = http.post(f"/threads/{thread}/runs/stream", json=asked).raise_for_status().text
    frames = [dict(line.split(": ", 1) for line in one.splitlines() if ": " in line) for one in told.split("\r\n\r\n")]
    return [(frame["event"], json.loads(frame["data"])) for frame in frames if "event" in frame]


def children(process: subprocess.Popen[bytes]) -> list[int]:
    """The process's descendants, by the kernel's word."""
    found, waiting = [], [process.pid]
    while waiting:
        parent = waiting.pop()
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            born = [int(pid) for pid in task.read_text().split()]
            found += born
            waiting += born
    return found
