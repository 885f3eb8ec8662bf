"""Other orders in which a server might have sent a run's frames: siblings that worked at the same time, shuffled."""

import json
import random
from collections.abc import Sequence
from typing import Any

from runwire_normalizers import ServerSentEvent

Path = tuple[str, ...]


def reordered(frames: Sequence[ServerSentEvent], chance: random.Random) -> list[ServerSentEvent]:
    """The frames in a random order in which only those of tasks that overlapped have changed places."""
    asked = _calls(frames)
    paths = [_path(frame, asked) for frame in frames]
    spans = _spans(frames)
    waits = [
        {at for at in range(number) if not _apart(paths[at], paths[number], spans)} for number in range(len(frames))
    ]
    order: list[int] = []
    ready = [number for number, before in enumerate(waits) if not before]
    left = set(range(len(frames))) - set(ready)
    while ready:
        order.append(ready.pop(chance.randrange(len(ready))))
        for number in sorted(left):
            waits[number].discard(order[-1])
            if not waits[number]:
                left.discard(number)
                ready.append(number)
    return [frames[number] for number in order]


def _apart(one: Path, other: Path, spans: dict[str, tuple[int, int]]) -> bool:
    """Whether two frames belong to different tasks that overlapped."""
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            here, there = spans.get(mine), spans.get(theirs)
            return bool(here and there and here[0] < there[1] and there[0] < here[1])
    return False


def _path(frame: ServerSentEvent, asked: dict[str, str]) -> Path:
    """The tasks that a frame is part of, outermost first."""
    mode, _, space = frame.event.partition("|")
    inside = tuple(part.partition(":")[2] for part in space.split("|") if ":" in part)
    own = _own(mode, json.loads(frame.data), asked)
    return (*inside, own) if own else inside


def _own(mode: str, data: Any, asked: dict[str, str]) -> str | None:
    if mode == "tasks":
        return str(data["id"])
    if mode == "messages":
        return str(data[1]["langgraph_checkpoint_ns"].rpartition("|")[2].partition(":")[2])
    told = json.dumps(data) if mode == "updates" and "tools" in data else ""
    return next((task for call, task in asked.items() if f'"tool_call_id": "{call}"' in told), None)


def _calls(frames: Sequence[ServerSentEvent]) -> dict[str, str]:
    """The task of each tool call."""
    found: dict[str, str] = {}
    for frame in frames:
        data = json.loads(frame.data)
        if frame.event.startswith("tasks") and "result" not in data:
            sent = data["input"]
            calls = sent if isinstance(sent, list) else [sent.get("tool_call")] if isinstance(sent, dict) else []
            found |= {call["id"]: data["id"] for call in calls if isinstance(call, dict) and "id" in call}
    return found


def _spans(frames: Sequence[ServerSentEvent]) -> dict[str, tuple[int, int]]:
    """From which frame to which each task was at work; one without an end, to the last."""
    spans: dict[str, tuple[int, int]] = {}
    for number, frame in enumerate(frames):
        if frame.event.startswith("tasks"):
            data = json.loads(frame.data)
            start = spans.get(data["id"], (number, 0))[0]
            spans[data["id"]] = (start, number if "result" in data else len(frames))
    return spans
