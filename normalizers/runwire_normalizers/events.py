"""The typed events of a run, for `match`: what they hold and their JSON form. Not how they come about."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from runwire_normalizers.coerce import json_safe
from runwire_normalizers.resume import create_resume_input

EndStatus = Literal["success", "error", "cancelled", "interrupted"]
ToolStatus = Literal["success", "error", "cancelled"]
DecisionType = Literal["approve", "reject", "edit", "respond"]
DECISIONS: frozenset[str] = frozenset({"approve", "reject", "edit", "respond"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """Where an event comes from: LangGraph's namespace, empty in the run's own graph, who acts, and the call."""

    type: ClassVar[str]
    namespace: tuple[str, ...] = ()
    agent: str | None = None
    call_id: str | None = None
    parent_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON: its `type` and all of its fields but an exception."""
        told = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name != "exception"}
        return {"type": self.type, **json_safe(told)}


@dataclasses.dataclass(frozen=True, slots=True)
class ContentEvent(_Event):
    """Text of a model: a token where tokens are streamed, else a whole message."""

    type: ClassVar[str] = "content"
    content: str
    role: Literal["assistant"] = "assistant"
    node: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ReasoningEvent(_Event):
    """What a model thinks aloud."""

    type: ClassVar[str] = "reasoning"
    content: str
    node: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ToolCallStartEvent(_Event):
    """A tool call, with its complete arguments; null where only its answer was seen."""

    type: ClassVar[str] = "tool_start"
    id: str
    name: str | None
    args: Any
    node: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ToolCallEndEvent(_Event):
    """The end of a tool call. `cancelled` means that a run which failed or was stopped left it unanswered."""

    type: ClassVar[str] = "tool_end"
    id: str
    name: str | None
    result: Any
    status: ToolStatus
    error_message: str | None = None
    duration_ms: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ToolExtractedEvent(_Event):
    """What an extractor found in the result of its tool."""

    type: ClassVar[str] = "extraction"
    tool_name: str
    extracted_type: str
    data: Any


@dataclasses.dataclass(frozen=True, slots=True)
class InterruptEvent(_Event):
    """The run waits for a person: one event per question. `id` is LangGraph's, for answers to several at once."""

    type: ClassVar[str] = "interrupt"
    action_requests: list[dict[str, Any]]
    review_configs: list[dict[str, Any]]
    raw_value: Any = None
    id: str | None = None

    @property
    def needs_approval(self) -> bool:
        """Whether actions wait for a decision each."""
        return bool(self.action_requests)

    @property
    def allowed_decisions(self) -> set[str]:
        """The decisions that the reviewed tools allow; all four where they do not say, none where no action waits."""
        told = {one for config in self.review_configs for one in config.get("allowed_decisions") or ()}
        return told or set(DECISIONS if self.action_requests else ())

    def build_decisions(
        self,
        decision_type: DecisionType,
        args_modifier: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        *,
        response: str | None = None,
    ) -> list[dict[str, Any]]:
        """The same decision for every action; `response` is what a `respond` says, or the reason of a `reject`."""
        return [_decision(decision_type, action, args_modifier, response) for action in self.action_requests]

    def create_resume(
        self,
        decision_type: DecisionType,
        args_modifier: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        *,
        response: str | None = None,
        served: bool = False,
    ) -> Any:
        """What resumes the run with this decision: `create_resume_input`, by the question's id where it has one."""
        decisions = self.build_decisions(decision_type, args_modifier, response=response)
        if not decisions:
            raise ValueError("no action waits for a decision: answer with create_resume_input(value=…)")
        if is_single(self.raw_value):
            return create_resume_input(value={self.id: decisions[0]} if self.id else decisions[0], served=served)
        return create_resume_input({self.id: decisions} if self.id else decisions, served=served)

    def to_dict(self) -> dict[str, Any]:
        """As that of every event, with the decisions that are allowed."""
        return _Event.to_dict(self) | {"allowed_decisions": sorted(self.allowed_decisions)}


def is_single(value: Any) -> bool:
    """Whether an interrupt is about one tool call, so that its answer is one decision and not a list of them."""
    return isinstance(value, dict) and value.get("type") == "tool_approval"


def _decision(
    kind: DecisionType,
    action: dict[str, Any],
    modifier: Callable[[dict[str, Any]], dict[str, Any]] | None,
    response: str | None,
) -> dict[str, Any]:
    """In the form that LangChain's human-in-the-loop middleware reads."""
    match kind:
        case "edit":
            if modifier is None:
                raise ValueError("to edit, say how: args_modifier takes the arguments and gives new ones")
            return {
                "type": kind,
                "edited_action": {"name": action.get("name"), "args": modifier(action.get("args") or {})},
            }
        case "respond" if response is None:
            raise ValueError("to respond, say what: response is the tool's answer")
        case "approve":
            return {"type": kind}
        case "reject" | "respond":
            return {"type": kind} if response is None else {"type": kind, "message": response}
    raise ValueError(f"a decision is one of {', '.join(sorted(DECISIONS))}, not {kind!r}")


@dataclasses.dataclass(frozen=True, slots=True)
class StateUpdateEvent(_Event):
    """A key of a graph's state, other than its messages, that a node changed; files by name, removed ones null."""

    type: ClassVar[str] = "state_update"
    node: str | None
    key: str
    value: Any


@dataclasses.dataclass(frozen=True, slots=True)
class UsageEvent(_Event):
    """What one model call used, not a running total; `details` is the whole of what the provider told."""

    type: ClassVar[str] = "usage"
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    node: str | None = None
    details: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class CustomEvent(_Event):
    """What a node or a tool wrote to its stream writer."""

    type: ClassVar[str] = "custom"
    data: Any


@dataclasses.dataclass(frozen=True, slots=True)
class ErrorEvent(_Event):
    """The run failed: why, and where. In this process `exception` is what the graph raised."""

    type: ClassVar[str] = "error"
    error: str
    exception: Exception | None = dataclasses.field(default=None, compare=False)
    error_type: str | None = None
    node: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class CompleteEvent(_Event):
    """Always the last event, however the run ended; `status` says how."""

    type: ClassVar[str] = "complete"
    status: EndStatus = "success"


ParserEvent = (
    ContentEvent
    | ReasoningEvent
    | ToolCallStartEvent
    | ToolCallEndEvent
    | ToolExtractedEvent
    | InterruptEvent
    | StateUpdateEvent
    | UsageEvent
    | CustomEvent
    | ErrorEvent
    | CompleteEvent
)
