"""What the user wants of this run, and the transcript that the run begins with."""

from uuid import uuid4

from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from runwire_graphs.computer.state import ComputerState

# Marks a message as the run's own, so that a later run of the thread knows what is new.
OURS = "asked-"


def request_of(state: ComputerState) -> str:
    """`user_request`, or the user's last message; of both, what this run brought rather than an earlier one."""
    known = [one for one in state.get("messages", []) if isinstance(one, HumanMessage)]
    new = [str(one.text).strip() for one in known if not (one.id or "").startswith(OURS)]
    told = (state.get("user_request") or "").strip()
    if told and told != earlier_request(state):
        return told
    return new[-1] if new else told


def earlier_request(state: ComputerState) -> str | None:
    """What the thread's last run was asked."""
    return next((str(one.text) for one in state.get("messages", []) if (one.id or "").startswith(OURS)), None)


def opening(request: str) -> list[BaseMessage]:
    """The transcript begins anew with each run: calls of an earlier one may never have been answered."""
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), spoken(request)]


def spoken(words: str) -> HumanMessage:
    return HumanMessage(words, id=f"{OURS}{uuid4().hex}")
