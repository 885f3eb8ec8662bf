"""The `events` mode: `astream_events` dicts, served or in-process. Nodes are tasks; models and tools are runs."""

import ast
import re
from typing import Any

from runwire_normalizers._run import Run
from runwire_normalizers._tasks import Task
from runwire_normalizers.coerce import error_facts
from runwire_normalizers.modes.messages import graph_namespace
from runwire_normalizers.parts import StreamPart

# Known, and nothing that is not told better by another event.
SILENT = frozenset(
    """
    on_chain_stream on_prompt_start on_prompt_stream on_prompt_end on_parser_start on_parser_stream on_parser_end
    on_retriever_start on_retriever_stream on_retriever_end on_chat_model_start on_llm_start
    """.split()
)
INTERRUPT = re.compile(r"Interrupt\(value=(?P<value>.*?), id='(?P<id>[0-9a-f]+)'[^()]*\)", re.S)
BUBBLES = frozenset({"GraphBubbleUp", "ParentCommand", "NodeInterrupt"})


def read_events(run: Run, part: StreamPart) -> None:
    event = part.data
    kind, data, meta = event["event"], event.get("data") or {}, event.get("metadata") or {}
    namespace = graph_namespace(meta)
    match kind:
        case "on_chain_start":
            _chain_start(run, event, data, meta, namespace)
        case "on_chain_end":
            _chain_end(run, event, data, meta, namespace)
        case "on_chain_error":
            _chain_error(run, event, data, meta, namespace)
        case "on_chat_model_stream" | "on_llm_stream":
            _model(run, event, data.get("chunk"), meta, namespace, False)
        case "on_chat_model_end" | "on_llm_end":
            _model(run, event, data.get("output"), meta, namespace, True)
        case "on_chat_model_error" | "on_llm_error":
            call = run.models.by_run.get(event["run_id"])
            if call:
                run.models.end(call, "error")
        case "on_tool_start":
            node = meta.get("langgraph_node")
            run.tools.run_started(namespace, event["run_id"], event["name"], data.get("input"), node)
        case "on_tool_end":
            run.tools.run_ended(event["run_id"], data.get("output"))
        case "on_tool_error":
            _tool_error(run, event, data, meta)
        case "on_custom_event":
            run.custom(namespace, data)
        case _ if kind not in SILENT:
            run.warn("unknown_event", f"an event of the unknown kind {kind}", event)


def _task(run: Run, event: dict[str, Any], meta: dict[str, Any]) -> Task | None:
    task = run.tasks.of_meta(meta)
    return task if task and task.run_id == event["run_id"] else None


def _chain_start(
    run: Run, event: dict[str, Any], data: dict[str, Any], meta: dict[str, Any], namespace: tuple[str, ...]
) -> None:
    run_id = event["run_id"]
    if run.root_chain == "unseen":
        run.root_chain = "open"
        run.root_run = run_id
        run.learn(meta)
    if event.get("name") != meta.get("langgraph_node") or not meta.get("langgraph_checkpoint_ns"):
        return
    known = run.tasks.of_meta(meta)
    if known and known.open and known.run_id and known.run_id != event["run_id"]:
        if known.run_id not in (event.get("parent_ids") or ()):
            run.tasks.retried(known, event["run_id"])
        return
    id = str(meta["langgraph_checkpoint_ns"]).rpartition(":")[2]
    task = run.tasks.start(namespace, id, event["name"], data.get("input"), event["run_id"])
    task.step = meta["langgraph_step"] if isinstance(meta.get("langgraph_step"), int) else 0


def _chain_end(
    run: Run, event: dict[str, Any], data: dict[str, Any], meta: dict[str, Any], namespace: tuple[str, ...]
) -> None:
    output = data.get("output")
    if event["run_id"] == run.root_run:
        run.root_chain = "ended"
        if isinstance(output, dict) and run.state_source != "values":
            run.graph(()).replace(output)
    elif task := _task(run, event, meta):
        run.tasks.end(namespace, task.id, task.name, output, None, [])


def _chain_error(
    run: Run, event: dict[str, Any], data: dict[str, Any], meta: dict[str, Any], namespace: tuple[str, ...]
) -> None:
    facts = error_facts(data.get("error"))
    if event["run_id"] == run.root_run:
        run.failure = run.failure or facts
    elif task := _task(run, event, meta):
        run.tasks.end(namespace, task.id, task.name, None, facts, [])


def _model(
    run: Run, event: dict[str, Any], said: Any, meta: dict[str, Any], namespace: tuple[str, ...], whole: bool
) -> None:
    run.models.sources.add("events")
    message = {"content": said, "type": "ai"} if isinstance(said, str) else said
    if not isinstance(message, dict):
        return
    if "content" not in message:
        message = {**message, "content": message.get("text", "")}
    message = {**message, "id": message.get("id") or f"lc_run--{event['run_id']}"}
    run.models.hear(namespace, message, meta, "events", whole, event["run_id"])


def _tool_error(run: Run, event: dict[str, Any], data: dict[str, Any], meta: dict[str, Any]) -> None:
    facts = error_facts(data.get("error"))
    task, call = run.tasks.of_meta(meta), run.tools.by_run.get(event["run_id"])
    if facts["error"] == "GraphInterrupt":
        if task:
            run.tasks.end(task.namespace, task.id, task.name, None, None, _interrupts(facts))
    elif facts["error"] in BUBBLES or call is None:
        return
    elif call.tool_call_id is None:
        run.calls.error(call, call.name, facts, call.node)
        run.tools.end(call, "error", None)
    else:
        call.pending_error = facts


def _interrupts(facts: dict[str, Any]) -> list[Any]:
    """In-process the exception holds them; the server tells only their repr."""
    if facts.get("args"):
        return [one for group in facts["args"] for one in (group if isinstance(group, list) else [group])]
    return [{"value": _literal(m["value"]), "id": m["id"]} for m in INTERRUPT.finditer(facts["message"] or "")]


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
