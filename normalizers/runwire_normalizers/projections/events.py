"""`EventProjection`: the typed events of a run from its envelopes, and nothing that these do not tell."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from runwire_normalizers.envelope import Envelope, EnvelopeType
from runwire_normalizers.events import (
    CompleteEvent,
    ContentEvent,
    CustomEvent,
    EndStatus,
    ErrorEvent,
    InterruptEvent,
    ParserEvent,
    ReasoningEvent,
    StateUpdateEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolExtractedEvent,
    ToolStatus,
    UsageEvent,
    is_single,
)
from runwire_normalizers.extractors import ToolExtractor

log = logging.getLogger("runwire_normalizers")

TOOL_STATUS: dict[str, ToolStatus] = {"ok": "success", "error": "error", "cancelled": "cancelled"}
FAILED = "the run failed"
END_STATUS: dict[str, EndStatus] = {"ok": "success", "error": "error", "cancelled": "cancelled"}


class _Call:
    """What the envelopes after a call's start leave out, and the error that it or a call under it told last."""

    __slots__ = ("error", "kind", "name", "namespace", "node", "started", "tool_call_id")

    def __init__(self, envelope: Envelope | None = None) -> None:
        payload = envelope.payload if envelope else {}
        self.kind: str = payload.get("kind", "model")
        self.name: str | None = payload.get("tool_name")
        self.node: str | None = payload.get("node")
        self.namespace: tuple[str, ...] = tuple(payload.get("namespace") or ())
        self.tool_call_id: str | None = payload.get("tool_call_id")
        self.started = envelope.ts if envelope else None
        self.error: ErrorEvent | None = None


class EventProjection:
    """`feed` it the envelopes of one run, in their order; the last event is a `CompleteEvent`."""

    def __init__(
        self,
        *,
        track_tool_lifecycle: bool = True,
        skip_tools: Collection[str] = (),
        include_state_updates: bool = False,
        extractors: Mapping[str, ToolExtractor] | None = None,
    ) -> None:
        self._tools = track_tool_lifecycle
        self._skipped = frozenset(skip_tools)
        self._state = include_state_updates
        self._extractors = extractors or {}
        self._calls: dict[str, _Call] = {}
        self._asked: set[str] = set()
        # Ends that were never answered: only the run's end tells whether that is worth an event.
        self._unanswered: list[ToolCallEndEvent] = []
        self.exception: Exception | None = None

    def feed(self, envelope: Envelope) -> list[ParserEvent]:
        """The events that one envelope brings about."""
        if envelope.type == "llm_token":
            return self._token(envelope)
        return list(_READERS[envelope.type](self, envelope))

    def knows(self, call_id: str) -> bool:
        """Whether a call is open, as far as it was told."""
        return call_id in self._calls

    def learn(self, envelope: Envelope) -> None:
        """A start that somebody else was told of, so that what follows it is understood."""
        self._calls[envelope.call_id] = _Call(envelope)

    def _token(self, e: Envelope) -> list[ParserEvent]:
        call, text = self._known(e), e.payload["text"]
        match e.payload["channel"]:
            case "text":
                # `_at`, written out: this is made once per token.
                space, above = call.namespace, e.parent_id
                return [
                    ContentEvent(
                        text,
                        "assistant",
                        call.node,
                        namespace=space,
                        agent=e.agent,
                        call_id=e.call_id,
                        parent_id=above,
                    )
                ]
            case "reasoning":
                return [ReasoningEvent(text, call.node, **self._at(e, call))]
        # Fragments of arguments: the call itself has them whole.
        return []

    def _at(self, e: Envelope, call: _Call) -> dict[str, Any]:
        return {"namespace": call.namespace, "agent": e.agent, "call_id": e.call_id, "parent_id": e.parent_id}

    def _known(self, e: Envelope) -> _Call:
        return self._calls.get(e.call_id) or _Call()

    def _shows(self, call: _Call) -> bool:
        return self._tools and call.name not in self._skipped

    def _start(self, e: Envelope) -> Iterator[ParserEvent]:
        call = self._calls[e.call_id] = _Call(e)
        if call.kind == "tool" and self._shows(call):
            id = call.tool_call_id or e.call_id
            yield ToolCallStartEvent(id, call.name, e.payload["args"], call.node, **self._at(e, call))

    def _resume(self, e: Envelope) -> Iterator[ParserEvent]:
        """A call that goes on was told of when it started."""
        self.learn(e)
        yield from ()

    def _update(self, e: Envelope) -> Iterator[ParserEvent]:
        payload, call = e.payload, self._known(e)
        at = self._at(e, call)
        if payload.get("namespace") is not None:
            at["namespace"] = tuple(payload["namespace"])
        if payload["kind"] == "custom":
            for data in payload["data"] if "merged" in payload else [payload["data"]]:
                yield CustomEvent(data, **at)
        elif payload["kind"] == "state" and self._state:
            for key, value in _written(payload["data"]):
                yield StateUpdateEvent(payload.get("node"), key, value, **at)

    def _model_end(self, e: Envelope) -> Iterator[ParserEvent]:
        call, usage = self._calls.pop(e.call_id, None) or _Call(), e.payload["usage"]
        if usage:
            yield UsageEvent(*_counts(usage), call.node, usage, **self._at(e, call))

    def _end(self, e: Envelope) -> Iterator[ParserEvent]:
        known = self._calls.pop(e.call_id, None)
        call = known or _Call()
        if e.parent_id is None:
            yield from self._complete(e, call)
            return
        if call.error and e.payload["status"] == "error":
            self._pass_up(call.error, e.parent_id)
        # Where nobody told the start, only a tool's result has a kind.
        if call.kind == "tool" or (known is None and _is_tool_result(e.payload["result"])):
            yield from self._tool_end(e, call)

    def _pass_up(self, error: ErrorEvent, parent_id: str) -> None:
        """What failed may have failed the graph around it, unless that told an error of its own or ends well."""
        above = self._calls.get(parent_id)
        if above and (above.error is None or above.error.call_id != parent_id):
            above.error = error

    def _tool_end(self, e: Envelope, call: _Call) -> Iterator[ParserEvent]:
        call.name, result = call.name or e.payload["tool_name"], _unwrapped(e.payload["result"])
        if e.payload["result"] is not None:
            yield from self._extracted(e, call, result)
        if not self._shows(call):
            return
        status = TOOL_STATUS[e.payload["status"]]
        told = call.error.error if call.error and status == "error" else None
        spent = None if e.ts is None or call.started is None else (e.ts - call.started) * 1000
        event = ToolCallEndEvent(
            call.tool_call_id or e.call_id, call.name, result, status, told, spent, **self._at(e, call)
        )
        if status == "cancelled":
            self._unanswered.append(event)
        else:
            yield event

    def _extracted(self, e: Envelope, call: _Call, result: Any) -> Iterator[ParserEvent]:
        extractor = self._extractors.get(call.name or "")
        if extractor is None:
            return
        try:
            found = extractor.extract(result)
        except Exception:  # an app's own code, which must not end the stream
            log.exception("the extractor of %r failed", call.name)
            return
        if found is not None:
            yield ToolExtractedEvent(call.name or "", extractor.extracted_type, found, **self._at(e, call))

    def _checkpoint(self, e: Envelope) -> Iterator[ParserEvent]:
        """Each question once, where it was asked; the graphs around it repeat it."""
        interrupts, call = e.payload["interrupts"], self._known(e)
        if interrupts is None:
            return
        for interrupt in interrupts:
            one = interrupt if isinstance(interrupt, dict) and "value" in interrupt else {"value": interrupt}
            id = one["id"] if isinstance(one.get("id"), str) else None
            if (key := id or repr(one)) not in self._asked:
                self._asked.add(key)
                yield _question(id, one["value"], self._at(e, call))
        if e.parent_id is None:
            if not interrupts:
                yield InterruptEvent([], [], **self._at(e, call))
            yield CompleteEvent("interrupted", **self._at(e, call))

    def _failed(self, e: Envelope) -> Iterator[ParserEvent]:
        """Whether the error is the run's is told by the run's end."""
        call, payload = self._calls.setdefault(e.call_id, _Call()), e.payload
        told = str(payload["message"] or payload["class"] or FAILED)
        call.error = ErrorEvent(told, None, payload["class"], payload["node"], **self._at(e, call))
        yield from ()

    def _complete(self, e: Envelope, root: _Call) -> Iterator[ParserEvent]:
        status, at = END_STATUS[e.payload["status"]], self._at(e, root)
        if status != "success":
            yield from self._unanswered
        if status == "error":
            yield replace(root.error or ErrorEvent(FAILED, **at), exception=self.exception)
        yield CompleteEvent(status, **at)

    def _warned(self, e: Envelope) -> Iterator[ParserEvent]:
        log.warning("%s: %s", e.payload["code"], e.payload["message"])
        yield from ()


_READERS: dict[EnvelopeType, Callable[[EventProjection, Envelope], Iterator[ParserEvent]]] = {
    "llm_start": EventProjection._start,
    "llm_end": EventProjection._model_end,
    "tool_start": EventProjection._start,
    "tool_update": EventProjection._update,
    "tool_end": EventProjection._end,
    "subgraph_checkpoint": EventProjection._checkpoint,
    "subgraph_resume": EventProjection._resume,
    "warning": EventProjection._warned,
    "error": EventProjection._failed,
}


def _question(id: str | None, value: Any, at: dict[str, Any]) -> InterruptEvent:
    asked = value if isinstance(value, dict) else {}
    actions = [asked] if is_single(value) else asked.get("action_requests")
    named = [{**one, "tool": one.get("name")} for one in _dicts(actions)]
    return InterruptEvent(named, _dicts(asked.get("review_configs")), value, id, **at)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _written(data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The keys of a state update as a node writes them: a file that is gone is null."""
    for key, value in data.items():
        if key == "output":
            yield from value.items()
        elif key == "files":
            yield key, {**value["added"], **value["changed"], **dict.fromkeys(value["removed"])}
        else:
            yield key, value


def _counts(usage: dict[str, Any]) -> tuple[int, int, int, int, int]:
    given, made = _count(usage, "input_tokens"), _count(usage, "output_tokens")
    details = usage.get("input_token_details")
    read, written = (_count(details, name) for name in ("cache_read", "cache_creation"))
    return given, made, _count(usage, "total_tokens") or given + made, read, written


def _count(told: Any, name: str) -> int:
    value = told.get(name) if isinstance(told, dict) else None
    return value if isinstance(value, int) else 0


def _is_tool_result(result: Any) -> bool:
    return isinstance(result, dict) and "kind" in result


def _unwrapped(result: Any) -> Any:
    """A tool's result without its kind: the text, the parsed JSON, or the fields of a table or a file."""
    match result:
        case {"kind": "text", "text": text} if len(result) == 2:
            return text
        case {"kind": "json", "data": data} if len(result) == 2:
            return data
    return result
