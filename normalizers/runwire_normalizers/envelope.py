"""The envelope: the one shape in which every stream leaves, and its ten types. Not how one comes about."""

from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import orjson

EnvelopeType = Literal[
    "llm_start",
    "llm_token",
    "llm_end",
    "tool_start",
    "tool_update",
    "tool_end",
    "subgraph_checkpoint",
    "subgraph_resume",
    "warning",
    "error",
]
Origin = Literal["live", "replay"]
Status = Literal["ok", "error", "cancelled"]

TYPES: tuple[EnvelopeType, ...] = get_args(EnvelopeType)
FIELDS = ("type", "ts", "trace_id", "run_id", "parent_id", "call_id", "seq", "origin", "agent", "payload")


@dataclass(slots=True)
class Envelope:
    """One event of one call. Unfrozen and unvalidated because it is made once per token; treat it as immutable.

    The pydantic model of the same shape, `runwire_normalizers.schema.EnvelopeModel`, is the validated form.
    """

    type: EnvelopeType
    ts: float | None
    trace_id: str
    run_id: str | None
    parent_id: str | None
    call_id: str
    seq: int
    origin: Origin
    agent: str | None
    payload: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The ten fields by name; the payload is shared, not copied."""
        return {
            "type": self.type,
            "ts": self.ts,
            "trace_id": self.trace_id,
            "run_id": self.run_id,
            "parent_id": self.parent_id,
            "call_id": self.call_id,
            "seq": self.seq,
            "origin": self.origin,
            "agent": self.agent,
            "payload": self.payload,
        }

    def to_json(self) -> bytes:
        """The wire form: one JSON object without a line break."""
        # `to_dict`, written out: this is the hottest line of all.
        return orjson.dumps(
            {
                "type": self.type,
                "ts": self.ts,
                "trace_id": self.trace_id,
                "run_id": self.run_id,
                "parent_id": self.parent_id,
                "call_id": self.call_id,
                "seq": self.seq,
                "origin": self.origin,
                "agent": self.agent,
                "payload": self.payload,
            }
        )

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """An envelope of exactly the ten fields; a missing or foreign field raises `TypeError`."""
        return cls(**fields)

    @classmethod
    def from_json(cls, line: bytes | str) -> Self:
        """An envelope of its wire form."""
        return cls.from_dict(orjson.loads(line))


def step(envelope: Envelope) -> int:
    """How far an envelope moves the position (`seq`) of its call: rule 5."""
    if envelope.type == "llm_token":
        return len(envelope.payload["text"])
    if envelope.type == "tool_update":
        return int(envelope.payload.get("merged", 1))
    return 1
