"""Every variable that the bundle reads, and nothing else reads one. `.env.example` explains them.

A value is checked when it is asked for, so that a wrong one fails the part that needs it and no other.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from runwire_graphs.errors import ConfigError

DEFAULT_MODEL = "gpt-4.1"
DEFAULT_COMPUTER_MODEL = "gpt-5.4"
STUDIO = "https://smith.langchain.com"
DEMO_PORT = "4024"
SHORTEST_KEY = 16


class Settings:
    """The environment, read. It holds keys, so it has no telling repr."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env

    @classmethod
    def read(cls, env: Mapping[str, str] | None = None) -> Self:
        return cls(os.environ if env is None else env)

    # The model.

    @property
    def openai_api_key(self) -> str | None:
        return self._env.get("OPENAI_API_KEY") or None

    @property
    def openai_base_url(self) -> str | None:
        return self._env.get("OPENAI_BASE_URL") or None

    @property
    def openai_model(self) -> str:
        return self._env.get("OPENAI_MODEL") or DEFAULT_MODEL

    @property
    def openai_api(self) -> Literal["chat", "responses"]:
        match self._env.get("RUNWIRE_OPENAI_API") or "chat":
            case "chat" | "responses" as told:
                return told
            case told:
                raise ConfigError(f"RUNWIRE_OPENAI_API must be chat or responses, not {told!r}")

    @property
    def has_openai(self) -> bool:
        """Whether a language model is configured at all."""
        return bool(self.openai_api_key or self.openai_base_url)

    # The computer.

    @property
    def computer(self) -> Literal["page", "desktop"]:
        match self._env.get("RUNWIRE_COMPUTER") or "page":
            case "page" | "desktop" as told:
                return told
            case told:
                raise ConfigError(f"RUNWIRE_COMPUTER must be page or desktop, not {told!r}")

    @property
    def computer_model(self) -> str:
        """Few models know the computer tool, so the default is not that of the other graphs."""
        told = self._env.get("RUNWIRE_COMPUTER_MODEL") or self._env.get("OPENAI_MODEL")
        return told or DEFAULT_COMPUTER_MODEL

    @property
    def computer_tool(self) -> Literal["computer", "functions"]:
        match self._env.get("RUNWIRE_COMPUTER_TOOL") or "computer":
            case "computer" | "functions" as told:
                return told
            case told:
                raise ConfigError(f"RUNWIRE_COMPUTER_TOOL must be computer or functions, not {told!r}")

    @property
    def computer_steps(self) -> int:
        return int(self._number("RUNWIRE_COMPUTER_STEPS", 50))

    @property
    def computer_seconds(self) -> float:
        return self._number("RUNWIRE_COMPUTER_SECONDS", 600)

    @property
    def computer_sandboxes(self) -> int:
        return int(self._number("RUNWIRE_COMPUTER_SANDBOXES", 4))

    @property
    def computer_kept_seconds(self) -> float:
        return self._number("RUNWIRE_COMPUTER_KEPT_SECONDS", 1800)

    # The browser.

    @property
    def chromium(self) -> str | None:
        return self._env.get("RUNWIRE_CHROMIUM") or None

    @property
    def browser_allow(self) -> tuple[str, ...]:
        return self._words("RUNWIRE_BROWSER_ALLOW")

    @property
    def browser_contexts(self) -> int:
        return int(self._number("RUNWIRE_BROWSER_CONTEXTS", 8))

    @property
    def browser_idle_seconds(self) -> float:
        return self._number("RUNWIRE_BROWSER_IDLE_SECONDS", 600)

    # Files and experts.

    @property
    def data(self) -> Path:
        return Path(self._env.get("RUNWIRE_DATA") or ".runwire")

    @property
    def files_root(self) -> Path:
        return Path(self._env.get("RUNWIRE_FILES_ROOT") or self.data / "files")

    @property
    def experts(self) -> Path | None:
        told = self._env.get("RUNWIRE_EXPERTS")
        return Path(told) if told else None

    # The server.

    @property
    def server_keys(self) -> Mapping[str, str]:
        """Owner by key, from `owner:key,owner:key`; the message must not repeat a key."""
        keys: dict[str, str] = {}
        for pair in self._words("RUNWIRE_SERVER_KEYS"):
            owner, _, key = (part.strip() for part in pair.partition(":"))
            if not owner or len(key) < SHORTEST_KEY:
                raise ConfigError(
                    f"RUNWIRE_SERVER_KEYS must be owner:key,owner:key with keys of {SHORTEST_KEY} characters or more"
                )
            keys[key] = owner
        return keys

    @property
    def allowed_origins(self) -> tuple[str, ...]:
        return self._words("RUNWIRE_ALLOWED_ORIGINS") or (STUDIO,)

    @property
    def demo_port(self) -> int | None:
        told = self._env.get("RUNWIRE_DEMO_PORT") or DEMO_PORT
        if told == "off":
            return None
        if told.isdecimal() and int(told) < 65536:
            return int(told)
        raise ConfigError(f"RUNWIRE_DEMO_PORT must be a port or off, not {told!r}")

    def _words(self, name: str) -> tuple[str, ...]:
        words = (self._env.get(name) or "").split(",")
        return tuple(word.strip().rstrip("/") for word in words if word.strip())

    def _number(self, name: str, default: float) -> float:
        told = self._env.get(name)
        try:
            number = float(told) if told else default
        except ValueError:
            number = -1
        if not number > 0:
            raise ConfigError(f"{name} must be a number above 0, not {told!r}")
        return number
