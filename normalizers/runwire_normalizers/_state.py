"""The state of each graph, folded from whatever tells of it, and the deltas that are worth an update."""

from collections import Counter
from typing import Any

from runwire_normalizers._identity import digest
from runwire_normalizers._messages import is_message

# State that has its own form in an update or is no news: the rest of the keys goes under `output`.
APART = frozenset({"messages", "files", "todos", "plan", "__interrupt__"})


def as_values(state: Any) -> dict[str, Any]:
    """A state by its keys; one that is a single value has LangGraph's own name for it."""
    if isinstance(state, dict):
        return state
    return {} if state is None else {"__root__": state}


class GraphState:
    """The values of one graph as far as the stream has told them."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        # What stood last under the keys that are null now.
        self.nulled: dict[str, Any] = {}
        self.known: set[str] = set()
        # How many messages the state had under each key when it was last told.
        self.counts: dict[str, int] = {}
        # What nodes returned without an id, which it gets before it stands in the state.
        self._nameless: Counter[str] = Counter()
        self.told = False
        # Where each message stands in the list that was merged last.
        self._places: dict[str, int] = {}
        self._placed: list[Any] = []
        self._before_step: dict[str, Any] = {}
        self._step: list[tuple[int, Any]] = []

    def remember_nameless(self, message: dict[str, Any]) -> None:
        self._nameless[_said(message)] += 1

    def forget_nameless(self, message: dict[str, Any]) -> bool:
        """Whether such a message was remembered; each is found once."""
        if not self._nameless or not self._nameless[_said(message)]:
            return False
        self._nameless[_said(message)] -= 1
        return True

    def replace(self, values: dict[str, Any]) -> None:
        self._remember(values)
        self.values = {key: value for key, value in values.items() if key != "__interrupt__"}

    def _remember(self, values: dict[str, Any]) -> None:
        for key, value in values.items():
            before = self.values.get(key)
            if value is not None:
                self.nulled.pop(key, None)
            elif before is not None:
                self.nulled[key] = before

    def merge_input(self, values: dict[str, Any]) -> None:
        """A task's input: the step before it is over."""
        self._step = []
        self._remember(values)
        self.values.update(values)

    def finished(self, order: int, result: Any) -> None:
        """A task's result. LangGraph applies those of one step in the order of its tasks, not as they finish."""
        if not self._step:
            self._before_step = dict(self.values)
        late = bool(self._step) and order < self._step[-1][0]
        self._step.append((order, result))
        if not late:
            self.update(result)
            return
        self._step.sort(key=lambda entry: entry[0])
        self.values = dict(self._before_step)
        self.update([update for _, update in self._step])

    def update(self, update: Any) -> None:
        """A node's update: messages by id, files by name, everything else in place of what was there."""
        messages: list[Any] = []
        self._update(update, messages)
        # All at once, because each merging copies the whole list.
        if messages:
            self.values["messages"] = self._merged(self.values.get("messages"), messages)

    def _merged(self, before: Any, new: list[Any]) -> list[Any]:
        """LangGraph's `add_messages`: replaced by id, removed by `RemoveMessage`, else appended."""
        messages = list(before) if isinstance(before, list) else []
        # Mostly those of the last time: to find them again costs as much as the history is long.
        places = self._places if before is self._placed else _places(messages)
        for message in new:
            id = _id(message) if is_message(message) else None
            if id is not None and message.get("type") == "remove":
                messages = [] if id == "__remove_all__" else [m for m in messages if _id(m) != id]
                places = _places(messages)
            elif id is not None and id in places:
                messages[places[id]] = message
            else:
                if id is not None:
                    places[id] = len(messages)
                messages.append(message)
        self._placed, self._places = messages, places
        return messages

    def _update(self, update: Any, messages: list[Any]) -> None:
        if isinstance(update, list):
            for entry in update:
                self._update(entry, messages)
        elif isinstance(update, dict):
            if "update" in update and "goto" in update:
                self._update(update["update"], messages)
                return
            for key, value in update.items():
                self._write(key, value, messages)

    def _write(self, key: str, value: Any, messages: list[Any]) -> None:
        if isinstance(value, dict) and isinstance(value.get("$writes"), list):
            for write in value["$writes"]:
                self._write(key, write, messages)
        elif key == "messages":
            messages += value if isinstance(value, list) else [value]
        elif key == "files" and isinstance(value, dict):
            files = {**(self.values.get("files") or {}), **value}
            self.values[key] = {name: file for name, file in files.items() if file is not None}
        else:
            self._remember({key: value})
            self.values[key] = value


def _said(message: dict[str, Any]) -> str:
    return digest([message.get("content"), message.get("tool_calls")])


def _places(messages: list[Any]) -> dict[str, int]:
    return {id: place for place, message in enumerate(messages) if (id := _id(message)) is not None}


def _id(message: Any) -> str | None:
    id = message.get("id") if isinstance(message, dict) else None
    return id if isinstance(id, str) else None


def delta(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What changed, in the form of a `state` update; empty when nothing worth telling did."""
    changed = {key: after[key] for key in ("plan", "todos") if key in after and after[key] != before.get(key)}
    files = _files(before.get("files"), after.get("files"))
    output = {k: v for k, v in after.items() if k not in APART and v != before.get(k)}
    return changed | ({"files": files} if files else {}) | ({"output": output} if output else {})


def _files(before: Any, after: Any) -> dict[str, Any]:
    old, new = before if isinstance(before, dict) else {}, after if isinstance(after, dict) else {}
    if old == new:
        return {}
    return {
        "added": {name: file for name, file in new.items() if name not in old},
        "changed": {name: file for name, file in new.items() if name in old and old[name] != file},
        "removed": [name for name in old if name not in new],
    }
