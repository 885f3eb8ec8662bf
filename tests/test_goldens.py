"""Every recording gives its golden envelopes: fed whole, byte by byte, and cut after each frame."""

import pytest

from runwire_normalizers import SSEDecoder, StreamAdapter, conformance
from tests.feeding import FOLDER, GOLDENS, NAMES, earlier, frames, golden_path, lines, prior, told


def test_every_golden_has_its_recording():
    assert sorted(p.relative_to(GOLDENS).with_suffix(".sse").as_posix() for p in GOLDENS.rglob("*.jsonl")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_gives_its_golden_envelopes(name):
    assert lines(told(name)) == golden_path(name).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_passes_the_checker(name):
    before = earlier(name)
    assert conformance.check(told(name), after=told(before) if before else None) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_fed_byte_by_byte_gives_the_same_frames(name):
    decoder, content = SSEDecoder(), (FOLDER / name).read_bytes()
    found = [event for n in range(len(content)) for event in decoder.feed(content[n : n + 1])]
    assert tuple(found) == frames(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_cut_after_any_frame_gives_a_sound_beginning_of_the_same(name):
    stream, resumed, before = frames(name), prior(name), earlier(name)
    after = told(before) if before else None
    for cut in range(1, len(stream)):
        adapter = StreamAdapter(resumed_from=resumed)
        begun = [envelope for frame in stream[:cut] for envelope in adapter.feed(frame)]
        assert begun == list(told(name))[: len(begun)]
        assert conformance.check(begun + adapter.finish(), after=after) == [], f"cut after frame {cut}"
