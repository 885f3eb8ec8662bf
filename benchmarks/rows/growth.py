"""How the cost of one run grows with its tokens: the exponent of a power law through the measured sizes."""

import math
from collections.abc import Mapping
from functools import partial

from benchmarks import frames
from benchmarks.pipeline import Reader, sink
from benchmarks.row import Effort, Row
from benchmarks.timing import Side, interleaved, micros
from runwire_normalizers import RunView

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
BLOCK = 1_000
GOAL = 1.02
METHOD = (
    "One run of 1,000 to 100,000 tokens, bytes to JSON lines and the view. Every size does the same work in total "
    "(the shortest run is repeated a hundred times), so that all are equally exact. The frames are made before, a "
    "block of a thousand over and over. The exponent is the least-squares slope of log(CPU time of one run) over "
    "log(tokens)."
)


def measure(effort: Effort) -> Row:
    block = effort.size(BLOCK)
    sizes = [effort.size(size) for size in SIZES]
    chunks = frames.chunked(frames.joined(frames.token_frames(block)))
    sides: dict[str, Side] = {str(size): _side(chunks, size // block, sizes[-1] // size) for size in sizes}
    found = interleaved(sides, effort.few())
    work = {size: size * (sizes[-1] // size) for size in sizes}
    return row({size: micros(found[str(size)].seconds, work[size]) for size in sizes})


def row(cost: Mapping[int, float]) -> Row:
    """`cost` is per token, so its slope is what the exponent has beyond one."""
    exponent = 1 + slope([(math.log(size), math.log(value)) for size, value in cost.items()])
    listed = ", ".join(f"{value:.2f} at {size:,}" for size, value in cost.items())
    return Row(
        "growth with the tokens of a run",
        f"exponent {exponent:.3f}",
        f"≤ {GOAL}",
        exponent <= GOAL,
        f"µs per token: {listed}",
        METHOD,
    )


def _side(chunks: list[bytes], blocks: int, repeats: int) -> Side:
    return lambda: partial(_runs, chunks, blocks, repeats)


def _runs(chunks: list[bytes], blocks: int, repeats: int) -> None:
    for _ in range(repeats):
        run(chunks, blocks)


def run(chunks: list[bytes], blocks: int) -> None:
    reader, take, known = Reader(), sink(RunView()), frames.recorded()
    reader.read([frames.joined([known.metadata, known.task])], take)
    for _ in range(blocks):
        reader.read(chunks, take)
    reader.read([frames.joined([known.last])], take)
    reader.finish(take)


def slope(points: list[tuple[float, float]]) -> float:
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
