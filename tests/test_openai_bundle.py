"""The bundle on the real server, on real langchain-openai, against a server on loopback that speaks OpenAI's API."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import runwire
from runwire import conformance
from tests.bundle import bundle, run_by_http
from tests.contract004 import OUTPUTS
from tests.openai_server import KEY, Said, keyless, serve_openai
from tests.sites import phrase, serve_site

pytestmark = pytest.mark.bundle

ASSISTANTS = tuple(OUTPUTS)
PLANNERS = ("planner_style_agent", "assist_with_planner")


@pytest.fixture(scope="module")
def site():
    with serve_site() as served:
        yield served


@pytest.fixture(scope="module")
def openai():
    with serve_openai() as server:
        yield server


@pytest.fixture(scope="module", params=["chat", "responses"])
def served(request, tmp_path_factory, site, openai):
    env = {
        "OPENAI_BASE_URL": openai.url,
        "OPENAI_API_KEY": KEY,
        "RUNWIRE_OPENAI_API": request.param,
        "RUNWIRE_BROWSER_ALLOW": site.origin,
    }
    with bundle(tmp_path_factory.mktemp("openai"), **env) as running:
        yield running


@pytest.fixture
def client(served, openai):
    openai.mind, openai.requests = keyless, []
    with runwire.Client(served.url) as opened:
        yield opened


def watched(client, assistant, text, **more):
    with client.stream(assistant, text, **more) as run:
        envelopes = list(run)
    assert conformance.check(envelopes) == []
    return run, envelopes


def test_the_chat_drives_the_browser_through_langchain_openai(client, site, openai):
    title, text = phrase(), phrase(8)
    url = site.page("/openai", title, f"<p>{text}</p>")
    run, envelopes = watched(client, "assist_with_playwright", f"open {url} and tell me its title and text")
    said = runwire.ChatOutput.model_validate(run.result).messages[-1]
    assert title in str(said["content"])
    assert text in str(said["content"])
    assert run.usage["total_tokens"] == 18 * len(openai.requests)
    spoken = "".join(
        one.payload["text"] for one in envelopes if one.type == "llm_token" and one.payload["channel"] == "text"
    )
    assert text in spoken
    tokens = [one for one in envelopes if one.type == "llm_token"]
    assert {one.payload["channel"] for one in tokens} == {"text", "tool_args"}


@pytest.mark.parametrize("assistant", PLANNERS)
def test_a_planner_works_through_langchain_openai(client, served, assistant):
    note = phrase()
    (served.files / "memo.txt").write_text(note)
    (served.files / "n.csv").write_text("region,amount\neast,40\neast,2\n")
    run, _ = watched(client, assistant, "read memo.txt and compute the sum of amount by region in n.csv")
    assert run.result.planner_result.next_task == 2
    assert note in str(run.result.messages[-1]["content"])
    assert "east | 42.0" in str(run.result.messages[-1]["content"])


@pytest.mark.parametrize("assistant", PLANNERS)
def test_a_planner_asks_the_person_through_langchain_openai(client, served, assistant):
    text = phrase()
    (served.files / "asked.txt").write_text(text)
    run, _ = watched(client, assistant, "read the file")
    assert run.status == "interrupted"
    with run.respond("asked.txt") as resumed:
        list(resumed)
    assert text in str(resumed.result.messages[-1]["content"])


def test_two_tool_calls_in_one_message_are_both_answered(client, served, openai):
    texts = {f"{number}.txt": phrase() for number in range(2)}
    for name, text in texts.items():
        (served.files / name).write_text(text)
    calls = tuple(("read_file", {"path": name}) for name in texts)

    def mind(messages, tools, forced):
        if forced == "Plan":
            return Said(calls=(("Plan", {"decision": "replace", "plan": [{"expert": "files", "task": "both"}]}),))
        answered = any(message.get("role") == "tool" for message in messages)
        return Said(text="done") if answered or not tools else Said(calls=calls)

    openai.mind = mind
    _, envelopes = watched(client, "planner_style_agent", "read both")
    results = [one.payload["result"]["text"] for one in envelopes if one.type == "tool_end" and one.parent_id]
    assert sorted(results) == sorted(texts.values())


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_the_output_is_that_of_the_contract_also_without_a_token_mode(served, assistant, openai):
    openai.mind = keyless
    final = run_by_http(served.url, assistant, "test")[-1][1]
    Draft202012Validator(OUTPUTS[assistant]).validate(final)


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_a_providers_failure_fails_the_run_in_words_that_survive(client, openai, assistant):
    reason = phrase()
    openai.mind = lambda messages, tools, forced: Said(error=(404, reason))
    run, envelopes = watched(client, assistant, "read the page")
    assert run.status == "error"
    errors = [one.payload["message"] for one in envelopes if one.type == "error"]
    assert any(reason in message and "OPENAI_MODEL" in message for message in errors)


def handed(envelopes):
    """The tasks that were handed to subagents, as their starts tell them."""
    return [e for e in envelopes if e.type == "tool_start" and e.payload["tool_name"] == "task"]


def test_the_deep_agent_works_through_langchain_openai(client, served, site, openai):
    texts = [phrase(), phrase()]
    one, two = (site.page(f"/deep{number}", "Deep", text) for number, text in enumerate(texts))
    (served.files / "n.csv").write_text("region,amount\neast,40\neast,2\n")
    asked = f"compare {one} and {two}, compute the sum of amount by region in n.csv and write the findings to found.md"
    run, envelopes = watched(client, "deep_agent", asked)
    tasks = handed(envelopes)
    assert sorted(e.agent for e in tasks) == ["planner", "reader", "reader", "team"]
    assert len({e.parent_id for e in tasks}) == 2
    with run.respond({"decisions": [{"type": "approve"}]}) as resumed:
        rest = list(resumed)
    assert conformance.check(rest, after=envelopes) == []
    file = resumed.result.files["/found.md"]["content"]
    assert all(text in file for text in [*texts, "east | 42.0"])
    assert [todo["status"] for todo in resumed.result.todos] == ["completed"] * 3
    assert {request["key"] for request in openai.requests} == {f"Bearer {KEY}"}


def test_a_subagent_that_fails_is_told_apart_from_one_that_does_not(client, site, openai):
    reason, text = phrase(), phrase()
    url = site.page("/sound", "Sound", text)

    def mind(messages, tools, forced):
        return Said(error=(400, reason)) if forced == "Plan" else keyless(messages, tools, forced)

    openai.mind = mind
    run, envelopes = watched(client, "deep_agent", f"open {url}, read it and compute the sum of amount in n.csv")
    ends = {e.call_id: e.payload for e in envelopes if e.type == "tool_end"}
    assert {e.agent: ends[e.call_id]["status"] for e in handed(envelopes)} == {"browser": "ok", "planner": "error"}
    blamed = {e.call_id for e in envelopes if e.type == "error" and reason in e.payload["message"]}
    assert blamed == {e.call_id for e in handed(envelopes) if e.agent == "planner"}
    assert run.status == "success"
    assert text in str(run.result.messages[-1]["content"])
    assert reason in str(run.result.messages[-1]["content"])


def test_two_subagents_wait_for_approvals_of_their_own(client, openai):
    texts = {f"/{name}.txt": phrase() for name in ("one", "two")}

    def mind(messages, tools, forced):
        names = {tool["function"]["name"] for tool in tools}
        path = next((path for path in texts if f"keep {path}" in str(messages)), "")
        if messages[-1]["role"] == "tool":
            return Said(text="done")
        if "task" in names:
            calls = [{"description": f"keep {one}", "subagent_type": "general-purpose"} for one in texts]
            return Said(calls=tuple(("task", args) for args in calls))
        return Said(calls=(("write_file", {"file_path": path, "content": texts[path]}),))

    openai.mind = mind
    run, envelopes = watched(client, "deep_agent", "go")
    waiting = {one["value"]["action_requests"][0]["args"]["file_path"]: one["id"] for one in run.interrupts}
    assert waiting.keys() == texts.keys()
    answers = {waiting["/one.txt"]: {"type": "approve"}, waiting["/two.txt"]: {"type": "reject"}}
    with run.respond({id: {"decisions": [decision]} for id, decision in answers.items()}) as resumed:
        rest = list(resumed)
    assert conformance.check(rest, after=envelopes) == []
    assert {path: file["content"] for path, file in resumed.result.files.items()} == {"/one.txt": texts["/one.txt"]}
    ends = [e.payload["status"] for e in rest if e.type == "tool_end" and e.payload["tool_name"] == "write_file"]
    assert sorted(ends) == ["error", "ok"]


def test_subagents_that_end_in_either_order_give_the_same_tree(client, site, openai):
    turns = {site.page(f"/turn{number}", "Turn", phrase()): threading.Event() for number in range(4)}
    urls = list(turns)
    # Of each two, the first waits for the second, or the second for the first.
    waits = {urls[0]: urls[1], urls[3]: urls[2]}

    def mind(messages, tools, forced):
        said = keyless(messages, tools, forced)
        url = next((url for url in urls if f"open {url}; " in str(messages[1])), None)
        if url and not said.calls:
            if url in waits:
                assert turns[waits[url]].wait(30)
            turns[url].set()
        return said

    def drive(pair):
        run, envelopes = watched(client, "deep_agent", f"open {pair[0]} and {pair[1]}")
        names = {e.call_id: pair.index(e.payload["args"]["description"].split("; ")[0][5:]) for e in handed(envelopes)}
        return [
            (names.get(call.call_id), names.get(call.parent_id), call.kind, call.name, call.agent, call.status)
            for call in sorted(run.view.calls(), key=lambda call: names.get(call.parent_id, -1))
        ]

    openai.mind = mind
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(drive, [urls[:2], urls[2:]])
    assert len(first) == 19
    assert first == second


def test_a_provider_that_breaks_off_fails_the_run(client, openai):
    openai.mind = lambda messages, tools, forced: Said(text=phrase(40), cut_after=4)
    run, envelopes = watched(client, "assist_with_playwright", "hello")
    assert run.status == "error"
    assert "broke off" in next(one.payload["message"] for one in envelopes if one.type == "error")


def test_reasoning_has_a_channel_of_its_own(client, openai, served):
    thought = phrase(6)
    openai.mind = lambda messages, tools, forced: Said(text="fine", reasoning=thought)
    _, envelopes = watched(client, "assist_with_playwright", "hello")
    told = [one.payload for one in envelopes if one.type == "llm_token" and one.payload["channel"] == "reasoning"]
    responses = any(request["path"].endswith("/responses") for request in openai.requests)
    assert "".join(one["text"] for one in told) == (thought if responses else "")


def test_a_tool_that_does_not_exist_is_told_to_the_model(client, openai):
    def mind(messages, tools, forced):
        answered = any(message.get("role") == "tool" for message in messages)
        return Said(text="I see") if answered else Said(calls=(("teleport", {"to": "moon"}),))

    openai.mind = mind
    run, _ = watched(client, "assist_with_playwright", "hello")
    assert run.status == "success"
    assert run.result.messages[2]["status"] == "error"


def test_the_key_goes_to_the_provider_and_into_no_envelope(client, openai):
    run, envelopes = watched(client, "assist_with_playwright", "hello")
    assert {request["key"] for request in openai.requests} == {f"Bearer {KEY}"}
    assert KEY not in "".join(str(one.to_dict()) for one in envelopes)
    assert KEY not in str(client.sdk.threads.get_state(run.thread_id))
