"""Forms that a model fills by calling a tool that it must call: arguments stream apart, so no JSON is spoken."""

from collections.abc import Sequence
from typing import TypeVar

from langchain_core.messages import BaseMessage, HumanMessage
from pydantic import BaseModel, Field, ValidationError

from runwire_graphs.errors import ModelError
from runwire_graphs.models import chat_model
from runwire_graphs.planning.state import Decision

TRIES = 2
F = TypeVar("F", bound=BaseModel)


class Step(BaseModel):
    """One step of a plan."""

    expert: str = Field(description="The name of the expert who does it.")
    task: str = Field(description="What the expert is to do, complete in itself.")


class Plan(BaseModel):
    """Say what is to be done for the user's last message."""

    decision: Decision = Field(
        description="replace: a new plan. append: these steps come after those of the plan so far. "
        "continue: go on with the plan so far."
    )
    plan: list[Step] = Field(description="The steps to replace or to append; empty if no expert matches.")
    clarification: str | None = Field(
        default=None, description="What to tell or ask the user, if something cannot be planned."
    )


class Assessment(BaseModel):
    """Say whether the task has been completed."""

    is_completed: bool = Field(description="Whether the task is done.")
    explanation: str = Field(description="Why, in one sentence.")
    confidence: float = Field(ge=0, le=1, description="How sure you are, from 0 to 1.")


async def filled(form: type[F], messages: Sequence[BaseMessage]) -> F:
    """The form as the model fills it; a wrong one is handed back once with what is wrong."""
    model = chat_model().bind_tools([form], tool_choice=form.__name__)
    asked, wrong = list(messages), "it called no tool"
    for _ in range(TRIES):
        answer = await model.ainvoke(asked)
        for call in answer.tool_calls:
            try:
                return form.model_validate(call["args"])
            except ValidationError as error:
                wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        asked = [*messages, HumanMessage(f"Call {form.__name__} with valid arguments. Last time: {wrong}")]
    raise ModelError(f"The model did not fill in {form.__name__} ({wrong}). Use a model that can call tools.")
