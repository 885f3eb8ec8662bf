"""Records the test graphs from a real server into tests/recordings: `python -m tests.record [name...]`."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from tests.graphs import GRAPHS
from tests.graphs.case import Case, Turn, human
from tests.rooms import ROOT
from tests.serve import Api, Stream, connect, prepare

RECORDINGS = ROOT / "tests" / "recordings"
MODES = {
    "every": "values updates messages-tuple events debug tasks checkpoints custom".split(),
    "default": "tasks messages-tuple updates custom".split(),
    "cumulative": "messages updates tasks".split(),
    "notokens": "tasks updates values".split(),
    "values": ["values"],
}
SETTLED_SECONDS = 2
SAVED = ".langgraph_api/.langgraph_ops.pckl"
COUNTED = b'"content":"n9 "'


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
            _record(api, name, case, modes, RECORDINGS / name)


def _record(api: Api, name: str, case: Case, modes: str, folder: Path, **more: Any) -> None:
    thread, asks = api.thread(), list[dict[str, Any]]()
    for number, turn in enumerate(case.turns, 1):
        path = folder / (modes if number == 1 else f"{modes}.{number}")
        body = request(name, turn, MODES[modes], asks) | more
        stream = api.stream(thread, body)
        after = api.after(thread, stream)
        if modes == "every":
            _write_all(path, stream.content, body, after)
        else:
            write(path, ".sse", stream.content)
        asks = after["state"]["interrupts"]


def _write_all(path: Path, content: bytes, body: Any, after: Any) -> None:
    write(path, ".sse", content)
    write(path, ".request.json", _json(body))
    write(path, ".after.json", _json(after))


def write(path: Path, suffix: str, content: bytes) -> None:
    """Nothing of this machine may get into a recording."""
    for foreign in (str(ROOT), sys.prefix, tempfile.gettempdir()):
        if foreign.encode() in content:
            raise ValueError(f"{path}{suffix} holds the path {foreign}")
    path.parent.mkdir(parents=True, exist_ok=True)
    Path(f"{path}{suffix}").write_bytes(content)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"


def _slow(api: Api, words: int, pause: int) -> tuple[str, dict[str, Any]]:
    """A new thread, and a request for a run on it that lasts about `words * pause` milliseconds."""
    return api.thread(), request("slow", Turn(human(f"{words} x {pause}")), MODES["default"], [])


def cancel(folder: Path) -> None:
    """A run that is cancelled in the middle of its tokens: the stream just ends."""
    with connect(folder) as (api, _):
        cancelled: list[httpx.Response] = []

        def watch(location: str, content: bytes) -> None:
            if COUNTED in content and not cancelled:
                cancelled.append(api.http.post(f"{location}/cancel").raise_for_status())

        thread, body = _slow(api, 300, 20)
        stream = api.stream(thread, body, watch)
        _write_all(RECORDINGS / "cancel" / "cancelled", stream.content, body, api.after(thread, stream))


def restart(folder: Path) -> None:
    """A run whose server is killed and started again: it runs once more, with a second `metadata` frame."""
    with connect(folder) as (api, process):
        thread, body = _slow(api, 60, 200)
        cut = api.stream(thread, body, partial(_kill_once_saved, process, folder / SAVED, time.time()))
    with connect(folder) as (api, _):
        whole = Stream(cut.location, cut.content + api.join(cut.location).content)
        after = api.after(thread, whole)
        _write_all(RECORDINGS / "restart" / "second_metadata", whole.content, body, after)


def _kill_once_saved(
    process: subprocess.Popen[bytes], saved: Path, started: float, location: str, content: bytes
) -> None:
    """The server saves its runs every ten seconds; one that it has not saved is lost with it."""
    fresh = saved.exists() and saved.stat().st_mtime > started + SETTLED_SECONDS
    if fresh and COUNTED in content:
        process.kill()


def auth(folder: Path) -> None:
    """A run of a caller who is known by name, whose identity the server puts into many frames."""
    prepare(folder, tuple(GRAPHS), auth=True)
    with connect(folder) as (api, _):
        api.http.headers["Authorization"] = "Bearer not-a-secret"
        _record(api, "slow", GRAPHS["slow"], "every", RECORDINGS / "auth")


def exit(folder: Path) -> None:
    """Runs of which only the last checkpoint is kept."""
    with connect(folder) as (api, _):
        for name in ("deep", "deep_ask", "tool_raises", "turns"):
            _record(api, name, GRAPHS[name], "every", RECORDINGS / f"exit_{name}", durability="exit")


SPECIALS: dict[str, Callable[[Path], None]] = {"cancel": cancel, "restart": restart, "auth": auth, "exit": exit}


def graphs(names: Iterable[str], folder: Path) -> None:
    """The named test graphs, from one server."""
    with connect(folder) as (api, _):
        for name in names:
            record(api, name, GRAPHS[name])


def main(names: list[str]) -> None:
    """Record what is named, or everything; each special has a server and a folder to itself."""
    if unknown := set(names) - {*GRAPHS, *SPECIALS}:
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}. Known: {', '.join([*GRAPHS, *SPECIALS])}")
    chosen = names or [*GRAPHS, *SPECIALS]
    jobs = [SPECIALS[name] for name in chosen if name in SPECIALS]
    if plain := [name for name in chosen if name in GRAPHS]:
        jobs.insert(0, partial(graphs, plain))
    for job in jobs:
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder), tuple(GRAPHS))
            job(Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
