"""The keyless model at a screen. It says before each call which step the call is for, and knows by that where it is.

Like any model it sees the messages alone: where things are on the screen it reads in the answers to its calls.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from runwire_graphs.scripted.gestures import Gesture, gesture_of
from runwire_graphs.scripted.pointing import NotThere, actions_of, scroll_to
from runwire_graphs.scripted.reply import SELF, SIGNATURE, Call, Reply
from runwire_graphs.scripted.sight import Sight
from runwire_graphs.scripted.words import clauses

COMPUTER, NAVIGATE, ASK, GIVE_UP = "computer", "navigate", "ask_person", "give_up"
STEP = re.compile(r"^Step (\d+) of \d+: ")
BEFORE = re.compile(r"^Before step (\d+): ")
ANEW = "started anew"
SHOWN = 1_500
LOOKS = 6
ABILITIES = """open an address, click something by its name, type something into a field, choose an option, \
fill a form with some values, press keys, scroll, go back, wait, take a screenshot, or tell what is on the screen"""


@dataclass(frozen=True)
class Turn:
    """One of its own messages with the answer to its call."""

    said: str
    answer: ToolMessage | None

    @property
    def step(self) -> int:
        found = STEP.match(self.said)
        return int(found[1]) if found else 0


def at_screen(request: str, since: Sequence[BaseMessage], names: set[str], known: Mapping[str, str]) -> Reply:
    """The next message; `since` is what came after the request, `names` are the tools."""
    turns = _turns(since)
    steps = clauses(request)
    understood = [(number, step, gesture) for number, step in enumerate(steps, 1) if (gesture := gesture_of(step))]
    if turns and turns[-1].answer is not None and turns[-1].answer.status == "error":
        return _give_up(_first(turns[-1].answer), turns, names)
    done = {turn.step for turn in turns}
    for number, step, gesture in understood:
        if number not in done:
            return _Doing(number, len(steps), step, gesture, turns, names, known).reply()
    return _conclusion(request, steps, understood, turns, names)


def _turns(since: Sequence[BaseMessage]) -> list[Turn]:
    """What it said and what came of it. On a computer that was started anew, only what the person said still holds."""
    answers = {one.tool_call_id: one for one in since if isinstance(one, ToolMessage)}
    turns: list[Turn] = []
    for message in since:
        if isinstance(message, AIMessage):
            answer = answers.get(message.tool_calls[0]["id"] or "") if message.tool_calls else None
            undone = answer is not None and ANEW in _first(answer)
            turns = [*_heard(turns), Turn("", answer)] if undone else [*turns, Turn(str(message.text), answer)]
        elif message.type == "system" and ANEW in str(message.text):
            turns = _heard(turns)
    return turns


def _heard(turns: list[Turn]) -> list[Turn]:
    return [one for one in turns if one.answer is not None and one.answer.name == ASK]


def _sight(turns: list[Turn]) -> Sight | None:
    seen = [one.answer for one in turns if one.answer is not None and one.answer.name in (COMPUTER, NAVIGATE)]
    return Sight.of(str(seen[-1].text)) if seen else None


@dataclass(frozen=True)
class _Doing:
    """One step, on its way."""

    number: int
    count: int
    step: str
    gesture: Gesture
    turns: list[Turn]
    names: set[str]
    known: Mapping[str, str]

    def reply(self) -> Reply:
        gesture, sight = self.gesture, _sight(self.turns)
        if gesture.kind == "go" and (url := gesture.url or self._known(gesture.target)):
            return self._now(Call(NAVIGATE, {"url": url}))
        if gesture.kind in ("person", "ask"):
            return self._person(gesture)
        if sight is None and gesture.kind not in ("look", "read", "wait", "keys"):
            return self._first("I look at the screen.", Call(COMPUTER, {"actions": [{"type": "screenshot"}]}))
        if (
            sight
            and sight.blank
            and gesture.kind not in ("look", "wait")
            and (home := next(iter(self.known.values()), ""))
        ):
            return self._first("no page is open, so I open the one I know.", Call(NAVIGATE, {"url": home}))
        return self._act(gesture, sight or Sight.of(""))

    def _act(self, gesture: Gesture, sight: Sight) -> Reply:
        try:
            actions, target = actions_of(gesture, sight, self._answer())
        except NotThere as missing:
            if missing.question and ASK in self.names:
                return self._first("I have to ask.", Call(ASK, {"question": missing.question}))
            return _give_up(str(missing), self.turns, self.names)
        if target and target.hidden:
            if self._looks() >= LOOKS:
                return _give_up(f"{target.name!r} does not come onto the screen.", self.turns, self.names)
            return self._first(f"I scroll to {target.name!r}.", Call(COMPUTER, {"actions": [scroll_to(target)]}))
        if target and target.kind == "password field" and self._answer() is None and ASK in self.names:
            question = f"The page asks for a password in {target.name!r}. May I type it?"
            return self._first("I have to ask.", Call(ASK, {"question": question}))
        return self._now(Call(COMPUTER, {"actions": actions}))

    def _person(self, gesture: Gesture) -> Reply:
        question = (
            f"Please tell me: {gesture.text}?" if gesture.kind == "ask" else f"This needs you: {self.step}. Is it done?"
        )
        if ASK not in self.names:
            return _give_up(f"Only a person can do this: {self.step}.", self.turns, self.names)
        return self._now(Call(ASK, {"question": question}))

    def _now(self, call: Call) -> Reply:
        return Reply(f"Step {self.number} of {self.count}: {self.step}.", (call,))

    def _first(self, what: str, call: Call) -> Reply:
        return Reply(f"Before step {self.number}: {what}", (call,))

    def _known(self, target: str) -> str | None:
        return next((address for name, address in self.known.items() if name in target.lower()), None)

    def _before(self) -> list[Turn]:
        return [one for one in self.turns if (found := BEFORE.match(one.said)) and int(found[1]) == self.number]

    def _looks(self) -> int:
        return len(self._before())

    def _answer(self) -> str | None:
        """What the person said when they were asked about this step."""
        told = [one.answer for one in self._before() if one.answer is not None and one.answer.name == ASK]
        return str(told[-1].text) if told else None


def _give_up(reason: str, turns: list[Turn], names: set[str]) -> Reply:
    told = [one.said for one in turns if one.step]
    text = f"{reason} Until then I had done: {' '.join(told)}" if told else reason
    return Reply(text, (Call(GIVE_UP, {"reason": reason}),)) if GIVE_UP in names else Reply(text)


def _first(answer: ToolMessage) -> str:
    return str(answer.text).partition("\n")[0]


def _conclusion(
    request: str, steps: list[str], understood: list[tuple[int, str, Gesture]], turns: list[Turn], names: set[str]
) -> Reply:
    if not understood:
        if not turns:
            return Reply(
                "Before an answer: I look at the screen.", (Call(COMPUTER, {"actions": [{"type": "screenshot"}]}),)
            )
        return Reply(f"{SELF} I did not understand {request!r}. Ask in plain steps: {ABILITIES}.\n\n{SIGNATURE}")
    results = {turn.step: turn.answer for turn in turns if turn.step}
    told = [_result(step, gesture, results.get(number)) for number, step, gesture in understood]
    if (sight := _sight(turns)) and understood[-1][2].kind != "read":
        told.append(f"Now on the screen: {_told(sight, 'all')}")
    unclear = [step for step in steps if gesture_of(step) is None]
    if unclear:
        return _give_up(f"I did not understand: {'; '.join(unclear)}.", turns, names)
    return Reply("\n\n".join([*told, SIGNATURE]))


def _result(step: str, gesture: Gesture, answer: ToolMessage | None) -> str:
    if answer is None:
        return f"Done: {step}."
    if gesture.kind in ("ask", "person"):
        return f"{step}: {answer.text}"
    return _told(Sight.of(str(answer.text)), step) if gesture.kind == "read" else f"Done: {step}."


def _told(sight: Sight, asked: str) -> str:
    """The title and the text, or what was asked of them; of a desktop, its windows."""
    if not sight.address:
        return sight.told.strip()[:SHOWN]
    wanted = asked.lower()
    if "title" in wanted and not re.search(r"text|content|table|page says", wanted):
        return f"Title: {sight.title}"
    text = sight.text if len(sight.text) <= SHOWN else f"{sight.text[:SHOWN]} …"
    return f"Title: {sight.title}\nAddress: {sight.address}\n\n{text}"


def drives_screen(tools: Sequence[Any]) -> bool:
    """Whether the tools are those of a screen: one that takes actions."""
    return any("actions" in tool.schema.get("properties", {}) for tool in tools)
