"""The envelope as validated pydantic models, and its published JSON Schema. The adapter itself never validates."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from runwire_normalizers.envelope import Origin, Status
from runwire_normalizers.results import ToolResultPayload

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLE = "runwire envelope"


class _Payload(BaseModel):
    """Rule 10: a field without a default is always present. Fields may be added one day, so foreign ones pass."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, serialize_by_alias=True)


class ToolStart(_Payload):
    """A tool call and its arguments."""

    kind: Literal["tool"]
    tool_name: str | None
    args: Any
    node: str | None
    tool_call_id: str | None
    namespace: list[str] | None = None
    meta: dict[str, Any] | None = None


class GraphStart(_Payload):
    """The run or a subgraph and its input."""

    kind: Literal["run", "subgraph"]
    tool_name: str | None
    input: Any
    node: str | None
    tool_call_id: str | None
    namespace: list[str] | None = None
    meta: dict[str, Any] | None = None


class ToolUpdate(_Payload):
    """News of a call; `merged` says for how many updates it stands."""

    kind: Literal["custom", "state", "progress"]
    data: Any
    node: str | None = None
    namespace: list[str] | None = None
    merged: Annotated[int, Field(ge=1)] = 1


class GraphResult(_Payload):
    """The normalised output of a run or a subgraph; what else it has depends on `type`."""

    messages: list[Any]
    files: dict[str, Any]
    usage: dict[str, Any]
    type: str | None = None
    chat_compatible: bool | None = None


class ToolEnd(_Payload):
    """The end of a run or a subgraph, with its output, or of a tool call, with its result."""

    tool_name: str | None
    result: ToolResultPayload | GraphResult | None
    status: Status


class LlmStart(_Payload):
    """The start of a model call, under the message id first seen."""

    model: str | None
    params: dict[str, Any] | None
    node: str | None
    message_id: str
    namespace: list[str] | None = None


class TextToken(_Payload):
    """A piece of a model's text or reasoning; `offset` counts code points in its channel."""

    text: Annotated[str, Field(min_length=1)]
    channel: Literal["text", "reasoning"]
    offset: Annotated[int, Field(ge=0)]
    logprob: float | None = None


class ArgsToken(_Payload):
    """A piece of a tool call's arguments; `offset` counts code points in those of this tool call."""

    text: Annotated[str, Field(min_length=1)]
    channel: Literal["tool_args"]
    offset: Annotated[int, Field(ge=0)]
    tool_call_id: str | None
    tool_name: str | None
    logprob: float | None = None


class LlmEnd(_Payload):
    """The end of a model call, with the final message id."""

    usage: dict[str, Any] | None
    finish_reason: str | None
    status: Status
    message_id: str


class SubgraphCheckpoint(_Payload):
    """A persisted state; with `interrupts`, be they none, the call waits for a person."""

    checkpoint_id: str | None
    node: str | None
    state_digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None
    interrupts: list[Any] | None


class SubgraphResume(_Payload):
    """A call that waited, or whose attempt failed, goes on."""

    checkpoint_id: str | None
    node: str | None
    kind: Literal["run", "subgraph", "tool"]
    tool_name: str | None
    tool_call_id: str | None
    namespace: list[str] | None = None


class Warned(_Payload):
    """Something unknown or odd, with what it was."""

    code: Annotated[str, Field(min_length=1)]
    message: str
    raw: Any


class Failed(_Payload):
    """What failed in a call, and how."""

    name: str | None
    message: str | None
    stack: str | None
    class_: str | None = Field(alias="class")
    node: str | None


class _Envelope(BaseModel):
    """The ten fields, and no other."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, serialize_by_alias=True)

    type: str
    ts: float | None
    trace_id: str
    run_id: str | None
    parent_id: str | None
    call_id: str
    seq: Annotated[int, Field(ge=1)]
    origin: Origin
    agent: str | None
    payload: Any


class LlmStartEnvelope(_Envelope):
    type: Literal["llm_start"]
    payload: LlmStart


class LlmTokenEnvelope(_Envelope):
    type: Literal["llm_token"]
    payload: Annotated[TextToken | ArgsToken, Field(discriminator="channel")]


class LlmEndEnvelope(_Envelope):
    type: Literal["llm_end"]
    payload: LlmEnd


class ToolStartEnvelope(_Envelope):
    type: Literal["tool_start"]
    payload: Annotated[ToolStart | GraphStart, Field(discriminator="kind")]


class ToolUpdateEnvelope(_Envelope):
    type: Literal["tool_update"]
    payload: ToolUpdate


class ToolEndEnvelope(_Envelope):
    type: Literal["tool_end"]
    payload: ToolEnd


class SubgraphCheckpointEnvelope(_Envelope):
    type: Literal["subgraph_checkpoint"]
    payload: SubgraphCheckpoint


class SubgraphResumeEnvelope(_Envelope):
    type: Literal["subgraph_resume"]
    payload: SubgraphResume


class WarningEnvelope(_Envelope):
    type: Literal["warning"]
    payload: Warned


class ErrorEnvelope(_Envelope):
    type: Literal["error"]
    payload: Failed


EnvelopeModel = Annotated[
    LlmStartEnvelope
    | LlmTokenEnvelope
    | LlmEndEnvelope
    | ToolStartEnvelope
    | ToolUpdateEnvelope
    | ToolEndEnvelope
    | SubgraphCheckpointEnvelope
    | SubgraphResumeEnvelope
    | WarningEnvelope
    | ErrorEnvelope,
    Field(discriminator="type"),
]

# `VALIDATOR.validate_python(envelope.to_dict())` or `.validate_json(line)`; a bad one raises `ValidationError`.
VALIDATOR: TypeAdapter[EnvelopeModel] = TypeAdapter(EnvelopeModel)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of one line of the wire form."""
    return {"$schema": DIALECT, "title": TITLE, **VALIDATOR.json_schema()}
