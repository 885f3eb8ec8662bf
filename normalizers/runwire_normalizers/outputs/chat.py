"""The output of a chat graph: its messages."""

from typing import Any, ClassVar, Literal

from runwire_normalizers.outputs.base import GraphOutput


class ChatOutput(GraphOutput):
    graph_ids: ClassVar[tuple[str, ...]] = ("assist_with_playwright",)

    type: Literal["chat"] = "chat"
    chat_compatible: bool = True

    @classmethod
    def fits(cls, values: dict[str, Any]) -> bool:
        """Messages and nothing else, so that nothing is left out."""
        return values.keys() == {"messages"}
