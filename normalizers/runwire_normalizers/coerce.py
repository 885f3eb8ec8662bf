"""Any Python value to a dict or to JSON-safe data. Foreign objects are met by their shape, never by import."""

import base64
import dataclasses
import json
import math
import traceback
from collections.abc import Callable, Mapping, Set
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

MAX_DEPTH = 64
CYCLE = "[cycle]"
TOO_DEEP = "[too deep]"


def coerce_to_dict(obj: Any) -> dict[str, Any]:
    """A dict of whatever a stream hands out: mapping, `model_dump`, `dict`, `to_json`, attributes, text, repr."""
    if obj is None:
        return {}
    if isinstance(obj, Mapping):
        return dict(obj)
    dumped = _dumped(obj)
    if dumped is not None:
        return dumped
    parsed = _parsed(obj)
    if parsed is not None:
        return parsed
    if hasattr(obj, "__dict__"):
        return {k: v for k, v in vars(obj).items() if not k.startswith("_")}
    if isinstance(obj, bytes | bytearray):
        return {"text": obj.decode(errors="replace")}
    if isinstance(obj, str):
        return {"text": obj}
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        return _fields(obj)
    return {"repr": _words(repr, obj)}


def _words(write: Callable[[Any], str], obj: Any) -> str:
    """`str` or `repr` of a foreign object, or its class where that raises."""
    try:
        return _text(write(obj))
    except Exception:  # foreign code again
        return f"<{type(obj).__name__}>"


def _dumped(obj: Any) -> dict[str, Any] | None:
    for name in ("model_dump", "dict"):
        method = getattr(obj, name, None)
        if callable(method):
            try:
                result = method()
            except Exception:  # foreign code: whatever it raises, the next attempt follows
                continue
            if isinstance(result, Mapping):
                return dict(result)
    return None


def _parsed(obj: Any) -> dict[str, Any] | None:
    to_json = getattr(obj, "to_json", None)
    if not callable(to_json):
        return None
    try:
        result = json.loads(to_json())
    except Exception:  # as above; langchain's own `to_json` gives a dict and ends here
        return None
    return dict(result) if isinstance(result, Mapping) else None


def _fields(obj: Any) -> dict[str, Any]:
    return {field.name: getattr(obj, field.name) for field in dataclasses.fields(obj)}


def json_safe(obj: Any) -> Any:
    """The value as JSON can carry it: bytes marked, dates and UUIDs as text, NaN and infinity null, no value lost."""
    return _safe(obj, 0, set())


def _safe(obj: Any, depth: int, above: set[int]) -> Any:
    if obj is None or obj is True or obj is False or type(obj) is str:
        return obj if type(obj) is not str or obj.isascii() else _text(obj)
    if type(obj) is int:
        return _int(obj)
    if isinstance(obj, float):
        return float(obj) if math.isfinite(obj) else None
    plain = _scalar(obj)
    if plain is not _NOT_SCALAR:
        return plain
    if depth >= MAX_DEPTH:
        return TOO_DEEP
    if id(obj) in above:
        return CYCLE
    above.add(id(obj))
    try:
        return _container(obj, depth + 1, above)
    finally:
        above.discard(id(obj))


def _int(number: int) -> int | str:
    """JSON writers stop at 64 bits; beyond, the digits are text."""
    return number if -(2**63) <= number < 2**64 else str(number)


def _text(text: str) -> str:
    """Lone surrogates cannot be UTF-8; everything else stays."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass").decode(errors="replace")
    return text


_NOT_SCALAR = object()


def _scalar(obj: Any) -> Any:
    if isinstance(obj, Enum):
        return json_safe(obj.value)
    if isinstance(obj, str):
        return _text(str(obj))
    if isinstance(obj, int):
        return _int(int(obj))
    if isinstance(obj, date | time):
        return obj.isoformat()
    if isinstance(obj, timedelta):
        return obj.total_seconds()
    if isinstance(obj, UUID | Decimal | PurePath):
        return _text(str(obj))
    if isinstance(obj, bytes | bytearray | memoryview):
        return {"$bytes": base64.b64encode(bytes(obj)).decode()}
    if callable(getattr(obj, "get_secret_value", None)):
        return str(obj)
    return _NOT_SCALAR


def _container(obj: Any, depth: int, above: set[int]) -> Any:
    if isinstance(obj, Mapping):
        return _object(obj, depth, above)
    if isinstance(obj, list | tuple | Set) or _iterates(obj):
        if isinstance(obj, tuple) and hasattr(obj, "_asdict"):
            return _safe(obj._asdict(), depth, above)
        return [_safe(item, depth, above) for item in obj]
    if isinstance(obj, BaseException):
        return error_facts(obj)
    if isinstance(obj, type):
        return obj.__qualname__
    if hasattr(type(obj), "model_fields") or hasattr(type(obj), "__pydantic_fields__"):
        return _safe(_model(obj), depth, above)
    if dataclasses.is_dataclass(obj):
        return _safe(_fields(obj), depth, above)
    return _safe(coerce_to_dict(obj), depth, above)


def _object(obj: Mapping[Any, Any], depth: int, above: set[int]) -> dict[str, Any]:
    """Keys as text; one that another key has become already gets a number."""
    result: dict[str, Any] = {}
    for key, value in obj.items():
        name = text = _key(key)
        while name in result:
            name = f"{text}#{len(result)}"
        result[name] = _safe(value, depth, above)
    return result


def _iterates(obj: Any) -> bool:
    """Deques, ranges and dict views: sized, iterable and not text."""
    return type(obj).__module__ in {"collections", "builtins"} and hasattr(obj, "__len__") and hasattr(obj, "__iter__")


def _key(key: Any) -> str:
    if isinstance(key, str):
        return _text(str(key))
    safe = json_safe(key)
    return safe if isinstance(safe, str) else json.dumps(safe, sort_keys=True)


def _model(obj: Any) -> dict[str, Any]:
    """A Pydantic value with the fields of its real class, not only those that the annotation above it knows."""
    try:
        return dict(obj.model_dump(serialize_as_any=True, warnings=False))
    except Exception:  # a serializer of the user's may raise anything; the attributes are still there
        return {**vars(obj), **(getattr(obj, "model_extra", None) or {})}


def _stack(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def error_facts(error: Any) -> dict[str, Any]:
    """What an error tells, in the shape the server gives it: class, message, and the stack where there is one."""
    if isinstance(error, BaseException):
        stack = _words(_stack, error) if error.__traceback__ else None
        facts = {"error": type(error).__name__, "message": _words(str, error), "stack": stack}
        return facts | ({"args": json_safe(error.args)} if type(error).__name__ == "GraphInterrupt" else {})
    if isinstance(error, Mapping):
        known = {"error": error.get("error"), "message": error.get("message"), "stack": error.get("stack")}
        return known | ({"args": error["args"]} if "args" in error else {})
    return {"error": None, "message": None if error is None else _words(str, error), "stack": None}
