"""The state of `computer_use`, its reducers, and the one channel of its own: what is told at a run's end alone."""

from collections.abc import Sequence
from typing import Annotated, Any, Generic, Literal, NotRequired, Self, TypeVar

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.channels.base import BaseChannel
from langgraph.errors import EmptyChannelError
from langgraph.graph.message import add_messages
from langgraph.managed import RemainingSteps
from typing_extensions import TypedDict

Status = Literal["in_progress", "completed", "failed", "human_intervention_required"]
Value = TypeVar("Value")
Number = TypeVar("Number", int, float)

ACTIONS_TOLD = 10


class AtTheEnd(BaseChannel[Value, Value, Value], Generic[Value]):
    """A value that the last step of a run writes, and that the first step of the thread's next run takes back.

    Without it the second run of a thread would begin with the answer of the first.
    """

    def __init__(self, *until: Value) -> None:
        super().__init__(Any)
        self.until, self.told = until, until

    @property
    def ValueType(self) -> Any:
        return self.typ

    @property
    def UpdateType(self) -> Any:
        return self.typ

    def from_checkpoint(self, checkpoint: Any) -> Self:
        channel = self.__class__(*self.until)
        channel.key, channel.typ = self.key, self.typ
        channel.told = tuple(checkpoint) if isinstance(checkpoint, list | tuple) else self.until
        return channel

    def checkpoint(self) -> Any:
        return list(self.told)

    def get(self) -> Value:
        if not self.told:
            raise EmptyChannelError
        return self.told[0]

    def is_available(self) -> bool:
        return bool(self.told)

    def update(self, values: Sequence[Value]) -> bool:
        before, self.told = self.told, (values[-1],) if values else self.until
        return before != self.told


def logged(before: list[str], after: list[str] | None) -> list[str]:
    """The last actions; None begins anew."""
    return [] if after is None else [*before, *after][-ACTIONS_TOLD:]


def counted(before: Number, after: Number | None) -> Number:
    """A sum; None begins anew."""
    return type(before)() if after is None else before + after


class Outcome(TypedDict):
    """How a run ends, and why."""

    status: Status
    answer: NotRequired[str]
    error: NotRequired[str]
    reason: NotRequired[str]


class Verdict(TypedDict):
    """What a person made of a question: whether the run may go on, and with which words."""

    approved: bool
    words: str


class ComputerInput(TypedDict, total=False):
    """What a run begins with: a request, or messages of which the last one of the user's is the request."""

    user_request: str
    messages: Annotated[list[AnyMessage], add_messages]


class ComputerOutput(TypedDict):
    """What a run tells: three keys while it goes on, all of them at its end."""

    status: Annotated[Status, AtTheEnd[str]("in_progress")]
    answer: Annotated[str, AtTheEnd[str]()]
    user_request: str
    total_interactions: Annotated[int, AtTheEnd[int]()]
    execution_time_seconds: Annotated[float, AtTheEnd[float]()]
    error_message: Annotated[str, AtTheEnd[str]()]
    screenshots_taken: Annotated[int, AtTheEnd[int]()]
    actions_performed: Annotated[list[str], AtTheEnd[list[str]]()]
    human_intervention_reason: Annotated[str, AtTheEnd[str]("")]
    sandbox_preserved: Annotated[bool, AtTheEnd[bool]()]
    task_completed_successfully: Annotated[bool, AtTheEnd[bool]()]
    requires_human_intervention: Annotated[bool, AtTheEnd[bool]()]


class ComputerState(ComputerOutput):
    """The output, the transcript, the sandbox by its id, what was done so far, and what was decided."""

    messages: Annotated[list[AnyMessage], add_messages]
    sandbox_id: str
    notes: Annotated[list[str], logged]
    performed: Annotated[list[str], logged]
    interactions: Annotated[int, counted]
    screenshots: Annotated[int, counted]
    seconds: Annotated[float, counted]
    verdict: Verdict | None
    outcome: Outcome | None
    remaining_steps: RemainingSteps


def last_said(state: ComputerState) -> AIMessage | None:
    """What the model said last, if nothing has answered it yet."""
    last = state["messages"][-1] if state.get("messages") else None
    return last if isinstance(last, AIMessage) else None
