"""A virtual desktop as a computer: a display without a screen, a window manager, a terminal.

NOT A SECURITY SANDBOX. Its programs run on this machine, with its files and its network, as the user of the server (as
nobody, if that is root). It is there when RUNWIRE_COMPUTER=desktop asks for it, and never otherwise.
"""

import asyncio
import json
import logging
import math
import os
import re
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from runwire_graphs.computer import keeper
from runwire_graphs.computer.actions import Action
from runwire_graphs.computer.backends import HEIGHT, WIDTH
from runwire_graphs.computer.keys import find_key
from runwire_graphs.errors import ComputerError, NoComputer

log = logging.getLogger("runwire.computer")

# Each program, and the Debian package that has it.
PARTS = {
    "Xvfb": "xvfb",
    "openbox": "openbox",
    "xterm": "xterm",
    "xdotool": "xdotool",
    "scrot": "scrot",
    "xclip": "xclip",
    "xwininfo": "x11-utils",
}
CURE = (
    f"Run `make desktop` in the project as root (or `apt-get install -y {' '.join(PARTS.values())}`), "
    "or use a browser page: RUNWIRE_COMPUTER=page."
)
WARNING = "The desktop is NOT a security sandbox: what the model does there, it does on this machine."
START_SECONDS = 30.0
COMMAND_SECONDS = 20.0
SETTLE_SECONDS = 0.25
STOP_SECONDS = 10.0
BUTTONS = {"left": "1", "wheel": "2", "right": "3", "back": "8", "forward": "9"}
DRAG_SECONDS = "0.05"
LOOKS, LOOK_SECONDS = 200, 0.05
NOTCH = 120
NOTCHES = 30
SHAPE = re.compile(r"^\s+(\d+) .*\s(\d+)x(\d+)[+-]\d+[+-]\d+\s+\+(-?\d+)\+(-?\d+)$", re.MULTILINE)


def missing_parts() -> list[str]:
    """The programs that are not installed. It blocks."""
    return [name for name in PARTS if not shutil.which(name)]


class DesktopComputer:
    """One display, by the programs that act on it."""

    environment = "linux"

    def __init__(self, process: asyncio.subprocess.Process, display: str, authority: str, folder: str) -> None:
        self._process = process
        self._env = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
        self._env |= {"DISPLAY": display, "XAUTHORITY": authority}
        self._picture = Path(folder) / "screen.png"

    async def ready(self) -> None:
        """Wait until the terminal is in front; a window manager that is just starting may miss a window."""
        for _ in range(LOOKS):
            with suppress(ComputerError):
                await self._xdotool("getactivewindow")
                return
            await asyncio.sleep(LOOK_SECONDS)
            await self._xdotool("search", "--class", "xterm", "windowmap", "windowactivate", check=False)
        raise NoComputer(f"The virtual desktop shows no window. {CURE}")

    async def act(self, action: Action) -> None:
        for point in action.points:
            if not (0 <= point.x < WIDTH and 0 <= point.y < HEIGHT):
                raise ComputerError(f"({point.x}, {point.y}) is outside of the screen of {WIDTH} x {HEIGHT}.")
        await self._act(action)
        if action.type not in ("screenshot", "wait"):
            await asyncio.sleep(SETTLE_SECONDS)

    async def _act(self, action: Action) -> None:
        match action.type:
            case "click" | "double_click" | "move":
                await self._point(action)
            case "drag":
                await self._drag(action)
            case "keypress":
                await self._xdotool("key", "--clearmodifiers", "+".join(find_key(name).x for name in action.keys))
            case "scroll":
                await self._scroll(action)
            case "type":
                await self._type(action.text)
            case "wait":
                await asyncio.sleep(action.seconds)
            case "navigate":
                raise ComputerError("A desktop opens no addresses; only a browser page does.")
            case "screenshot":
                pass

    async def _point(self, action: Action) -> None:
        held = [find_key(name).x for name in action.keys]
        clicks = {"click": ["click", BUTTONS[action.button]], "double_click": "click --repeat 2 --delay 60 1".split()}
        down = [word for key in held for word in ("keydown", key)]
        up = [word for key in reversed(held) for word in ("keyup", key)]
        await self._xdotool("mousemove", str(action.x), str(action.y), *down, *clicks.get(action.type, []), *up)

    async def _drag(self, action: Action) -> None:
        """With the pauses of a hand: a window manager takes no notice of a faster one."""
        first, *rest = [["mousemove", str(one.x), str(one.y), "sleep", DRAG_SECONDS] for one in action.path]
        moves = [word for one in rest for word in one]
        await self._xdotool(*first, "mousedown", "1", "sleep", DRAG_SECONDS, *moves, "mouseup", "1")

    async def _scroll(self, action: Action) -> None:
        x, y = (WIDTH // 2 if action.x is None else action.x), (HEIGHT // 2 if action.y is None else action.y)
        for distance, back, on in ((action.scroll_y, "4", "5"), (action.scroll_x, "6", "7")):
            if distance:
                count = str(min(NOTCHES, math.ceil(abs(distance) / NOTCH)))
                button = on if distance > 0 else back
                await self._xdotool("mousemove", str(x), str(y), "click", "--repeat", count, "--delay", "10", button)

    async def _type(self, text: str) -> None:
        """Key by key; what no key of the display has is pasted."""
        if text.isascii():
            await self._run("xdotool", "type", "--delay", "6", "--file", "-", given=text.encode())
            return
        # A terminal does not take a pasted end of line for the key.
        for number, line in enumerate(text.split("\n")):
            if number:
                await self._xdotool("key", "--clearmodifiers", "Return")
            if line:
                await self._paste(line)

    async def _paste(self, line: str) -> None:
        for selection in ("primary", "clipboard"):
            await self._run("xclip", "-selection", selection, given=line.encode(), reads=False)
        await self._xdotool("key", "--clearmodifiers", "shift+Insert")

    async def name(self, action: Action) -> str | None:
        if not action.points:
            return None
        point = action.points[0]
        return next((f"window {name!r}" for name, x, y, w, h in await self._windows()
                     if x <= point.x < x + w and y <= point.y < y + h), None)  # fmt: skip

    async def screenshot(self) -> bytes:
        await self._run("scrot", "--overwrite", "--pointer", str(self._picture))
        return await asyncio.to_thread(self._picture.read_bytes)

    async def observe(self) -> str:
        """The windows by their titles; what they show is in the picture alone."""
        lines = [f'window "{name}" at ({x + w // 2}, {y + h // 2})' for name, x, y, w, h in await self._windows()]
        with suppress(ComputerError):
            front = (await self._xdotool("getactivewindow", "getwindowname")).strip()
            lines.append(f"In front: {front}")
        return "\n".join([f"Screen: {WIDTH} x {HEIGHT}", "", *(lines or ["No window is open."])])

    async def _windows(self) -> list[tuple[str, int, int, int, int]]:
        """Name, place and size of each window that can be seen, the one in front first."""
        found = (await self._xdotool("search", "--onlyvisible", "--class", ".", check=False)).split()
        windows = []
        # Where a window is, xdotool tells wrongly: it counts the frame twice.
        tree = await self._run("xwininfo", "-root", "-tree", "-int")
        shapes = {id: [int(one) for one in shape] for id, *shape in SHAPE.findall(tree)}
        for id in reversed([one for one in found if one in shapes]):
            with suppress(ComputerError):  # it may be gone by now
                name = (await self._xdotool("getwindowname", id)).strip()
                w, h, x, y = shapes[id]
                windows += [(name, x, y, w, h)] if name and w > 1 and h > 1 else []
        return windows

    async def _xdotool(self, *words: str, check: bool = True) -> str:
        return await self._run("xdotool", *words, check=check)

    async def _run(self, *command: str, given: bytes | None = None, reads: bool = True, check: bool = True) -> str:
        pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(
            *command, env=self._env, stdin=null if given is None else pipe, stdout=pipe if reads else null,
            stderr=pipe if reads else null,
        )  # fmt: skip
        try:
            async with asyncio.timeout(COMMAND_SECONDS):
                out, err = await process.communicate(given)
        except TimeoutError:
            raise ComputerError(f"The desktop did not do that in time ({command[0]}).") from None
        finally:
            if process.returncode is None:
                process.kill()
        if process.returncode and check:
            said = (err or b"").decode("utf-8", "replace").strip().splitlines()
            raise ComputerError(f"The desktop did not do that: {said[-1] if said else command[0]}.")
        return (out or b"").decode("utf-8", "replace")

    def alive(self) -> bool:
        return self._process.returncode is None

    async def close(self) -> None:
        """The keeper ends what it started once nobody holds its input."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            self._process.kill()
        # Its folder goes with it, unless it was killed.
        await asyncio.to_thread(shutil.rmtree, self._picture.parent, ignore_errors=True)


async def open_desktop(id: str) -> DesktopComputer:
    if missing := await asyncio.to_thread(missing_parts):
        raise NoComputer(f"A virtual desktop needs {', '.join(missing)}, which are not installed. {CURE}")
    log.warning("%s", WARNING)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", keeper.__file__, str(WIDTH), str(HEIGHT), stdin=pipe, stdout=pipe, stderr=pipe,
        start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(START_SECONDS):
            told = json.loads(await _told(process))
            computer = DesktopComputer(process, **told)
            await computer.ready()
            return computer
    except (TimeoutError, ValueError) as error:
        raise NoComputer(f"The virtual desktop did not start: {error or 'it took too long'}. {CURE}") from error
    except BaseException:
        if process.stdin:
            process.stdin.close()
        raise


async def _told(process: asyncio.subprocess.Process) -> bytes:
    """The first line of the keeper, or its own word on why there is none."""
    line = await process.stdout.readline() if process.stdout else b""
    if not line and process.stderr:
        raise ValueError((await process.stderr.read()).decode("utf-8", "replace").strip()[-300:])
    return line
