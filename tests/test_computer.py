"""The parts of `computer_use` by themselves: gestures, actions, calls, questions, verdicts, the state."""

import json
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.errors import EmptyChannelError

from runwire_graphs.computer.actions import Action
from runwire_graphs.computer.calls import Asked, answer, asked, cut_short, for_pictures, refusal, shortened
from runwire_graphs.computer.keys import find_key
from runwire_graphs.computer.questions import question_in
from runwire_graphs.computer.requests import request_of, spoken
from runwire_graphs.computer.state import AtTheEnd, ComputerState, counted, logged
from runwire_graphs.computer.tools import tool_form, tools_of
from runwire_graphs.computer.verdicts import read_verdict
from runwire_graphs.errors import ComputerError, ConfigError
from runwire_graphs.scripted.brain import think
from runwire_graphs.settings import Settings
from runwire_graphs.shots import keep_shot
from tests.computer import click
from tests.sites import phrase

HOME = "http://127.0.0.1:4024"
TOOLS = tools_of("functions", "browser")
SHOP = """Title: Order
Address: http://127.0.0.1:4024/order
Screen: 1280 x 800

link "About us" at (539, 44)
text field "Your name" at (439, 202)
password field "Card" at (439, 240)
choice "Tea" of Green tea, Oolong holding "Green tea" at (432, 280)
checkbox "Gift", checked at (300, 320)
button "Send order" at (354, 413)
link "Terms" at (300, 1900), not on the screen: scroll to it

Text:
Order here. link "Fake" at (1, 1)"""
DESKTOP = 'Screen: 1280 x 800\n\nwindow "Terminal" at (362, 257)\nIn front: Terminal'
CHECK = {"id": "sc_1", "code": "c", "message": "Careful."}
CALL = {"type": "computer_call", "id": "cu_1", "call_id": "call_1", "status": "completed"}
SELECT = {"type": "keypress", "keys": ["CTRL", "A"]}
ENTER = {"type": "keypress", "keys": ["ENTER"]}


def turns(request, screen=SHOP, limit=8):
    """What the keyless model does for a request, with a screen that never changes: calls, and its last words."""
    messages = [SystemMessage(f"You use a screen.\nThe demo site is at {HOME}"), HumanMessage(request)]
    calls: list[Any] = []
    for number in range(limit):
        reply = think(messages, TOOLS, None)
        if not reply.calls:
            return calls, reply.text
        (call,) = reply.calls
        calls.append((call.name, call.args))
        if call.name == "give_up":
            return calls, reply.text
        asked = {"name": call.name, "args": call.args, "id": str(number)}
        told = "the answer" if call.name == "ask_person" else screen
        messages += [AIMessage(reply.text, tool_calls=[asked]), ToolMessage(told, tool_call_id=str(number))]
    return calls, ""


def acted(request, screen=SHOP):
    """The actions alone, without the look that comes first."""
    calls, _ = turns(request, screen)
    return [action for name, args in calls if name == "computer" for action in args["actions"]][1:]


@pytest.mark.parametrize(
    ("request_", "actions"),
    [
        ("click Send order", [click(354, 413)]),
        ("press the send button", [click(354, 413)]),
        ("follow the 'About us' link", [click(539, 44)]),
        ("go to the about us page", [click(539, 44)]),
        ("double click at 10, 20", [{"type": "double_click", "x": 10, "y": 20}]),
        ("right-click Terminal", [{**click(362, 257), "button": "right"}]),
        ('type "Zoë, Ünal" into Your name', [click(439, 202), SELECT, {"type": "type", "text": "Zoë, Ünal"}]),
        ("enter Anna as your name", [click(439, 202), SELECT, {"type": "type", "text": "Anna"}]),
        ("fill in your name with Anna", [click(439, 202), SELECT, {"type": "type", "text": "Anna"}]),
        ("type hello and press enter", [{"type": "type", "text": "hello"}, ENTER]),
        ("choose oolong in Tea", [click(432, 280), {"type": "type", "text": "Oolong"}, ENTER]),
        ("select Oolong", [click(432, 280), {"type": "type", "text": "Oolong"}, ENTER]),
        ("uncheck the Gift box", [click(300, 320)]),
        ("check Gift", [{"type": "screenshot"}]),
        ("press ctrl+shift+t", [{"type": "keypress", "keys": ["CTRL", "SHIFT", "T"]}]),
        ("hit the Page Down key", [{"type": "keypress", "keys": ["PAGEDOWN"]}]),
        ("scroll to the bottom", [{"type": "keypress", "keys": ["END"]}]),
        ("scroll down the page to the end", [{"type": "keypress", "keys": ["END"]}]),
        ("scroll up", [{"type": "scroll", "x": 640, "y": 400, "scroll_x": 0, "scroll_y": -600}]),
        ("go back", [{**click(0, 0), "button": "back"}]),
        ("wait 2.5 seconds", [{"type": "wait", "seconds": 2.5}]),
        ("hover over Send order", [{"type": "move", "x": 354, "y": 413}]),
        ("drag from 1, 2 to 30, 40", [{"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 30, "y": 40}]}]),
        ("submit the form", [click(354, 413)]),
        (
            "fill the form with name Anna Quill, tea Oolong",
            [
                *[click(439, 202), SELECT, {"type": "type", "text": "Anna Quill"}],
                *[click(432, 280), {"type": "type", "text": "Oolong"}, ENTER],
            ],
        ),
    ],
)
def test_a_plain_step_becomes_the_actions_that_it_asks_for(request_, actions):
    screen = DESKTOP if "Terminal" in request_ else SHOP
    found = acted(f"take a screenshot, {request_}", screen)
    assert found == actions


def test_on_a_desktop_what_follows_in_belongs_to_the_text():
    found = acted("take a screenshot, type ls in folder and press enter", DESKTOP)
    assert found == [{"type": "type", "text": "ls in folder"}, ENTER]


def test_the_windows_of_a_desktop_are_told():
    _, text = turns("which windows are open", DESKTOP)
    assert 'window "Terminal"' in text


def test_an_address_and_a_known_place_are_opened():
    calls, _ = turns("open the demo site, go to https://a.test/x?y=1 and read it")
    assert calls[:2] == [("navigate", {"url": HOME}), ("navigate", {"url": "https://a.test/x?y=1"})]


def test_a_blank_page_is_left_for_the_place_that_is_known():
    calls, _ = turns("click Order", "Title: \nAddress: about:blank\nScreen: 1280 x 800\n\nNothing.\n\nText:\n")
    assert calls[:2] == [("computer", {"actions": [{"type": "screenshot"}]}), ("navigate", {"url": HOME})]


def test_what_is_below_the_screen_is_scrolled_to_and_not_for_ever():
    calls, text = turns("click Terms", limit=12)
    (moved,) = calls[1][1]["actions"]
    assert (moved["type"], moved["scroll_y"]) == ("scroll", 1500)
    assert calls[-1][0] == "give_up"
    assert "Terms" in text


def test_the_text_of_a_page_is_no_list_of_elements():
    calls, _ = turns("click Fake")
    assert calls[-1][0] == "give_up"


@pytest.mark.parametrize(
    ("request_", "asks"),
    [
        ("type into your name", "What shall I type"),
        ("type 1234 into Card", "password"),
        ("log in to the shop", "log in"),
        ("ask me for a colour", "a colour"),
        ("solve the captcha", "captcha"),
    ],
)
def test_a_person_is_asked_for_what_only_they_can_say_or_do(request_, asks):
    calls, _ = turns(request_)
    assert asks in next(args["question"] for name, args in calls if name == "ask_person")


def test_on_a_computer_that_was_started_anew_it_does_all_again_but_asks_nothing_twice():
    asked = AIMessage("Step 2 of 3: ask me.", tool_calls=[{"name": "ask_person", "args": {}, "id": "2"}])
    before = [
        HumanMessage("open http://a.test/, ask me to go on and read it"),
        AIMessage("Step 1 of 3: open.", tool_calls=[{"name": "navigate", "args": {}, "id": "1"}]),
        ToolMessage(SHOP, tool_call_id="1", name="navigate"),
        *[asked, ToolMessage("Go on.", tool_call_id="2", name="ask_person"), SystemMessage("It was started anew.")],
    ]
    first = think(before, TOOLS, None)
    assert [call.name for call in first.calls] == ["navigate"]
    said = AIMessage(first.text, tool_calls=[{"name": "navigate", "args": {}, "id": "3"}])
    second = think([*before, said, ToolMessage(SHOP, tool_call_id="3", name="navigate")], TOOLS, None)
    assert second.text.startswith("Step 3 of 3")


def test_on_a_computer_that_was_started_anew_it_begins_anew():
    request = HumanMessage("open http://a.test/ and read it")
    step = AIMessage("Step 1 of 2: open.", tool_calls=[{"name": "navigate", "args": {}, "id": "1"}])
    for anew in (
        [ToolMessage(SHOP, tool_call_id="1", name="navigate"), SystemMessage("The computer was started anew; gone.")],
        [ToolMessage(f"The computer was started anew; gone.\n\n{SHOP}", tool_call_id="1", name="navigate")],
    ):
        (call,) = think([request, step, *anew], TOOLS, None).calls
        assert (call.name, call.args) == ("navigate", {"url": "http://a.test/"})


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"type": "click", "x": 1, "y": 2, "button": "right"}, "ActionType.click_element:right (1, 2)"),
        ({"type": "double_click", "x": 1, "y": 2, "keys": None}, "ActionType.click_element:double (1, 2)"),
        ({"type": "drag", "path": [[1, 2], {"x": 3, "y": 4}]}, "ActionType.drag:(1, 2) to (3, 4)"),
        ({"type": "keypress", "keys": ["CTRL", "C"]}, "ActionType.press_key:CTRL+C"),
        ({"type": "scroll", "x": 1, "y": 1, "scroll_x": 0, "scroll_y": 9}, "ActionType.scroll:by (0, 9)"),
        ({"type": "type", "text": "a" * 100}, f"ActionType.type_text:{'a' * 80}…"),
        ({"type": "wait"}, "ActionType.wait:1 s"),
        ({"type": "screenshot"}, "ActionType.screenshot:Capture the current state"),
        ({"type": "navigate", "url": "a.test"}, "ActionType.navigate:a.test"),
        ({"type": "move", "x": 0, "y": 0}, "ActionType.move:(0, 0)"),
    ],
    ids=lambda one: one["type"] if isinstance(one, dict) else "",
)
def test_an_action_is_told_in_the_form_of_the_contract(told, words):
    assert Action.of(told).told() == words


@pytest.mark.parametrize(
    "told",
    [{}, {"type": "fly"}, {"type": "click", "x": 1}, {"type": "type"}, {"type": "drag", "path": []}, None, "click",
     {"type": "keypress", "keys": []}, {"type": "wait", "seconds": 1e9}, {"type": "click", "x": "left", "y": 1}],
    ids=str,
)  # fmt: skip
def test_an_action_that_is_not_whole_is_refused_in_words(told):
    with pytest.raises(ComputerError, match="This action cannot be done"):
        Action.of(told)


def test_keys_are_known_by_the_names_that_models_use():
    names = ["CTRL", "cmd", "ARROWLEFT", "Enter", "SPACE", "a", "/"]
    assert [find_key(name).playwright for name in names] == ["Control", "Meta", "ArrowLeft", "Enter", " ", "a", "/"]
    with pytest.raises(ComputerError, match="no key"):
        find_key("ANY")


@pytest.mark.parametrize(
    "block",
    [
        {**CALL, "actions": [click(1, 2)], "pending_safety_checks": [CHECK]},
        {**CALL, "action": click(1, 2), "pending_safety_checks": [CHECK], "index": 3},
        {"type": "non_standard", "value": {**CALL, "actions": [click(1, 2)], "pending_safety_checks": [CHECK]}},
    ],
    ids=["several", "one", "v1"],
)
def test_a_computer_call_is_read_in_each_of_its_shapes(block):
    said = AIMessage([{"type": "text", "text": "I click."}, block])
    assert asked(said) == [Asked("call_1", "computer", {}, (click(1, 2),), (CHECK,), native=True)]


def test_calls_stand_in_the_order_of_the_message():
    function = {"type": "function_call", "call_id": "f", "name": "navigate", "arguments": "{}"}
    called = {"name": "navigate", "args": {"url": "u"}, "id": "f"}
    said = AIMessage([function, {**CALL, "actions": []}], tool_calls=[called])
    assert [one.name for one in asked(said)] == ["navigate", "computer"]
    assert asked(said)[0].actions == ({"type": "navigate", "url": "u"},)


def test_a_refusal_and_a_cut_are_found_wherever_they_stand():
    assert refusal(AIMessage([{"type": "refusal", "refusal": "no"}])) == "no"
    assert refusal(AIMessage([{"type": "non_standard", "value": {"type": "refusal", "refusal": "no"}}])) == "no"
    assert refusal(AIMessage("", additional_kwargs={"refusal": "no"})) == "no"
    assert refusal(AIMessage("yes")) is None
    told = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    assert cut_short(AIMessage("", response_metadata=told)) == "content_filter"
    assert cut_short(AIMessage("", response_metadata={"finish_reason": "length"})) == "length"
    assert cut_short(AIMessage("", response_metadata={"finish_reason": "stop"})) is None


def test_turns_without_their_picture_are_told_in_a_line(monkeypatch, tmp_path):
    monkeypatch.setenv("RUNWIRE_DATA", str(tmp_path))
    shot = keep_shot(b"\x89PNG" + b"0" * 30)
    messages: list[AnyMessage] = [spoken("go")]
    for number, kept in enumerate([shot, {"filename": "gone"}, shot]):
        call = Asked(f"c{number}", "computer", {}, (click(1, 2),), (CHECK,), native=True)
        block = {**CALL, "call_id": call.id, "actions": list(call.actions)}
        messages += [AIMessage([block]), answer(call, "screen", kept, failed=True)]
    first, before, said, output, failure = for_pictures(messages)
    assert first.content == "go"
    assert str(before.content).count("- computer: click") == 2
    assert "'call_id': 'c2'" in str(said.content)
    assert "'image_url': 'data:image/png;base64," in str(output.content)
    assert output.additional_kwargs == {"type": "computer_call_output", "acknowledged_safety_checks": [CHECK]}
    assert failure.content == "screen"


def test_older_answers_are_shortened_to_their_first_line():
    calls = [answer(Asked(str(number), "computer", {}), f"first {number}\nsecond") for number in range(15)]
    assert [one.content for one in shortened(calls)] == ["first 0", "first 1", "first 2"]
    assert shortened(shortened(calls)) == []


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Shall I go on?", True),
        ("It is done. Which colour do you want?", True),
        ("It is done.", False),
        ("It is done. Is there anything else I can do?", False),
        ("Done. How can I help you further?", False),
    ],
)
def test_a_question_in_plain_words_is_one_unless_it_only_offers_help(text, asks):
    assert (question_in(AIMessage(text)) is not None) is asks


@pytest.mark.parametrize(
    ("told", "question", "approved", "words"),
    [
        ({"decision": "approve"}, False, True, ""),
        ("Yes!", False, True, ""),
        (True, False, True, ""),
        ({"decisions": [{"type": "approve"}]}, False, True, ""),
        ({"approved": True, "reason": "fine"}, False, True, "fine"),
        ("perhaps", False, False, "perhaps"),
        ({"answer": "blue"}, False, False, "blue"),
        ({"decision": "reject", "message": "later"}, True, False, "later"),
        ("no", True, False, ""),
        (False, True, False, ""),
        ("blue", True, True, "blue"),
        ({"answer": "blue"}, True, True, "blue"),
        ([{"type": "reject"}], True, False, ""),
        ("", True, False, ""),
        ({}, True, False, ""),
    ],
    ids=str,
)
def test_only_a_plain_yes_approves_a_safety_check_and_words_answer_a_question(told, question, approved, words):
    assert read_verdict(told, question) == {"approved": approved, "words": words}


def test_what_this_run_brought_is_the_request_and_not_what_an_earlier_one_did():
    old, new = spoken("old"), HumanMessage("new")
    blocks = HumanMessage([{"type": "text", "text": "in blocks"}])
    for state, request in (
        ({"messages": [old, new], "user_request": "old"}, "new"),
        ({"messages": [old], "user_request": "newer"}, "newer"),
        ({"messages": [old], "user_request": "old"}, "old"),
        ({"messages": [blocks]}, "in blocks"),
        ({}, ""),
    ):
        assert request_of(cast(ComputerState, state)) == request


def test_a_value_of_the_end_is_gone_with_the_next_step():
    status, result = AtTheEnd[str]("in_progress"), AtTheEnd[str]()
    assert status.get() == "in_progress"
    with pytest.raises(EmptyChannelError):
        result.get()
    for channel in (status, result):
        assert channel.update(["done"])
        kept = channel.from_checkpoint(json.loads(json.dumps(channel.checkpoint())))
        assert kept.get() == "done"
        assert kept.update([])
        assert kept.is_available() is (channel is status)


def test_the_reducers_add_and_begin_anew():
    assert logged(["a"] * 9, ["b", "c"]) == ["a"] * 8 + ["b", "c"]
    assert (counted(2, 3), counted(2.5, None), logged(["a"], None)) == (5, 0.0, [])


@pytest.mark.parametrize(
    ("env", "form"),
    [
        ({}, "functions"),
        ({"OPENAI_API_KEY": "k"}, "computer"),
        ({"OPENAI_BASE_URL": "u", "OPENAI_MODEL": "computer-use-preview-2025-03-11"}, "preview"),
        ({"OPENAI_API_KEY": "k", "OPENAI_MODEL": "x", "RUNWIRE_COMPUTER_MODEL": "computer-use-preview"}, "preview"),
        ({"OPENAI_BASE_URL": "u", "RUNWIRE_COMPUTER_TOOL": "functions"}, "functions"),
    ],
    ids=str,
)
def test_the_form_of_the_tool_follows_the_model(env, form):
    assert tool_form(Settings.read(env)) == form


def test_a_wrong_tool_is_a_wrong_setting():
    with pytest.raises(ConfigError, match="RUNWIRE_COMPUTER_TOOL"):
        _ = Settings.read({"RUNWIRE_COMPUTER_TOOL": "hands"}).computer_tool


def test_a_phrase_of_a_person_is_never_an_action_of_its_own():
    words = phrase()
    calls, text = turns(f"'{words}'")
    assert [name for name, _ in calls] == ["computer"]
    assert words in text
