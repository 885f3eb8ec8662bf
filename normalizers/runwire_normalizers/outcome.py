"""What the caller knows of a run's end. The stream itself has no end mark."""

from dataclasses import dataclass
from typing import Any, Literal, Self

from runwire_normalizers.coerce import error_facts, json_safe

OutcomeStatus = Literal["success", "error", "cancelled", "timeout", "interrupted"]


@dataclass(frozen=True)
class Outcome:
    """How a run ended. `interrupted` means that it waits for a person; a run somebody stopped is `cancelled`.

    With `blameless` it was an error of none of the run's calls, but of what ran it.
    """

    status: OutcomeStatus
    error: dict[str, Any] | None = None
    interrupts: tuple[Any, ...] = ()
    values: dict[str, Any] | None = None
    blameless: bool = False

    @classmethod
    def of(cls, error: BaseException) -> Self:
        """The outcome of a graph that raised in this process."""
        return cls("error", error_facts(error))

    @classmethod
    def read(cls, outcome: "Outcome | OutcomeStatus | None") -> "Outcome | None":
        """An outcome of itself or of its status alone."""
        return cls(outcome) if isinstance(outcome, str) else outcome

    def safe_interrupts(self) -> list[Any]:
        return [json_safe(interrupt) for interrupt in self.interrupts]
