"""runwire's pure core: parts of any LangGraph stream in, envelopes out. No sockets, no clocks, no randomness."""

import runwire_normalizers.conformance as conformance
from runwire_normalizers.adapter import StreamAdapter
from runwire_normalizers.coerce import coerce_to_dict, json_safe
from runwire_normalizers.continuation import CallRecord, Continuation
from runwire_normalizers.envelope import Envelope, EnvelopeType
from runwire_normalizers.outcome import Outcome
from runwire_normalizers.parts import StreamPart, read_part
from runwire_normalizers.sampler import EventSampler, Limits
from runwire_normalizers.sse import ServerSentEvent, SSEDecoder

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
