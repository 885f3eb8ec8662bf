"""`computer_use` on the real server and real langchain-openai, with OpenAI's computer tool in both its forms."""

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import runwire
from tests.bundle import bundle, run_by_http
from tests.computer import board, click, customs, one_after_the_other, outputs, presses, values, watched, written
from tests.contract004 import COMPUTER, COMPUTER_PROGRESS
from tests.openai_server import KEY, Said, serve_openai
from tests.sites import phrase, serve_site

pytestmark = pytest.mark.bundle

CHECK = {"id": "cu_sc_1", "code": "malicious_instructions", "message": "The page tells the model what to do."}
MODELS = {"several": "gpt-5.4", "one": "computer-use-preview-2025-03-11"}


@pytest.fixture(scope="module")
def site():
    with serve_site() as served:
        yield served


@pytest.fixture(scope="module")
def openai():
    with serve_openai() as server:
        yield server


@pytest.fixture(scope="module", params=MODELS)
def form(request):
    return request.param


@pytest.fixture(scope="module")
def served(form, tmp_path_factory, site, openai):
    env = {
        "OPENAI_BASE_URL": openai.url,
        "OPENAI_API_KEY": KEY,
        "OPENAI_MODEL": MODELS[form],
        "RUNWIRE_BROWSER_ALLOW": site.origin,
    }
    with bundle(tmp_path_factory.mktemp("computer"), **env) as running:
        yield running


@pytest.fixture
def client(served, openai):
    openai.requests = []
    with runwire.Client(served.url) as opened:
        yield opened


def turns(form, *actions):
    """The actions in the turns that the form of the tool allows: all in one, or one each."""
    return [Said(actions=actions)] if form == "several" else [Said(actions=(action,)) for action in actions]


def test_the_model_clicks_and_types_and_sees_what_came_of_it(client, openai, site, form):
    (url, name), words, before = board(site), phrase(), len(presses(site))
    acts = turns(form, click(200, 125), click(250, 220), written(words), {"type": "screenshot"})
    openai.mind = one_after_the_other(Said(calls=(("navigate", {"url": url}),)), *acts, Said(text=f"Wrote {words}."))
    run, envelopes = watched(client, f"write {words}")
    assert (run.result.status, run.result.answer) == ("completed", f"Wrote {words}.")
    assert presses(site)[before] == f"pressed {name}"
    assert presses(site)[-1] == f"typed {words}"
    assert run.result.execution_details.actions_performed == [
        f"ActionType.navigate:{url}",
        f"ActionType.click_element:button '{name}' at (200, 125)",
        "ActionType.click_element:text field 'Words' at (250, 220)",
        f"ActionType.type_text:{words}",
        "ActionType.screenshot:Capture the current state",
    ]
    tools = [one.payload["tool_name"] for one in envelopes if one.type == "tool_start"]
    assert tools == ["computer_use", "navigate", *["computer"] * len(acts)]
    assert [one.payload["message"] for one in envelopes if one.type == "warning"] == []
    assert {request["path"] for request in openai.requests} == {"/v1/responses"}
    assert all(request["stream"] for request in openai.requests)
    assert {request["key"] for request in openai.requests} == {f"Bearer {KEY}"}
    assert KEY not in "".join(str(one.to_dict()) for one in envelopes) + str(values(client, run))


def test_the_request_names_the_tool_in_the_form_of_its_model(served, openai, form):
    openai.requests = []
    openai.mind = one_after_the_other(*turns(form, {"type": "wait"}, {"type": "screenshot"}), Said(text="done"))
    events = [told for name, told in run_by_http(served.url, "computer_use", "look") if name == "values"]
    assert events[0] == {**COMPUTER_PROGRESS, "user_request": "look"}
    Draft202012Validator(COMPUTER).validate(events[-1])
    assert events[-1]["answer"] == "done"
    assert not any(request.get("stream") for request in openai.requests)
    tool, *functions = openai.requests[0]["tools"]
    size = {"display_width": 1280, "display_height": 800, "environment": "browser"}
    assert tool == ({"type": "computer"} if form == "several" else {"type": "computer_use_preview", **size})
    assert [one["name"] for one in functions] == ["navigate", "ask_person", "give_up"]
    assert openai.requests[0].get("truncation") == (None if form == "several" else "auto")


def test_a_safety_check_waits_for_a_person_and_is_acknowledged_to_the_model(client, openai, site):
    (url, name), before = board(site), len(presses(site))
    pressing = Said(actions=(click(200, 125),), checks=(CHECK,))
    openai.mind = one_after_the_other(Said(calls=(("navigate", {"url": url}),)), pressing, Said(text="pressed"))
    run, first = watched(client, "press it")
    assert run.status == "interrupted"
    asked = run.interrupts[0]["value"]
    assert (asked["kind"], asked["reason"], asked["checks"]) == ("safety_check", CHECK["message"], [CHECK])
    assert asked["actions"] == [click(200, 125)]
    assert presses(site)[before:] == []
    with run.respond({"decision": "approve"}) as resumed:
        second = list(resumed)
    assert runwire.conformance.check(second, after=first) == []
    assert (resumed.result.status, resumed.result.answer) == ("completed", "pressed")
    assert presses(site)[before:] == [f"pressed {name}"]
    assert outputs(openai.requests[-1])[-1]["acknowledged_safety_checks"] == [CHECK]


def test_a_safety_check_that_is_rejected_and_a_refusal_stop_the_run(client, openai):
    openai.mind = one_after_the_other(Said(actions=(click(1, 1),), checks=(CHECK,)), Said(refusal="I will not."))
    run, _ = watched(client, "press it")
    with run.respond({"decision": "reject"}) as resumed:
        envelopes = list(resumed)
    told = resumed.result
    assert (told.status, told.human_intervention_reason) == ("human_intervention_required", CHECK["message"])
    assert (told.sandbox_preserved, told.requires_human_intervention) == (True, True)
    assert told.execution_details.actions_performed == []
    assert len(openai.requests) == 1
    assert [one["fate"] for one in customs(envelopes, "computer_sandbox")] == ["kept"]
    again, envelopes = watched(client, "press it all the same", run.thread_id)
    assert (again.result.status, again.result.error_message) == ("failed", "The model refused: I will not.")
    assert [one["fate"] for one in customs(envelopes, "computer_sandbox")] == ["reused", "ended"]
