"""Where the Chromium is: a variable, the system's, Playwright's own, then the one that `make browser` unpacked."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from runwire_graphs.errors import NoBrowser
from runwire_graphs.settings import Settings

SYSTEM = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "microsoft-edge")
# In the environment that serves, wherever its data are kept.
UNPACKED = Path(sys.prefix) / "share" / "runwire" / "chromium"
CURE = "Run `make browser` in the project (or `apt-get install -y chromium`), or set RUNWIRE_CHROMIUM to a Chromium."


def find_chromium(settings: Settings, playwrights: str) -> str:
    """The path of an executable; `playwrights` is where Playwright would have put its own. It blocks."""
    if settings.chromium:
        if found := shutil.which(settings.chromium):
            return found
        raise NoBrowser(f"RUNWIRE_CHROMIUM names {settings.chromium}, which is no program here. {CURE}")
    for candidate in _candidates(playwrights):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    raise NoBrowser(f"No Chromium was found for this graph. {CURE}")


def _candidates(playwrights: str) -> Iterator[str | None]:
    yield from (shutil.which(name) for name in SYSTEM)
    yield playwrights
    yield str(UNPACKED)
