"""The rooms of docs/architecture.md are held, and each way to break them is found."""

import pytest

from tests.rooms import EXCEPTIONS, ROOMS, ROOT, joins_all_rooms, room_violations, violations

PURE, IO, SERVED = ROOMS["normalizers"], ROOMS["client"], ROOMS["graphs"]


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_imports_only_what_its_row_allows(name):
    assert (ROOT / ROOMS[name].path / "__init__.py").is_file()
    assert room_violations(ROOMS[name]) == []


def test_only_app_joins_all_three_rooms():
    loose = [file for file in ROOT.glob("*.py") if file.name != "app.py"]
    assert [file.name for file in loose if joins_all_rooms(file.read_text("utf-8"))] == []


def test_exceptions_name_existing_files_and_a_reason():
    for (path, name), reason in EXCEPTIONS.items():
        assert (ROOT / path).is_file(), path
        assert name
        assert len(reason.split()) > 3, f"{path} uses {name}: say why"


@pytest.mark.parametrize(
    "source",
    [
        "import socket",
        "import ssl as tls",
        "import http.client",
        "from http import server",
        "import urllib.request",
        "from urllib import request",
        "import asyncio\nasync def f(): await asyncio.open_connection('h', 1)",
        "import time",
        "from time import monotonic as now",
        "import time as t\nt.time()",
        "import asyncio\nasync def f(): await asyncio.sleep(1)",
        "import datetime\ndatetime.datetime.now()",
        "import datetime as dt\nstamp = dt.datetime.utcnow",
        "from datetime import datetime as D\nD.now(None)",
        "from datetime import date\ndate.today()",
        "import random",
        "from secrets import token_hex",
        "import uuid\nuuid.uuid4()",
        "from uuid import uuid4 as make",
        "from uuid import uuid4",
        "import os\nos.urandom(8)",
        "import langgraph.types",
        "import langchain_core",
        "import langgraph_sdk",
        "import httpx",
        "import msgspec",
        "import runwire",
        "import runwire_graphs",
        "from ag_ui.core import events",
        "def f():\n    import langgraph",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import langchain_core.messages",
        "try:\n    import langgraph\nexcept ImportError:\n    pass",
        "import importlib\nimportlib.import_module('langgraph.types')",
        "__import__('socket')",
    ],
)
def test_a_breach_of_the_pure_room_is_found(source):
    assert violations(PURE, "part.py", source)


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio\nasync def f(): await asyncio.gather()",
        "from urllib.parse import quote",
        "import uuid\nuuid.uuid5(uuid.NAMESPACE_URL, 'x')",
        "from datetime import UTC, datetime\ndatetime.fromtimestamp(0, UTC)",
        "import orjson, pydantic, hashlib, json",
        "from runwire_normalizers import conformance",
        "from . import part\nfrom .time import now",
        "def f(clock): return clock.time()",
    ],
)
def test_pure_code_is_let_through(source):
    assert violations(PURE, "part.py", source) == []


@pytest.mark.parametrize("path", ["projections/agui.py", "projections/agui/encode.py"])
def test_ag_ui_is_welcome_only_in_its_projection(path):
    assert violations(PURE, path, "import ag_ui.core") == []
    assert violations(PURE, "projections/ndjson.py", "import ag_ui.core")
    assert violations(PURE, "projections/aguish.py", "import ag_ui.core")


@pytest.mark.parametrize("module", ["langgraph", "langgraph.types", "langchain", "langchain_core", "runwire_graphs"])
def test_a_breach_of_the_client_room_is_found(module):
    assert violations(IO, "engine.py", f"def f():\n    import {module}")


def test_the_web_toolkit_is_welcome_only_in_the_gateway():
    assert violations(IO, "gateway/routes.py", "import starlette.routing") == []
    assert violations(IO, "engine.py", "import starlette.routing")


def test_the_client_may_use_sockets_clocks_and_its_libraries():
    source = "import time, random, socket, httpx, httpx_sse, langgraph_sdk, runwire_normalizers"
    assert violations(IO, "engine.py", source) == []


@pytest.mark.parametrize("module", ["runwire", "runwire.client", "fastapi"])
def test_a_breach_of_the_graphs_room_is_found(module):
    assert violations(SERVED, "models.py", f"import {module}")


def test_the_graphs_may_use_their_libraries():
    source = "import langgraph, langchain, deepagents, playwright, mcp, runwire_normalizers"
    assert violations(SERVED, "models.py", source) == []


def test_a_file_that_joins_all_three_rooms_is_noticed():
    assert joins_all_rooms("import runwire, runwire_graphs\ndef f():\n    from runwire_normalizers import Envelope")
    assert not joins_all_rooms("import runwire, runwire_graphs")


def test_an_exception_frees_one_name_in_one_file_only(monkeypatch):
    monkeypatch.setitem(EXCEPTIONS, (f"{PURE.path}/resume.py", "langgraph.types.Command"), "given to graphs in-process")
    source = "def f():\n    from langgraph.types import Command\n    return Command()"
    assert violations(PURE, "resume.py", source) == []
    assert violations(PURE, "part.py", source)
    assert violations(PURE, "resume.py", source.replace("Command", "Send"))
