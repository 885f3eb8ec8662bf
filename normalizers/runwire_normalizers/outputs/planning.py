"""The output of a planning graph: its messages, and the last plan that it told."""

from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from runwire_normalizers.outputs.base import GraphOutput, OutputState

KNOWN = frozenset({"messages", "files", "planner_result", "plan", "todos"})


class PlannerResult(BaseModel):
    """What the planner decided; `next_task` is an index into `plan`."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    decision: str | None = None
    plan: list[Any] | None = None
    next_task: int | None = None
    clarification: str | None = None


class PlanningOutput(GraphOutput):
    graph_ids: ClassVar[tuple[str, ...]] = ("planner_style_agent", "assist_with_planner")

    type: Literal["planning"] = "planning"
    chat_compatible: bool = True
    planner_result: PlannerResult | None = Field(default=None, alias="plannerResult")

    @classmethod
    def read(cls, state: OutputState) -> Self:
        result: Any = state.values.get("planner_result")
        if result is None and isinstance(state.previous, PlanningOutput):
            result = state.previous.planner_result
        return cls.model_validate({**state.common, "planner_result": result})

    @classmethod
    def fits(cls, values: dict[str, Any]) -> bool:
        """Of an unknown graph no other state may be lost; the plan and the todos are told beside the result."""
        return "planner_result" in values and values.keys() <= KNOWN
