"""`make serve`: starts `langgraph dev` with the bundle, waits until it answers, and says how to use it."""

import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import FrameType
from urllib.error import URLError
from uuid import uuid4

from dotenv import dotenv_values

from runwire_graphs.computer.backends.desktop import WARNING
from runwire_graphs.errors import ConfigError
from runwire_graphs.models import describe
from runwire_graphs.settings import Settings

PORT = 2024
TRIES = 200
JOBS = 10
START_SECONDS = 120
STOP_SECONDS = 20
FLAGS = ["--no-browser", "--no-reload", "--n-jobs-per-worker", str(JOBS)]


def free_port(host: str, wanted: int) -> int:
    """The wanted port or the next one that is free."""
    for port in range(wanted, wanted + TRIES):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise ConfigError(f"no port from {wanted} to {wanted + TRIES} is free; name one: make serve PORT=…")


def check_bind(host: str, settings: Settings) -> None:
    """A server that others can reach needs keys."""
    near = host == "localhost" or ipaddress.ip_address(host).is_loopback
    if not settings.server_keys and not near:
        raise ConfigError(f"{host} is not local: set RUNWIRE_SERVER_KEYS before you serve others")


def help_text(url: str, demo: str | None, settings: Settings) -> str:
    """What a newcomer can paste."""
    ask = "open the demo site and tell me its title and text" if demo else "open https://example.com and read it"
    body = {
        "assistant_id": "assist_with_playwright",
        "if_not_exists": "create",
        "input": {"messages": [{"role": "user", "content": ask}]},
    }
    key = ["-H 'x-api-key: YOUR_KEY'"] if settings.server_keys else []
    curl = ["curl -N", f"{url}/threads/{uuid4()}/runs/stream", "-H 'content-type: application/json'", *key]
    lines = [
        f"server      {url}    (API docs: {url}/docs)",
        f"demo site   {demo or 'off'}",
        f"model       {describe(settings)}",
        f"computer    {describe_computer(settings)}",
        "",
        f"export RUNWIRE_URL={url}",
        "",
        " ".join([*curl, f"-d '{json.dumps(body)}'"]),
    ]
    return "\n".join(["", *lines, "", "Ctrl-C stops it.", ""])


def describe_computer(settings: Settings) -> str:
    """What computer_use uses. A wrong setting fails its runs, not the server."""
    try:
        return "a browser page" if settings.computer == "page" else f"a virtual desktop. {WARNING}"
    except ConfigError as error:
        return str(error)


def wait_for(url: str, process: subprocess.Popen[bytes]) -> str | None:
    """Wait until the server answers; gives the address of the demo site."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            return _demo(url)
        except (URLError, OSError, ValueError):
            time.sleep(0.2)
    raise ConfigError(f"the server did not answer at {url}; its own messages are above")


def _demo(url: str) -> str | None:
    request = urllib.request.Request(f"{url}/runwire/about", headers=_keys())
    with urllib.request.urlopen(request, timeout=5) as answer:
        demo = json.load(answer).get("demo")
        return str(demo) if demo else None


def _keys() -> dict[str, str]:
    return {"x-api-key": next(iter(Settings.read().server_keys), "")}


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def read_env_file(path: Path) -> None:
    """Take over what the file sets, as `langgraph dev` will: its word counts more than the shell's."""
    os.environ.update({name: value for name, value in dotenv_values(path).items() if value is not None})


def main(arguments: list[str]) -> int:
    read_env_file(Path(".env"))
    settings, host = Settings.read(), os.environ.get("HOST") or "127.0.0.1"
    try:
        check_bind(host, settings)
        port = free_port(host, int(os.environ.get("PORT") or PORT))
    except ConfigError as error:
        print(f"serve: {error}", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--host", host, "--port", str(port), *FLAGS, *arguments]
    quiet = {"LOG_LEVEL": "WARNING", "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
    # In a group of its own, so that Ctrl-C reaches it once, from here.
    process = subprocess.Popen(command, env=quiet | os.environ, start_new_session=True)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        print(help_text(url, wait_for(url, process), settings), flush=True)
        return process.wait()
    except KeyboardInterrupt:
        return 0
    except ConfigError as error:
        print(f"serve: {error}", file=sys.stderr)
        return 1
    finally:
        _stop(process)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
