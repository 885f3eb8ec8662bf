"""The output of a deep agent: its messages, its files and its list of things to do."""

from typing import Any, ClassVar, Literal, Self

from runwire_normalizers.outputs.base import GraphOutput, OutputState


class DeepAgentOutput(GraphOutput):
    graph_ids: ClassVar[tuple[str, ...]] = ("deep_agent",)

    type: Literal["deep_agent"] = "deep_agent"
    chat_compatible: bool = True
    todos: list[Any]

    @classmethod
    def read(cls, state: OutputState) -> Self:
        todos = state.values.get("todos")
        return cls.model_validate({**state.common, "todos": [] if todos is None else todos})

    @classmethod
    def fits(cls, values: dict[str, Any]) -> bool:
        """Nothing but what this output keeps: of an unknown graph no other state may be lost."""
        return "messages" in values and {"messages"} < values.keys() <= {"messages", "todos", "files"}
