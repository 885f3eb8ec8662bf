"""The frames that belong to no mode: `metadata`, `error`, and the `end` that some servers send."""

from runwire_normalizers._run import Run
from runwire_normalizers.coerce import error_facts
from runwire_normalizers.outcome import Outcome
from runwire_normalizers.parts import StreamPart

# Older servers tell a cancellation as an error.
CANCELLED = frozenset({"UserInterrupt", "UserRollback", "CancelledError"})


def read_metadata(run: Run, part: StreamPart) -> None:
    """The first one has begun the run already; one with a status is a thread stream's end of a run.

    A replay's names the graph too.
    """
    if not isinstance(part.data, dict):
        raise TypeError("metadata is an object")
    if run.metadata_seen and "status" not in part.data:
        run.attempt(part.data)
    run.metadata_seen = True
    run.learn(part.data)


def read_error(run: Run, part: StreamPart) -> None:
    facts = error_facts(part.data)
    if facts["error"] in CANCELLED:
        run.told_outcome = Outcome("cancelled")
    else:
        run.failure = run.failure or facts


def read_end(run: Run, part: StreamPart) -> None:
    match part.data.get("status"):
        case "error":
            run.failure = run.failure or error_facts(None)
        case "interrupted" if not run.interrupted:
            run.told_outcome = Outcome("cancelled")
        case _:
            pass
