"""The sync reader and its thread take turns at reading: nothing is lost or doubled, also when Ctrl-C comes between."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from runwire import Client, ConnectionLost, Envelope, _threads
from runwire._bodies import Body
from runwire._threads import Run
from runwire._watch import Watch
from runwire.testing import Connection, ScriptedServer, text_run
from tests.rooms import ROOT

SECONDS = 30.0

PROGRAM = """
    import sys
    import runwire

    with runwire.Client(sys.argv[1]) as client, client.stream("chat", "hi", profile="debug") as run:
        text, stopped = "", False
        while run.status == "running":
            try:
                for envelope in run:
                    if envelope.type == "llm_token":
                        text += envelope.payload["text"]
                        print("token", flush=True)
            except KeyboardInterrupt:
                stopped = True
        print(stopped, run.status, text, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_reader_that_goes_on_after_ctrl_c_misses_nothing():
    words = [f"{n} " for n in range(40)]
    with ScriptedServer() as server:
        server.add(text_run(*words, connections=[Connection(pace=0.02)]))
        command = [sys.executable, "-c", textwrap.dedent(PROGRAM), server.url]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "token\n"
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=SECONDS)
    assert rest.splitlines()[-1] == f"True success {''.join(words)}"


def test_what_comes_while_the_reader_is_away_is_read_by_the_thread():
    with ScriptedServer() as server, Client(server.url) as client:
        server.add(text_run(*[f"{n} " for n in range(200)]))
        with client.stream("chat", "hi", profile="debug") as run:
            reading = iter(run)
            next(reading)
            deadline = time.monotonic() + SECONDS
            # Nobody takes an envelope, and still the run comes to its end here.
            while run._thread is not None and run._thread.is_alive() and time.monotonic() < deadline:
                run._thread.join(0.05)
            assert run._over
            told = [one.payload["text"] for one in reading if one.type == "llm_token"]
    assert "".join(told) == "".join(f"{n} " for n in range(200))


@contextmanager
def _hasty_threads() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(0.000001)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def test_a_run_is_told_whole_however_often_reader_and_thread_take_turns(monkeypatch):
    turns = []
    take_wheel = Run._take_wheel

    def counted(self: Run, me: int) -> bool:
        turns.append(self._waiting)
        return take_wheel(self, me)

    monkeypatch.setattr(Run, "_take_wheel", counted)
    # The thread reads at every moment in which the reader does not.
    monkeypatch.setattr(_threads, "AWAY_SECONDS", 0.00001)
    words = [f"{n} " for n in range(150)]
    with _hasty_threads(), ScriptedServer() as server, Client(server.url) as client:
        for pace in (0.0, 0.0005):
            server.add(text_run(*words, connections=[Connection(pace=pace), Connection()]))
            with client.stream("chat", "hi", profile="debug") as run:
                told = [one.payload["text"] for one in run if one.type == "llm_token" and run.view.render()]
            assert "".join(told) == "".join(words)
    assert len(turns) > 20


WORDS = [f"{n} " for n in range(60)]


def _interrupted_once(monkeypatch, where: type, method: str) -> None:
    """Ctrl-C in the reader, in the middle of this method, once some words were told."""
    real, left = getattr(where, method), [20]

    def interrupted(self, *arguments):
        if threading.current_thread() is threading.main_thread():
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
        return real(self, *arguments)

    monkeypatch.setattr(where, method, interrupted)


def _text(envelopes: list[Envelope]) -> str:
    return "".join(one.payload["text"] for one in envelopes if one.type == "llm_token")


def test_a_reader_that_is_interrupted_in_a_read_goes_on_as_if_it_had_not_been(monkeypatch):
    _interrupted_once(monkeypatch, Body, "read")
    with ScriptedServer() as server, Client(server.url) as client:
        server.add(text_run(*WORDS, connections=[Connection(pace=0.002), Connection()]))
        with client.stream("chat", "hi", profile="debug") as run:
            found: list[Envelope] = []
            with pytest.raises(KeyboardInterrupt):
                found.extend(run)
            found.extend(run)
    assert _text(found) == "".join(WORDS)
    assert run.status == "success"


@pytest.mark.parametrize(("where", "method"), [(Run, "_push"), (Watch, "_told")], ids=["handing out", "deciding"])
def test_a_reader_that_is_interrupted_in_an_envelope_is_told_where_to_go_on(monkeypatch, where, method):
    """Nobody knows how much of it was done, so this reader ends; the next one begins at its cursor."""
    _interrupted_once(monkeypatch, where, method)
    with ScriptedServer() as server, Client(server.url) as client:
        server.add(text_run(*WORDS, connections=[Connection(pace=0.002), Connection()]))
        with client.stream("chat", "hi", profile="debug") as run:
            found: list[Envelope] = []
            with pytest.raises(KeyboardInterrupt):
                found.extend(run)
            with pytest.raises(ConnectionLost) as lost:
                found.extend(run)
        with client.attach(run.thread_id, run.run_id or "", after=lost.value.cursor, profile="debug") as rest:
            found.extend(rest)
    assert _text(found) == "".join(WORDS)
    assert rest.status == "success"
