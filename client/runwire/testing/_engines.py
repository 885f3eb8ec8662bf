"""What one kind of server does in its own way on the wire."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

FIRST_MS = 1794979631046


@dataclass(frozen=True, kw_only=True)
class Engine:
    """What one kind of server does in its own way on the wire. The defaults are those of `langgraph dev`."""

    newline: str = "\r\n"
    # `ms`: `<ms>-0` for every frame of a millisecond; `redis`: `<ms>-<n>`; `event`: `<run>_event_<n>`, n = 1, 3, 5.
    ids: Literal["ms", "redis", "event"] = "ms"
    frames_per_ms: int = 2
    heartbeat: float = 5.0
    # The end of a run: a last frame `end`; an `error` frame for a cancelled run; `error` frames without their text.
    end_frame: bool = False
    cancel_frame: bool = False
    errors_hidden: bool = False
    errors_replayed: bool = False
    # A run that waits for a person: one more `values` frame; its status; whether interrupts have a third key.
    interrupt_frame: bool = False
    waiting: str = "success"
    response_schema: bool = True
    # The type of a tool message in `messages`; the name of the root in `events`, where it is not the graph's own.
    tool_message: str = "tool"
    root_name: str | None = None
    counts_attempts: bool = True
    # Joins of the stream: what comes without a Last-Event-ID, and for one that the server never gave out.
    join_bare: Literal["nothing", "everything", "end"] = "nothing"
    join_garbage: Literal["nothing", "everything"] = "nothing"
    join_body: bool = True
    # Threads: whether they tell errors and interrupts; their status after a cancel; whether unknown ones are made.
    thread_tells: bool = True
    thread_cancelled: str = "interrupted"
    makes_threads: bool = False
    on_disconnect: Literal["continue", "cancel"] = "continue"
    rolls_back: bool = True
    cancel_body: Literal["empty", "error", "run"] = "empty"
    # Refusals: a second run of a thread with `reject`; unknown stream modes; unknown assistants.
    rejects: bool = True
    checks_modes: bool = True
    unknown_assistant: Literal[404, 422] = 422

    def dressed(self, event: str, data: Any) -> Any:
        """The data of a frame as this engine would send it."""
        match event.partition("|")[0], data:
            case "metadata", {"attempt": int()} if not self.counts_attempts:
                return {**data, "attempt": 1}
            case "error", {"error": str(name)} if self.errors_hidden:
                return {"error": name, "message": f"{name}: execution failed"}
            case "messages", [{"type": "tool"} as message, *rest]:
                return [{**message, "type": self.tool_message}, *rest]
            case "events", {"event": "on_chain_start", "parent_ids": []} if self.root_name:
                return {**data, "name": self.root_name}
            case "tasks", {"interrupts": list(asked)}:
                return {**data, "interrupts": self._keyed(asked)}
            case "values" | "updates", {"__interrupt__": list(asked)}:
                return {**data, "__interrupt__": self._keyed(asked)}
        return data

    def _keyed(self, interrupts: list[Any]) -> list[Any]:
        schema = {"response_schema": None} if self.response_schema else {}
        return [{"value": one["value"], "id": one["id"], **schema} for one in interrupts]

    def id_of(self, run_id: str, position: int) -> str:
        """The id of the frame at this position of a run."""
        ms, n = divmod(position, self.frames_per_ms)
        if self.ids == "event":
            return f"{run_id}_event_{2 * position + 1}"
        return f"{FIRST_MS + ms}-{n if self.ids == 'redis' else 0}"

    def place(self, id: str | None) -> tuple[int, ...] | None:
        """What orders ids; none for one that this engine could not have given out."""
        pattern = r".*_event_(\d+)" if self.ids == "event" else r"(-1|\d+)(?:-(\d+))?"
        found = re.fullmatch(pattern, id or "")
        return tuple(int(number or 0) for number in found.groups()) if found else None


ENGINES: Mapping[str, Engine] = {
    "dev": Engine(),
    "langhost": Engine(ids="redis", cancel_frame=True, join_bare="everything", cancel_body="error"),
    "aegra": Engine(
        newline="\n",
        ids="event",
        end_frame=True,
        errors_hidden=True,
        errors_replayed=True,
        interrupt_frame=True,
        waiting="interrupted",
        response_schema=False,
        tool_message="ToolMessageChunk",
        root_name="LangGraph",
        counts_attempts=False,
        join_bare="end",
        join_garbage="everything",
        join_body=False,
        thread_tells=False,
        thread_cancelled="idle",
        makes_threads=True,
        on_disconnect="cancel",
        rolls_back=False,
        cancel_body="run",
        rejects=False,
        checks_modes=False,
        unknown_assistant=404,
    ),
}
