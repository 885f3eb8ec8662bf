"""The checker of the ten rules: silent on every recording, and loud under the right number for every broken one."""

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from runwire_normalizers import Continuation, Envelope, conformance
from runwire_normalizers.__main__ import envelopes
from runwire_normalizers._identity import root_call
from tests.feeding import NEW_TURNS

FOLDER = Path(__file__).parent / "recordings"
KINDS = ("every", "default", "notokens", "cumulative")
FIRST = sorted(f"{p.parent.name}/{p.name}" for kind in KINDS for p in FOLDER.glob(f"*/{kind}.sse"))
SECOND = sorted(f"{p.parent.name}/{p.name}" for kind in KINDS for p in FOLDER.glob(f"*/{kind}.2.sse"))
RESUMED = [name for name in SECOND if name.split("/")[0] not in NEW_TURNS]

Stream = list[Envelope]


@cache
def _told(name: str) -> tuple[Envelope, ...]:
    before = _told(name.replace(".2.sse", ".sse")) if name in RESUMED else ()
    return tuple(envelopes(FOLDER / name, Continuation.from_envelopes(before) if before else None))


def told(name: str) -> Stream:
    return copy.deepcopy(list(_told(name)))


@pytest.mark.parametrize("name", [*FIRST, *sorted(set(SECOND) - set(RESUMED))])
def test_a_recording_breaks_no_rule(name):
    assert conformance.check(told(name)) == []


@pytest.mark.parametrize("name", RESUMED)
def test_a_resumed_recording_breaks_no_rule_after_the_one_it_resumes(name):
    assert conformance.check(told(name), after=told(name.replace(".2.sse", ".sse"))) == []


@pytest.mark.parametrize("name", RESUMED)
def test_a_resumed_recording_is_no_stream_by_itself(name):
    assert conformance.check(told(name))[0].rule == 1


def index(stream: Stream, type_: str, **payload: object) -> int:
    """Where the first envelope of a type, with these payload fields, stands."""
    return next(
        n
        for n, e in enumerate(stream)
        if e.type == type_ and all(e.payload.get(name) == value for name, value in payload.items())
    )


def renumber(stream: Stream) -> Stream:
    """Positions as they would be had nothing been dropped or added: only the rule in question stays broken."""
    seen: dict[str, int] = {}
    for e in stream:
        step = len(e.payload["text"]) if e.type == "llm_token" else e.payload.get("merged", 1)
        e.seq = seen[e.call_id] = seen.get(e.call_id, 0) + step
    return stream


def first_dropped(stream: Stream) -> None:
    del stream[0]


def end_dropped(stream: Stream) -> None:
    del stream[-1]


def something_after_the_end(stream: Stream) -> None:
    more = copy.deepcopy(stream[index(stream, "tool_update")])
    more.call_id, more.parent_id = stream[-1].call_id, None
    stream.append(more)
    renumber(stream)


def first_is_no_start(stream: Stream) -> None:
    stream.insert(0, stream.pop(1))
    renumber(stream)


def resumed_without_a_run_before(stream: Stream) -> None:
    payload = {"checkpoint_id": None, "node": None, "kind": "run", "tool_name": None, "tool_call_id": None}
    stream[0].type, stream[0].payload = "subgraph_resume", payload


def second_start(stream: Stream) -> None:
    at = index(stream, "tool_start", kind="tool")
    stream.insert(at + 1, copy.deepcopy(stream[at]))
    renumber(stream)


def second_end(stream: Stream) -> None:
    at = index(stream, "llm_end")
    stream.insert(at + 1, copy.deepcopy(stream[at]))
    renumber(stream)


def call_never_ends(stream: Stream) -> None:
    del stream[index(stream, "llm_end")]


def tool_never_ends(stream: Stream) -> None:
    del stream[index(stream, "tool_end")]


def token_after_the_end(stream: Stream) -> None:
    end = index(stream, "llm_end")
    at = max(n for n in range(end) if stream[n].type == "llm_token" and stream[n].call_id == stream[end].call_id)
    stream.insert(end, stream.pop(at))
    renumber(stream)


def never_started(stream: Stream) -> None:
    del stream[index(stream, "tool_start", kind="tool")]
    renumber(stream)


def child_of_an_ended_parent(stream: Stream) -> None:
    end = index(stream, "tool_end")
    late = index(stream[end:], "llm_start") + end
    for e in stream:
        if e.call_id == stream[late].call_id:
            e.parent_id = stream[end].call_id


def child_of_an_unknown_parent(stream: Stream) -> None:
    call = stream[index(stream, "llm_start")].call_id
    for e in stream:
        if e.call_id == call:
            e.parent_id = "nobody"


def parent_changes(stream: Stream) -> None:
    stream[index(stream, "llm_end")].parent_id = stream[index(stream, "tool_start", kind="tool")].call_id


def second_root(stream: Stream) -> None:
    call = stream[index(stream, "llm_start")].call_id
    for e in stream:
        if e.call_id == call:
            e.parent_id = None


def parent_ends_before_its_child(stream: Stream) -> None:
    last = max(n for n, e in enumerate(stream[:-1]) if e.type in ("llm_end", "tool_end"))
    stream.append(stream.pop(last))


def root_ok_after_its_error(stream: Stream) -> None:
    error = Envelope(**{**stream[-1].to_dict(), "type": "error"})
    error.payload = {"name": "x", "message": None, "stack": None, "class": None, "node": None}
    stream[-1].payload["status"] = "ok"
    stream.insert(len(stream) - 1, error)
    renumber(stream)


def error_of_a_model_call(stream: Stream) -> None:
    at = index(stream, "llm_end")
    error = copy.deepcopy(stream[at])
    error.type, error.payload = "error", {"name": "x", "message": None, "stack": None, "class": None, "node": None}
    stream[at].payload["status"] = "error"
    stream.insert(at, error)
    renumber(stream)


def tool_error_that_nobody_told(stream: Stream) -> None:
    stream[index(stream, "tool_end")].payload["status"] = "error"


def root_error_that_nobody_told(stream: Stream) -> None:
    stream[-1].payload["status"] = "error"


def hole(stream: Stream) -> None:
    del stream[index(stream, "llm_token")]


def position_stands_still(stream: Stream) -> None:
    stream[-1].seq -= 1


def empty_token(stream: Stream) -> None:
    token = copy.deepcopy(stream[index(stream, "llm_token")])
    token.seq, token.payload["text"] = token.seq - len(token.payload["text"]), ""
    stream.insert(index(stream, "llm_token"), token)


def wrong_offset(stream: Stream) -> None:
    stream[index(stream, "llm_token", channel="text")].payload["offset"] += 1


def merged_without_its_step(stream: Stream) -> None:
    stream[index(stream, "tool_update")].payload["merged"] = 3


def trace_changes(stream: Stream) -> None:
    stream[3].trace_id = "another"


def root_id_invented(stream: Stream) -> None:
    for e in stream:
        if e.parent_id is None:
            e.call_id = "invented"
        elif e.parent_id == stream[0].call_id or e.parent_id == root_call(e.trace_id):
            e.parent_id = "invented"


def unknown_origin(stream: Stream) -> None:
    stream[2].origin = "elsewhere"  # type: ignore[assignment]


def replay_after_live(stream: Stream) -> None:
    stream[2].origin = "replay"


def _warning(stream: Stream, **payload: object) -> None:
    at = index(stream, "tool_update")
    stream[at].type, stream[at].payload = "warning", {"code": "x", "message": "x", "raw": None, **payload}


def warning_with_an_empty_code(stream: Stream) -> None:
    _warning(stream, code="")


def warning_with_a_null_code(stream: Stream) -> None:
    _warning(stream, code=None)


def payload_with_a_set(stream: Stream) -> None:
    stream[index(stream, "tool_update")].payload["data"] = {1, 2}


def payload_with_a_surrogate(stream: Stream) -> None:
    stream[index(stream, "tool_update")].payload["data"] = "\ud800"


def secret_header(stream: Stream) -> None:
    stream[index(stream, "tool_update")].payload["data"] = {"headers": [{"Authorization": "Bearer x"}]}


def secret_key(stream: Stream) -> None:
    stream[index(stream, "llm_start")].payload["params"] = {"api-key": "x"}


def auth_user(stream: Stream) -> None:
    stream[-1].payload["result"] = {"langgraph_auth_user": {"identity": "ada"}}


def request_configuration(stream: Stream) -> None:
    _warning(stream, raw={"config": {"configurable": {"thread_id": "t"}}})


def field_missing(stream: Stream) -> None:
    del stream[index(stream, "llm_end")].payload["usage"]


def neither_args_nor_input(stream: Stream) -> None:
    stream[index(stream, "tool_start", kind="tool")].payload.pop("args")


def arguments_without_their_call(stream: Stream) -> None:
    del stream[index(stream, "llm_token", channel="tool_args")].payload["tool_call_id"]


def unknown_type(stream: Stream) -> None:
    stream[2].type = "novel"  # type: ignore[assignment]


def unknown_status(stream: Stream) -> None:
    stream[index(stream, "tool_end")].payload["status"] = "fine"


def unknown_kind(stream: Stream) -> None:
    stream[index(stream, "tool_start", kind="tool")].payload["kind"] = "gadget"


def unknown_channel(stream: Stream) -> None:
    stream[index(stream, "llm_token")].payload["channel"] = "smoke"


BROKEN: list[tuple[int, Callable[[Stream], None]]] = [
    (1, first_dropped),
    (1, end_dropped),
    (1, something_after_the_end),
    (1, first_is_no_start),
    (1, resumed_without_a_run_before),
    (2, second_start),
    (2, second_end),
    (2, call_never_ends),
    (2, tool_never_ends),
    (2, token_after_the_end),
    (2, never_started),
    (3, child_of_an_ended_parent),
    (3, child_of_an_unknown_parent),
    (3, parent_changes),
    (3, second_root),
    (3, parent_ends_before_its_child),
    (4, root_ok_after_its_error),
    (4, error_of_a_model_call),
    (4, tool_error_that_nobody_told),
    (4, root_error_that_nobody_told),
    (5, hole),
    (5, position_stands_still),
    (5, empty_token),
    (5, wrong_offset),
    (5, merged_without_its_step),
    (6, trace_changes),
    (6, root_id_invented),
    (7, unknown_origin),
    (7, replay_after_live),
    (8, warning_with_an_empty_code),
    (8, warning_with_a_null_code),
    (9, payload_with_a_set),
    (9, payload_with_a_surrogate),
    (9, secret_header),
    (9, secret_key),
    (9, auth_user),
    (9, request_configuration),
    (10, field_missing),
    (10, neither_args_nor_input),
    (10, arguments_without_their_call),
    (10, unknown_type),
    (10, unknown_status),
    (10, unknown_kind),
    (10, unknown_channel),
]


def sound() -> Stream:
    """A run with model calls, tools and an update: something for every rule to be broken on."""
    stream = told("react/every.sse")
    update = copy.deepcopy(stream[1])
    update.type, update.payload = "tool_update", {"kind": "custom", "data": {"n": 1}}
    stream.insert(2, update)
    return renumber(stream)


def test_the_stream_that_the_faults_are_made_on_breaks_no_rule():
    assert conformance.check(sound()) == []


@pytest.mark.parametrize(("rule", "fault"), BROKEN, ids=[f"{rule} {fault.__name__}" for rule, fault in BROKEN])
def test_a_fault_is_reported_under_the_number_of_its_rule(rule, fault):
    stream = sound()
    fault(stream)
    assert rule in {violation.rule for violation in conformance.check(stream)}


def test_every_rule_has_a_fault_made_on_purpose():
    assert {rule for rule, _ in BROKEN} == set(range(1, 11))


def test_an_empty_stream_has_no_end():
    assert [violation.rule for violation in conformance.check([])] == [1]


def test_a_call_that_waits_and_speaks_before_its_resume_breaks_rule_two():
    stream = told("sub_ask/every.sse")
    at = next(n for n, e in enumerate(stream) if e.payload.get("interrupts"))
    more = copy.deepcopy(stream[at])
    more.type, more.seq, more.payload = "tool_update", more.seq + 1, {"kind": "custom", "data": 1}
    stream.insert(at + 1, more)
    assert [(v.rule, v.index) for v in conformance.check(stream)] == [(2, at + 1)]


def test_a_resumed_run_that_starts_its_root_again_breaks_a_rule():
    first, second = told("sub_ask/every.sse"), told("sub_ask/every.2.sse")
    second[0].type, second[0].payload = "tool_start", first[0].payload
    assert {1, 2} <= {violation.rule for violation in conformance.check(second, after=first)}


def test_faults_of_the_earlier_run_are_not_told_of_the_later_one():
    first, second = told("sub_ask/every.sse"), told("sub_ask/every.2.sse")
    first[1].origin = "elsewhere"  # type: ignore[assignment]
    assert conformance.check(second, after=first) == []


def test_a_violation_says_rule_place_and_fault():
    stream = sound()
    stream[-1].seq += 1
    assert [str(v) for v in conformance.check(stream)] == [
        f"rule 5, envelope {len(stream) - 1}: seq {stream[-1].seq} does not follow {stream[-1].seq - 2} by 1"
    ]
