"""What outlives what: a stopped or killed server leaves no process, a restarted one goes on with runs that waited."""

import os
import select
import signal
import time
from pathlib import Path

import pytest

import runwire
from tests.bundle import bundle, children
from tests.sites import phrase, serve_site

pytestmark = pytest.mark.bundle

SECONDS = 20.0


def watch(pids):
    """Handles by which the kernel tells of the end of processes that are not our children."""
    return {pid: os.pidfd_open(pid) for pid in pids}


def left_after_a_while(handles):
    """Those that are still there when the time is over."""
    deadline = time.monotonic() + SECONDS
    left = []
    for pid, handle in handles.items():
        ended, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
        left += [] if ended else [pid]
        os.close(handle)
    return left


def worked(running, site):
    """Have browsers and both experts at work, those of subagents too; gives the processes that they made."""
    url = site.page("/", "Page", "page")
    (running.files / "a.csv").write_text("x\n1\n")
    with runwire.Client(running.url) as client:
        client.run("assist_with_playwright", f"open {url}")
        told = client.run("deep_agent", f"open {url}, list the files and list the tables")
    assert "That did not work" not in str(told.messages[-1]["content"])
    pids = children(running.process)
    commands = b" ".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids)
    for part in (b"chrom", b"experts.files", b"experts.tables"):
        assert part in commands
    return pids


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda one: one.name)
def test_a_server_that_ends_leaves_no_browser_and_no_expert(tmp_path, how):
    with serve_site() as site, bundle(tmp_path, RUNWIRE_BROWSER_ALLOW=site.origin) as running:
        made = watch(worked(running, site))
        running.process.send_signal(how)
        running.process.wait(SECONDS)
        assert left_after_a_while(made) == []


@pytest.fixture(scope="module")
def restarted(tmp_path_factory):
    """A question and an approval that wait, and a client of the server that was started again since."""
    folder, text = tmp_path_factory.mktemp("restarted"), phrase()
    asked = {
        "planner_style_agent": "read the file",
        "deep_agent": f"list the files and write '{text}' to late.md",
    }
    with bundle(folder) as running, runwire.Client(running.url) as client:
        (running.files / "late.txt").write_text(text)
        waiting = {}
        for assistant, request in asked.items():
            with client.stream(assistant, request) as run:
                waiting[assistant] = run, list(run)
    with bundle(folder) as again, runwire.Client(again.url) as client:
        yield client, waiting, text


def answered(restarted, assistant, answer):
    client, waiting, _ = restarted
    run, before = waiting[assistant]
    assert run.status == "interrupted"
    with client.stream(assistant, thread_id=run.thread_id, resume=answer) as resumed:
        after = list(resumed)
    assert runwire.conformance.check(after, after=before) == []
    assert resumed.trace_id == run.trace_id
    return resumed


def test_a_run_that_waits_is_answered_after_a_restart(restarted):
    resumed = answered(restarted, "planner_style_agent", "late.txt")
    assert restarted[2] in str(resumed.result.messages[-1]["content"])


def test_an_approval_that_is_given_after_a_restart_lets_the_file_be_written(restarted):
    resumed = answered(restarted, "deep_agent", {"decisions": [{"type": "approve"}]})
    assert resumed.result.files["/late.md"]["content"] == restarted[2]
    assert [todo["status"] for todo in resumed.view.todos] == ["completed", "completed"]


def test_one_graph_without_its_parts_does_not_keep_the_others_from_serving(tmp_path):
    env, text = {"RUNWIRE_CHROMIUM": str(tmp_path / "none"), "RUNWIRE_OPENAI_API": "chat"}, phrase()
    with bundle(tmp_path, **env) as running, runwire.Client(running.url) as client:
        with pytest.raises(runwire.RunFailed, match="make browser"):
            client.run("assist_with_playwright", "open https://example.com")
        (running.files / "there.txt").write_text(text)
        assert text in str(client.run("planner_style_agent", "read there.txt").messages[-1]["content"])
        both = str(client.run("deep_agent", "open https://example.com and read there.txt").messages[-1]["content"])
        assert "make browser" in both
        assert text in both


def test_a_wrong_setting_fails_the_runs_that_meet_it_with_its_name(tmp_path):
    env = {"RUNWIRE_EXPERTS": str(tmp_path / "none.json"), "RUNWIRE_BROWSER_CONTEXTS": "many"}
    with bundle(tmp_path, **env) as running, runwire.Client(running.url) as client:
        with pytest.raises(runwire.RunFailed, match="RUNWIRE_EXPERTS"):
            client.run("planner_style_agent", "list the files")
        with pytest.raises(runwire.RunFailed, match="RUNWIRE_BROWSER_CONTEXTS"):
            client.run("assist_with_playwright", "open https://example.com")
        assert client.run("assist_with_playwright", "hello").messages
