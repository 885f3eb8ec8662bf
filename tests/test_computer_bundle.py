"""`computer_use` on the real server, keyless, with the browser page: through the SDK and through plain HTTP."""

import re
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import runwire
from runwire import conformance
from tests.bundle import bundle, run_by_http
from tests.computer import board, customs, presses, watched
from tests.contract004 import COMPUTER, COMPUTER_PROGRESS
from tests.proxy import Cut, Proxy, after_mark
from tests.sites import phrase, serve_site

pytestmark = pytest.mark.bundle


@pytest.fixture(scope="module")
def site():
    with serve_site() as served:
        yield served


@pytest.fixture(scope="module")
def served(tmp_path_factory, site):
    with bundle(tmp_path_factory.mktemp("computer"), RUNWIRE_BROWSER_ALLOW=site.origin) as running:
        yield running


@pytest.fixture
def client(served):
    with runwire.Client(served.url) as opened:
        yield opened


def test_a_newcomer_orders_tea_on_the_demo_site(client, served):
    name = phrase(2).title()
    asked = (
        f"open the demo site, follow the Order link, fill the form with name {name}, tea Oolong and amount 3, "
        "send it and tell me what it says"
    )
    run, envelopes = watched(client, asked)
    result = run.result
    assert (result.status, result.user_request, result.error_message) == ("completed", asked, "")
    assert f"{name} ordered 3 of Oolong." in result.answer
    shots = [one["screenshot"] for one in customs(envelopes, "computer_screenshot")]
    assert len(shots) == result.execution_details.screenshots_taken
    told = [one["told"] for one in customs(envelopes, "computer_action")]
    assert told[-10:] == result.execution_details.actions_performed
    assert f"ActionType.type_text:{name}" in told
    for shot in (shots[0], shots[-1]):
        picture = httpx.get(f"{served.url}{shot['url']}")
        assert picture.headers["content-type"] == "image/png"
        assert picture.headers["x-content-type-options"] == "nosniff"
        assert picture.content.startswith(b"\x89PNG")
    assert re.fullmatch(r"/runwire/shots/[\w-]{32}\.png", shots[0]["url"])


def test_actions_and_screenshots_are_told_while_the_run_goes_on(client, site):
    url, name = board(site)
    _, envelopes = watched(client, f'open {url}, click "{name}", type "x" into Words', profile="debug")
    order = [
        one.payload["data"].get("type", "") if one.type == "tool_update" else one.type
        for one in envelopes
        if one.type in ("tool_start", "tool_end", "llm_start") or one.payload.get("kind") == "custom"
    ]
    turn = ["llm_start", "tool_start", "computer_action", "computer_screenshot", "tool_end"]
    assert order[:12] == ["tool_start", "computer_sandbox", *turn, *turn]


def test_clicks_keys_scrolling_and_reading_do_what_they_say(client, site):
    (url, name), words = board(site), phrase()
    asked = (
        f'open {url}, click "{name}", type "{words}" into Words and press enter, press ctrl+b, '
        "double click at 600, 200, right click at 600, 200, drag from 520, 200 to 620, 200, "
        "click at 50, 700, scroll down and tell me the title"
    )
    run, _ = watched(client, asked)
    assert run.result.status == "completed"
    did = presses(site)
    wanted = [f"pressed {name}", f"typed {words}", "ctrl b", "twice", "right", "dragged 100"]
    assert [one for one in did if one in wanted] == wanted
    assert "Title: scrolled 600" in run.result.answer


def test_the_server_publishes_the_schemas(served):
    (found,) = httpx.post(f"{served.url}/assistants/search", json={"graph_id": "computer_use"}).json()
    schemas = httpx.get(f"{served.url}/assistants/{found['assistant_id']}/schemas").json()
    assert set(schemas["input_schema"]["properties"]) == {"messages", "user_request"}
    assert not schemas["input_schema"].get("required")
    assert set(schemas["output_schema"]["properties"]) == set(COMPUTER["properties"])


def test_a_question_waits_and_is_answered_by_the_person(client, site):
    (url, _), words = board(site), phrase()
    run, first = watched(client, f"open {url}, ask me for a colour, type 'done' into Words")
    assert run.status == "interrupted"
    asked = run.interrupts[0]["value"]
    assert (asked["kind"], asked["decisions"]) == ("question", ["approve", "reject"])
    assert "a colour" in asked["reason"]
    assert asked["screenshot"]["mime"] == "image/png"
    paused = run.result
    assert (paused.status, paused.requires_human_intervention) == ("human_intervention_required", True)
    assert (paused.human_intervention_reason, paused.answer) == (asked["reason"], None)
    with run.respond({"decision": "approve", "message": words}) as resumed:
        second = list(resumed)
    assert conformance.check(second, after=first) == []
    assert resumed.result.status == "completed"
    assert words in resumed.result.answer
    assert presses(site)[-1] == "typed done"


def test_two_runs_at_once_have_a_computer_each(client, site):
    boards = [board(site, f"/apart{number}") for number in range(2)]

    def drive(number):
        url, name = boards[number]
        run, envelopes = watched(client, f'open {url}, click "{name}", wait 0.5 seconds and tell me the title')
        return run.result.answer, {one["sandbox_id"] for one in customs(envelopes, "computer_sandbox")}

    with ThreadPoolExecutor(2) as pool:
        (first, one), (second, other) = pool.map(drive, range(2))
    assert f"pressed {boards[0][1]}" in first
    assert f"pressed {boards[1][1]}" in second
    assert len(one) == len(other) == 1
    assert one != other


def test_the_request_of_the_contract_gives_the_output_of_the_contract(served):
    thread = httpx.post(f"{served.url}/threads", json={}).json()["thread_id"]
    # The second and the third run of a thread begin as empty as the first.
    for text, key in (("test", "messages"), ("take a screenshot", "user_request"), ("test", "messages")):
        asked = {"messages": [{"role": "user", "content": text}]} if key == "messages" else {"user_request": text}
        events = run_by_http(served.url, "computer_use", text, thread, input=asked)
        assert events[0][0] == "metadata"
        told = [data for name, data in events if name == "values"]
        progress, final = told[:-1], told[-1]
        assert progress
        assert all(one == {**COMPUTER_PROGRESS, "user_request": text} for one in progress)
        Draft202012Validator(COMPUTER).validate(final)
        assert (final["status"], final["user_request"]) == ("completed", text)
        assert final["actions_performed"] == ["ActionType.screenshot:Capture the current state"]
        assert (final["total_interactions"], final["screenshots_taken"]) == (1, 1)


MODE_SETS = [
    ["tasks", "messages-tuple"],
    ["updates", "messages-tuple"],
    ["values"],
    ["updates"],
    ["messages-tuple"],
    ["debug", "custom"],
    ["events"],
]


def test_every_set_of_modes_gives_a_sound_stream(client):
    def drive(modes):
        return watched(client, "open the demo site, click Prices and tell me the title", stream_modes=modes)[0].result

    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(drive, MODE_SETS))
    assert [one.status for one in results] == ["completed"] * len(MODE_SETS)
    assert all("Title: Prices" in one.answer for one in results)


def test_a_cut_in_the_middle_changes_nothing(served, site):
    url, name = board(site)
    port = urlsplit(served.url).port or 0
    with Proxy(port, Cut(after_mark(0, b"computer_screenshot"), "reset")) as proxy, runwire.Client(proxy.url) as cut:
        run, envelopes = watched(cut, f'open {url}, click "{name}" and tell me the title', profile="debug")
        assert proxy.cuts
    with runwire.Client(served.url) as client, client.attach(run.thread_id, run.run_id or "", profile="debug") as whole:
        told = [(one.type, one.call_id, one.seq, one.payload) for one in whole]
    assert [(one.type, one.call_id, one.seq, one.payload) for one in envelopes] == told
    assert f"Title: pressed {name}" in run.result.answer
