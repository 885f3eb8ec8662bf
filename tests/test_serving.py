"""How the bundle is served and packaged: `make serve`, langgraph.json, its Dockerfile, the variables."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import tomllib

import httpx
import pytest

import runwire
from runwire_graphs.browser import getting
from runwire_graphs.computer import getting as getting_desktop
from runwire_graphs.errors import ConfigError
from runwire_graphs.serving import check_bind, free_port, help_text, read_env_file
from runwire_graphs.settings import Settings
from tests.rooms import ROOT

pytestmark = pytest.mark.bundle

CONFIG = json.loads((ROOT / "langgraph.json").read_text("utf-8"))
SECONDS = 90


def settings(**env):
    return Settings.read(env)


def langgraph(*arguments, cwd=ROOT):
    command = [sys.executable, "-m", "langgraph_cli", *arguments]
    env = os.environ | {"LANGGRAPH_CLI_NO_ANALYTICS": "1"}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=SECONDS)


def test_langgraph_finds_the_configuration_valid():
    done = langgraph("validate")
    assert done.returncode == 0, done.stderr
    assert "valid" in (done.stdout + done.stderr).lower()


def test_the_dockerfile_that_comes_of_it_has_all_the_parts(tmp_path):
    target = tmp_path / "Dockerfile"
    done = langgraph("dockerfile", str(target))
    assert done.returncode == 0, done.stderr
    text = target.read_text()
    for requirement in CONFIG["dependencies"][1:]:
        # A lower bound that is written with >= would be lost here.
        assert requirement in text
    for graph in CONFIG["graphs"]:
        assert graph in text
    assert "chromium" in text
    assert "LANGGRAPH_AUTH=" in text
    assert "LANGGRAPH_HTTP=" in text


def test_the_dependencies_are_those_of_the_server_extra():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extra = project["optional-dependencies"]["server"]
    # The command line that reads langgraph.json is no part of the image that it makes.
    assert CONFIG["dependencies"] == [".", *(one for one in extra if not one.startswith("langgraph-cli"))]


@pytest.mark.parametrize("graph", CONFIG["graphs"])
def test_a_graph_file_named_by_path_imports_absolutely(graph):
    path = ROOT / CONFIG["graphs"][graph]["path"].partition(":")[0]
    assert not re.search(r"^\s*from \.", path.read_text("utf-8"), re.MULTILINE)


def test_every_variable_that_is_read_is_explained_in_the_example():
    read = set()
    for file in [*(ROOT / "graphs").rglob("*.py"), *(ROOT / "client").rglob("*.py")]:
        read |= set(re.findall(r"\"((?:RUNWIRE|OPENAI|LANGGRAPH|LANGSMITH)_[A-Z_]+)\"", file.read_text("utf-8")))
    example = (ROOT / ".env.example").read_text("utf-8")
    explained = set(re.findall(r"^# ([A-Z_]+)=", example, re.MULTILINE))
    assert read - explained - {"LANGGRAPH_CLI_NO_ANALYTICS"} == set()
    for variable in explained:
        before = example.partition(f"# {variable}=")[0].rstrip().splitlines()[-1]
        assert before.startswith("# "), f"{variable} is not explained"


def test_the_wanted_port_is_taken_or_the_next_one_that_is_free():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port("127.0.0.1", port) > port
    assert free_port("127.0.0.1", port) == port


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_a_local_server_needs_no_keys(host):
    check_bind(host, settings())


def test_a_server_for_others_needs_keys():
    with pytest.raises(ConfigError, match="RUNWIRE_SERVER_KEYS"):
        check_bind("0.0.0.0", settings())
    check_bind("0.0.0.0", settings(RUNWIRE_SERVER_KEYS="ada:0123456789abcdef"))


def test_the_env_file_is_taken_over_as_the_server_will_and_wins_over_the_shell(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_MODEL", "of-the-shell")
    monkeypatch.setenv("RUNWIRE_SERVER_KEYS", "")
    told = ["# mine", "OPENAI_MODEL=of-the-file", "export RUNWIRE_SERVER_KEYS='ada:0123456789abcdef'"]
    (tmp_path / ".env").write_text("\n".join(told))
    read_env_file(tmp_path / ".env")
    assert Settings.read().openai_model == "of-the-file"
    assert list(Settings.read().server_keys.values()) == ["ada"]
    read_env_file(tmp_path / "none")


@pytest.mark.parametrize(
    ("value", "told"),
    [("", "a browser page"), ("desktop", "NOT a security sandbox"), ("moon", "RUNWIRE_COMPUTER must")],
)
def test_what_is_printed_says_loudly_what_a_desktop_is_not(value, told):
    printed = help_text("http://127.0.0.1:1", None, settings(RUNWIRE_COMPUTER=value))
    (line,) = [line for line in printed.splitlines() if line.startswith("computer")]
    assert told in line


@pytest.mark.parametrize(("user", "installs"), [(0, True), (1000, False)], ids=["root", "anybody"])
def test_make_desktop_installs_as_root_and_says_the_cure_otherwise(monkeypatch, capsys, user, installs):
    ran = []
    missing = [["Xvfb", "scrot"], [] if installs else ["Xvfb", "scrot"]]
    monkeypatch.setattr(getting_desktop, "missing_parts", lambda: missing.pop(0))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(subprocess, "run", lambda command, **kwargs: ran.append(command))
    assert getting_desktop.main() == (0 if installs else 1)
    told = capsys.readouterr()
    if installs:
        assert ran[-1][-2:] == ["xvfb", "scrot"]
        assert "NOT a security sandbox" in told.out
    else:
        assert ran == []
        assert "apt-get install -y xvfb" in told.err


def test_what_is_printed_holds_no_key():
    told = help_text("http://h", None, settings(RUNWIRE_SERVER_KEYS="ada:0123456789abcdef", OPENAI_API_KEY="sk-secret"))
    assert "x-api-key" in told
    assert "0123456789abcdef" not in told
    assert "sk-secret" not in told


@pytest.fixture
def served(tmp_path):
    """`make serve` as a newcomer types it, on a port that it finds for itself."""
    env = os.environ | {"RUNWIRE_DATA": str(tmp_path), "OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        env["PORT"] = str(taken.getsockname()[1])
        # The environment's own Python stands for the one that make has set up.
        process = subprocess.Popen(
            [sys.executable, "-m", "runwire_graphs.serving"],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        lines = []
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        yield "".join(lines), process
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
        timer.cancel()


def test_what_make_serve_prints_works_when_it_is_pasted(served):
    printed, _ = served
    url = re.search(r"^export RUNWIRE_URL=(\S+)$", printed, re.MULTILINE)
    curl = re.search(r"^curl .*$", printed, re.MULTILINE)
    assert url, printed
    assert curl, printed
    told = subprocess.run(["bash", "-c", curl[0]], capture_output=True, text=True, timeout=SECONDS).stdout
    assert told.startswith("event: metadata")
    assert "The Tea House" in told
    demo = re.search(r"^demo site\s+(\S+)", printed, re.MULTILINE)
    assert demo
    assert "Tea House" in httpx.get(demo[1]).text
    with runwire.Client(url[1]) as client:
        output = client.run("planner_style_agent", "list the files")
    assert output.to_dict()["plannerResult"]["next_task"] == 1


def test_make_browser_tries_each_way_in_its_order_and_says_what_became_of_it(monkeypatch, capsys):
    tried = []

    def way(name, failure):
        def get(settings):
            tried.append(name)
            return failure

        return get

    found = iter([(None, "none yet"), ("/a/chromium", "")])
    monkeypatch.setattr(getting, "working", lambda settings: next(found))
    monkeypatch.setattr(
        getting, "WAYS", {"one": way("one", "no luck"), "two": way("two", ""), "three": way("three", "")}
    )
    assert getting.main() == 0
    assert tried == ["one", "two"]
    printed = capsys.readouterr().out
    assert "that failed: no luck" in printed
    assert printed.endswith("browser: /a/chromium\n")


def test_make_browser_that_finds_no_way_says_the_cure(monkeypatch, capsys):
    monkeypatch.setattr(getting, "WAYS", {})
    monkeypatch.setenv("RUNWIRE_CHROMIUM", "/no/such/chromium")
    assert getting.main() == 1
    assert "RUNWIRE_CHROMIUM" in capsys.readouterr().err


def test_the_browser_that_is_found_starts():
    path, why = getting.working(Settings.read())
    assert path, why
