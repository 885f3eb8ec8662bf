"""The output of a graph that nobody described, or whose state is not what was promised: all of the state."""

from typing import Any, Literal, Self

from runwire_normalizers.outputs.base import GraphOutput, OutputState


class GenericOutput(GraphOutput):
    """`values` is the state but for the messages and the files, and has those too where they are no such thing."""

    type: Literal["generic"] = "generic"
    values: dict[str, Any]

    @classmethod
    def read(cls, state: OutputState) -> Self:
        common, values = state.common, dict(state.values)
        for name, kind in (("messages", list), ("files", dict)):
            if isinstance(common[name], kind):
                values.pop(name, None)
            else:
                common[name] = kind()
        return cls.model_validate({**common, "values": values, "chat_compatible": bool(common["messages"])})
