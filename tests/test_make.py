"""The make targets: what they list, and what they say on a machine that lacks something."""

import os
import re
import subprocess

from tests.rooms import ROOT

OUTER_MAKE = ("MAKE", "MFLAGS", "ARGS", "VENV", "PYTHON")
TARGETS = "help setup serve browser desktop test test-bundle check bench chaos goldens record schema clean".split()


def make(*args):
    # The tests run under make themselves, which hands its own variables down.
    env = {key: value for key, value in os.environ.items() if not key.startswith(OUTER_MAKE)}
    return subprocess.run(["make", *args], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)


def stub(tmp_path, *answers):
    """A python that answers the Makefile's questions with the given exit codes, in their order."""
    python = tmp_path / "python3"
    lines = [f'case "$2" in *"{word}"*) {answer} ;; esac' for word, answer in answers]
    python.write_text("\n".join(["#!/bin/sh", *lines, "exit 9"]))
    python.chmod(0o755)
    return [f"PYTHON={python}", f"VENV={tmp_path / 'venv'}", "setup"]


def test_make_alone_lists_every_target():
    listed = re.findall(r"^  make ([\w-]+) ", make().stdout, re.MULTILINE)
    assert listed == TARGETS


def test_a_python_without_ensurepip_is_told_the_command_that_cures_it(tmp_path):
    answers = ("sys.exit", "exit 0"), ("ensurepip", "exit 1"), ("print", "echo 3.11; exit 0")
    answer = make(*stub(tmp_path, *answers))
    assert answer.returncode != 0
    assert "apt-get install -y python3.11-venv" in answer.stderr


def test_an_old_python_is_named_with_what_to_do(tmp_path):
    answer = make(*stub(tmp_path, ("sys.exit", "exit 1")))
    assert answer.returncode != 0
    assert "needs Python 3.11 or newer" in answer.stderr
    assert "make PYTHON=" in answer.stderr


def test_an_environment_is_set_up_once_and_again_when_the_versions_change(tmp_path):
    (tmp_path / ".stamp").touch()
    venv = f"VENV={tmp_path}"
    steps = [line.split() for line in make("-n", venv, "test").stdout.splitlines()]
    python = f"{tmp_path}/bin/python"
    assert steps == [[python, "-m", "pytest", *"-n 2 --dist loadfile -m".split(), '"not', 'bundle"']]
    steps = [line.split() for line in make("-n", venv, "test-bundle").stdout.splitlines()]
    assert steps[0] == [python, "-m", "runwire_graphs.browser.getting"]
    assert steps[1][-2:] == ["-m", "bundle"]
    for changed in ("pyproject.toml", "constraints.txt"):
        assert "pip install" in make("-n", "-W", changed, venv, "test").stdout


def test_ci_runs_the_checks_and_then_the_readmes_test_commands():
    commands = re.findall(r"^make .*$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    assert commands == ["make check", "make test", "make test-bundle"]
    readme = (ROOT / "README.md").read_text("utf-8")
    assert all(command in readme for command in commands[1:])
