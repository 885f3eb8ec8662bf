"""What the sampler merges: consecutive tokens of one channel, and consecutive updates of one kind, of one call."""

from collections import deque
from typing import Any

from runwire_normalizers.envelope import Envelope, step

# Stands in a merged log for the entries that are left out.
TRIMMED = "$trimmed"


class Pending:
    """An envelope that may still grow: a token or an update, with all that was merged into it."""

    __slots__ = (
        "_dropped",
        "_first",
        "_head",
        "_key",
        "_last",
        "_pieces",
        "_seq",
        "_shared",
        "_state",
        "_tail",
        "due",
        "merged",
    )

    def __init__(self, envelope: Envelope, due: float) -> None:
        self.due = due
        self.merged = step(envelope)
        self._key = _key(envelope)
        self._first = self._last = envelope
        self._seq = envelope.seq
        self._pieces: list[str] = []
        self._head: list[Any] = []
        self._tail: deque[Any] = deque()
        self._dropped = 0
        self._state: Any = None
        self._shared: dict[str, None] = {}

    @property
    def call_id(self) -> str:
        return self._first.call_id

    def add(self, envelope: Envelope, log_entries: int) -> bool:
        """Whether the envelope could be merged: it follows directly, in the same channel, of the same source."""
        if envelope.seq - step(envelope) != self._seq or not self._continues(envelope):
            return False
        self._merge(envelope, log_entries)
        self._seq = envelope.seq
        return True

    def _continues(self, envelope: Envelope) -> bool:
        if _key(envelope) != self._key:
            return False
        # Two tool calls without ids look alike, but each begins at its own offset.
        return envelope.type != "llm_token" or envelope.payload["offset"] == self._first.payload["offset"] + self.merged

    def _merge(self, envelope: Envelope, log_entries: int) -> None:
        if envelope.type == "llm_token":
            if not self._pieces:
                self._pieces.append(self._first.payload["text"])
            self._pieces.append(envelope.payload["text"])
        elif envelope.payload["kind"] == "custom":
            if self._last is self._first:
                self._log(self._first, log_entries)
            self._log(envelope, log_entries)
        elif envelope.payload["kind"] == "state":
            before = self._first.payload["data"] if self._last is self._first else self._state
            self._state = _composed(before, envelope.payload["data"])
        if envelope.type == "tool_update":
            self._share(envelope.payload)
        self.merged += step(envelope)
        self._last = envelope

    def _share(self, payload: dict[str, Any]) -> None:
        """Who told it, as long as all of them are the same."""
        first = self._first.payload
        self._shared |= {name: None for name in ("node", "namespace") if payload.get(name) != first.get(name)}

    def _log(self, envelope: Envelope, entries: int) -> None:
        data = envelope.payload["data"]
        for entry in data if "merged" in envelope.payload else [data]:
            if len(self._head) < entries // 2:
                self._head.append(entry)
                continue
            self._tail.append(entry)
            if len(self._tail) > entries - entries // 2:
                self._tail.popleft()
                self._dropped += 1

    def envelope(self) -> Envelope:
        """All of it as one envelope, at the position of the last that was merged."""
        first, last = self._first, self._last
        if first is last and first.seq == self._seq:
            return first
        if first is last:
            payload = first.payload
        elif first.type == "llm_token":
            payload = {key: value for key, value in first.payload.items() if key != "logprob"}
            payload["text"] = "".join(self._pieces)
        else:
            payload = {**last.payload, **self._shared, "data": self._data(), "merged": self.merged}
        return Envelope(
            first.type,
            last.ts,
            first.trace_id,
            first.run_id,
            first.parent_id,
            first.call_id,
            self._seq,
            first.origin,
            last.agent,
            payload,
        )

    def _data(self) -> Any:
        match self._first.payload["kind"]:
            case "custom":
                mark = [{TRIMMED: self._dropped}] if self._dropped else []
                return [*self._head, *mark, *self._tail]
            case "state":
                return self._state
            case _:
                return self._last.payload["data"]


def collapsed(pieces: list[Pending], log_entries: int) -> list[Pending]:
    """Pieces of one call that took turns, merged by channel and kind; together they move it as far as before.

    Where a position is missing between them, nothing merges across it.
    """
    found: list[Pending] = []
    begin = 0
    for place, piece in enumerate(pieces):
        hole = place and pieces[place - 1]._seq != piece._seq - piece.merged
        if hole:
            found += _collapsed(pieces[begin:place], log_entries)
            begin = place
    return found + _collapsed(pieces[begin:], log_entries)


def _collapsed(pieces: list[Pending], log_entries: int) -> list[Pending]:
    at = pieces[0]._seq - pieces[0].merged
    kept: list[Pending] = []
    for piece in pieces:
        into = next((one for one in kept if one._continues(piece.envelope())), None)
        if into is None:
            kept.append(piece)
        else:
            into._merge(piece.envelope(), log_entries)
    for piece in kept:
        at += piece.merged
        piece._seq, piece.due = at, pieces[0].due
    return kept


def _key(envelope: Envelope) -> tuple[Any, ...]:
    """What two envelopes must share to merge: all but time, position and content."""
    payload = envelope.payload
    kind = (payload["channel"], payload.get("tool_call_id")) if envelope.type == "llm_token" else (payload["kind"],)
    return (envelope.type, envelope.call_id, envelope.run_id, envelope.origin, *kind)


def _composed(first: Any, second: Any) -> Any:
    """One state delta for two: what a view holds after either is the same."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    both = {**first, **second}
    if "output" in first and "output" in second:
        both["output"] = {**first["output"], **second["output"]}
    if "files" in first and "files" in second:
        both["files"] = _files(first["files"], second["files"])
    return both


def _files(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    gone = set(second["removed"])
    fresh = {**second["added"], **second["changed"]}
    added = {name: file for name, file in first["added"].items() if name not in gone}
    changed = {name: file for name, file in first["changed"].items() if name not in gone}
    for name, file in fresh.items():
        # A file that was there before both is changed, however often it went and came.
        known = name in changed or name in first["removed"] or (name in second["changed"] and name not in added)
        (changed if known else added)[name] = file
    removed = [name for name in first["removed"] if name not in fresh]
    return {
        "added": added,
        "changed": changed,
        "removed": removed + [name for name in second["removed"] if name not in removed],
    }


def trimmed(envelope: Envelope, size: int) -> Envelope:
    """An update whose log texts are no longer than `size`, with a mark where characters are left out."""
    if envelope.payload["kind"] == "state":
        return envelope
    data = _trimmed(envelope.payload["data"], size)
    if data is envelope.payload["data"]:
        return envelope
    fields = envelope.to_dict() | {"payload": {**envelope.payload, "data": data}}
    return Envelope.from_dict(fields)


def _trimmed(value: Any, size: int) -> Any:
    """The value itself where nothing is too long."""
    if isinstance(value, str):
        if len(value) <= size:
            return value
        head, tail = value[: size // 2], value[-(size - size // 2) :]
        return f"{head}… [{len(value) - size} characters trimmed] …{tail}"
    if isinstance(value, dict):
        changed = {key: short for key, inner in value.items() if (short := _trimmed(inner, size)) is not inner}
        return {**value, **changed} if changed else value
    if isinstance(value, list):
        short = [_trimmed(inner, size) for inner in value]
        return short if any(new is not old for new, old in zip(short, value, strict=True)) else value
    return value
