"""runwire's pure core: parts of any LangGraph stream in, envelopes out. No sockets, no clocks, no randomness."""

import runwire_normalizers.conformance as conformance
from runwire_normalizers.adapter import StreamAdapter
from runwire_normalizers.coerce import coerce_to_dict, json_safe
from runwire_normalizers.continuation import CallRecord, Continuation
from runwire_normalizers.envelope import Envelope, EnvelopeType
from runwire_normalizers.events import (
    CompleteEvent,
    ContentEvent,
    CustomEvent,
    ErrorEvent,
    InterruptEvent,
    ParserEvent,
    ReasoningEvent,
    StateUpdateEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolExtractedEvent,
    UsageEvent,
)
from runwire_normalizers.extractors import DisplayInlineExtractor, ThinkToolExtractor, TodoExtractor, ToolExtractor
from runwire_normalizers.outcome import Outcome
from runwire_normalizers.outputs import (
    ChatOutput,
    ComputerUseOutput,
    DeepAgentOutput,
    ExecutionDetails,
    GenericOutput,
    GraphOutput,
    OutputState,
    PlannerResult,
    PlanningOutput,
    normalize_output,
    register_output,
    unregister_output,
)
from runwire_normalizers.parser import StreamParser
from runwire_normalizers.parts import StreamPart, read_part
from runwire_normalizers.projections.events import EventProjection
from runwire_normalizers.replay import ReplayedRun, inner_namespaces, replay
from runwire_normalizers.results import (
    FileRefPayload,
    GenericJsonPayload,
    TablePayload,
    TextPayload,
    ToolResultPayload,
    read_tool_result,
)
from runwire_normalizers.resume import create_resume_input
from runwire_normalizers.sampler import EventSampler, Limits
from runwire_normalizers.sse import ServerSentEvent, SSEDecoder
from runwire_normalizers.view import CallView, RunView

__all__ = [
    "CallRecord",
    "CallView",
    "ChatOutput",
    "CompleteEvent",
    "ComputerUseOutput",
    "ContentEvent",
    "Continuation",
    "CustomEvent",
    "DeepAgentOutput",
    "DisplayInlineExtractor",
    "Envelope",
    "EnvelopeType",
    "ErrorEvent",
    "EventProjection",
    "EventSampler",
    "ExecutionDetails",
    "FileRefPayload",
    "GenericJsonPayload",
    "GenericOutput",
    "GraphOutput",
    "InterruptEvent",
    "Limits",
    "Outcome",
    "OutputState",
    "ParserEvent",
    "PlannerResult",
    "PlanningOutput",
    "ReasoningEvent",
    "ReplayedRun",
    "RunView",
    "SSEDecoder",
    "ServerSentEvent",
    "StateUpdateEvent",
    "StreamAdapter",
    "StreamParser",
    "StreamPart",
    "TablePayload",
    "TextPayload",
    "ThinkToolExtractor",
    "TodoExtractor",
    "ToolCallEndEvent",
    "ToolCallStartEvent",
    "ToolExtractedEvent",
    "ToolExtractor",
    "ToolResultPayload",
    "UsageEvent",
    "coerce_to_dict",
    "conformance",
    "create_resume_input",
    "inner_namespaces",
    "json_safe",
    "normalize_output",
    "read_part",
    "read_tool_result",
    "register_output",
    "replay",
    "unregister_output",
]
