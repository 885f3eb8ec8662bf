"""The virtual desktop: real clicks and keys, shown by its windows; and what outlives a server: the thread alone."""

import os
import signal
from pathlib import Path

import pytest

import runwire
from runwire_graphs.computer.actions import Action
from runwire_graphs.computer.backends.desktop import missing_parts, open_desktop
from runwire_graphs.errors import ComputerError
from tests.bundle import bundle, children
from tests.computer import board, customs, presses, watched
from tests.sites import phrase, serve_site
from tests.test_lifecycle import SECONDS, left_after_a_while, watch

pytestmark = [
    pytest.mark.bundle,
    pytest.mark.skipif(bool(missing_parts()), reason="`make desktop` gets the parts of the desktop"),
]
PROGRAMS = (b"Xvfb", b"openbox", b"xterm", b"keeper.py")


@pytest.fixture
async def desktop():
    opened = await open_desktop("test")
    try:
        yield opened
    finally:
        await opened.close()
        assert not opened.alive()


async def do(desktop, **told):
    await desktop.act(Action.of(told))


def titled(text):
    """What makes a terminal call itself so."""
    return f"printf '\\033]0;{text}\\a'"


async def windows(desktop):
    return [name for name, *_ in await desktop._windows()]


async def test_what_is_typed_reaches_the_terminal_whatever_its_letters(desktop):
    assert await windows(desktop) == ["Terminal"]
    plain, foreign = phrase(), f"Zoë Ünal € Ω {phrase(1)}"
    await do(desktop, type="type", text=titled(plain))
    await do(desktop, type="keypress", keys=["ENTER"])
    assert await windows(desktop) == [plain]
    await do(desktop, type="type", text=f"{titled(foreign)}\n")
    assert f'window "{foreign}" at' in await desktop.observe()
    assert f"In front: {foreign}" in await desktop.observe()
    assert (await desktop.screenshot()).startswith(b"\x89PNG")


async def test_clicks_drags_and_keys_do_what_a_hand_does(desktop):
    _, x, y, width, _ = (await desktop._windows())[0]
    bar = y - 10
    await do(desktop, type="drag", path=[[x + 100, bar], [x + 250, bar + 90], [x + 300, bar + 120]])
    moved = (await desktop._windows())[0]
    assert moved[1:3] == (x + 200, y + 120)
    await do(desktop, type="double_click", x=x + 300, y=bar + 120)
    assert (await desktop._windows())[0][3] > width
    assert await desktop.name(Action.of({"type": "click", "x": 600, "y": 400})) == "window 'Terminal'"
    await do(desktop, type="scroll", x=600, y=400, scroll_x=0, scroll_y=-300)
    await do(desktop, type="keypress", keys=["ALT", "F4"])
    assert await windows(desktop) == []
    assert "No window is open." in await desktop.observe()


async def test_what_a_desktop_cannot_do_is_told_in_words(desktop):
    with pytest.raises(ComputerError, match="outside of the screen"):
        await do(desktop, type="click", x=1280, y=1)
    with pytest.raises(ComputerError, match="no addresses"):
        await do(desktop, type="navigate", url="a.test")


async def test_programs_of_the_desktop_see_none_of_the_servers_variables_and_end_with_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", secret := phrase(1))
    desktop = await open_desktop("test")
    try:
        await do(desktop, type="type", text="(setsid sleep 600 &); sleep 500\n")
        mine = [pid for pid in descendants(os.getpid()) if b"sleep\x00" in command(pid)]
        assert len(mine) == 2
        assert not any(secret.encode() in environment(pid) for pid in mine)
        assert os.geteuid() != 0 or 0 not in {owner(pid) for pid in mine}
        ended = watch(mine)
    finally:
        await desktop.close()
    assert left_after_a_while(ended) == []


async def test_a_keeper_that_is_killed_takes_its_desktop_with_it():
    desktop = await open_desktop("test")
    made = descendants(desktop._process.pid)
    assert len([pid for pid in made if any(part in command(pid) for part in PROGRAMS)]) == 3
    ended, folder = watch(made), desktop._picture.parent
    desktop._process.kill()
    assert left_after_a_while(ended) == []
    await desktop.close()
    assert not desktop.alive()
    assert not is_there(folder)


def descendants(pid):
    found = [int(one) for task in Path(f"/proc/{pid}/task").glob("*/children") for one in task.read_text().split()]
    return found + [later for one in found for later in descendants(one)]


def command(pid):
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def environment(pid):
    return Path(f"/proc/{pid}/environ").read_bytes()


def is_there(folder):
    return folder.exists()


def owner(pid):
    return Path(f"/proc/{pid}").stat().st_uid


@pytest.fixture(scope="module")
def site():
    with serve_site() as served:
        yield served


def running_parts(running, *parts):
    """The server's processes, among which are these."""
    pids = children(running.process)
    commands = b" ".join(command(pid) for pid in pids)
    assert [part for part in parts if part not in commands] == []
    return watch(pids)


def kill(running):
    running.process.send_signal(signal.SIGKILL)
    running.process.wait(SECONDS)


def test_a_run_that_waits_goes_on_after_a_restart_with_a_new_page_and_a_killed_server_leaves_none(tmp_path, site):
    url, name = board(site)
    request = f'open {url}, ask me to go on, click "{name}" and tell me the title'
    env = {"RUNWIRE_BROWSER_ALLOW": site.origin}
    with bundle(tmp_path, **env) as running, runwire.Client(running.url) as client:
        run, _ = watched(client, request)
        assert run.status == "interrupted"
        made = running_parts(running, b"chrom")
    assert left_after_a_while(made) == []
    with bundle(tmp_path, **env) as again, runwire.Client(again.url) as client:
        # What history keeps: the first run's custom events are not among it.
        (replayed,) = client.replay(run.thread_id)
        first = list(replayed.envelopes)
        with client.stream("computer_use", thread_id=run.thread_id, resume="approve") as resumed:
            second = list(resumed)
        assert runwire.conformance.check(second, after=first) == []
        assert resumed.trace_id == run.trace_id
        told = runwire.ComputerUseOutput.model_validate(resumed.result)
        assert told.status == "completed"
        assert (told.answer or "").startswith("The computer that was kept for this thread was gone")
        assert f"Title: pressed {name}" in (told.answer or "")
        assert [one["fate"] for one in customs(second, "computer_sandbox")] == ["lost", "started", "ended"]
        assert presses(site) == [f"pressed {name}"]
        waiting, _ = watched(client, request)
        assert waiting.status == "interrupted"
        made = running_parts(again, b"chrom")
        kill(again)
        assert left_after_a_while(made) == []


def test_a_desktop_leaves_nothing_when_its_run_ends_is_cancelled_or_its_server_is_killed(tmp_path):
    text = phrase()
    with bundle(tmp_path, RUNWIRE_COMPUTER="desktop") as running, runwire.Client(running.url) as client:
        run, envelopes = watched(client, f'type "{titled(text)}" and press enter, tell me which windows are open')
        assert run.result.status == "completed"
        assert f'window "{text}"' in run.result.answer
        assert [one["fate"] for one in customs(envelopes, "computer_sandbox")] == ["started", "ended"]
        assert "NOT a security sandbox" in running.log()
        assert not any(b"Xvfb" in command(pid) for pid in children(running.process))
        cancelled(client, running)
        waiting, _ = watched(client, "take a screenshot, ask me to go on")
        assert waiting.status == "interrupted"
        made = running_parts(running, *PROGRAMS)
        kill(running)
        assert left_after_a_while(made) == []


def cancelled(client, running):
    made = {}
    with client.stream("computer_use", "wait 10 seconds", profile="debug") as run:
        for envelope in run:
            if envelope.type == "tool_update" and envelope.payload["data"].get("type") == "computer_action":
                made = watch([pid for pid in children(running.process) if b"Xvfb" in command(pid)])
                run.cancel()
                break
        list(run)
    assert run.status == "cancelled"
    assert made
    assert left_after_a_while(made) == []
