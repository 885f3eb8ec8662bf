"""The parent of one virtual desktop: starts a display, a window manager and a terminal, and ends with all of them.

It is a program of its own, on the standard library alone: `keeper.py WIDTH HEIGHT`. It tells where the desktop is in
one line of JSON and lives until its standard input closes, which happens however the server ends. NOT a security
sandbox: what runs on the desktop runs on this machine; if the server is root, at least as nobody.
"""

import ctypes
import json
import os
import pwd
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any

START_SECONDS = 20
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
# An authority's family that fits every host and display.
ANY_HOST = 65535

_libc = ctypes.CDLL(None, use_errno=True)


def main(width: str, height: str) -> None:
    """Until the server goes, by its will or not, or the display does."""
    signal.signal(signal.SIGTERM, _leave)
    # Whatever a program on the desktop leaves behind becomes a child of this process, and is ended with it.
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    folder = Path(tempfile.mkdtemp(prefix="runwire-desktop-"))
    try:
        display, number = _display(folder, width, height)
        _programs(folder, number)
        told = {"display": f":{number}", "authority": str(folder / "authority"), "folder": str(folder)}
        print(json.dumps(told), flush=True)
        select.select([sys.stdin, os.pidfd_open(display.pid)], [], [])
    finally:
        _end_all()
        shutil.rmtree(folder, ignore_errors=True)


def _display(folder: Path, width: str, height: str) -> tuple[subprocess.Popen[bytes], str]:
    """The X server on a display that it chooses, open to those alone who have the cookie."""
    folder.chmod(0o711)
    authority = folder / "authority"
    authority.touch(0o600)
    authority.write_bytes(_authority())
    told, writes = os.pipe()
    screen = ["-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp", "-auth", str(authority)]
    # Without -noreset the display starts anew whenever its last program leaves, and takes those with it that just came.
    command = ["Xvfb", "-displayfd", str(writes), "-noreset", *screen]
    process = subprocess.Popen(command, pass_fds=[writes], stderr=subprocess.DEVNULL, preexec_fn=_with_parent)
    os.close(writes)
    return process, _line(told)


def _line(told: int) -> str:
    """The number of the display. It comes in two writes, and the X server dies if nobody reads the second one."""
    number = b""
    while not number.endswith(b"\n"):
        ready, _, _ = select.select([told], [], [], START_SECONDS)
        part = os.read(told, 64) if ready else b""
        if not part:
            raise SystemExit("Xvfb did not start")
        number += part
    return number.decode().strip()


def _authority() -> bytes:
    """A file as xauth writes it, with one new cookie."""
    fields = [b"", b"", b"MIT-MAGIC-COOKIE-1", os.urandom(16)]
    return struct.pack(">H", ANY_HOST) + b"".join(struct.pack(">H", len(one)) + one for one in fields)


def _programs(folder: Path, number: str) -> None:
    """The window manager and a terminal. They get none of the server's variables, and a home of their own."""
    home = folder / "home"
    home.mkdir(0o700)
    who = _nobody(home, folder / "authority")
    env = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "SHELL": shutil.which("bash") or "/bin/sh",
        "PS1": "$ ",
        "DISPLAY": f":{number}",
        "XAUTHORITY": str(folder / "authority"),
        "HOSTNAME": socket.gethostname(),
    }
    how: dict[str, Any] = {"env": env, "cwd": home, "preexec_fn": _with_parent, **who}
    how |= dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    terminal = "xterm -title Terminal -geometry 100x30+60+60 -bg white -fg black +sb".split()
    subprocess.Popen(["openbox"], **how)
    _wait_for_manager(how)
    subprocess.Popen(terminal, **how)


def _wait_for_manager(how: dict[str, Any]) -> None:
    """Until it has told how many desktops there are: before, it would not manage the terminal."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and subprocess.run(["xdotool", "get_num_desktops"], **how).returncode:
        time.sleep(0.02)


def _nobody(*theirs: Path) -> dict[str, Any]:
    """Root gives its rights away."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    for path in theirs:
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _with_parent() -> None:
    """Should this process be killed, the kernel ends its children."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _end_all() -> None:
    """Every process that came of this one, also those that left their session."""
    while born := _children(os.getpid()):
        for pid in born:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for one in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            born = [int(child) for child in one.read_text().split()]
        except OSError:
            continue
        found += born + [later for child in born for later in _children(child)]
    return found


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit


if __name__ == "__main__":
    main(*sys.argv[1:3])
