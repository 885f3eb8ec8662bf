"""Rule 9: keys, auth users and request configuration never enter a payload."""

import re
from typing import Any

from runwire_normalizers.coerce import MAX_DEPTH, TOO_DEEP

MARK = "[scrubbed]"

SECRET_NAMES = frozenset(
    """
    api_key apikey x_api_key openai_api_key anthropic_api_key langsmith_api_key authorization proxy_authorization
    cookie set_cookie password passwd secret client_secret private_key access_token refresh_token id_token auth_token
    bearer_token session_token x_auth_token x_auth_scheme configurable credentials
    """.split()
)
# A bare `token` is left alone: it is more often a piece of text than a key.
SECRET_ENDS = (
    "_password",
    "_passwd",
    "_secret",
    "_api_key",
    "_access_key",
    "_private_key",
    "_access_token",
    "_credentials",
)
HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
REQUEST_NAMES = frozenset("config parent_config headers langgraph_request_id".split())
SECRET_TEXT = re.compile(
    r"""(?isx)
    \b(?: sk|pk|rk|lsv2|ghp|gho|xox[abp] )[-_][A-Za-z0-9_\-]{12,}
    | \bBearer\s+[A-Za-z0-9._~+/=\-]{8,}
    | "(?P<name>(?:langgraph_auth[a-z_]*|[a-z_\-]*(?:api[_-]?key|authorization|password|secret|token|cookie)
        |configurable|config|headers|passwd|private_key))"\s*:.*
    """
)


def scrub(value: Any, depth: int = 0) -> Any:
    """A JSON value without the values of secret names, and no deeper than JSON writers go."""
    if isinstance(value, dict | list) and depth > MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, dict):
        return {k: MARK if is_secret(k) else scrub(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [scrub(item, depth + 1) for item in value]
    return value


def scrub_raw(value: Any, depth: int = 0) -> Any:
    """As `scrub`, and stricter, for data nobody understood: request configuration goes, and texts like keys."""
    if isinstance(value, dict | list) and depth > MAX_DEPTH:
        return TOO_DEEP
    if isinstance(value, dict):
        return {k: MARK if is_secret(k) or k in REQUEST_NAMES else scrub_raw(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [scrub_raw(item, depth + 1) for item in value]
    if isinstance(value, str):
        return SECRET_TEXT.sub(_masked, value)
    return value


def is_secret(name: str) -> bool:
    folded = HUMPS.sub("_", name).lower().replace("-", "_")
    return folded in SECRET_NAMES or folded.startswith("langgraph_auth") or folded.endswith(SECRET_ENDS)


def _masked(match: re.Match[str]) -> str:
    """Of text that is no JSON, nothing after a secret name can be trusted to lie outside its value."""
    return f'"{match["name"]}": {MARK}' if match["name"] else MARK
