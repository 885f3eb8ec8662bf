"""How a connection behaves, what is answered in place of a stream, and what stands among a run's frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Connection:
    """One connection to a run's stream. It ends with the run, or breaks off `after` frames or `bytes` of its own.

    The frames at the positions `lost` (of the run) are left out. At the position `seam` the stream steps back by
    `repeats` frames, as where a replay meets live frames. `whole` sends everything, whatever was asked for. `headers`
    replace the usual ones; None leaves one out. `delay` passes before the answer, `pace` before each frame.
    """

    after: int | None = None
    bytes: int | None = None
    lost: Sequence[int] = ()
    seam: int = 0
    repeats: int = 0
    whole: bool = False
    headers: Mapping[str, str | None] = field(default_factory=dict)
    delay: float = 0.0
    pace: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Cut(Connection):
    """Breaks off in the middle of the body, ends it as if all were well, or is reset, which may take more with it."""

    how: Literal["break", "close", "reset"] = "break"


@dataclass(frozen=True, kw_only=True)
class Stall(Connection):
    """Falls silent after its frames and stays open; with a heartbeat every `beats` seconds if that is given."""

    beats: float | None = None


@dataclass(frozen=True, kw_only=True)
class Flood(Connection):
    """Sends `chunk` for ever after its frames."""

    chunk: bytes = b": flood\n"


@dataclass(frozen=True)
class Status:
    """An answer that is no stream of a run; the body is bytes, or anything else as JSON."""

    code: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_after: float | None = None


@dataclass(frozen=True)
class Lost:
    """No answer: the server does what was asked, and the connection breaks before it can say so."""


@dataclass(frozen=True)
class Hold:
    """Among a run's frames: here it goes on until it is released or cancelled."""


Behaviour = Connection | Status | Lost
# The event, its data, and an id in place of the engine's own; or bytes that are sent as they are.
Frame = tuple[str, Any] | tuple[str, Any, str] | bytes | Hold
