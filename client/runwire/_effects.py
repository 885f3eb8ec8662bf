"""What a flow asks of the shell that drives it: to send, to open, to read, to wait, to hand out. No logic."""

import json
from dataclasses import dataclass, field
from typing import Any

from runwire_normalizers import Envelope


@dataclass(frozen=True, slots=True)
class Send:
    """A request whose whole answer is wanted; gives a `Reply`."""

    method: str
    path: str
    json: Any = None


@dataclass(frozen=True, slots=True)
class Open:
    """A request whose body is a stream, in place of the one before; gives a `Reply` without a body if it streams."""

    method: str
    path: str
    json: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Read:
    """The next bytes of the open stream; gives none at its end."""


@dataclass(frozen=True, slots=True)
class Wait:
    """So many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Give:
    """Envelopes for the reader."""

    envelopes: list[Envelope]


READ = Read()
Effect = Send | Open | Read | Wait | Give


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: status, headers in lower case, and the body where it was read."""

    status: int
    headers: dict[str, str]
    body: bytes = b""

    def json(self) -> Any:
        """The body as JSON; none where it is no JSON, or where the server refused."""
        if self.status >= 400:
            return None
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


class TransportFailed(Exception):
    """The connection broke, or never came about; thrown into the flow. `sent`: whether the request may have arrived."""

    def __init__(self, message: str, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent
