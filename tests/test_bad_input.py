"""What nobody can read becomes a `warning`, scrubbed; the stream goes on and keeps its rules. Nothing is raised."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwire_normalizers import Envelope, Outcome, ServerSentEvent, StreamAdapter, conformance
from runwire_normalizers.modes import READERS
from tests.feeding import told

META = {"langgraph_node": "model", "langgraph_checkpoint_ns": "model:t1", "ls_model_name": "m"}
BEGIN = [
    ("metadata", {"run_id": "run-1", "attempt": 1}),
    ("tasks", {"id": "t1", "name": "model", "input": {}, "triggers": []}),
]
REST = [
    ("messages", [{"type": "AIMessageChunk", "content": "Hel", "id": "m1"}, META]),
    ("messages", [{"type": "AIMessageChunk", "content": "lo", "id": "m1", "chunk_position": "last"}, META]),
    ("tasks", {"id": "t1", "name": "model", "result": {}, "error": None, "interrupts": []}),
]


def frame(event: str, data: Any) -> ServerSentEvent:
    return ServerSentEvent(event, orjson.dumps(data).decode())


def fed(*items: Any) -> list[Envelope]:
    """The whole stream, sound by the checker and able to leave as lines."""
    adapter = StreamAdapter()
    found = [envelope for item in items for envelope in adapter.feed(item)] + adapter.finish()
    for envelope in found:
        envelope.to_json()
    assert conformance.check(found) == []
    return found


def around(*bad: Any) -> list[Envelope]:
    """The stream of a run of one model call with bad frames before its text; the text must still come."""
    found = fed(*(frame(*one) for one in BEGIN), *bad, *(frame(*one) for one in REST))
    assert said(found) == "Hello"
    assert (found[-1].type, found[-1].payload["status"]) == ("tool_end", "ok")
    return found


def said(found: list[Envelope]) -> str:
    return "".join(e.payload["text"] for e in found if e.type == "llm_token")


def warnings(found: list[Envelope]) -> list[dict[str, Any]]:
    return [e.payload for e in found if e.type == "warning"]


def lines(found: list[Envelope]) -> bytes:
    return b"\n".join(e.to_json() for e in found)


def test_the_run_that_bad_frames_are_put_into_has_no_warnings():
    assert warnings(around()) == []


@pytest.mark.parametrize("text", ["", "{", "not json", '{"a": NaN}', '"\\ud800"', "{'a': 1}"])
@pytest.mark.parametrize("mode", [*sorted(READERS), "novel"])
def test_a_frame_that_is_no_json_gives_a_malformed_warning_with_its_text(mode, text):
    (warning,) = warnings(around(ServerSentEvent(mode, text)))
    assert (warning["code"], warning["raw"]) == ("malformed", text)


@pytest.mark.parametrize("data", [None, 5, "text", [1], {"a": {"b": 1}}])
@pytest.mark.parametrize("mode", ["novel", "novel|a:1", "messages-tuple", ""])
def test_a_frame_of_an_unknown_mode_gives_a_warning_that_carries_it(mode, data):
    (warning,) = warnings(around(frame(mode, data)))
    assert (warning["code"], warning["raw"]) == ("unknown_mode", data)


def test_an_event_of_an_unknown_kind_gives_a_warning_that_carries_it():
    event = {"event": "on_novelty", "data": {"a": 1}, "run_id": "r", "name": "x", "metadata": {}}
    (warning,) = warnings(around(frame("events", event)))
    assert (warning["code"], warning["raw"]) == ("unknown_event", event)


def test_debug_of_an_unknown_type_gives_a_warning_that_carries_it():
    data = {"step": 1, "type": "novelty", "payload": {"a": 1}}
    (warning,) = warnings(around(frame("debug", data)))
    assert (warning["code"], warning["raw"]) == ("unknown_event", data)


WRONG: dict[str, list[Any]] = {
    "checkpoints": ["text", [1], None, {}, 5, {"config": 5}, {"config": {"configurable": {"checkpoint_id": "c"}}}],
    "debug": ["text", [1], None, {}, 5, {"type": "task"}, {"type": "checkpoint", "payload": 5}],
    "end": ["text", [1], 5],
    "events": ["text", [1], None, {}, 5, {"event": "on_chain_start"}, {"event": "on_tool_start", "run_id": "r"}],
    "messages": [
        "text",
        [1],
        None,
        {},
        5,
        [],
        [1, 2],
        [{}, 5],
        [{"type": "ai", "content": "x"}],
        [{"type": "novel", "content": "x"}, {}],
    ],
    "messages/complete": ["text", [1], None, 5, [None]],
    "messages/metadata": ["text", [1], None, 5, {"m": 5}],
    "messages/partial": ["text", [1], None, 5, [[]]],
    "metadata": [None, 5],
    "tasks": ["text", [1], None, {}, 5, {"id": "x"}, {"id": "x", "name": "n"}, {"id": [], "name": "n", "input": {}}],
    "updates": ["text", [1], None, 5, {"__interrupt__": 5}],
    "values": [{"__interrupt__": 5}, {"messages": 5}],
}
CASES = [(mode, data) for mode, wrong in WRONG.items() for data in wrong]


@pytest.mark.parametrize(("mode", "data"), CASES, ids=[f"{m} {orjson.dumps(d).decode()}" for m, d in CASES])
def test_a_wrong_shape_of_a_known_mode_gives_a_warning_that_carries_it(mode, data):
    found = warnings(around(frame(mode, data)))
    assert "malformed" in {warning["code"] for warning in found}
    assert any(warning["code"] == "malformed" and _masked(data, warning["raw"]) for warning in found)


def _masked(data: Any, raw: Any) -> bool:
    return raw == data or (isinstance(data, dict) and raw.keys() == data.keys())


@pytest.mark.parametrize(("mode", "data"), CASES, ids=[f"{m} {orjson.dumps(d).decode()}" for m, d in CASES])
def test_a_wrong_shape_as_the_first_frame_raises_nothing(mode, data):
    assert fed(frame(mode, data))[0].type == "tool_start"


@pytest.mark.parametrize(
    ("mode", "data"),
    [
        ("events", {"event": "on_chain_start", "run_id": "r", "data": "text"}),
        ("events", {"event": "on_chain_start", "run_id": "r", "data": [1]}),
        ("events", {"event": "on_chain_start", "run_id": 5}),
        ("metadata", {"run_id": 5}),
        ("metadata", {"run_id": {"a": 1}}),
    ],
)
def test_a_first_frame_with_an_odd_run_id_or_input_raises_nothing(mode, data):
    assert fed(frame(mode, data))[0].type == "tool_start"


@pytest.mark.parametrize("depth", [200, 300, 900])
@pytest.mark.parametrize("mode", ["custom", "values", "updates", "novel", "tasks"])
def test_a_frame_nested_deeper_than_json_writers_go_still_leaves_as_lines(mode, depth):
    data = '{"a":' * depth + "1" + "}" * depth
    around(ServerSentEvent(mode, data))


@pytest.mark.parametrize(
    ("mode", "data"),
    [("custom", {"a": 1}), ("values", {"a": 1}), ("updates", {"n": {"a": 1}}), ("messages", REST[0][1])],
)
def test_a_namespace_that_no_task_announced_gives_a_warning_that_carries_the_data(mode, data):
    found = fed(*(frame(*one) for one in BEGIN), frame(f"{mode}|ghost:g1", data), *(frame(*one) for one in REST))
    (warning,) = [one for one in warnings(found) if one["code"] == "unannounced"]
    assert warning["raw"]["namespace"] == ["ghost:g1"]
    assert warning["raw"]["data"] == data


SECRETS = {
    "api_key": "s3cret-1",
    "X-Api-Key": "s3cret-2",
    "Authorization": "Bearer s3cret-3",
    "langgraph_auth_user": {"identity": "s3cret-4"},
    "langgraph_auth_user_id": "s3cret-5",
    "configurable": {"thread_id": "s3cret-6"},
    "nested": [{"password": "s3cret-7", "headers": {"cookie": "s3cret-8"}}],
    "config": {"configurable": {"a": "s3cret-9"}},
}


@pytest.mark.parametrize(
    "bad",
    [
        frame("novel", SECRETS),
        frame("novel", [SECRETS]),
        frame("events", {"event": "on_novelty", **SECRETS}),
        frame("events", {"event": "on_chain_start", "metadata": SECRETS}),
        frame("debug", {"type": "novelty", "payload": SECRETS}),
        frame("tasks", {"id": "x", "metadata": SECRETS}),
        frame("messages", [SECRETS]),
        frame("checkpoints", SECRETS),
        frame("custom", SECRETS),
        frame("custom|ghost:g1", SECRETS),
        frame("values", {"state": SECRETS}),
        frame("updates", {"node": {"state": SECRETS}}),
        frame("metadata", {"run_id": "run-1", "attempt": 2, **SECRETS}),
        ServerSentEvent("values", orjson.dumps(SECRETS).decode() + "}"),
        ServerSentEvent("novel", orjson.dumps(SECRETS, option=orjson.OPT_INDENT_2).decode()[:-1]),
    ],
    ids=lambda bad: f"{bad.event} {bad.data[:30]}",
)
def test_a_secret_in_any_frame_is_in_no_line(bad):
    found = fed(*(frame(*one) for one in BEGIN), bad, *(frame(*one) for one in REST))
    assert [n for n in range(1, 10) if f"s3cret-{n}".encode() in lines(found)] == []


@pytest.mark.parametrize(
    "text", ["sk-abcdefghijklmnop", "key lsv2_pt_0123456789abcdef", "Authorization: Bearer abcdefgh12345"]
)
def test_a_text_like_a_key_in_data_nobody_understood_is_in_no_line(text):
    secret = text.split()[-1]
    assert secret.encode() not in lines(around(frame("novel", {"note": text}), ServerSentEvent("values", text)))


def test_the_auth_user_of_a_real_server_is_in_no_line():
    found = list(told("auth/every.sse"))
    assert len(found) > 3
    assert b"not-a-secret" not in lines(found)
    assert b"langgraph_auth" not in lines(found)


CHUNK = {"type": "AIMessageChunk", "id": None}


@pytest.mark.parametrize(
    "parts",
    [
        [{**CHUNK, "content": "Hel"}, {**CHUNK, "content": "lo", "chunk_position": "last"}],
        [{**CHUNK, "content": "Hel"}, {**CHUNK, "content": "lo"}],
        [{"type": "AIMessageChunk", "content": "Hello"}],
        [{"type": "ai", "content": "Hello"}],
        [{"type": "ai", "content": "Hello", "id": None}],
    ],
    ids=["chunks", "chunks without a last", "one chunk", "whole", "whole with null"],
)
def test_a_message_without_an_id_gets_one_and_its_text_flows(parts):
    found = fed(*(frame(*one) for one in BEGIN), *(frame("messages", [part, META]) for part in parts), frame(*REST[-1]))
    (start,) = [e for e in found if e.type == "llm_start"]
    assert start.payload["message_id"]
    assert said(found) == "Hello"


def test_two_whole_messages_without_ids_are_two_model_calls():
    message = {"type": "ai", "content": "Hello"}
    found = fed(*(frame(*one) for one in BEGIN), *[frame("messages", [message, META])] * 2, frame(*REST[-1]))
    assert len({e.call_id for e in found if e.type == "llm_start"}) == 2
    assert said(found) == "HelloHello"


def test_a_whole_message_without_an_id_in_the_state_is_said_once():
    found = fed(frame(*BEGIN[0]), frame("updates", {"model": {"messages": [{"type": "ai", "content": "Hello"}]}}))
    assert said(found) == "Hello"


FAILED = ("tasks", {"id": "t1", "name": "model", "result": {}, "error": "boom", "interrupts": []})
AGAIN = ("metadata", {"run_id": "run-1", "attempt": 2})


@pytest.mark.parametrize(
    "parts",
    [
        [("messages/partial", [{"type": "ai", "content": "x", "id": "m1", "usage_metadata": True}])],
        [
            ("messages", [{**CHUNK, "id": "m1", "content": "", "tool_call_chunks": [{"id": True, "name": "x"}]}, META]),
            ("messages", [{"type": "ai", "content": "", "id": "m1"}, META]),
        ],
        [FAILED, AGAIN],
        [FAILED, AGAIN, BEGIN[1], REST[-1]],
    ],
    ids=["usage that is no dict", "tool call id that is no text", "new attempt, then cut", "new attempt that succeeds"],
)
def test_a_stream_that_random_input_once_broke_keeps_the_rules(parts):
    fed(*(frame(*one) for one in [*BEGIN, *parts]))


WORDS = st.sampled_from(
    """id name type content messages event data run_id metadata input output result error interrupts config values next
    tasks payload step __interrupt__ langgraph_node langgraph_checkpoint_ns tool_calls tool_call_chunks tool_call_id
    usage_metadata additional_kwargs response_metadata args index chunk update goto status namespace graph_id
    langgraph_path ls_model_name lc_agent_name checkpoint_id configurable parent_ids""".split()
)
TEXTS = st.sampled_from(
    """ai tool human AIMessageChunk task task_result checkpoint on_chain_start on_chain_end on_chain_error on_tool_start
    on_tool_end on_tool_error on_chat_model_stream on_chat_model_end on_custom_event m1 t1 r1 model model:t1
    tools:t2|x:t1 error interrupted last""".split()
)
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | TEXTS | st.text(max_size=4)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=5),
    max_leaves=15,
)
SPACES = st.sampled_from(["", "", "|model:t1", "|ghost:g1", "|model:t1|1", "|1", "|"])
MODES = st.sampled_from([*sorted(READERS), "novel"])


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(MODES, SPACES, JSON), max_size=6), st.booleans())
def test_random_json_in_random_modes_raises_nothing_and_keeps_the_rules(parts, begun):
    start = [frame(*one) for one in BEGIN] if begun else []
    fed(*start, *(frame(mode + space, data) for mode, space, data in parts))


MESSAGES = st.fixed_dictionaries(
    {"type": st.sampled_from(["ai", "AIMessageChunk", "tool", "human"]), "content": st.text(max_size=5) | JSON},
    optional={
        "id": st.sampled_from(["m1", "m2", "lc_run--r1"]) | SCALARS,
        "tool_call_id": st.sampled_from(["c1", "c2"]) | SCALARS,
        "tool_calls": st.lists(
            st.fixed_dictionaries({"id": st.sampled_from(["c1", "c2"]) | SCALARS, "name": TEXTS, "args": JSON}),
            max_size=2,
        )
        | JSON,
        "tool_call_chunks": st.lists(
            st.fixed_dictionaries({"index": SCALARS, "id": SCALARS, "name": SCALARS, "args": SCALARS}), max_size=2
        ),
        "usage_metadata": JSON,
        "chunk_position": st.just("last"),
    },
)
IDS = st.sampled_from(["t1", "t2", "t3"])
NODES = st.sampled_from(["model", "tools"])
LIKELY = st.one_of(
    st.tuples(st.just("messages"), SPACES, st.tuples(MESSAGES, st.just(META) | JSON).map(list)),
    st.tuples(st.sampled_from(["messages/partial", "messages/complete"]), SPACES, st.lists(MESSAGES, max_size=2)),
    st.tuples(
        st.just("tasks"),
        SPACES,
        st.fixed_dictionaries({"id": IDS, "name": NODES, "input": JSON, "triggers": st.just([])}),
    ),
    st.tuples(
        st.just("tasks"),
        SPACES,
        st.fixed_dictionaries(
            {
                "id": IDS,
                "name": NODES,
                "result": st.fixed_dictionaries({"messages": st.lists(MESSAGES, max_size=2)}) | JSON,
            },
            optional={"error": JSON, "interrupts": st.lists(JSON, max_size=2)},
        ),
    ),
    st.tuples(
        st.just("updates"),
        SPACES,
        st.dictionaries(NODES, st.fixed_dictionaries({"messages": st.lists(MESSAGES, max_size=2)}), max_size=2),
    ),
    st.tuples(st.just("values"), SPACES, st.fixed_dictionaries({"messages": st.lists(MESSAGES, max_size=3)})),
    st.tuples(MODES, SPACES, JSON),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(LIKELY, max_size=10), st.booleans())
def test_almost_right_frames_in_any_order_raise_nothing_and_keep_the_rules(parts, begun):
    start = [frame(*one) for one in BEGIN] if begun else []
    fed(*start, *(frame(mode + space, data) for mode, space, data in parts))


@pytest.mark.parametrize("state", ["text", [1], 5])
def test_a_state_that_is_one_value_is_kept_under_langgraphs_name_for_it(state):
    adapter = StreamAdapter(run_id="r")
    found = [e for item in (frame("values", None), frame("values", state)) for e in adapter.feed(item)]
    found += adapter.finish(Outcome("success", values=state))
    assert conformance.check(found) == []
    assert not [e for e in found if e.type == "warning"]
    assert found[-1].payload["result"]["values"] == {"__root__": state}
