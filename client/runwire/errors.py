"""Everything that runwire raises, as one tree.

RunwireError
├── ConfigError            an address, a key or an argument that cannot be used
├── ServerError            the server refused: its status and what it said
│   ├── NotFound           no such thread, run or assistant
│   └── Refused            any other answer of 4xx
├── ConnectionLost         the server could not be reached any more; carries the cursor to go on from
├── ProtocolError          what came is no stream of this protocol, or exceeds a limit
├── RunTimeout             the caller's time was over; the run itself goes on
└── RunFailed              the run did not succeed; raised by `client.run` and `run.result` alone
    ├── RunCancelled       somebody stopped it
    └── RunInterrupted     it waits for a person
"""

from typing import Any


class RunwireError(Exception):
    """The root of the tree. `thread_id`, `run_id` and `cursor` tell where, as far as it is known."""

    def __init__(
        self, message: str, *, thread_id: str | None = None, run_id: str | None = None, cursor: str | None = None
    ) -> None:
        where = ", ".join(f"{name} {value}" for name, value in (("thread", thread_id), ("run", run_id)) if value)
        super().__init__(f"{message} ({where})" if where else message)
        self.thread_id = thread_id
        self.run_id = run_id
        self.cursor = cursor


class ConfigError(RunwireError):
    """An address, a key or an argument that cannot be used."""


class ServerError(RunwireError):
    """The server refused: `status` is its HTTP status."""

    def __init__(self, message: str, status: int, **where: str | None) -> None:
        super().__init__(message, **where)
        self.status = status


class NotFound(ServerError):
    """No such thread, run or assistant."""


class Refused(ServerError):
    """Any other answer of 4xx."""


class ConnectionLost(RunwireError):
    """The server could not be reached any more. The run may go on: `client.attach(…, after=error.cursor)`."""


class ProtocolError(RunwireError):
    """What came is no stream of this protocol, or exceeds a limit."""


class RunTimeout(RunwireError):
    """The caller's time was over. The run itself goes on unless it was asked to end with its watcher."""


class RunFailed(RunwireError):
    """The run did not succeed; `error` is what the server told of it."""

    def __init__(self, message: str, error: dict[str, Any] | None = None, **where: str | None) -> None:
        super().__init__(message, **where)
        self.error = error


class RunCancelled(RunFailed):
    """Somebody stopped the run."""


class RunInterrupted(RunFailed):
    """The run waits for a person: `interrupts` tells for what."""

    def __init__(self, message: str, interrupts: list[Any], **where: str | None) -> None:
        super().__init__(message, None, **where)
        self.interrupts = interrupts
