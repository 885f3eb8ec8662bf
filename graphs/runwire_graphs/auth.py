"""Who may use the server. Without keys: this machine's programs. With keys: their owners, each its own threads."""

import hmac
import ipaddress
from collections.abc import Mapping
from typing import Any

from langgraph_sdk import Auth

from runwire_graphs.settings import Settings

# No owner can be called so: a colon ends an owner's name.
LOCAL = ":local"
OWNER = "owner"
CURE = "Set RUNWIRE_SERVER_KEYS on the server and send one of the keys as x-api-key."

auth = Auth()


@auth.authenticate
async def authenticate(headers: dict[bytes, bytes], scope: dict[str, Any]) -> Auth.types.MinimalUserDict:
    keys = Settings.read().server_keys
    owner = _owner(headers, keys) if keys else _neighbour(scope)
    return {"identity": owner, "display_name": owner, "is_authenticated": True, "permissions": []}


def _owner(headers: Mapping[bytes, bytes], keys: Mapping[str, str]) -> str:
    given = _given(headers)
    # Every key is compared, so that the time taken tells nothing.
    found = [owner for key, owner in keys.items() if hmac.compare_digest(key.encode(), given)]
    if not found:
        raise Auth.exceptions.HTTPException(status_code=401, detail=f"No such key. {CURE}")
    return found[0]


def _given(headers: Mapping[bytes, bytes]) -> bytes:
    if key := headers.get(b"x-api-key"):
        return key
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


def _neighbour(scope: Mapping[str, Any]) -> str:
    host = (scope.get("client") or ("",))[0]
    try:
        near = ipaddress.ip_address(host).is_loopback
    except ValueError:
        near = False
    if not near:
        raise Auth.exceptions.HTTPException(status_code=401, detail=f"This server has no keys and is local. {CURE}")
    return LOCAL


@auth.on
async def own(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Auth.types.HandlerResult:
    """Whatever has no rule of its own belongs to whoever made it."""
    if ctx.user.identity == LOCAL:
        return None
    metadata = value.setdefault("metadata", {})
    if isinstance(metadata, dict):
        metadata[OWNER] = ctx.user.identity
    return {OWNER: ctx.user.identity}


@auth.on.assistants
async def shared(ctx: Auth.types.AuthContext, value: Any) -> Auth.types.HandlerResult:
    """The bundle's assistants serve everybody; where there are several owners, nobody changes them."""
    return ctx.action in ("read", "search") or ctx.user.identity == LOCAL


@auth.on.store
async def own_store(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Auth.types.HandlerResult:
    """Each owner's part of the store lies under its name."""
    if ctx.user.identity == LOCAL:
        return None
    namespace = tuple(value.get("namespace") or ())
    value["namespace"] = namespace if namespace[:1] == (ctx.user.identity,) else (ctx.user.identity, *namespace)
    return None
