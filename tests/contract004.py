"""The output schemas of the source document on graph outputs, as JSON Schema, with its own examples to check it by."""

from typing import Any

_DICT: dict[str, Any] = {"type": "object"}
_NULLABLE_STRING: dict[str, Any] = {"type": ["string", "null"]}

# `example`, `refusal` and `token_usage` are optional: current LangChain sends them only in some modes.
_COMMON: dict[str, Any] = {
    "content": {"type": ["string", "array"]},
    "additional_kwargs": _DICT,
    "response_metadata": _DICT,
    "name": _NULLABLE_STRING,
    "id": {"type": "string"},
}
_HUMAN = {"properties": {**_COMMON, "type": {"const": "human"}}, "required": [*_COMMON, "type"]}
_AI = {
    "properties": {
        **_COMMON,
        "type": {"const": "ai"},
        "tool_calls": {"type": "array"},
        "invalid_tool_calls": {"type": "array"},
        "usage_metadata": {"type": ["object", "null"]},
    },
    "required": [*_COMMON, "type", "tool_calls", "invalid_tool_calls", "usage_metadata"],
}
_TOOL = {
    "properties": {**_COMMON, "type": {"const": "tool"}, "tool_call_id": {"type": "string"}},
    "required": [*_COMMON, "type", "tool_call_id"],
}
MESSAGES = {"type": "array", "items": {"type": "object", "oneOf": [_HUMAN, _AI, _TOOL]}}

CHAT: dict[str, Any] = {
    "type": "object",
    "properties": {"messages": MESSAGES},
    "required": ["messages"],
    "additionalProperties": False,
}
PLANNING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "messages": MESSAGES,
        "planner_result": {
            "type": "object",
            "properties": {
                "decision": {"type": "string"},
                "plan": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"expert": {"type": "string"}, "task": {"type": "string"}},
                        "required": ["expert", "task"],
                    },
                },
                "next_task": {"type": "integer"},
                "clarification": _NULLABLE_STRING,
            },
            "required": ["decision", "plan", "next_task", "clarification"],
            "additionalProperties": False,
        },
    },
    "required": ["messages", "planner_result"],
    "additionalProperties": False,
}
OUTPUTS = {"assist_with_playwright": CHAT, "planner_style_agent": PLANNING, "assist_with_planner": PLANNING}

COMPUTER_PROGRESS = {"status": "in_progress", "human_intervention_reason": ""}
COMPUTER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"enum": ["completed", "failed", "human_intervention_required"]},
        "answer": {"type": "string"},
        "user_request": {"type": "string"},
        "total_interactions": {"type": "integer"},
        "execution_time_seconds": {"type": "number"},
        "error_message": {"type": "string"},
        "screenshots_taken": {"type": "integer"},
        "actions_performed": {
            "type": "array",
            "items": {"type": "string", "pattern": r"^ActionType\.[a-z_]+:"},
            "maxItems": 10,
        },
        "human_intervention_reason": {"type": "string"},
        "sandbox_preserved": {"type": "boolean"},
        "task_completed_successfully": {"type": "boolean"},
        "requires_human_intervention": {"type": "boolean"},
    },
    "additionalProperties": False,
}
COMPUTER["required"] = list(COMPUTER["properties"])
