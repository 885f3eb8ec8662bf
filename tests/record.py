"""Records the test graphs from a real server into tests/recordings: `python -m tests.record [name...]`."""

import json
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.graphs import GRAPHS
from tests.graphs.case import Case, Turn
from tests.rooms import ROOT
from tests.serve import POLL_SECONDS, prepare, serve

RECORDINGS = ROOT / "tests" / "recordings"
MODES = {
    "every": "values updates messages-tuple events debug tasks checkpoints custom".split(),
    "default": "tasks messages-tuple updates custom".split(),
    "cumulative": "messages updates tasks".split(),
    "notokens": "tasks updates values".split(),
    "values": ["values"],
}
RUN_SECONDS = 60
NAMESPACE = re.compile(rb"^event: \w+\|(\S+?)\r?$", re.MULTILINE)


@dataclass(frozen=True)
class Api:
    """The few requests that recording needs."""

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

    def after(self, thread: str, location: str, namespaces: list[str]) -> dict[str, Any]:
        """What the server says about the run and the thread once the stream is over."""

        def history(namespace: str) -> Any:
            return self.post(f"{thread}/history", {"limit": 100, "checkpoint": {"checkpoint_ns": namespace}})

        return {
            "run": self.ended(location),
            "state": self.get(f"{thread}/state?subgraphs=true"),
            "history": self.post(f"{thread}/history", {"limit": 100}),
            "histories": {namespace: history(namespace) for namespace in namespaces},
        }


def request(name: str, turn: Turn, modes: list[str], asks: list[dict[str, Any]]) -> dict[str, Any]:
    """The body of the request that starts a turn."""
    body: dict[str, Any] = {
        "assistant_id": name,
        "input": turn.input,
        "stream_mode": modes,
        "stream_subgraphs": True,
        "stream_resumable": True,
        "config": {"recursion_limit": 100},
    }
    if turn.answer:
        body["command"] = {"resume": turn.answer(asks)}
    if turn.interrupt_before:
        body["interrupt_before"] = list(turn.interrupt_before)
    return body


def record(api: Api, name: str, case: Case) -> None:
    """Every turn in every set of modes, each set on a thread of its own."""
    for modes in MODES:
        if modes != "values" or case.values_only:
            _record(api, name, case, modes)


def _record(api: Api, name: str, case: Case, modes: str) -> None:
    thread, asks = api.thread(), list[dict[str, Any]]()
    for number, turn in enumerate(case.turns, 1):
        path = RECORDINGS / name / (modes if number == 1 else f"{modes}.{number}")
        body = request(name, turn, MODES[modes], asks)
        answer = api.http.post(f"{thread}/runs/stream", json=body).raise_for_status()
        write(Path(f"{path}.sse"), answer.content)
        namespaces = sorted({found.decode() for found in NAMESPACE.findall(answer.content)})
        after = api.after(thread, answer.headers["content-location"], namespaces)
        if modes == "every":
            write(Path(f"{path}.request.json"), _json(body))
            write(Path(f"{path}.after.json"), _json(after))
        asks = after["state"]["interrupts"]


def write(path: Path, content: bytes) -> None:
    """Nothing of this machine may get into a recording."""
    for foreign in (str(ROOT), str(Path.home()), tempfile.gettempdir()):
        if foreign.encode() in content:
            raise ValueError(f"{path.name} of {path.parent.name} holds the path {foreign}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"


def main(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), tuple(GRAPHS))
        with serve(Path(folder)) as (url, _), httpx.Client(base_url=url, timeout=RUN_SECONDS) as http:
            for name in names or GRAPHS:
                record(Api(http), name, GRAPHS[name])
                print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
