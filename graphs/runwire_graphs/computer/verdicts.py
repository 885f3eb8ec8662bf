"""What a person is asked, and what their answer means. Only a plain yes is one where a safety check waits."""

from typing import Any

from runwire_graphs.computer.state import Verdict

YES = frozenset("approve approved yes ok okay y true continue accept accepted done".split())
NO = frozenset("reject rejected no n false stop cancel deny denied decline declined".split())
WORDS = ("answer", "message", "response", "text", "content", "reason")


def read_verdict(answer: Any, question: bool) -> Verdict:
    """The answer in the forms in which clients send one; words alone approve a question that they answer."""
    decision, words = _parts(answer)
    known = decision.strip().lower().strip(".!")
    if known in YES | NO:
        return Verdict(approved=known in YES, words=words)
    told = words or decision
    return Verdict(approved=question and bool(told), words=told)


def _parts(answer: Any) -> tuple[str, str]:
    """The decision and the words beside it."""
    if isinstance(answer, dict) and isinstance(answer.get("decisions"), list) and answer["decisions"]:
        answer = answer["decisions"][0]
    if isinstance(answer, list) and answer:
        answer = answer[0]
    if isinstance(answer, dict):
        words = next((str(answer[key]) for key in WORDS if answer.get(key)), "")
        return str(next((answer[key] for key in ("decision", "type", "approved") if key in answer), "")), words
    return str(answer), ""
