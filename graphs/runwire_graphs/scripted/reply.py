"""What the keyless model says: a text, tool calls, or both."""

from dataclasses import dataclass, field
from typing import Any

NAME = "runwire-keyless"
SIGNATURE = "(Answered by runwire's keyless demo model.)"
FAILED = "That did not work: "
SELF = "I am runwire's keyless demo model: a few rules, no language model."


@dataclass(frozen=True)
class Call:
    """A tool call."""

    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """One message."""

    text: str = ""
    calls: tuple[Call, ...] = field(default=())
