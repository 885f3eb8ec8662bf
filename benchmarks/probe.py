"""The memory of one run, measured in this process and printed as JSON: `python -m benchmarks.probe TOKENS ENDING`."""

import gc
import json
import sys
import tracemalloc
from collections.abc import Iterator

from benchmarks import frames
from benchmarks.pipeline import Reader, sink
from runwire_normalizers import RunView

BLOCK = 1_000


def stream(tokens: int, ending: bool, text: str) -> Iterator[list[bytes]]:
    """The run in lists of chunks; the blocks of tokens are one list, again and again."""
    known, block = frames.recorded(), min(BLOCK, tokens)
    chunks = frames.chunked(frames.joined(frames.token_frames(block)))
    closing = [known.last, *(frames.ending(text) if ending else ())]
    closed = frames.chunked(frames.joined(closing))
    yield [frames.joined([known.metadata, known.task])]
    for _ in range(tokens // block):
        yield chunks
    yield closed


def main(tokens: int, ending: bool) -> None:
    block = min(BLOCK, tokens)
    text = "".join(frames.tokens(block)) * (tokens // block)
    given = list(stream(tokens, ending, text))
    reader, take = Reader(), sink(RunView())
    tracemalloc.start()
    for chunks in given:
        reader.read(chunks, take)
    reader.finish(take)
    peak = tracemalloc.get_traced_memory()[1]
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    print(json.dumps({"peak": peak, "held": held, "string": sys.getsizeof(text), "utf8": len(text.encode())}))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] == "1")
