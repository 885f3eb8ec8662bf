"""Screenshots by reference: bytes in a folder under names that cannot be guessed, of which only the last are kept."""

import re
import secrets
from pathlib import Path
from typing import Any

from runwire_graphs.settings import Settings

KEPT = 500
NAME = re.compile(r"[A-Za-z0-9_-]{32}\.png")
ROUTE = "/runwire/shots/"


def keep_shot(png: bytes) -> dict[str, Any]:
    """Store a picture; gives the reference that goes into messages. It blocks: a file is written."""
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{secrets.token_urlsafe(24)}.png"
    (folder / name).write_bytes(png)
    _forget_old(folder)
    width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
    size = {"bytes": len(png), "width": width, "height": height}
    return {"kind": "file_ref", "filename": name, "mime": "image/png", "url": f"{ROUTE}{name}", **size}


def read_shot(name: str) -> bytes | None:
    """The picture of a reference, if it is still there; no other file, whatever the name. It blocks."""
    if not NAME.fullmatch(name):
        return None
    try:
        return (_folder() / name).read_bytes()
    except FileNotFoundError:
        return None


def _folder() -> Path:
    return Settings.read().data / "shots"


def _forget_old(folder: Path) -> None:
    shots = sorted(folder.glob("*.png"), key=lambda one: one.stat().st_mtime_ns)
    for old in shots[:-KEPT]:
        old.unlink(missing_ok=True)
