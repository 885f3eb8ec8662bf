"""`computer_use` in this process: the real browser, and real langchain-openai against a server on loopback."""

import asyncio
import base64

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from runwire_graphs.computer.sandboxes import sandboxes
from runwire_graphs.computer_use import graph
from runwire_graphs.hands import HANDS
from tests.computer import Hand, board, click, one_after_the_other, outputs, written
from tests.openai_server import KEY, Said, serve_openai
from tests.sites import phrase, serve_site

pytestmark = pytest.mark.bundle

CHECK = {"id": "cu_sc_1", "code": "malicious_instructions", "message": "The page tells the model what to do."}
WAIT = 20


@pytest.fixture(scope="module")
def site():
    with serve_site() as served:
        yield served
    HANDS.close()


@pytest.fixture(scope="module")
def server():
    with serve_openai() as served:
        yield served


@pytest.fixture(autouse=True)
def env(monkeypatch, site, tmp_path):
    monkeypatch.setenv("RUNWIRE_BROWSER_ALLOW", site.origin)
    monkeypatch.setenv("RUNWIRE_DATA", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def openai(monkeypatch, server):
    server.requests = []
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return server


@pytest.fixture
def hand():
    return Hand(graph.copy(update={"checkpointer": InMemorySaver()}))


async def open_sandboxes():
    async def work():
        return list(sandboxes()._open)

    return await HANDS.reach(work())


async def test_nothing_is_left_of_a_sandbox_once_its_run_has_ended(hand, site):
    end = await hand.run(f"open {board(site)[0]}")
    assert end["status"] == "completed"
    assert hand.fates() == ["started", "ended"]
    assert await open_sandboxes() == []


async def test_nothing_is_left_of_a_sandbox_whose_run_is_cancelled(hand, site):
    running = asyncio.create_task(hand.run("wait 10 seconds"))
    async with asyncio.timeout(WAIT):
        await hand.acted.wait()
        assert len(await open_sandboxes()) == 1
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        while await open_sandboxes():
            pass


async def test_nothing_is_left_of_a_sandbox_whose_run_breaks(hand, site, monkeypatch):
    def broken(said):
        raise ZeroDivisionError

    monkeypatch.setattr("runwire_graphs.computer_use.ending", broken)
    with pytest.raises(ZeroDivisionError):
        await hand.run(f"open {board(site)[0]}")
    async with asyncio.timeout(WAIT):
        while await open_sandboxes():
            pass


async def test_a_run_stops_after_its_steps_and_says_so(hand, monkeypatch):
    monkeypatch.setenv("RUNWIRE_COMPUTER_STEPS", "2")
    end = await hand.run("press tab, press tab, press tab")
    assert (end["status"], end["total_interactions"], end["task_completed_successfully"]) == ("failed", 2, False)
    assert "RUNWIRE_COMPUTER_STEPS" in end["error_message"]


async def test_a_run_stops_after_its_time_and_says_so(hand, monkeypatch):
    monkeypatch.setenv("RUNWIRE_COMPUTER_SECONDS", "0.3")
    end = await hand.run("wait 0.4 seconds, wait 9 seconds, wait 9 seconds")
    assert end["status"] == "failed"
    assert end["total_interactions"] <= 1
    assert "RUNWIRE_COMPUTER_SECONDS" in end["error_message"]


async def test_a_model_that_takes_too_long_is_stopped(hand, openai, monkeypatch):
    monkeypatch.setenv("RUNWIRE_COMPUTER_SECONDS", "0.8")
    gate = asyncio.Event()
    openai.mind = lambda messages, tools, forced: asyncio.run(asyncio.wait_for(gate.wait(), 2)) or Said(text="late")
    end = await hand.run("look")
    assert "RUNWIRE_COMPUTER_SECONDS" in end["error_message"]


async def test_a_run_with_too_few_steps_of_its_graph_ends_in_words(hand):
    end = await hand.run("press tab, press tab, press tab, press tab", recursion_limit=7)
    assert "recursion_limit" in end["error_message"]


async def test_a_request_that_says_nothing_fails_in_words(hand):
    end = await hand.run("  ")
    assert (end["status"], end["user_request"], end["screenshots_taken"]) == ("failed", "", 0)
    assert "user_request" in end["error_message"]


@pytest.mark.parametrize(
    ("name", "value", "cure"),
    [
        ("RUNWIRE_CHROMIUM", "no-such-browser", "make browser"),
        ("RUNWIRE_COMPUTER", "mainframe", "RUNWIRE_COMPUTER must be page or desktop"),
        ("RUNWIRE_COMPUTER_STEPS", "none", "RUNWIRE_COMPUTER_STEPS must be a number"),
    ],
)
async def test_a_run_without_its_parts_fails_with_the_cure(hand, monkeypatch, name, value, cure):
    HANDS.close()
    monkeypatch.setenv(name, value)
    end = await hand.run("take a screenshot")
    assert end["status"] == "failed"
    assert cure in end["error_message"]


async def test_a_desktop_without_its_parts_fails_with_the_cure(hand, monkeypatch, tmp_path):
    monkeypatch.setenv("RUNWIRE_COMPUTER", "desktop")
    monkeypatch.setenv("PATH", str(tmp_path))
    end = await hand.run("take a screenshot")
    assert end["status"] == "failed"
    assert "make desktop" in end["error_message"]
    assert "Xvfb" in end["error_message"]


async def test_a_kept_computer_is_used_again_by_the_next_run_and_ended_with_it(hand, site):
    url, name = board(site)
    await hand.run(f"open {url}, ask me whether to go on")
    end = await hand.run(Command(resume={"decision": "reject", "message": "not yet"}))
    assert (end["status"], end["sandbox_preserved"]) == ("human_intervention_required", True)
    assert "not yet" in end["human_intervention_reason"]
    kept = await open_sandboxes()
    assert len(kept) == 1
    again = await hand.run(f'click "{name}" and tell me the title')
    assert f"Title: pressed {name}" in again["answer"]
    assert hand.fates() == ["started", "kept", "reused", "ended"]
    assert await open_sandboxes() == []


async def test_a_computer_that_is_gone_is_replaced_and_the_user_is_told(hand, site):
    url, _ = board(site)
    await hand.run(f"open {url}, ask me whether to go on")
    await hand.run(Command(resume="no"))
    (id,) = await open_sandboxes()
    await HANDS.reach(sandboxes().end(id))
    end = await hand.run("take a screenshot")
    assert end["answer"].startswith("The computer that was kept for this thread was gone")
    assert hand.fates()[-3:] == ["lost", "started", "ended"]


async def test_a_computer_that_is_gone_is_not_said_to_be_kept(hand, site):
    await hand.run(f"open {board(site)[0]}, ask me whether to go on")
    (id,) = await open_sandboxes()
    await HANDS.reach(sandboxes().end(id))
    end = await hand.run(Command(resume="no"))
    assert (end["status"], end["sandbox_preserved"]) == ("human_intervention_required", False)
    assert end["human_intervention_reason"].endswith("The computer itself is gone.")


async def test_what_was_approved_for_another_screen_is_not_done_on_a_new_one(hand, openai, site):
    url, _ = board(site)
    pressed = Said(actions=(click(200, 125),), checks=(CHECK,))
    openai.mind = one_after_the_other(Said(calls=(("navigate", {"url": url}),)), pressed, Said(text="It is gone."))
    await hand.run("press it")
    before = len(site.asked)
    (id,) = await open_sandboxes()
    await HANDS.reach(sandboxes().end(id))
    end = await hand.run(Command(resume="approve"))
    assert "It is gone." in end["answer"]
    assert "was gone" in end["answer"]
    assert not [path for path, _ in site.asked[before:] if path.startswith("/did")]
    assert outputs(openai.requests[-1])[-1]["acknowledged_safety_checks"] == [CHECK]


async def test_the_number_of_computers_is_limited_and_kept_ones_make_room(monkeypatch, site):
    monkeypatch.setenv("RUNWIRE_COMPUTER_SANDBOXES", "1")
    url, _ = board(site)
    first, second = (Hand(graph.copy(update={"checkpointer": InMemorySaver()})) for _ in range(2))
    await first.run(f"open {url}, ask me whether to go on")
    (kept,) = await open_sandboxes()
    assert (await second.run("take a screenshot"))["status"] == "completed"
    assert kept not in await open_sandboxes()
    held = await HANDS.reach(sandboxes().start())
    assert "RUNWIRE_COMPUTER_SANDBOXES" in (await second.run("take a screenshot"))["error_message"]
    await HANDS.reach(sandboxes().end(held.id))


async def test_a_kept_computer_ends_when_nobody_comes_back(hand, site, monkeypatch):
    monkeypatch.setenv("RUNWIRE_COMPUTER_KEPT_SECONDS", "0.2")
    HANDS.close()
    await hand.run(f"open {board(site)[0]}, ask me whether to go on")
    async with asyncio.timeout(WAIT):
        while await open_sandboxes():
            pass


async def test_only_the_last_pictures_go_out_and_none_is_in_the_state(hand, openai):
    openai.mind = one_after_the_other(*[Said(actions=({"type": "screenshot"},))] * 7, Said(text="seen"))
    end = await hand.run("look seven times")
    assert end["screenshots_taken"] == 7
    assert max(len(outputs(request)) for request in openai.requests) == 4
    picture = outputs(openai.requests[-1])[-1]["output"]["image_url"].partition(",")[2]
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    assert "- computer: screenshot" in str(openai.requests[-1]["input"])
    assert len(str(await hand.state())) < 20_000


async def test_what_the_model_asks_in_words_is_put_to_the_person_and_answered(hand, openai):
    openai.mind = one_after_the_other(Said(text="Which one do you mean?"), Said(text="Thank you."))
    words = phrase()
    assert (await hand.run("press it"))["__interrupt__"][0].value["kind"] == "question"
    assert (await hand.run(Command(resume=words)))["answer"] == "Thank you."
    assert words in str(openai.requests[-1]["input"])


async def test_what_the_model_asks_by_a_call_is_answered_there(hand, openai):
    openai.mind = one_after_the_other(
        Said(calls=(("ask_person", {"question": "Which one?"}),)), Said(text="Thank you.")
    )
    words = phrase()
    assert (await hand.run("press it"))["__interrupt__"][0].value["reason"] == "Which one?"
    assert (await hand.run(Command(resume={"decision": "approve", "message": words})))["answer"] == "Thank you."
    (answer,) = [item for item in openai.requests[-1]["input"] if item.get("type") == "function_call_output"]
    assert answer["output"] == words


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    ("said", "error"),
    [
        (Said(refusal="I will not do that."), "The model refused: I will not do that."),
        (Said(text="I began", incomplete="max_output_tokens"), "cut short: max_output_tokens"),
        (Said(calls=(("give_up", {"reason": "It is locked."}),)), "It is locked."),
        (Said(error=(404, "no such model")), "no such model"),
    ],
    ids=["refused", "incomplete", "given up", "error"],
)
async def test_what_ends_badly_says_so(hand, openai, said, error, streamed):
    openai.mind = one_after_the_other(said)
    end = await hand.run("press it", streamed=streamed)
    assert (end["status"], end["task_completed_successfully"]) == ("failed", False)
    assert error in end["error_message"]
    assert hand.fates() == ["started", "ended"]
    assert bool(openai.requests[0].get("stream")) is streamed


async def test_an_action_that_fails_is_told_to_the_model_beside_the_picture(hand, openai):
    openai.mind = one_after_the_other(Said(actions=(click(5000, 1),)), Said(text="I see"))
    end = await hand.run("press it")
    assert end["status"] == "completed"
    assert "outside of the screen" in str(openai.requests[-1]["input"])
    assert "outside of the screen" in hand.told("computer_action_failed")[0]["message"]


async def test_any_model_can_use_a_screen_by_functions(hand, openai, site, monkeypatch):
    monkeypatch.setenv("RUNWIRE_COMPUTER_TOOL", "functions")
    (url, name), words = board(site), phrase()
    actions = [click(250, 220), written(words)]
    openai.mind = one_after_the_other(
        Said(calls=(("navigate", {"url": url}),)), Said(calls=(("computer", {"actions": actions}),)), Said(text="done")
    )
    end = await hand.run("write it")
    assert end["answer"] == "done"
    assert openai.requests[0]["path"].endswith("/chat/completions")
    seen = str(openai.requests[-1]["messages"])
    assert f'button "{name}" at (200, 125)' in seen
    assert f'text field "Words" holding "{words}" at (250, 220)' in seen
    assert "base64" not in seen


async def test_a_password_is_typed_and_told_nowhere(hand, openai, site):
    (url, _), secret = board(site), phrase(1)
    acts = Said(actions=(click(250, 280), written(secret)))
    openai.mind = one_after_the_other(Said(calls=(("navigate", {"url": url}),)), acts, Said(text="done"))
    end = await hand.run("log in")
    assert end["actions_performed"][-1] == "ActionType.type_text:a password, which is not told"
    assert secret not in str(hand.customs)
    (tool,) = [one for one in (await hand.state())["messages"] if one.type == "tool" and one.name == "computer"]
    assert secret not in tool.content


async def test_what_is_not_on_the_screen_fails_the_run_in_words(hand, site):
    (url, name), gone = board(site), phrase()
    end = await hand.run(f'open {url} and click "{gone}"')
    assert (end["status"], end["task_completed_successfully"]) == ("failed", False)
    assert gone in end["error_message"]
    assert name in end["error_message"]


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/", "file:///etc/passwd"])
async def test_the_computer_reaches_no_more_than_the_browser_does(hand, openai, address):
    openai.mind = one_after_the_other(Said(calls=(("navigate", {"url": address}),)), Said(text="I cannot."))
    await hand.run("open it")
    (refused,) = hand.told("computer_action_failed")
    assert "RUNWIRE_BROWSER_ALLOW" in refused["message"] or "only http" in refused["message"]
    assert refused["message"] in str(openai.requests[-1]["input"])


@pytest.mark.parametrize("asked", ["sing a song", "hello there", "?!"])
async def test_what_is_not_understood_is_said_honestly(hand, asked):
    end = await hand.run(asked)
    assert repr(asked) in end["answer"]
    assert "keyless" in end["answer"]


async def test_what_is_understood_only_in_part_is_not_a_success(hand, site):
    end = await hand.run(f"open {board(site)[0]} and water the plants")
    assert end["status"] == "failed"
    assert "water the plants" in end["error_message"]


async def test_a_password_field_is_filled_only_once_a_person_has_approved(hand, site):
    (url, _), secret = board(site), phrase(1)
    waits = await hand.run(f"open {url} and type '{secret}' into Secret")
    assert "password" in waits["__interrupt__"][0].value["reason"]
    assert [one["action"]["type"] for one in hand.told("computer_action")] == ["navigate"]
    end = await hand.run(Command(resume="approve"))
    assert end["status"] == "completed"
    assert end["actions_performed"][-1] == "ActionType.type_text:a password, which is not told"
    assert secret not in str(hand.customs)
