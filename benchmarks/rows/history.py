"""Whether a token costs more where the thread has a long history."""

from collections.abc import Callable
from functools import partial

from benchmarks import frames
from benchmarks.pipeline import Reader, sink
from benchmarks.row import Effort, Row
from benchmarks.timing import Side, interleaved, micros
from runwire_normalizers import RunView

TOKENS = 5_000
MESSAGES = 1_000
# The goal is independence; this much is the noise of two equal sides.
GOAL = 1.03
METHOD = (
    "The same tokens after a `values` frame and a task's start that hold 0 or 1,000 earlier messages. Only the "
    "tokens are timed; what the first frames cost, once for a run, is told beside it."
)


def measure(effort: Effort) -> Row:
    count, earlier = effort.size(TOKENS), effort.size(MESSAGES)
    chunks = frames.chunked(frames.joined(frames.token_frames(count)))
    sides: dict[str, Side] = {
        "none": partial(_tokens, _opening(0), chunks),
        "long": partial(_tokens, _opening(earlier), chunks),
        "opening": lambda: _fed(_opening(earlier)),
    }
    found = interleaved(sides, effort.rounds)
    none, long = (micros(found[name].seconds, count) for name in ("none", "long"))
    detail = (
        f"µs per token: {none:.2f} with no history, {long:.2f} with {earlier:,} "
        f"messages; the first frames with that history cost {found['opening'].seconds * 1e3:.1f} ms, once"
    )
    ratio = long / none
    return Row(
        "a token after a long history",
        f"{ratio:.2f} × a token of a new thread",
        f"1 (≤ {GOAL})",
        ratio <= GOAL,
        detail,
        METHOD,
    )


def _opening(messages: int) -> bytes:
    history = frames.history(messages)
    return frames.joined([frames.recorded().metadata, frames.values_with(history), frames.task_with(history)])


def _tokens(opening: bytes, chunks: list[bytes]) -> Callable[[], None]:
    reader, take = Reader(), sink(RunView())
    reader.read([opening], take)
    return lambda: reader.read(chunks, take)


def _fed(opening: bytes) -> Callable[[], None]:
    reader, take = Reader(), sink(RunView())
    return lambda: reader.read([opening], take)
