"""A server on loopback, in a process of its own, that answers a run's requests with made frames as fast as asked.

The thread's id says what to stream: `flat.TOKENS`, `paced.TOKENS`, `stamped.TOKENS` or `large.BYTES`. It speaks just
enough of the server's API for the clients that are measured, and nothing in it is cleverer than a socket.
"""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import orjson

from benchmarks import frames

ROOT = Path(__file__).parent.parent
RUN: str = orjson.loads(frames.data_of(frames.recorded().metadata))["run_id"]
# Between two frames of a paced stream, so that each is a packet and a wake-up of its own.
PACE_SECONDS = 0.001
WRITE = 64 * 1024
HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n"
    b"content-location: /threads/t/runs/" + RUN.encode() + b"\r\n\r\n"
)
STAMP = "@"


def around(middle: list[bytes], text: str) -> list[bytes]:
    """A whole run: what comes before the tokens and, with their text as the result, after them."""
    known = frames.recorded()
    return [known.metadata, known.task, *middle, known.last, *frames.ending(text)]


def run_frames(tokens: int) -> list[bytes]:
    return around(frames.token_frames(tokens), "".join(frames.tokens(tokens)))


def large_frames(size: int) -> list[bytes]:
    """One custom frame of so many bytes, on one line."""
    data = orjson.dumps({"blob": "x" * size})
    return around([b"event: custom\r\ndata: " + data + b"\r\nid: 1794993319971-0"], "done")


def chunk(frame: bytes) -> bytes:
    """A frame as servers send it: one HTTP chunk."""
    whole = frame + frames.END
    return b"%x\r\n%s\r\n" % (len(whole), whole)


async def pieces(thread: str) -> AsyncIterator[bytes]:
    """What to write, one write each."""
    kind, _, amount = thread.partition(".")
    count = int(amount)
    if kind == "stamped":
        first, *rest = around([], "done")
        yield chunk(first) + chunk(rest[0])
        for number in range(count):
            await asyncio.sleep(PACE_SECONDS)
            yield chunk(frames.token_frame(f"{STAMP}{time.monotonic_ns()}", number))
        yield b"".join(chunk(frame) for frame in rest[1:])
        return
    made = [chunk(frame) for frame in (large_frames(count) if kind == "large" else run_frames(count))]
    if kind == "paced":
        for one in made:
            yield one
            await asyncio.sleep(PACE_SECONDS)
        return
    whole = b"".join(made)
    for start in range(0, len(whole), WRITE):
        yield whole[start : start + WRITE]


def answer(path: str) -> object:
    if "/state" in path:
        return {"values": {}, "next": [], "tasks": [], "interrupts": [], "metadata": {"run_id": RUN}}
    return {"run_id": RUN, "status": "success", "metadata": {}, "kwargs": {}}


async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, path = head.split(" ")[:2]
            lengths = [line for line in head.lower().split("\r\n") if line.startswith("content-length:")]
            if lengths:
                await reader.readexactly(int(lengths[0].partition(":")[2]))
            if path.endswith("/stream"):
                writer.write(HEAD)
                async for piece in pieces(path.split("/")[2] if method == "POST" else "flat.0"):
                    writer.write(piece)
                    await writer.drain()
                writer.write(b"0\r\n\r\n")
            else:
                body = orjson.dumps(answer(path))
                kind = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                writer.write(b"%scontent-length: %d\r\n\r\n%s" % (kind, len(body), body))
            await writer.drain()


async def serve() -> None:
    server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    # Ends with the process that started it: its standard input closes.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextlib.contextmanager
def running() -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.loopback"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()
            process.wait(10)


if __name__ == "__main__":
    asyncio.run(serve())
