"""When a person has to decide, and what they are asked: a safety check, a question, or a question in plain words."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage

from runwire_graphs.computer.calls import ASK, asked

# A last sentence that offers help is no question that anything waits for.
OFFER = re.compile(r"\b(anything|something|what) else\b|\bfurther\b|\b(help|assist)\b[^.?!]*\?$", re.IGNORECASE)


@dataclass(frozen=True)
class Question:
    """What a person is asked. A safety check takes only a plain yes, a question also takes words."""

    kind: Literal["safety_check", "question"]
    reason: str
    checks: tuple[dict[str, Any], ...] = ()
    actions: tuple[Any, ...] = ()
    # Asked in text, with no call that the answer would belong to.
    spoken: bool = False


def question_in(message: AIMessage) -> Question | None:
    calls = asked(message)
    checks = tuple(check for call in calls for check in call.checks)
    questions = [str(call.args.get("question") or "How shall I go on?") for call in calls if call.name == ASK]
    if checks:
        reasons = [str(check.get("message") or check.get("code") or "A safety check is pending.") for check in checks]
        actions = tuple(action for call in calls if call.checks for action in call.actions)
        return Question("safety_check", " ".join([*reasons, *questions]), checks, actions)
    if questions:
        return Question("question", " ".join(questions))
    said = str(message.text).strip()
    if not calls and said.endswith("?") and not OFFER.search(re.split(r"(?<=[.!?])\s", said)[-1]):
        return Question("question", said, spoken=True)
    return None
