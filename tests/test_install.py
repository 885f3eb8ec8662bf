"""A plain install is light and imports; the pinned versions fit what the project asks for."""

import json
import re
import subprocess
import sys
import tomllib
import venv

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.rooms import ROOT

SERVER_ONLY = "ag_ui deepagents langchain langchain_openai langgraph langgraph_api mcp playwright".split()
# langgraph-sdk installs langchain-core, so that one is there; our door must still not open it.
NEVER_LOADED = [*SERVER_ONLY, "langchain_core", "langchain_protocol"]

PROBE = f"""
import importlib.resources, importlib.util, json, sys
import runwire, runwire_normalizers
print(json.dumps({{
    "installed": [m for m in {SERVER_ONLY!r} if importlib.util.find_spec(m)],
    "loaded": [m for m in {NEVER_LOADED!r} if m in sys.modules],
    "graphs": importlib.util.find_spec("runwire_graphs") is not None,
    "typed": [(importlib.resources.files(p) / "py.typed").is_file() for p in (runwire, runwire_normalizers)],
    "from": [runwire.__file__, runwire_normalizers.__file__],
}}))
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What a new environment shows after `pip install runwire`, without extras."""
    home = tmp_path_factory.mktemp("plain") / "venv"
    venv.create(home)
    pip = [sys.executable, "-m", "pip", "--python", str(home), "install", "--quiet"]
    subprocess.run([*pip, "-c", "constraints.txt", "."], cwd=ROOT, check=True, timeout=180)
    probe = subprocess.run(
        [home / "bin" / "python", "-c", PROBE],
        cwd=home,
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
    )
    return json.loads(probe.stdout) | {"home": str(home)}


@pytest.mark.network
def test_a_plain_install_imports_its_own_copy(plain):
    assert all(path.startswith(plain["home"]) for path in plain["from"])
    assert plain["typed"] == [True, True]
    assert plain["graphs"]


@pytest.mark.network
def test_a_plain_install_brings_nothing_of_the_server_or_agui(plain):
    assert plain["installed"] == []


@pytest.mark.network
def test_the_front_door_loads_no_framework(plain):
    assert plain["loaded"] == []


def pins():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [Requirement(line) for line in [*project["dependencies"], *(r for e in extras.values() for r in e)]]


def test_constraints_are_bare_names_with_exact_versions():
    assert [line for line in pins() if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line)] == []


def test_every_dependency_is_pinned_once_within_its_range():
    pinned = [(canonicalize_name(name), version) for name, version in (line.split("==") for line in pins())]
    assert len(dict(pinned)) == len(pinned)
    for requirement in requirements():
        version = dict(pinned)[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} but constraints.txt says {version}"


def test_no_range_reaches_into_the_next_major_version():
    for requirement in requirements():
        assert [spec.operator for spec in requirement.specifier] == ["~="], str(requirement)
