"""The bundle on the real server, keyless, through the SDK and through plain HTTP."""

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import runwire
from runwire import conformance
from tests.bundle import bundle, children, run_by_http
from tests.contract004 import OUTPUTS
from tests.sites import phrase, serve_site

pytestmark = pytest.mark.bundle

SEED_CURLS = ("assist_with_playwright", "planner_style_agent", "assist_with_planner")
PLANNERS = ("planner_style_agent", "assist_with_planner")


@pytest.fixture(scope="module")
def site():
    with serve_site() as served:
        yield served


@pytest.fixture(scope="module")
def served(tmp_path_factory, site):
    with bundle(tmp_path_factory.mktemp("bundle"), RUNWIRE_BROWSER_ALLOW=site.origin) as running:
        yield running


@pytest.fixture
def client(served):
    with runwire.Client(served.url) as opened:
        yield opened


def watched(client, assistant, text, thread_id=None, **more):
    """A run to its end or its pause, with every envelope checked."""
    with client.stream(assistant, text, thread_id=thread_id, **more) as run:
        envelopes = list(run)
    assert conformance.check(envelopes) == []
    return run, envelopes


def said(run):
    return run.result.messages[-1]["content"]


def called(envelopes):
    return [one.payload["tool_name"] for one in envelopes if one.type == "tool_start" and one.payload["kind"] == "tool"]


def test_the_chat_opens_a_page_and_tells_its_title_and_text(client, site):
    title, text = phrase(), phrase(8)
    url = site.page("/one", title, f"<p>{text}</p>")
    run, envelopes = watched(client, "assist_with_playwright", f"open {url} and tell me its title and text")
    assert called(envelopes) == ["navigate", "read"]
    assert title in said(run)
    assert text in said(run)
    assert run.usage["total_tokens"] > 0


def test_the_chat_follows_a_link_fills_a_form_and_reads_what_came_of_it(client, site):
    link, name, result = phrase(), phrase(), phrase()
    form = "<form action='/sent'><label>Your name <input name=who></label><button>Send it</button></form>"
    url = site.page("/start", "Start", f"<a href='/form'>{link}</a>")
    site.page("/form", "Form", form)
    site.page("/sent", result, "thanks")
    asked = f'open {url}, click "{link}", type "{name}" into "Your name", click "Send it" and tell me the title'
    run, envelopes = watched(client, "assist_with_playwright", asked)
    assert called(envelopes) == ["navigate", "click", "type_text", "click", "read"]
    assert result in said(run)
    sent = [path for path in site.paths() if path.startswith("/sent")]
    assert httpx.URL(sent[-1]).params["who"] == name


def test_the_chat_scrolls_goes_back_and_keeps_its_tabs(client, site):
    first, second = phrase(), phrase()
    one = site.page("/first", first, "<div style='height:9000px'></div>")
    two = site.page("/second", second, "two")
    asked = f"open {one}, scroll down, open {two}, go back, open a new tab and list the tabs"
    run, envelopes = watched(client, "assist_with_playwright", asked)
    assert called(envelopes) == ["navigate", "scroll", "navigate", "back", "tabs", "tabs"]
    listed = run.result.messages[-2]["content"]
    assert first in listed
    assert second not in listed
    assert re.search(r"2\. empty .*in front", listed)


def test_the_browser_is_where_the_thread_left_it(client, site):
    title = phrase()
    url = site.page("/kept", title, "kept")
    run, _ = watched(client, "assist_with_playwright", f"open {url}")
    again, envelopes = watched(client, "assist_with_playwright", "read the page", run.thread_id)
    assert called(envelopes) == ["read"]
    assert title in said(again)


def test_a_screenshot_is_a_reference_that_only_its_full_name_opens(client, served, site):
    url = site.page("/shot", "Shot", f"<h1>{phrase()}</h1>")
    run, _ = watched(client, "assist_with_playwright", f"open {url} and take a screenshot")
    shot = run.result.messages[-2]["artifact"]
    assert shot["kind"] == "file_ref"
    picture = httpx.get(f"{served.url}{shot['url']}")
    assert picture.headers["content-type"] == "image/png"
    assert picture.headers["x-content-type-options"] == "nosniff"
    assert picture.content.startswith(b"\x89PNG")
    assert len(picture.content) == shot["bytes"]
    for wrong in ("/runwire/shots/", "/runwire/shots/..%2Fserver.log", f"{shot['url'][:-5]}.png"):
        assert httpx.get(f"{served.url}{wrong}").status_code == 404
    assert not any(len(str(message["content"])) > 5_000 for message in run.result.messages)


def test_a_page_that_cannot_be_opened_is_a_tool_result_in_words(client):
    run, envelopes = watched(client, "assist_with_playwright", "open http://127.0.0.1:9/")
    assert run.status == "success"
    assert "RUNWIRE_BROWSER_ALLOW" in said(run)
    (ended,) = [one for one in envelopes if one.type == "tool_end" and one.payload["tool_name"] == "navigate"]
    assert ended.payload["status"] == "error"


def test_what_is_not_understood_is_said_honestly(client):
    asked = phrase()
    run, envelopes = watched(client, "assist_with_playwright", asked)
    assert called(envelopes) == []
    assert asked in said(run)
    assert "keyless" in said(run)


def test_the_demo_site_can_be_browsed_without_any_setting(client, served):
    run, _ = watched(client, "assist_with_playwright", "open the demo site, follow the Prices link and read the table")
    assert served.demo() in said(run)
    assert "Oolong" in said(run)


def test_four_threads_at_once_have_four_browsers_of_their_own(client, site):
    texts = [phrase() for _ in range(4)]
    urls = [site.page(f"/apart{number}", text, text) for number, text in enumerate(texts)]
    before = len(site.asked)

    def drive(number):
        run, _ = watched(client, "assist_with_playwright", f"open {urls[number]}")
        again, _ = watched(client, "assist_with_playwright", f"open {urls[number]}, read the page", run.thread_id)
        return said(again)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(drive, range(4)))
    for number, answer in enumerate(answers):
        assert [text in answer for text in texts] == [other == number for other in range(4)]
    cookies = [cookie for path, cookie in site.asked[before:] if path.startswith("/apart")]
    # Each thread came once without a cookie and once with its own.
    assert cookies.count("") == 4
    assert len(set(cookies)) == 5


@pytest.mark.parametrize("assistant", PLANNERS)
def test_a_planner_makes_a_plan_and_carries_it_out_with_real_experts(client, served, assistant):
    note, region = phrase(), phrase(1)
    (served.files / "memo.txt").write_text(note)
    (served.files / "numbers.csv").write_text(f"region,amount\n{region},40\nelsewhere,1\n{region},2.5\n")
    asked = "read memo.txt and compute the sum of amount by region in numbers.csv"
    run, envelopes = watched(client, assistant, asked)
    assert called(envelopes) == ["read_file", "compute"]
    assert note in said(run)
    assert f"{region} | 42.5" in said(run)
    result = run.result.planner_result
    assert [step["expert"] for step in result.plan] == ["files", "tables"]
    assert result.next_task == 2
    ends = {one.payload["tool_name"]: one.payload for one in envelopes if one.type == "tool_end"}
    assert ends["compute"]["result"]["kind"] == "table"
    assert [region, 42.5] in ends["compute"]["result"]["rows"]


@pytest.mark.parametrize("assistant", PLANNERS)
def test_a_plan_is_replaced_appended_to_and_continued(client, served, assistant):
    (served.files / "plan.txt").write_text(phrase())
    first, _ = watched(client, assistant, "read plan.txt")
    second, called_second = watched(client, assistant, "also list the tables", first.thread_id)
    plan = second.result.planner_result
    assert [step["task"] for step in plan.plan] == ["read plan.txt", "list the tables"]
    assert called(called_second) == ["list_tables"]
    third, _ = watched(client, assistant, "continue", first.thread_id)
    assert third.result.planner_result.plan == plan.plan
    fourth, _ = watched(client, assistant, "list the files", first.thread_id)
    assert [step["task"] for step in fourth.result.planner_result.plan] == ["list the files"]


@pytest.mark.parametrize("assistant", PLANNERS)
def test_the_planner_asks_the_person_who_alone_knows(client, served, assistant):
    text = phrase()
    (served.files / "asked.txt").write_text(text)
    run, _ = watched(client, assistant, "read the file")
    assert run.status == "interrupted"
    assert "path" in run.interrupts[0]["value"]["question"]
    with run.respond("asked.txt") as resumed:
        list(resumed)
    assert resumed.status == "success"
    assert text in said(resumed)
    assert resumed.trace_id == run.trace_id


def test_a_task_that_fails_twice_is_put_to_the_person(client, served):
    text, name = phrase(), f"{phrase(1)}.txt"
    run, _ = watched(client, "assist_with_planner", f"read {name}")
    assert run.status == "interrupted"
    assert name in run.interrupts[0]["value"]["question"]
    (served.files / name).write_text(text)
    with run.respond(f"read {name}") as resumed:
        list(resumed)
    assert text in said(resumed)


def test_a_plan_that_only_partly_fits_says_what_does_not(client, served):
    (served.files / "half.txt").write_text(phrase())
    run, envelopes = watched(client, "planner_style_agent", "read half.txt and water the plants")
    assert called(envelopes) == ["read_file"]
    assert any("water the plants" in str(message["content"]) for message in run.result.messages[1:])


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/passwd", "link/secret.txt"])
def test_a_file_outside_of_the_root_is_out_of_bounds(client, served, name):
    secret = phrase()
    (served.folder / "outside.txt").write_text(secret)
    link = served.files / "link"
    if not link.exists():
        (served.folder / "elsewhere").mkdir()
        (served.folder / "elsewhere" / "secret.txt").write_text(secret)
        link.symlink_to(served.folder / "elsewhere")
    run, envelopes = watched(client, "planner_style_agent", f"read the file '{name}' path {name}")
    told = str(run.result.to_dict()) if run.status == "success" else ""
    assert secret not in told
    assert "root:" not in told
    assert "read_file" in called(envelopes)


@pytest.mark.parametrize("assistant", SEED_CURLS)
def test_the_request_of_the_contract_gives_the_output_of_the_contract(served, assistant):
    events = run_by_http(served.url, assistant, "test")
    assert events[0][0] == "metadata"
    assert {name for name, _ in events[1:]} == {"values"}
    final = events[-1][1]
    Draft202012Validator(OUTPUTS[assistant]).validate(final)
    assert final["messages"][0]["content"] == "test"
    if assistant in PLANNERS:
        result = final["planner_result"]
        assert (result["decision"], result["plan"], result["next_task"]) == ("replace", [], 0)
        assert result["clarification"] == final["messages"][-1]["content"]


@pytest.mark.parametrize("assistant", SEED_CURLS)
def test_the_server_publishes_the_schemas_of_a_graph(served, assistant):
    (found,) = httpx.post(f"{served.url}/assistants/search", json={"graph_id": assistant}).raise_for_status().json()
    schemas = httpx.get(f"{served.url}/assistants/{found['assistant_id']}/schemas").raise_for_status().json()
    assert set(schemas["input_schema"]["properties"]) == {"messages"}
    wanted = {"messages", "planner_result"} if assistant in PLANNERS else {"messages"}
    assert set(schemas["output_schema"]["properties"]) == wanted


MODE_SETS = [
    ["tasks", "messages-tuple"],
    ["updates", "messages-tuple"],
    ["values"],
    ["updates"],
    ["messages-tuple"],
    ["debug", "custom"],
    ["events"],
]


@pytest.mark.parametrize("modes", MODE_SETS, ids="+".join)
@pytest.mark.parametrize("assistant", SEED_CURLS)
def test_every_set_of_modes_gives_a_sound_stream(client, served, assistant, modes):
    (served.files / "modes.txt").write_text("modes")
    asked = "open the demo site and read it" if assistant == "assist_with_playwright" else "read modes.txt"
    run, _ = watched(client, assistant, asked, stream_modes=modes)
    assert run.status == "success"


def test_an_expert_that_is_killed_is_started_again(client, served):
    run, _ = watched(client, "planner_style_agent", "list the tables")
    assert run.status == "success"
    experts = [
        pid for pid in children(served.process) if b"experts.tables" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    assert len(experts) == 1
    os.kill(experts[0], signal.SIGKILL)
    again, envelopes = watched(client, "planner_style_agent", "list the tables")
    assert called(envelopes) == ["list_tables"]
    assert again.status == "success"
