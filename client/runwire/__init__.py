"""The front door: what an app needs of runwire's core."""

from runwire_normalizers import (
    CallRecord,
    Continuation,
    Envelope,
    EnvelopeType,
    EventSampler,
    Limits,
    Outcome,
    ServerSentEvent,
    SSEDecoder,
    StreamAdapter,
    StreamPart,
    coerce_to_dict,
    conformance,
    json_safe,
    read_part,
)

__all__ = [
    "CallRecord",
    "Continuation",
    "Envelope",
    "EnvelopeType",
    "EventSampler",
    "Limits",
    "Outcome",
    "SSEDecoder",
    "ServerSentEvent",
    "StreamAdapter",
    "StreamPart",
    "coerce_to_dict",
    "conformance",
    "json_safe",
    "read_part",
]
