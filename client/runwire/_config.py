"""Where the server is, how to be known there, and what a watcher puts up with."""

import os
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from runwire.errors import ConfigError

LOCAL = "http://127.0.0.1:2024"
URLS = ("RUNWIRE_URL", "LANGGRAPH_API_URL")
KEYS = ("RUNWIRE_API_KEY", "LANGGRAPH_API_KEY", "LANGSMITH_API_KEY", "LANGCHAIN_API_KEY")
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class WireLimits:
    """What a stream may be: bytes of a frame, of a line and of an id, and seconds without a byte until it is dead."""

    frame: int = 64 * MIB
    line: int = 64 * MIB
    id: int = 1024
    silence: float = 15.0


@dataclass(frozen=True, slots=True)
class Retry:
    """How often to try in a row without any progress, and how long to wait: from `first` doubling to `most` seconds."""

    attempts: int = 8
    first: float = 0.2
    most: float = 5.0

    def delay(self, failures: int, chance: float) -> float:
        """The wait after so many failures in a row; `chance`, between 0 and 1, spreads it over its upper half."""
        return min(self.most, self.first * 2.0 ** max(0, failures - 1)) * (0.5 + chance / 2)


@dataclass(frozen=True, slots=True)
class Server:
    """An address and the headers for it, which no text of this object shows."""

    url: str
    headers: dict[str, str]

    def __repr__(self) -> str:
        return f"Server({public_url(self.url)!r})"


def server(url: str | None, api_key: str | None, headers: dict[str, str] | None) -> Server:
    """From the arguments, then runwire's variables, then LangGraph's own, then the local default."""
    address = (url or _variable(URLS) or LOCAL).strip().rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{public_url(address)!r} is no address of a server: it begins with http:// or https://")
    key = (api_key or _variable(KEYS) or "").strip()
    if any(ord(character) < 33 or ord(character) > 126 for character in key):
        raise ConfigError("the API key has characters that cannot stand in a header")
    return Server(address, {**({"x-api-key": key} if key else {}), **(headers or {})})


def _variable(names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := os.environ.get(name, "").strip().strip("'\""))), None)


def public_url(url: str) -> str:
    """The address without a user and a password."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
