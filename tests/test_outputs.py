"""Every assistant's state becomes its typed output, in the JSON form of the seed, and none can break a stream."""

import importlib.metadata
import sys
from typing import Any, Literal, Self
from uuid import UUID, uuid5

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Interrupt
from pydantic import BaseModel, ValidationError

from runwire_normalizers import RunView, StreamAdapter, outputs
from runwire_normalizers.outputs import (
    ChatOutput,
    ComputerUseOutput,
    DeepAgentOutput,
    ExecutionDetails,
    GenericOutput,
    GraphOutput,
    OutputState,
    PlannerResult,
    PlanningOutput,
    normalize_output,
    register_output,
    unregister_output,
)

MEMBERS: dict[str, type[GraphOutput]] = {
    "assist_with_playwright": ChatOutput,
    "planner_style_agent": PlanningOutput,
    "assist_with_planner": PlanningOutput,
    "computer_use": ComputerUseOutput,
    "deep_agent": DeepAgentOutput,
}
UNKNOWN = "0b5f5a3e-4f0c-4c55-9d0e-1f1d7c1f0a77"

HUMAN: dict[str, Any] = {
    "content": "user message",
    "additional_kwargs": {},
    "response_metadata": {},
    "type": "human",
    "name": None,
    "id": "uuid",
    "example": False,
}
USAGE = {
    "input_tokens": 1159,
    "output_tokens": 11,
    "total_tokens": 1170,
    "input_token_details": {"audio": 0, "cache_read": 0},
    "output_token_details": {"audio": 0, "reasoning": 0},
}
AI: dict[str, Any] = {
    "content": "AI response",
    "additional_kwargs": {"refusal": None},
    "response_metadata": {"model_name": "gpt-4.1-2025-04-14", "finish_reason": "stop", "logprobs": None},
    "type": "ai",
    "name": None,
    "id": "run--1",
    "example": False,
    "tool_calls": [],
    "invalid_tool_calls": [],
    "usage_metadata": USAGE,
}
MESSAGES = [HUMAN, AI]
PLAN = {
    "decision": "replace",
    "plan": [],
    "next_task": 0,
    "clarification": "Response message explaining the plan",
}
IN_PROGRESS = {"status": "in_progress", "user_request": "Original user request", "human_intervention_reason": ""}
ACTIONS = [
    "ActionType.wait:Waiting for user to provide more details...",
    "ActionType.screenshot:Capture the current state...",
]
COMPLETED = {
    "status": "completed",
    "answer": "Description of what was accomplished",
    "user_request": "Original user request",
    "total_interactions": 1,
    "execution_time_seconds": 0.0,
    "error_message": "",
    "screenshots_taken": 1,
    "actions_performed": ACTIONS,
    "human_intervention_reason": "",
    "sandbox_preserved": False,
    "task_completed_successfully": True,
    "requires_human_intervention": False,
}
IN_PROGRESS_JSON: dict[str, Any] = {
    "type": "computer_use",
    "status": "in_progress",
    "answer": None,
    "executionDetails": {
        "totalInteractions": None,
        "executionTime": None,
        "screenshotsTaken": None,
        "actionsPerformed": None,
    },
    "user_request": "Original user request",
    "error_message": None,
    "human_intervention_reason": "",
    "sandbox_preserved": None,
    "task_completed_successfully": None,
    "requires_human_intervention": None,
    "messages": [],
    "files": {},
    "usage": {},
    "chat_compatible": False,
}


@pytest.fixture(autouse=True)
def clean():
    """No package and no test leaves a normaliser behind."""
    outputs._packaged.cache_clear()
    yield
    outputs._packaged.cache_clear()
    outputs._registered.clear()


# the JSON form


def test_a_chat_gives_its_messages_and_the_tokens_they_used():
    assert normalize_output("assist_with_playwright", {"messages": MESSAGES}).to_dict() == {
        "type": "chat",
        "messages": MESSAGES,
        "files": {},
        "usage": USAGE,
        "chat_compatible": True,
    }


@pytest.mark.parametrize("graph", ["planner_style_agent", "assist_with_planner"])
def test_a_planner_gives_its_messages_and_its_result(graph):
    output = normalize_output(graph, {"messages": MESSAGES, "planner_result": PLAN})
    assert isinstance(output, PlanningOutput)
    assert output.planner_result == PlannerResult(**PLAN)  # type: ignore[arg-type]
    assert output.to_dict() == {
        "type": "planning",
        "messages": MESSAGES,
        "plannerResult": PLAN,
        "files": {},
        "usage": USAGE,
        "chat_compatible": True,
    }


@pytest.mark.parametrize("values", [{"messages": [], "planner_result": None}, {"messages": []}])
def test_a_planner_keeps_its_last_result_that_was_not_null(values):
    first = normalize_output("planner_style_agent", {"messages": [], "planner_result": PLAN})
    second = normalize_output("planner_style_agent", values, previous=first)
    third = normalize_output("planner_style_agent", values, previous=second)
    assert third.to_dict()["plannerResult"] == PLAN
    newer = {**PLAN, "decision": "append", "next_task": 1}
    fourth = normalize_output("planner_style_agent", {"planner_result": newer}, previous=third)
    assert fourth.to_dict()["plannerResult"] == newer


@pytest.mark.parametrize("previous", [None, "chat", "planning"])
def test_a_planner_that_never_told_a_result_has_null(previous):
    before = {
        None: None,
        "chat": normalize_output("assist_with_playwright", {}),
        "planning": normalize_output("planner_style_agent", {}),
    }[previous]
    output = normalize_output("assist_with_planner", {"messages": MESSAGES, "planner_result": None}, previous=before)
    assert output.to_dict()["plannerResult"] is None


def test_a_planner_result_has_null_for_what_it_does_not_tell_and_keeps_what_it_adds():
    output = normalize_output("planner_style_agent", {"planner_result": {"decision": "append", "score": 0.5}})
    assert output.to_dict()["plannerResult"] == {
        "decision": "append",
        "plan": None,
        "next_task": None,
        "clarification": None,
        "score": 0.5,
    }


def test_computer_use_in_progress_has_null_for_all_that_is_still_to_come():
    assert normalize_output("computer_use", IN_PROGRESS).to_dict() == IN_PROGRESS_JSON


def test_computer_use_completed_tells_its_answer_and_its_execution():
    output = normalize_output("computer_use", COMPLETED)
    assert isinstance(output, ComputerUseOutput)
    assert output.execution_details == ExecutionDetails(
        total_interactions=1, execution_time=0.0, screenshots_taken=1, actions_performed=ACTIONS
    )
    assert output.to_dict() == {
        "type": "computer_use",
        "status": "completed",
        "answer": "Description of what was accomplished",
        "executionDetails": {
            "totalInteractions": 1,
            "executionTime": 0.0,
            "screenshotsTaken": 1,
            "actionsPerformed": ACTIONS,
        },
        "user_request": "Original user request",
        "error_message": "",
        "human_intervention_reason": "",
        "sandbox_preserved": False,
        "task_completed_successfully": True,
        "requires_human_intervention": False,
        "messages": [],
        "files": {},
        "usage": {},
        "chat_compatible": False,
    }


@pytest.mark.parametrize(
    ("interrupts", "reason"),
    [
        ([{"id": "i", "value": "Please log in"}], "Please log in"),
        ([Interrupt(value="Please log in", id="i")], "Please log in"),
        (["Please log in"], "Please log in"),
        ([{"value": {"message": "second", "reason": "first"}}], "first"),
        ([{"value": {"message": "Please log in"}}], "Please log in"),
        ([{"value": {"question": "Which one?", "message": ""}}], "Which one?"),
        ([{"value": {"description": "A captcha"}}], "A captcha"),
        ([{"value": {"reason": 1, "page": "login"}}], '{"reason":1,"page":"login"}'),
        ([{"value": None}, {"value": [1]}], "[1]"),
        ([{"value": None}], None),
    ],
)
def test_computer_use_with_a_pending_interrupt_waits_for_a_person(interrupts, reason):
    assert normalize_output("computer_use", IN_PROGRESS, interrupts=interrupts).to_dict() == {
        **IN_PROGRESS_JSON,
        "status": "human_intervention_required",
        "human_intervention_reason": reason,
        "requires_human_intervention": True,
    }


def test_an_interrupt_in_the_values_is_pending_too():
    values = {**IN_PROGRESS, "__interrupt__": [{"value": "Please log in", "id": "i"}]}
    expected = normalize_output("computer_use", IN_PROGRESS, interrupts=[{"value": "Please log in", "id": "i"}])
    assert normalize_output("computer_use", values) == expected


def test_a_reason_that_the_state_tells_is_kept_while_an_interrupt_is_pending():
    values = {**IN_PROGRESS, "human_intervention_reason": "A captcha"}
    output = normalize_output("computer_use", values, interrupts=[{"value": "Please log in"}])
    assert output.to_dict()["human_intervention_reason"] == "A captcha"


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_computer_use_that_is_over_waits_for_nobody(status):
    values = {**COMPLETED, "status": status}
    assert normalize_output("computer_use", values, interrupts=["late"]) == normalize_output("computer_use", values)


def test_a_deep_agent_gives_its_messages_files_and_todos():
    todos = [{"content": "compare", "status": "in_progress"}]
    values = {"messages": MESSAGES, "files": {"/a.md": {"content": ["x"]}}, "todos": todos}
    assert normalize_output("deep_agent", values).to_dict() == {
        "type": "deep_agent",
        "messages": MESSAGES,
        "files": {"/a.md": {"content": ["x"]}},
        "todos": todos,
        "usage": USAGE,
        "chat_compatible": True,
    }
    assert normalize_output("deep_agent", {"messages": [], "todos": None}).to_dict()["todos"] == []


def test_a_graph_that_nobody_described_keeps_all_of_its_state():
    assert normalize_output("my_graph", {"messages": [HUMAN], "score": 1, "type": "odd"}).to_dict() == {
        "type": "generic",
        "messages": [HUMAN],
        "files": {},
        "values": {"score": 1, "type": "odd"},
        "usage": {},
        "chat_compatible": True,
    }
    assert normalize_output("my_graph", {"files": {"a": "b"}, "score": 1, "__interrupt__": ["?"]}).to_dict() == {
        "type": "generic",
        "messages": [],
        "files": {"a": "b"},
        "values": {"score": 1},
        "usage": {},
        "chat_compatible": False,
    }


def test_a_state_of_one_bare_value_is_kept_whole():
    bare: Any = ["a", 1]
    assert normalize_output(None, bare).to_dict()["values"] == {"__root__": ["a", 1]}
    nothing: Any = None
    assert normalize_output(None, nothing).to_dict()["values"] == {}


# what all share


@pytest.mark.parametrize(
    ("graph", "compatible"),
    [
        ("assist_with_playwright", True),
        ("planner_style_agent", True),
        ("assist_with_planner", True),
        ("computer_use", False),
        ("deep_agent", True),
    ],
)
def test_a_standard_chat_can_show_what_the_matrix_says(graph, compatible):
    for values in ({}, {"messages": MESSAGES}):
        assert normalize_output(graph, values).chat_compatible is compatible


def test_a_standard_chat_can_show_a_generic_output_only_with_messages():
    assert normalize_output(None, {"messages": MESSAGES, "score": 1}).chat_compatible
    assert not normalize_output(None, {"messages": [], "score": 1}).chat_compatible
    assert not normalize_output(None, {"score": 1}).chat_compatible


@pytest.mark.parametrize("graph", [*MEMBERS, "my_graph"])
def test_every_output_has_messages_files_and_usage(graph):
    values = {"messages": MESSAGES, "files": {"a": "b"}}
    output = normalize_output(graph, values)
    assert (output.messages, output.files, output.usage) == (MESSAGES, {"a": "b"}, USAGE)
    empty = normalize_output(graph, {})
    assert (empty.messages, empty.files, empty.usage) == ([], {}, {})


def test_usage_is_summed_over_all_ai_messages():
    lone = {"type": "ai", "content": "", "usage_metadata": {"input_tokens": 1, "output_token_details": {"audio": 2}}}
    spoilt = [{"type": "ai", "usage_metadata": "many"}, {**HUMAN, "usage_metadata": USAGE}, "text", {"role": 5}]
    assert normalize_output(None, {"messages": [AI, lone, *spoilt]}).usage == {
        **USAGE,
        "input_tokens": 1160,
        "output_token_details": {"audio": 2, "reasoning": 0},
    }


def test_usage_that_the_caller_counted_is_taken_as_it_is():
    assert normalize_output(None, {"messages": MESSAGES}, usage={"input_tokens": 1}).usage == {"input_tokens": 1}
    assert normalize_output(None, {"messages": MESSAGES}, usage={}).usage == {}


def test_live_objects_in_the_state_become_json():
    class Todo(BaseModel):
        content: str

    live = AIMessage("AI response", id="run--1", usage_metadata=USAGE)
    values = {"messages": [HumanMessage("user message"), live], "todos": [Todo(content="x")], "files": {"a": b"\x00"}}
    output = normalize_output("deep_agent", values)
    assert [message["type"] for message in output.messages] == ["human", "ai"]
    assert output.messages[1]["content"] == "AI response"
    assert output.usage == USAGE
    assert output.to_dict()["todos"] == [{"content": "x"}]
    assert output.files == {"a": {"$bytes": "AA=="}}
    assert orjson.dumps(output.to_dict())


def test_secrets_never_enter_an_output():
    values = {"messages": [{**AI, "api_key": "hunter2"}], "password": "hunter2", "files": {"f": {"secret": "hunter2"}}}
    for graph in (*MEMBERS, None):
        told = normalize_output(graph, values, interrupts=[{"value": {"password": "hunter2"}}])
        assert b"hunter2" not in orjson.dumps(told.to_dict())


def test_the_given_state_is_left_alone():
    values = {"messages": MESSAGES, "__interrupt__": [], "password": "hunter2"}
    normalize_output(None, values)
    assert values == {"messages": MESSAGES, "__interrupt__": [], "password": "hunter2"}


def test_an_output_cannot_be_changed():
    with pytest.raises(ValidationError):
        normalize_output(None, {}).messages = []


# dispatch


@pytest.mark.parametrize("graph", MEMBERS)
def test_a_bundled_graph_is_known_by_its_id_whatever_its_state(graph):
    assert type(normalize_output(graph, {})) is MEMBERS[graph]


@pytest.mark.parametrize("graph", MEMBERS)
def test_a_bundled_graph_is_known_by_the_id_of_its_default_assistant(graph):
    assistant = str(uuid5(UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8"), graph))
    assert type(normalize_output(assistant, {})) is MEMBERS[graph]


def test_a_registered_graph_is_known_by_the_id_that_the_server_gives_its_default_assistant():
    register_output("deep")(DeepAgentOutput)
    assert type(normalize_output("aa010538-f22f-5082-a0cb-63196a75e726", {})) is DeepAgentOutput


SHAPES = [
    ({"messages": [], "planner_result": None}, PlanningOutput),
    ({"planner_result": PLAN, "todos": [], "plan": []}, PlanningOutput),
    (IN_PROGRESS, ComputerUseOutput),
    (COMPLETED, ComputerUseOutput),
    ({"status": "x", "total_interactions": 1, "messages": [], "files": {}}, ComputerUseOutput),
    ({"status": "x", "actions_performed": []}, ComputerUseOutput),
    ({"status": "x", "messages": []}, GenericOutput),
    ({"user_request": "x"}, GenericOutput),
    ({"messages": [], "todos": []}, DeepAgentOutput),
    ({"messages": [], "files": {}}, DeepAgentOutput),
    ({"todos": [], "files": {}}, GenericOutput),
    ({"messages": []}, ChatOutput),
    ({"messages": [], "__interrupt__": []}, ChatOutput),
    ({"messages": [], "remaining_steps": 3}, GenericOutput),
    ({}, GenericOutput),
]


@pytest.mark.parametrize("assistant", [None, "", "my_graph", UNKNOWN])
@pytest.mark.parametrize(("values", "member"), SHAPES)
def test_an_unknown_assistant_is_known_by_the_shape_of_its_state(assistant, values, member):
    assert type(normalize_output(assistant, values)) is member


@pytest.mark.parametrize(
    ("graph", "values"),
    [
        ("assist_with_playwright", {"messages": "none", "files": {}}),
        ("planner_style_agent", {"messages": [], "planner_result": "replace"}),
        ("planner_style_agent", {"messages": [], "planner_result": {"next_task": "first"}}),
        ("computer_use", {"status": ["in_progress"], "user_request": "x"}),
        ("computer_use", {"status": "completed", "total_interactions": "many"}),
        ("deep_agent", {"messages": [], "todos": "none"}),
        ("deep_agent", {"messages": [], "files": ["a.md"]}),
        (None, {"messages": 5}),
    ],
)
def test_a_state_without_the_promised_shape_is_generic_and_loses_nothing(graph, values):
    output = normalize_output(graph, values)
    assert isinstance(output, GenericOutput)
    kept = {**output.values, **({"messages": output.messages} if "messages" not in output.values else {})}
    assert kept | ({"files": output.files} if "files" not in kept else {}) == {"messages": [], "files": {}} | values
    assert isinstance(output.messages, list)
    assert isinstance(output.files, dict)


# normalisers of apps


class Scored(GraphOutput):
    type: Literal["scored"] = "scored"
    score: int | None = None


def scored(state: OutputState) -> GraphOutput:
    return Scored(**state.common, chat_compatible=False, score=len(state.interrupts))


def test_a_class_registered_by_decorator_reads_its_fields_from_the_state():
    assert register_output("my_graph", UNKNOWN)(Scored) is Scored
    for assistant in ("my_graph", UNKNOWN, str(uuid5(outputs.ASSISTANTS, "my_graph"))):
        assert normalize_output(assistant, {"messages": MESSAGES, "score": 3, "type": "odd"}).to_dict() == {
            "type": "scored",
            "messages": MESSAGES,
            "files": {},
            "usage": USAGE,
            "chat_compatible": True,
            "score": 3,
        }
    assert type(normalize_output("other", {"messages": []})) is ChatOutput


def test_a_class_may_read_the_state_in_its_own_way():
    @register_output("my_graph")
    class Counted(Scored):
        @classmethod
        def read(cls, state: OutputState) -> Self:
            seen = state.previous.score if isinstance(state.previous, Counted) and state.previous.score else 0
            return cls(**state.common, chat_compatible=True, score=seen + len(state.values["messages"]))

    first = normalize_output("my_graph", {"messages": MESSAGES})
    assert normalize_output("my_graph", {"messages": MESSAGES}, previous=first).to_dict()["score"] == 4


def test_a_function_registered_by_decorator_gets_a_json_safe_state():
    seen: list[OutputState] = []

    @register_output("my_graph")
    def watched(state: OutputState) -> GraphOutput:
        seen.append(state)
        return scored(state)

    previous = normalize_output(None, {})
    values = {"messages": [HumanMessage("hi")], "password": "hunter2", "at": b"\x00"}
    output = normalize_output("my_graph", values, interrupts=[Interrupt("ok?", id="i")], previous=previous)
    assert output.to_dict()["score"] == 1
    assert orjson.dumps(seen[0].values)
    assert seen[0].values["password"] == "[scrubbed]"
    assert seen[0].interrupts[0]["value"] == "ok?"
    assert (seen[0].usage, seen[0].previous) == ({}, previous)


def test_registering_again_replaces_and_unregistering_takes_back():
    register_output("deep_agent")(Scored)
    assert type(normalize_output("deep_agent", {})) is Scored
    assert type(normalize_output(str(uuid5(outputs.ASSISTANTS, "deep_agent")), {})) is Scored
    register_output("deep_agent")(ChatOutput)
    assert type(normalize_output("deep_agent", {})) is ChatOutput
    unregister_output("deep_agent")
    unregister_output("deep_agent")
    assert type(normalize_output("deep_agent", {})) is DeepAgentOutput


@pytest.mark.parametrize("names", [(), (Scored,), ("my_graph", 5)])
def test_registering_without_a_name_says_how_it_is_done(names):
    with pytest.raises(TypeError, match="@register_output"):
        register_output(*names)


@pytest.mark.parametrize("given_", [5, dict, None])
def test_registering_what_is_no_normaliser_is_refused(given_):
    with pytest.raises(TypeError, match="OutputState"):
        register_output("my_graph")(given_)


def test_a_registered_normaliser_that_raises_is_logged_and_the_shape_decides(caplog):
    @register_output("my_graph")
    def broken(state: OutputState) -> GraphOutput:
        raise KeyError("score")

    assert type(normalize_output("my_graph", {"messages": MESSAGES})) is ChatOutput
    assert [(r.name, r.levelname) for r in caplog.records] == [("runwire_normalizers", "ERROR")]
    assert "'my_graph'" in caplog.text
    assert "KeyError: 'score'" in caplog.text


def test_a_registered_normaliser_that_gives_no_output_is_logged_and_the_shape_decides(caplog):
    register_output("my_graph")(lambda state: state.values)
    assert type(normalize_output("my_graph", {"messages": MESSAGES})) is ChatOutput
    assert "gave no GraphOutput but 'dict'" in caplog.text


def test_a_registered_class_whose_shape_the_state_has_not_gives_a_generic_output(caplog):
    register_output("my_graph")(Scored)
    assert normalize_output("my_graph", {"score": "high"}).to_dict()["values"] == {"score": "high"}
    assert caplog.records == []


def test_foreign_objects_in_an_apps_own_output_become_json_too():
    class Loose(GraphOutput):
        type: Literal["loose"] = "loose"
        data: Any = None

    class Plain:
        def __init__(self) -> None:
            self.a = 1

    register_output("my_graph")(lambda s: Loose(**s.common, chat_compatible=False, data=[Plain(), b"\xff"]))
    assert normalize_output("my_graph", {}).to_dict()["data"] == [{"a": 1}, "_w=="]


# normalisers of packages


class Entries:
    """Stands in for the installed packages, and counts how often they are asked for."""

    def __init__(self, **values: str) -> None:
        self.entries = [importlib.metadata.EntryPoint(name, value, "runwire.outputs") for name, value in values.items()]
        self.asked: list[str] = []

    def __call__(self, *, group: str) -> list[importlib.metadata.EntryPoint]:
        self.asked.append(group)
        return self.entries


@pytest.fixture
def installed(monkeypatch):
    def install(**values: str) -> Entries:
        entries = Entries(**values)
        monkeypatch.setattr(importlib.metadata, "entry_points", entries)
        return entries

    return install


def test_an_entry_point_names_the_normaliser_of_a_graph(installed):
    installed(my_graph="tests.test_outputs:Scored", other="tests.test_outputs:scored")
    for name in ("my_graph", "other"):
        assert normalize_output(name, {}).type == "scored"
        assert normalize_output(str(uuid5(outputs.ASSISTANTS, name)), {}).type == "scored"


def test_entry_points_are_asked_for_once_and_only_for_an_assistant_otherwise_unknown(installed):
    entries = installed(my_graph="tests.test_outputs:Scored")
    register_output("mine")(Scored)
    for assistant in (None, "mine", *MEMBERS):
        normalize_output(assistant, {})
    assert entries.asked == []
    for assistant in ("my_graph", "other", UNKNOWN):
        normalize_output(assistant, {})
    assert entries.asked == ["runwire.outputs"]


def test_what_an_app_registers_and_what_is_bundled_come_before_an_entry_point(installed):
    installed(my_graph="tests.test_outputs:Scored", deep_agent="tests.test_outputs:Scored")
    assert type(normalize_output("my_graph", {})) is Scored
    register_output("my_graph")(ChatOutput)
    assert type(normalize_output("my_graph", {})) is ChatOutput
    assert type(normalize_output("deep_agent", {})) is DeepAgentOutput


@pytest.mark.parametrize("value", ["no_such_module:x", "tests.test_outputs:absent", "tests.test_outputs:UNKNOWN"])
def test_a_broken_entry_point_is_logged_and_skipped(installed, caplog, value):
    installed(broken=value, my_graph="tests.test_outputs:Scored")
    assert type(normalize_output("broken", {"messages": []})) is ChatOutput
    assert type(normalize_output("my_graph", {})) is Scored
    assert [(r.name, r.levelname) for r in caplog.records] == [("runwire_normalizers", "ERROR")]
    assert "'broken'" in caplog.text
    assert value in caplog.text


def test_packages_whose_metadata_cannot_be_read_do_not_break_a_stream(monkeypatch, caplog):
    def unreadable(*, group: str) -> Any:
        raise OSError("metadata")

    monkeypatch.setattr(importlib.metadata, "entry_points", unreadable)
    assert type(normalize_output("my_graph", {"messages": []})) is ChatOutput
    assert "OSError: metadata" in caplog.text


def test_an_installed_package_brings_its_normaliser(tmp_path, monkeypatch):
    (tmp_path / "scoring_pkg.py").write_text(
        "from typing import Literal\n"
        "from runwire_normalizers.outputs import GraphOutput\n"
        "class Scoring(GraphOutput):\n"
        "    type: Literal['scoring'] = 'scoring'\n"
        "    score: int\n"
    )
    info = tmp_path / "scoring_pkg-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scoring-pkg\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[runwire.outputs]\nscoring_graph = scoring_pkg:Scoring\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert normalize_output("scoring_graph", {"score": 3}).to_dict() == {
        "type": "scoring",
        "messages": [],
        "files": {},
        "usage": {},
        "chat_compatible": False,
        "score": 3,
    }
    sys.modules.pop("scoring_pkg", None)


# any state

NAMES = st.sampled_from(
    """messages files todos planner_result status answer user_request total_interactions execution_time_seconds
    screenshots_taken actions_performed human_intervention_reason sandbox_preserved __interrupt__ usage type""".split()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
COUNTS = st.dictionaries(st.sampled_from(["input_tokens", "output_token_details"]), JSON)
SPOKEN = st.fixed_dictionaries({"type": st.sampled_from(["ai", "human"]), "content": JSON, "usage_metadata": COUNTS})
STATES = st.dictionaries(NAMES | st.text(max_size=3), JSON | st.lists(SPOKEN, max_size=3), max_size=6)
PREVIOUS: st.SearchStrategy[dict[str, Any] | None] = st.sampled_from([None, {"planner_result": PLAN}, {"messages": []}])


@given(
    assistant=st.sampled_from([*MEMBERS, None, "my_graph", UNKNOWN]) | st.text(max_size=5),
    values=STATES,
    interrupts=st.lists(JSON, max_size=2),
    before=PREVIOUS,
)
@example(
    assistant=None,
    values={"messages": [{**AI, "usage_metadata": {"input_tokens": 1.7e308}}] * 2},
    interrupts=[],
    before=None,
)
def test_any_state_of_any_assistant_gives_an_output_that_comes_back_from_its_own_json(
    assistant, values, interrupts, before
):
    previous = normalize_output(None, before) if before else None
    output = normalize_output(assistant, values, interrupts=interrupts, previous=previous)
    line = orjson.dumps(output.to_dict())
    told = orjson.loads(line)
    assert told == output.to_dict()
    assert isinstance(told["messages"], list)
    assert isinstance(told["files"], dict)
    assert isinstance(told["usage"], dict)
    assert type(output).model_validate(told) == type(output).model_validate_json(line) == output


def test_an_app_output_that_cannot_be_written_is_told_as_its_state_and_ends_no_stream(caplog):
    @register_output("broken_writer")
    class Broken(GraphOutput):
        type: str = "broken"

        def to_dict(self):
            raise RuntimeError("no")

    try:
        adapter = StreamAdapter(label="broken_writer", run_id="r")
        found = adapter.feed(("values", {"answer": 1})) + adapter.feed(("values", {"answer": 42}))
        found += adapter.finish("success")
    finally:
        unregister_output("broken_writer")
    assert found[-1].payload["result"]["values"] == {"answer": 42}
    assert "cannot be written" in caplog.text


def test_an_app_output_is_json_safe_and_scrubbed_and_has_the_common_fields_in_a_stream():
    @register_output("odd_writer")
    class Odd(GraphOutput):
        type: str = "odd"

        def to_dict(self):
            return {"type": "odd", "big": 2**80, "apiKey": "k", "db_password": "p"}

    try:
        adapter = StreamAdapter(label="odd_writer", run_id="r")
        found = adapter.feed(("values", {"answer": 1})) + adapter.finish("success")
    finally:
        unregister_output("odd_writer")
    assert found[-1].payload["result"] == {
        "type": "odd",
        "big": str(2**80),
        "apiKey": "[scrubbed]",
        "db_password": "[scrubbed]",
        "messages": [],
        "files": {},
        "usage": {},
    }
    assert RunView.of(found).status == "ok"


@pytest.mark.parametrize(
    "values",
    [
        {"messages": [], "planner_result": None, "answer": "42"},
        {"status": "completed", "user_request": "x", "sources": [1]},
        {"messages": [], "todos": [], "report": "x"},
    ],
)
def test_an_unknown_graph_loses_no_state_to_a_shape(values):
    output = normalize_output(None, values)
    assert output.type == "generic"
    assert {**output.to_dict()["values"], "messages": []} == {"messages": [], **values}
