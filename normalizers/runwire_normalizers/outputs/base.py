"""What all outputs share: the common fields, the JSON form, and the state that a normaliser reads."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict

from runwire_normalizers.coerce import json_safe


class GraphOutput(BaseModel):
    """A graph's result. A subclass names its `type` and its own fields; `read` fills them from the state."""

    # Strict: a value of another type is never bent into shape; the state is then read as generic.
    model_config = ConfigDict(
        frozen=True, strict=True, populate_by_name=True, serialize_by_alias=True, ser_json_bytes="base64"
    )

    # The bundled graphs that give this output.
    graph_ids: ClassVar[tuple[str, ...]] = ()
    # Whether it says by itself that a run waits for a person, so that nobody takes it for a finished one.
    tells_waiting: ClassVar[bool] = False

    type: str
    messages: list[Any]
    files: dict[str, Any]
    usage: dict[str, Any]
    chat_compatible: bool

    @classmethod
    def read(cls, state: "OutputState") -> Self:
        """The common fields, and every other one by its name in the state; with messages, a chat can show it."""
        own = cls.model_fields.keys() - GraphOutput.model_fields.keys()
        told = {**state.common, **{name: state.values[name] for name in own if name in state.values}}
        if cls.model_fields["chat_compatible"].is_required():
            told["chat_compatible"] = bool(told["messages"])
        return cls.model_validate(told)

    @classmethod
    def fits(cls, values: dict[str, Any]) -> bool:
        """Whether the state of an unknown assistant has this output's shape."""
        return False

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return self.model_dump(mode="json", by_alias=True, fallback=json_safe)


@dataclass(frozen=True, slots=True)
class OutputState:
    """What is known of a graph at one moment, JSON-safe and without secrets."""

    values: dict[str, Any]
    usage: dict[str, Any]
    interrupts: tuple[Any, ...] = ()
    previous: GraphOutput | None = None

    @property
    def common(self) -> dict[str, Any]:
        """`messages`, `files` and `usage` as every output has them: null or absent is empty."""
        messages, files = self.values.get("messages"), self.values.get("files")
        return {
            "messages": [] if messages is None else messages,
            "files": {} if files is None else files,
            "usage": self.usage,
        }
