"""CPU time of several sides in one interleaved run, so that a noisy moment of the machine falls on all of them."""

import gc
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

# A side prepares without being timed and returns what is.
Side = Callable[[], Callable[[], Any]]


@dataclass(frozen=True)
class Timed:
    """The least CPU seconds of a side over all rounds, and what it returned."""

    seconds: float
    result: Any


def interleaved(sides: Mapping[str, Side], rounds: int) -> dict[str, Timed]:
    """Every side once per round, each round beginning with another one."""
    best = dict.fromkeys(sides, Timed(math.inf, None))
    names = list(sides)
    gc.collect()
    # What imports left behind is no part of any side's garbage.
    gc.freeze()
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            best[name] = min(best[name], timed(sides[name]), key=lambda found: found.seconds)
    gc.unfreeze()
    return best


def timed(side: Side) -> Timed:
    run = side()
    gc.collect()
    start = time.process_time()
    result = run()
    return Timed(time.process_time() - start, result)


def micros(seconds: float, count: int) -> float:
    return seconds / count * 1e6
