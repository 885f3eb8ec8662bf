"""The arguments of a tool, taken from a step's words by the names and types of the tool's schema."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runwire_graphs.scripted.words import STOP, files, numbers, quoted, stem, urls

ADDRESS = {"url", "address", "link", "uri"}
FILENAME = {"path", "file", "filename", "file_path", "table", "directory", "folder"}
PLACE = {"target", "field", "element", "label"}
BETWEEN = re.compile(r"\s+(?:into|in|to|as|with|onto|from)\s+", re.IGNORECASE)
NOUN = re.compile(r"^(?:(?:on|the|a|an|for|link|button|text|word|value|option|field|called|named|labelled)\s+)+", re.I)
# What comes behind is an argument of its own: the sum of the amount by region.
GROUPED = re.compile(r"\s+(?:by|per)\s+", re.IGNORECASE)
CONFIRMED = re.compile(r",?\s+and\s+(?:press(?:ing)?\s+(?:enter|return)|submit(?:\s+it)?)$", re.IGNORECASE)
TAIL = re.compile(r"\s+(?:link|button|field|box|option|tab|page|column|element|file|table)$", re.IGNORECASE)


@dataclass(frozen=True)
class Filled:
    """The arguments that were found, and the names of the required ones that were not."""

    args: dict[str, Any]
    missing: tuple[str, ...]


def fill(step: str, schema: Mapping[str, Any], known: Mapping[str, str]) -> Filled:
    """`known` are places that the instructions name, such as `demo site`, with their addresses."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = [name for name in schema.get("required", []) if name in properties]
    strings = [name for name in required if _kind(properties[name]) == "string" and name not in ADDRESS | FILENAME]
    confirmed, step = bool(CONFIRMED.search(step)), CONFIRMED.sub("", step)
    args: dict[str, Any] = {"submit": True} if confirmed and "submit" in properties else {}
    for name, told in properties.items():
        value = _value(step, name, told, strings, known)
        if value is not None and (name in required or _meant(step, name, told)):
            args[name] = value
    return Filled(args, tuple(name for name in required if name not in args))


def _kind(told: Mapping[str, Any]) -> str:
    if "enum" in told:
        return "enum"
    options = [one for one in told.get("anyOf", []) if one.get("type") != "null"]
    return _kind(options[0]) if options else str(told.get("type", "string"))


def _meant(step: str, name: str, told: Mapping[str, Any]) -> bool:
    """An optional argument is given only where the step speaks of it."""
    return (
        _kind(told) in ("enum", "integer", "number")
        or name in ADDRESS | FILENAME
        or _keyword(step, name) is not None
        or _kind(told) == "boolean"
    )


def _value(step: str, name: str, told: Mapping[str, Any], strings: list[str], known: Mapping[str, str]) -> Any:
    match _kind(told):
        case "enum":
            return _option(step, told)
        case "integer" | "number":
            return next(iter(numbers(step)), None)
        case "boolean":
            return True if stem(name) in {stem(word) for word in re.findall(r"[A-Za-z]+", step)} else None
        case "string" if name in ADDRESS:
            return next(iter(urls(step)), None) or _known(step, known)
        case "string" if name in FILENAME:
            return next(iter(files(step)), None) or _keyword(step, name)
        case "string" if name == "column":
            return GROUPED.split(_keyword(step, name) or _words(step, name, strings) or "")[0] or None
        case "string":
            return _keyword(step, name) or _words(step, name, strings)
    return None


def _option(step: str, told: Mapping[str, Any]) -> str | None:
    options: list[Any] = told.get("enum") or next((one["enum"] for one in told.get("anyOf", []) if "enum" in one), [])
    words = {stem(word) for word in re.findall(r"[A-Za-z]+", step)}
    return next((option for option in options if isinstance(option, str) and stem(option) in words), None)


def _known(step: str, known: Mapping[str, str]) -> str | None:
    return next((address for name, address in known.items() if name in step.lower()), None)


def _keyword(step: str, name: str) -> str | None:
    """`by region` is the argument `by`; `column amount` and `sum of amount` are the argument `column`."""
    for key in {"by": ["by", "per"], "column": ["column", "of"], "value": ["equals", "is"]}.get(name, [name]):
        if found := re.search(rf"\b{re.escape(key)}\s+(?:the\s+)?[\"'“]?([\w-]+)", step, re.IGNORECASE):
            return None if found[1].lower() in STOP else found[1]
    return None


def _words(step: str, name: str, strings: list[str]) -> str | None:
    """What is quoted, in the order of the schema, where places come last; else what stands before or after `into`."""
    rest = step.partition(" ")[2]
    parts = BETWEEN.split(rest, maxsplit=1)
    if name in PLACE and len(strings) > 1:
        return _noun(parts[1]) if len(parts) > 1 else None
    if len(strings) > 1 and not PLACE & set(strings) and len(said := quoted(step)) >= len(strings):
        return said[strings.index(name)]
    if said := quoted(parts[0]) or quoted(step):
        return said[0]
    if name in PLACE or len(strings) == 1:
        return _noun(rest if name in PLACE else parts[0])
    return _noun(parts[0]) if len(parts) > 1 else None


def _noun(text: str) -> str | None:
    said = quoted(text)
    return said[0] if said else TAIL.sub("", NOUN.sub("", text.strip())).strip() or None
