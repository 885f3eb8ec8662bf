"""`make browser`: sees to it that there is a Chromium that starts, in the order of least trouble, or says the cure."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright

from runwire_graphs.browser.finding import UNPACKED, find_chromium
from runwire_graphs.errors import NoBrowser
from runwire_graphs.settings import Settings

SECONDS = 600
NPM = "@sparticuz/chromium@147"
UNPACK = "import('@sparticuz/chromium').then(async found => console.log(await found.default.executablePath()))"


def working(settings: Settings) -> tuple[str | None, str]:
    """The Chromium that is found and starts, or why there is none."""
    with sync_playwright() as playwright:
        try:
            path = find_chromium(settings, playwright.chromium.executable_path)
        except NoBrowser as error:
            return None, str(error)
        try:
            playwright.chromium.launch(executable_path=path, chromium_sandbox=os.geteuid() != 0).close()
        except PlaywrightError as error:
            return None, f"{path} does not start: {error.message.strip().splitlines()[0]}"
    return path, ""


def by_playwright(settings: Settings) -> str:
    return _run(sys.executable, "-m", "playwright", "install", "chromium")


def by_npm(settings: Settings) -> str:
    """An npm package that carries the browser in itself; it unpacks to the folder for temporary files."""
    folder = UNPACKED.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return str(error)
    failed = _run("npm", "install", "--no-save", "--prefix", str(folder), NPM)
    return failed or _run("node", "-e", UNPACK, cwd=folder, env={"TMPDIR": str(folder)})


def by_apt(settings: Settings) -> str:
    if os.geteuid() != 0:
        return "apt-get needs root"
    return _run("apt-get", "update") or _run("apt-get", "install", "-y", "--no-install-recommends", "chromium")


WAYS: dict[str, Callable[[Settings], str]] = {
    "Playwright's download": by_playwright,
    "the npm package that carries one": by_npm,
    "apt-get": by_apt,
}


def _run(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Why the command failed, in its own last words; empty if it did not."""
    if not shutil.which(command[0]):
        return f"there is no {command[0]}"
    try:
        done = subprocess.run(
            command, cwd=cwd, env=os.environ | (env or {}), capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"{command[0]} took more than {SECONDS} s"
    said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return (said[-1].strip() if said else f"exit code {done.returncode}") if done.returncode else ""


def main() -> int:
    settings = Settings.read()
    path, why = working(settings)
    for name, get in WAYS.items():
        if path:
            print(f"browser: {path}")
            return 0
        print(f"browser: {why}\nbrowser: trying {name} …", flush=True)
        if failed := get(settings):
            print(f"browser: that failed: {failed}")
        else:
            path, why = working(settings)
    print(f"browser: {path}" if path else f"browser: none could be had. {why}", file=sys.stdout if path else sys.stderr)
    return 0 if path else 1


if __name__ == "__main__":
    sys.exit(main())
