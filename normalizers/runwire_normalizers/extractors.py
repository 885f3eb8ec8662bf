"""Extractors find in a tool's result what a front end shows in its own way; these three are there from the start."""

import ast
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

import orjson


@runtime_checkable
class ToolExtractor(Protocol):
    """Anything with a tool's name, a name for what it finds, and `extract`."""

    @property
    def tool_name(self) -> str:
        """The tool whose results are read."""

    @property
    def extracted_type(self) -> str:
        """What it finds, such as `todos`."""

    def extract(self, content: Any) -> Any | None:
        """What is in the result: text as it is, JSON parsed, an artifact before either. None where there is nothing."""


class ThinkToolExtractor:
    """The thought that an agent notes with `think_tool`."""

    tool_name = "think_tool"
    extracted_type = "reflection"

    def extract(self, content: Any) -> str | None:
        if isinstance(content, dict):
            content = content.get("reflection")
        return content if isinstance(content, str) and content.strip() else None


class TodoExtractor:
    """The todo list in the answer of `write_todos`, which tells it in words."""

    tool_name = "write_todos"
    extracted_type = "todos"

    def extract(self, content: Any) -> list[Any] | None:
        found = content.get("todos") if isinstance(content, dict) else content
        if isinstance(found, str):
            found = next(_literals(found), None)
        return found if isinstance(found, list) else None


class DisplayInlineExtractor:
    """What `display_inline` wants to be shown, by its `display_type`."""

    tool_name = "display_inline"
    extracted_type = "display_inline"

    def extract(self, content: Any) -> dict[str, Any] | None:
        return content if isinstance(content, dict) and "display_type" in content else None


BUILT_IN: tuple[ToolExtractor, ...] = (ThinkToolExtractor(), TodoExtractor(), DisplayInlineExtractor())


def _literals(text: str) -> Iterator[Any]:
    """The list in a text, be it written as JSON or as Python."""
    inner = text[text.find("[") : text.rfind("]") + 1]
    for read in (orjson.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            yield read(inner)
