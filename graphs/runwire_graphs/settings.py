"""Every variable that the bundle reads, and nothing else reads one. `.env.example` explains them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from runwire_graphs.errors import ConfigError

DEFAULT_MODEL = "gpt-4.1"
STUDIO = "https://smith.langchain.com"


@dataclass(frozen=True, repr=False)
class Settings:
    """The environment, read. It holds keys, so it has no telling repr."""

    openai_api_key: str | None
    openai_base_url: str | None
    openai_model: str
    openai_api: Literal["chat", "responses"]
    chromium: str | None
    browser_allow: tuple[str, ...]
    browser_contexts: int
    browser_idle_seconds: float
    data: Path
    files_root: Path
    experts: Path | None
    server_keys: Mapping[str, str]
    allowed_origins: tuple[str, ...]
    demo_port: int | None

    @classmethod
    def read(cls, env: Mapping[str, str] | None = None) -> Self:
        env = os.environ if env is None else env
        data = Path(env.get("RUNWIRE_DATA") or ".runwire")
        return cls(
            openai_api_key=env.get("OPENAI_API_KEY") or None,
            openai_base_url=env.get("OPENAI_BASE_URL") or None,
            openai_model=env.get("OPENAI_MODEL") or DEFAULT_MODEL,
            openai_api=_api(env.get("RUNWIRE_OPENAI_API") or "chat"),
            chromium=env.get("RUNWIRE_CHROMIUM") or None,
            browser_allow=_words(env.get("RUNWIRE_BROWSER_ALLOW")),
            browser_contexts=int(_number(env, "RUNWIRE_BROWSER_CONTEXTS", 8)),
            browser_idle_seconds=_number(env, "RUNWIRE_BROWSER_IDLE_SECONDS", 600),
            data=data,
            files_root=Path(env.get("RUNWIRE_FILES_ROOT") or data / "files"),
            experts=Path(env["RUNWIRE_EXPERTS"]) if env.get("RUNWIRE_EXPERTS") else None,
            server_keys=_keys(env.get("RUNWIRE_SERVER_KEYS")),
            allowed_origins=_words(env.get("RUNWIRE_ALLOWED_ORIGINS")) or (STUDIO,),
            demo_port=_port(env.get("RUNWIRE_DEMO_PORT") or "4024"),
        )


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip().rstrip("/") for word in (text or "").split(",") if word.strip())


def _number(env: Mapping[str, str], name: str, default: float) -> float:
    told = env.get(name)
    try:
        number = float(told) if told else default
    except ValueError:
        number = -1
    if not number > 0:
        raise ConfigError(f"{name} must be a number above 0, not {told!r}")
    return number


def _api(told: str) -> Literal["chat", "responses"]:
    match told:
        case "chat" | "responses":
            return told
    raise ConfigError(f"RUNWIRE_OPENAI_API must be chat or responses, not {told!r}")


def _port(told: str) -> int | None:
    if told == "off":
        return None
    if told.isdecimal() and int(told) < 65536:
        return int(told)
    raise ConfigError(f"RUNWIRE_DEMO_PORT must be a port or off, not {told!r}")


def _keys(told: str | None) -> dict[str, str]:
    """Owner by key, from `owner:key,owner:key`; the message must not repeat a key."""
    keys: dict[str, str] = {}
    for pair in _words(told):
        owner, colon, key = pair.partition(":")
        if not (owner.strip() and colon and len(key.strip()) >= 16):
            raise ConfigError("RUNWIRE_SERVER_KEYS must be owner:key,owner:key with keys of 16 characters or more")
        keys[key.strip()] = owner.strip()
    return keys
