"""The output of a computer use graph: how far its task is, what it did, and whether it waits for a person."""

from typing import Any, ClassVar, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from runwire_normalizers.outputs.base import GraphOutput, OutputState

WAITING = "human_intervention_required"
FINAL = ("completed", "failed")
TELLING = frozenset({"user_request", "total_interactions", "actions_performed", "human_intervention_reason"})
REASONS = ("reason", "message", "question", "description")


class ExecutionDetails(BaseModel):
    """The figures of the task; null until the graph tells them."""

    model_config = ConfigDict(
        frozen=True, strict=True, populate_by_name=True, serialize_by_alias=True, alias_generator=to_camel
    )

    total_interactions: int | None = None
    execution_time: float | None = None
    screenshots_taken: int | None = None
    actions_performed: list[Any] | None = None


class ComputerUseOutput(GraphOutput):
    graph_ids: ClassVar[tuple[str, ...]] = ("computer_use",)
    tells_waiting: ClassVar[bool] = True

    type: Literal["computer_use"] = "computer_use"
    chat_compatible: bool = False
    status: str | None = None
    answer: str | None = None
    execution_details: ExecutionDetails = Field(alias="executionDetails")
    user_request: str | None = None
    error_message: str | None = None
    human_intervention_reason: str | None = None
    sandbox_preserved: bool | None = None
    task_completed_successfully: bool | None = None
    requires_human_intervention: bool | None = None

    @classmethod
    def read(cls, state: OutputState) -> Self:
        """A pending interrupt of a task that goes on reads as human intervention."""
        values = state.values
        fields = {name: values.get(name) for name in cls.model_fields.keys() - GraphOutput.model_fields.keys()}
        details = {name: values.get(name) for name in ExecutionDetails.model_fields}
        details["execution_time"] = values.get("execution_time_seconds")
        if state.interrupts and fields["status"] not in FINAL:
            reason = fields["human_intervention_reason"] or _reason(state.interrupts)
            fields |= {"status": WAITING, "requires_human_intervention": True, "human_intervention_reason": reason}
        return cls.model_validate({**state.common, **fields, "execution_details": details})

    @classmethod
    def fits(cls, values: dict[str, Any]) -> bool:
        """Of an unknown graph no other state may be lost."""
        known = {"messages", "files", "execution_time_seconds", *cls.model_fields, *ExecutionDetails.model_fields}
        return "status" in values and not TELLING.isdisjoint(values) and values.keys() <= known


def _reason(interrupts: tuple[Any, ...]) -> str | None:
    """What the first interrupt that tells anything asks of the person."""
    return next(filter(None, map(_asked, interrupts)), None)


def _asked(interrupt: Any) -> str | None:
    value = interrupt["value"] if isinstance(interrupt, dict) and "value" in interrupt else interrupt
    if value is None or isinstance(value, str):
        return value
    told = [value.get(name) for name in REASONS] if isinstance(value, dict) else []
    return next((text for text in told if text and isinstance(text, str)), None) or orjson.dumps(value).decode()
