"""A server on loopback that speaks OpenAI's API, Chat Completions and Responses, streamed and not, computer calls too.

What it answers is decided by a `Mind`: a function of the messages and the tools of the request. `keyless` is the
bundle's own model behind the wire, so that whole runs of the graphs go through the real langchain-openai.
"""

import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from langchain_core.messages import convert_to_messages

from runwire_graphs.scripted.brain import think

KEY = "sk-loopback-0123456789"
USAGE = {"input": 11, "output": 7}


@dataclass(frozen=True)
class Said:
    """What the model says, or the error that it answers with."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    reasoning: str = ""
    refusal: str | None = None
    # A computer call: its actions, and the safety checks that are pending for it.
    actions: tuple[dict[str, Any], ...] = ()
    checks: tuple[dict[str, Any], ...] = ()
    incomplete: str | None = None
    error: tuple[int, str] | None = None
    # The connection ends after this many chunks.
    cut_after: int | None = None


Mind = Callable[[list[Any], list[Any], str | None], Said]


def keyless(messages: list[Any], tools: list[Any], forced: str | None) -> Said:
    reply = think(convert_to_messages(messages), tools, forced)
    return Said(reply.text, tuple((call.name, call.args) for call in reply.calls))


@dataclass
class OpenAIServer:
    """Its address, what it thinks with, and the requests that it got."""

    url: str
    mind: Mind = keyless
    requests: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def serve_openai(mind: Mind = keyless) -> Iterator[OpenAIServer]:
    held: list[OpenAIServer] = []

    class Handler(_Handler):
        owner = held

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    held.append(OpenAIServer(f"http://127.0.0.1:{server.server_address[1]}/v1", mind))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield held[0]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    owner: list[OpenAIServer]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.owner[0].requests.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            self._json(401, {"error": {"message": f"Incorrect API key provided: {self.headers['Authorization']}"}})
            return
        responses = self.path.endswith("/responses")
        if responses and (fault := _fault(body)):
            self._json(400, {"error": {"message": fault, "type": "invalid_request_error", "code": None}})
            return
        said = self.owner[0].mind(*(_of_responses(body) if responses else _of_chat(body)))
        if said.error:
            self._json(said.error[0], {"error": {"message": said.error[1], "type": "test", "code": None}})
        elif body.get("stream"):
            events = _responses_events(said, body) if responses else _chat_chunks(said, body)
            self._stream(list(events), said.cut_after, done=not responses)
        else:
            self._json(200, _response(said, body) if responses else _completion(said, body))

    def _json(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: list[dict[str, Any]], cut: int | None, done: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in events[:cut]:
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
        if done and cut is None:
            self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


# What a request asks, for a mind.


def _of_chat(body: dict[str, Any]) -> tuple[list[Any], list[Any], str | None]:
    choice = body.get("tool_choice")
    forced = choice["function"]["name"] if isinstance(choice, dict) else None
    return body["messages"], body.get("tools", []), forced


def _of_responses(body: dict[str, Any]) -> tuple[list[Any], list[Any], str | None]:
    choice = body.get("tool_choice")
    told = [_message(item) for item in body["input"]] if isinstance(body["input"], list) else [body["input"]]
    tools = (
        [{"type": "function", "function": tool} if tool["type"] == "function" else tool for tool in body["tools"]]
        if body.get("tools")
        else []
    )
    return [one for one in told if one], tools, choice["name"] if isinstance(choice, dict) else None


def _message(item: dict[str, Any]) -> dict[str, Any] | None:
    match item.get("type", "message"):
        case "function_call":
            function = {"name": item["name"], "arguments": item["arguments"]}
            return {"role": "assistant", "content": "", "tool_calls": [{"id": item["call_id"], "function": function}]}
        case "function_call_output":
            return {"role": "tool", "content": _text(item["output"]), "tool_call_id": item["call_id"]}
        case "computer_call_output":
            return {
                "role": "tool",
                "content": "",
                "tool_call_id": item["call_id"],
                "picture": item["output"]["image_url"],
            }
        case "message":
            return {"role": item["role"], "content": _text(item["content"])}
    return None


def _fault(body: dict[str, Any]) -> str | None:
    """What the API refuses in a request with computer calls."""
    items = body["input"] if isinstance(body["input"], list) else []
    calls = {item["call_id"]: item for item in items if item.get("type") == "computer_call"}
    outputs = {item["call_id"]: item for item in items if item.get("type") == "computer_call_output"}
    if (
        any(tool["type"] == "computer_use_preview" for tool in body.get("tools", []))
        and body.get("truncation") != "auto"
    ):
        return "computer_use_preview requires truncation to be auto"
    if calls.keys() != outputs.keys():
        return f"computer calls without an output, or outputs without a call: {sorted(calls.keys() ^ outputs.keys())}"
    for id, output in outputs.items():
        if not output["output"]["image_url"].startswith("data:image/png;base64,"):
            return f"{id} has no screenshot"
        pending = {check["id"] for check in calls[id].get("pending_safety_checks", [])}
        if pending != {check["id"] for check in output.get("acknowledged_safety_checks", [])}:
            return f"the safety checks of {id} are not acknowledged"
    return None


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


# Chat Completions.


def _completion(said: Said, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None, "refusal": said.refusal}
    if said.calls:
        message["tool_calls"] = [_chat_call(name, args) for name, args in said.calls]
    finish = "tool_calls" if said.calls else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    return {**_chat_head(body), "object": "chat.completion", "choices": [choice], "usage": _chat_usage()}


def _chat_head(body: dict[str, Any]) -> dict[str, Any]:
    return {"id": f"chatcmpl-{secrets.token_hex(8)}", "created": int(time.time()), "model": body["model"]}


def _chat_call(name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"call_{secrets.token_hex(8)}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(args)},
    }


def _chat_usage() -> dict[str, Any]:
    return {
        "prompt_tokens": USAGE["input"],
        "completion_tokens": USAGE["output"],
        "total_tokens": sum(USAGE.values()),
        "prompt_tokens_details": {"audio_tokens": 0, "cached_tokens": 0},
        "completion_tokens_details": {"audio_tokens": 0, "reasoning_tokens": 0},
    }


def _chat_chunks(said: Said, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    head = {**_chat_head(body), "object": "chat.completion.chunk"}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]}

    yield chunk({"role": "assistant", "content": ""})
    for start in range(0, len(said.text), 6):
        yield chunk({"content": said.text[start : start + 6]})
    for index, (name, args) in enumerate(said.calls):
        call = _chat_call(name, args)
        arguments = call["function"]["arguments"]
        call["function"]["arguments"] = ""
        yield chunk({"tool_calls": [{"index": index, **call}]})
        for start in range(0, len(arguments), 8):
            part = {"index": index, "function": {"arguments": arguments[start : start + 8]}}
            yield chunk({"tool_calls": [part]})
    yield chunk({}, "tool_calls" if said.calls else "stop")
    yield {**head, "choices": [], "usage": _chat_usage()}


# Responses.


def _items(said: Said, body: dict[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if said.reasoning:
        summary = [{"type": "summary_text", "text": said.reasoning}]
        items.append({"type": "reasoning", "id": f"rs_{secrets.token_hex(8)}", "summary": summary})
    if said.text or said.refusal:
        part = {"type": "output_text", "text": said.text, "annotations": []}
        if said.refusal:
            part = {"type": "refusal", "refusal": said.refusal}
        head = {"type": "message", "id": f"msg_{secrets.token_hex(8)}", "role": "assistant", "status": "completed"}
        items.append({**head, "content": [part]})
    if said.actions or said.checks:
        items.append(_computer_call(said, body))
    for name, args in said.calls:
        ids = {"id": f"fc_{secrets.token_hex(8)}", "call_id": f"call_{secrets.token_hex(8)}"}
        items.append(
            {"type": "function_call", **ids, "name": name, "arguments": json.dumps(args), "status": "completed"}
        )
    return items


def _computer_call(said: Said, body: dict[str, Any]) -> dict[str, Any]:
    """In the form of the tool that the request brought: one action in the preview's, else several."""
    preview = any(tool["type"] == "computer_use_preview" for tool in body["tools"])
    actions = {"action": said.actions[0]} if preview else {"actions": list(said.actions)}
    ids = {"id": f"cu_{secrets.token_hex(8)}", "call_id": f"call_{secrets.token_hex(8)}"}
    return {
        "type": "computer_call",
        **ids,
        **actions,
        "pending_safety_checks": list(said.checks),
        "status": "completed",
    }


def _response(said: Said, body: dict[str, Any]) -> dict[str, Any]:
    return _whole(said, body, _items(said, body), f"resp_{secrets.token_hex(8)}")


def _whole(said: Said, body: dict[str, Any], items: list[dict[str, Any]], id: str) -> dict[str, Any]:
    if said.incomplete:
        return {**_envelope(body, "incomplete", items, id), "incomplete_details": {"reason": said.incomplete}}
    return _envelope(body, "completed", items, id)


def _envelope(body: dict[str, Any], status: str, items: list[dict[str, Any]], id: str) -> dict[str, Any]:
    usage = {
        "input_tokens": USAGE["input"],
        "output_tokens": USAGE["output"],
        "total_tokens": sum(USAGE.values()),
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {
        "id": id,
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "model": body["model"],
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "usage": usage if status == "completed" else None,
    }


def _responses_events(said: Said, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    items, id = _items(said, body), f"resp_{secrets.token_hex(8)}"
    events: list[dict[str, Any]] = [{"type": "response.created", "response": _envelope(body, "in_progress", [], id)}]
    for index, item in enumerate(items):
        events += _item_events(index, item)
    end = "response.incomplete" if said.incomplete else "response.completed"
    events.append({"type": end, "response": _whole(said, body, items, id)})
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


def _item_events(index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    at = {"item_id": item["id"], "output_index": index}
    empty = {**item, "status": "in_progress"}
    inner: list[dict[str, Any]] = []
    match item["type"]:
        case "reasoning":
            empty = {**item, "summary": []}
            text, at = item["summary"][0]["text"], {**at, "summary_index": 0}
            blank = {"type": "summary_text", "text": ""}
            inner = [{"type": "response.reasoning_summary_part.added", **at, "part": blank}]
            inner += _deltas("response.reasoning_summary_text.delta", at, text)
            inner.append({"type": "response.reasoning_summary_text.done", **at, "text": text})
            inner.append({"type": "response.reasoning_summary_part.done", **at, "part": item["summary"][0]})
        case "message":
            empty["content"] = []
            inner = _part_events(item["content"][0], {**at, "content_index": 0})
        case "function_call":
            empty["arguments"] = ""
            inner = _deltas("response.function_call_arguments.delta", at, item["arguments"])
            inner.append({"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]})
    added = {"type": "response.output_item.added", "output_index": index, "item": empty}
    return [added, *inner, {"type": "response.output_item.done", "output_index": index, "item": item}]


def _part_events(part: dict[str, Any], at: dict[str, Any]) -> list[dict[str, Any]]:
    kind = "refusal" if part["type"] == "refusal" else "output_text"
    key = "refusal" if kind == "refusal" else "text"
    blank = {**part, key: ""}
    return [
        {"type": "response.content_part.added", **at, "part": blank},
        *_deltas(f"response.{kind}.delta", at, part[key]),
        {"type": f"response.{kind}.done", **at, key: part[key]},
        {"type": "response.content_part.done", **at, "part": part},
    ]


def _deltas(kind: str, at: dict[str, Any], text: str) -> list[dict[str, Any]]:
    more: dict[str, Any] = {"logprobs": []} if kind == "response.output_text.delta" else {}
    return [{"type": kind, **at, "delta": text[start : start + 8], **more} for start in range(0, len(text), 8)]
