"""Rule 6: ids are derived from facts, so that any stream mode, a rejoin, a resume and a replay give the same ones."""

import hashlib
from typing import Any
from uuid import UUID, uuid5

import orjson

from runwire_normalizers.coerce import json_safe

# uuid5 of the nil namespace and "runwire": fixed for ever, so that any language can derive the same ids.
NAMESPACE = uuid5(UUID(int=0), "runwire")

Namespace = tuple[str, ...]


def _derived(kind: str, *facts: str) -> str:
    return str(uuid5(NAMESPACE, "\x1f".join((kind, *facts))))


def root_call(trace: str) -> str:
    return _derived("run", trace)


def subgraph_call(trace: str, namespace: Namespace) -> str:
    return _derived("subgraph", trace, "|".join(namespace))


def tool_call(trace: str, namespace: Namespace, tool_call_id: str, use: int) -> str:
    return _derived("tool", trace, "|".join(namespace), tool_call_id, str(use))


def model_call(trace: str, message_id: str) -> str:
    return _derived("model", trace, canonical(message_id))


def signal_call(trace: str, call_id: str, name: str) -> str:
    return _derived("signal", trace, call_id, name)


def canonical(message_id: str) -> str:
    """Without the `-0` that the server adds to a message id when no token mode was asked for."""
    return message_id.removesuffix("-0")


def digest(value: Any) -> str:
    """sha256 of the canonical JSON: keys sorted, no spaces, UTF-8."""
    return hashlib.sha256(orjson.dumps(json_safe(value), option=orjson.OPT_SORT_KEYS)).hexdigest()


def trace_of(first: Any) -> str:
    """The trace of a stream that names no run: derived from its first part, which holds task or message ids."""
    return _derived("trace", digest(first))
