"""One measured row and the effort that goes into it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

INSTALL = "run `make bench`, which installs the peers"


@dataclass(frozen=True)
class Effort:
    """How much to measure: rounds of every side, the share of the full sizes, and whether to meet the peers."""

    rounds: int = 15
    share: float = 1.0
    peers: bool = True

    def size(self, full: int) -> int:
        return max(1, round(full * self.share))

    def few(self, part: int = 3) -> int:
        """Rounds of a row whose single round is long."""
        # The first run of a side may pay for its imports.
        return max(2, self.rounds // part)


FULL = Effort()
QUICK = Effort(rounds=2, share=0.1)


@dataclass(frozen=True)
class Row:
    """A figure and its goal; `holds` is None where there is no goal or nothing to hold it against."""

    name: str
    figure: str
    goal: str
    holds: bool | None
    detail: str
    method: str = ""


def listing(title: str, items: Iterable[str]) -> str:
    return f"{title}:\n\n" + "\n".join(f"- {item}" for item in items)


Measure = Callable[[Effort], Row]
