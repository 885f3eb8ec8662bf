"""Any chunking, any merging, any cut and rejoin, any beginning before a replay: one and the same view."""

import itertools
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runwire_normalizers import (
    Envelope,
    EventSampler,
    RunView,
    ServerSentEvent,
    SSEDecoder,
    StreamAdapter,
    StreamPart,
    conformance,
    read_part,
)
from tests.feeding import FOLDER, NAMES, earlier, frames, prior, told
from tests.programs import runs
from tests.test_replay import LOST, LOST_NODES
from tests.test_sampler import Clock
from tests.threads import KEPT, after, kept, kept_messages, live, retold

RECORDED = [name for name in NAMES if name.endswith(("every.sse", "every.2.sse", "default.sse"))]
REPLAYED = [name for name in KEPT if not name.startswith("exit_") and name.split("/")[0] not in LOST]
PACES = st.lists(st.sampled_from([0.0, 0.001, 0.02, 0.06, 0.3]), min_size=1, max_size=12)


def adapted(parts: list[StreamPart]) -> list[Envelope]:
    adapter = StreamAdapter()
    return [envelope for part in parts for envelope in adapter.feed(part)] + adapter.finish()


def merged(stream: list[Envelope], paces: list[float]) -> list[Envelope]:
    """The stream through the sampler, at the given paces, over and over."""
    clock, found = Clock(), list[Envelope]()
    sampler = EventSampler(found.append, clock=clock, timer=clock.later)
    for envelope, pace in zip(stream, itertools.cycle(paces), strict=False):
        sampler.push(envelope)
        clock.advance(pace)
    sampler.flush()
    return found


def unread(stream: list[Envelope], paces: list[float]) -> list[Envelope]:
    """The stream as a reader gets it that reads only now and then."""
    clock, found = Clock(), list[Envelope]()
    sampler = EventSampler(None, clock=clock)
    for envelope, pace in zip(stream, itertools.cycle(paces), strict=False):
        sampler.push(envelope)
        clock.advance(pace)
        if pace == 0.3:
            found += sampler.take()
    return found + sampler.flush()


@settings(max_examples=200, deadline=None)
@given(runs())
def test_a_generated_run_passes_the_checker(parts):
    assert conformance.check(adapted(parts)) == []


@settings(max_examples=200, deadline=None)
@given(runs(), PACES)
def test_a_generated_run_folds_to_one_view_however_it_is_merged(parts, paces):
    stream = adapted(parts)
    whole = RunView.of(stream)
    for found in (merged(stream, paces), unread(stream, paces)):
        assert conformance.check(found) == []
        assert RunView.of(found) == whole


@settings(max_examples=200, deadline=None)
@given(runs(), PACES, PACES, st.data())
def test_a_generated_run_folds_to_one_view_however_it_is_cut_and_rejoined(parts, first, second, data):
    stream = adapted(parts)
    cut = data.draw(st.integers(0, len(stream)))
    back = data.draw(st.integers(0, cut))
    seam = merged(stream[:cut], first) + merged(stream[back:], second)
    assert RunView.of(seam) == RunView.of(stream)


@pytest.mark.parametrize("name", RECORDED)
@settings(max_examples=6, deadline=None)
@given(st.lists(st.integers(1, 5000), min_size=1, max_size=8))
def test_a_recording_in_any_chunks_folds_to_one_view(name, sizes):
    decoder, adapter, view = SSEDecoder(), StreamAdapter(resumed_from=prior(name)), RunView()
    content, at = (FOLDER / name).read_bytes(), 0
    for size in itertools.cycle(sizes):
        if at >= len(content):
            break
        for frame in decoder.feed(content[at : at + size]):
            for envelope in adapter.feed(frame):
                view.fold(envelope)
        at += size
    for envelope in adapter.finish(_outcome(name)):
        view.fold(envelope)
    assert view == RunView.of(told(name))


def _outcome(name: str) -> Any:
    return "interrupted" if told(name)[-1].type == "subgraph_checkpoint" else None


@pytest.mark.parametrize("name", RECORDED)
@settings(max_examples=10, deadline=None)
@given(PACES)
def test_a_recording_folds_to_one_view_however_it_is_merged(name, paces):
    stream, before = list(told(name)), earlier(name)
    for found in (merged(stream, paces), unread(stream, paces)):
        assert conformance.check(found, after=told(before) if before else None) == []
        assert RunView.of(found) == RunView.of(stream)


@pytest.mark.parametrize("name", RECORDED)
@settings(max_examples=10, deadline=None)
@given(PACES, PACES, st.data())
def test_a_recording_folds_to_one_view_however_it_is_cut_and_rejoined(name, first, second, data):
    stream = list(told(name))
    cut = data.draw(st.integers(0, len(stream)))
    back = data.draw(st.integers(0, cut))
    seam = merged(stream[:cut], first) + merged(stream[back:], second)
    assert RunView.of(seam) == RunView.of(stream)


@pytest.mark.parametrize("name", REPLAYED)
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_beginning_of_a_recording_and_then_a_replay_fold_to_the_view_of_the_whole(name, data):
    stream, messages = live(name), set(kept_messages(after(name)))
    cut = data.draw(st.integers(0, len(stream)))
    expected = kept(RunView.of(stream), messages)
    found = kept(RunView.of([*stream[:cut], *retold(name)]), messages)
    if name.split("/")[0] in LOST_NODES:
        for call in [*found.values(), *expected.values()]:
            call.pop("node", None)
    assert found == expected


@pytest.mark.parametrize("name", REPLAYED)
@settings(max_examples=10, deadline=None)
@given(st.data())
def test_a_replay_after_any_beginning_duplicates_no_call_no_text_and_no_custom_data(name, data):
    stream = live(name)
    begun = stream[: data.draw(st.integers(0, len(stream)))]
    view, whole = RunView.of([*begun, *retold(name)]), RunView.of(stream)
    for call in view.calls():
        before = whole.call(call.call_id)
        assert before is not None
        assert before.text.startswith(call.text)
        assert before.updated >= len(call.recent)
        assert call.status != "open"


@pytest.mark.parametrize("name", RECORDED)
def test_a_frame_that_is_read_by_what_it_shares_with_others_reads_as_when_it_is_parsed_whole(name):
    whole, shared = StreamAdapter(resumed_from=prior(name)), StreamAdapter(resumed_from=prior(name))
    for frame in frames(name):
        assert shared.feed(frame) == whole.feed(read_part(frame))


CONTENTS = st.one_of(
    st.text(max_size=12), st.sampled_from(['"', "\\", '","x":"', "\u2028", "é", "🎈", "", "\n", '\\"'])
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["m1", "m2"]), CONTENTS, st.sampled_from([1, 2]), st.booleans()), max_size=12),
    st.integers(0, 6),
)
def test_any_texts_in_frames_alike_read_as_when_they_are_parsed_whole(said, odd):
    whole, shared = StreamAdapter(run_id="r"), StreamAdapter(run_id="r")
    for number, (id, content, step, last) in enumerate(said):
        chunk = {"content": content, "type": "AIMessageChunk", "id": id, "tool_call_chunks": []}
        if last and number > 6:
            chunk["chunk_position"] = "last"
        meta = {"langgraph_node": "n", "langgraph_step": step, "langgraph_checkpoint_ns": f"n:{id}"}
        raw = orjson.dumps([chunk, meta])
        if number == odd:
            raw = raw[:-1] + b" ]"
        frame = ServerSentEvent("messages", raw)
        assert shared.feed(frame) == whole.feed(read_part(frame))
    assert shared.finish() == whole.finish()
