"""The `messages` modes: chunks with their metadata, and the cumulative form that repeats the whole message."""

from typing import Any

from runwire_normalizers._messages import AI_TYPES, TOOL_TYPES, kind_of
from runwire_normalizers._run import Run
from runwire_normalizers.parts import StreamPart

CHUNK = "AIMessageChunk"
# Messages that nodes return and no model said: state, and no call.
OTHERS = frozenset(
    """
    human user system developer function chat remove HumanMessageChunk SystemMessageChunk FunctionMessageChunk
    ChatMessageChunk
    """.split()
)


def read_messages(run: Run, part: StreamPart) -> None:
    message, meta = part.data
    read_message(run, part.namespace, message, meta, message.get("type") != CHUNK)


def read_message(
    run: Run, namespace: tuple[str, ...], message: dict[str, Any], meta: dict[str, Any], whole: bool
) -> None:
    kind = kind_of(message)
    if kind in AI_TYPES:
        run.models.sources.add("messages")
        run.models.hear(namespace, message, meta, "messages", whole)
    elif kind in TOOL_TYPES:
        run.tools.hear(namespace, message, meta.get("langgraph_node"))
    elif kind not in OTHERS or not isinstance(meta, dict):
        raise ValueError(f"a message of the unknown type {kind}")


def graph_namespace(meta: dict[str, Any]) -> tuple[str, ...]:
    """The namespace of the graph that a task runs in: its path without itself and the `@task` calls around it."""
    segments = str(meta.get("langgraph_checkpoint_ns") or "").split("|")
    path: Any = meta.get("langgraph_path") or ()
    drop = 1
    while len(path) == 4 and path[0] == "__pregel_push" and path[-1] is True:
        drop, path = drop + 1, path[1]
    return tuple(segments[:-drop])


def read_messages_metadata(run: Run, part: StreamPart) -> None:
    run.cumulative.update({id: told.get("metadata") or {} for id, told in part.data.items()})


def read_messages_whole(run: Run, part: StreamPart) -> None:
    """`messages/partial` tells all that was said so far; what is new of it is found by position."""
    done = part.mode == "messages/complete"
    for message in part.data:
        meta = run.cumulative.get(message.get("id")) or {}
        namespace = part.namespace or graph_namespace(meta)
        kind = kind_of(message)
        if kind in AI_TYPES:
            run.models.sources.add("messages")
            run.models.hear_so_far(
                namespace, message, meta, done or (kind == "ai" and not part.mode.endswith("partial"))
            )
        elif kind in TOOL_TYPES:
            run.tools.answer(namespace, message, meta.get("langgraph_node"))
