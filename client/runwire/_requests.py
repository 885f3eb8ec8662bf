"""What is asked of the server to start or to resume a run, from what the caller gave."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from runwire.errors import ConfigError

# What tells a whole call tree with the fewest bytes; docs/decisions/0014 has the measurement.
MODES = ("tasks", "messages-tuple", "custom")
RECURSION_LIMIT = 10_000
KEY = "runwire_key"
ASSISTANT = "runwire_assistant"
OnDisconnect = Literal["continue", "cancel"]


def state_of(input: Any) -> Any:
    """A text or messages as the input of a chat; any other state as it is."""
    if isinstance(input, str):
        return {"messages": [{"role": "user", "content": input}]}
    if isinstance(input, Sequence) and not isinstance(input, bytes | bytearray | str):
        return {"messages": list(input)}
    return input


def start_body(
    assistant: str,
    input: Any,
    resume: Any,
    key: str,
    *,
    modes: Sequence[str] | None,
    config: Mapping[str, Any] | None,
    context: Mapping[str, Any] | None,
    metadata: Mapping[str, Any] | None,
    on_disconnect: OnDisconnect,
) -> dict[str, Any]:
    """The body that starts a run. Nothing is left to a server's default where servers differ."""
    if on_disconnect not in ("continue", "cancel"):
        raise ConfigError(f"on_disconnect is continue or cancel, not {on_disconnect!r}")
    body: dict[str, Any] = {
        "assistant_id": assistant,
        "stream_mode": list(modes or MODES),
        "stream_subgraphs": True,
        "stream_resumable": True,
        "on_disconnect": on_disconnect,
        "if_not_exists": "create",
        "config": {"recursion_limit": RECURSION_LIMIT, **(config or {})},
        "metadata": {**(metadata or {}), KEY: key, ASSISTANT: assistant},
    }
    if context is not None:
        body["context"] = dict(context)
    if resume is not None:
        return {**body, "command": {"resume": resume}}
    return {**body, "input": state_of(input)}


def checked_answer(interrupts: Sequence[Any], answer: Any) -> Any:
    """The answer to what a run waits for, if it can be one: by id where several wait, one decision for each action."""
    asked = {one["id"]: one.get("value") for one in interrupts if isinstance(one, dict) and one.get("id")}
    if isinstance(answer, Mapping) and answer and set(answer) <= set(asked):
        for id, value in answer.items():
            _check_decisions(asked[id], value)
        return dict(answer)
    if len(asked) > 1:
        ids = ", ".join(sorted(asked))
        raise ConfigError(f"the run waits for {len(asked)} answers: give a mapping by their ids ({ids})")
    for value in asked.values():
        _check_decisions(value, answer)
    return answer


def _check_decisions(asked: Any, answer: Any) -> None:
    actions = asked.get("action_requests") if isinstance(asked, Mapping) else None
    if not isinstance(actions, list):
        return
    decisions = answer.get("decisions") if isinstance(answer, Mapping) else None
    if not isinstance(decisions, list) or len(decisions) != len(actions):
        raise ConfigError(f"{len(actions)} actions wait for a decision: answer with {{'decisions': [one for each]}}")
