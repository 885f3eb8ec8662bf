"""The README's commands and examples run as they stand: `bash run` blocks and every python block."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rooms import ROOT

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```([^\n]+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
SHELL = [code for info, code in BLOCKS if info.split() == ["bash", "run"]]
PYTHON = [code for info, code in BLOCKS if info.split()[0] == "python"]


def run(*command):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("code", SHELL)
def test_a_shell_block_of_the_readme_runs_and_prints(code):
    assert run("bash", "-euo", "pipefail", "-c", code)


@pytest.mark.parametrize("code", PYTHON)
def test_a_python_block_of_the_readme_runs(code):
    run(sys.executable, "-W", "error", "-c", code)


def test_the_readme_has_blocks_to_run():
    assert SHELL


def test_every_make_target_and_link_of_the_readme_exists():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    named = re.findall(r"\bmake ([a-z-]+)\b", "\n".join(code for info, code in BLOCKS if info.startswith("bash")))
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert set(named) <= set(targets)
    assert [link for link in links if not (ROOT / link).exists()] == []
