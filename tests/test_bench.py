"""The benchmark runs: every row gives a figure and a goal. What the figures are is for `make bench` to say."""

import re
from functools import partial

import orjson
import pytest

from benchmarks import frames
from benchmarks.loopback import running
from benchmarks.pipeline import write_lines
from benchmarks.readers import READERS
from benchmarks.report import HOLDS
from benchmarks.rows import ROWS, growth, memory
from benchmarks.run import RESULTS, main
from benchmarks.timing import Side, interleaved


def test_every_row_is_measured_quickly_and_told_with_its_goal(capsys, tmp_path):
    rows = main(["--quick", "--no-peers", "--date", "2026-01-01", "--out", str(tmp_path / "results.md")])
    assert len(rows) == len(ROWS)
    assert all(re.search(r"\d", row.figure) and row.goal for row in rows)
    printed, written = capsys.readouterr().out, (tmp_path / "results.md").read_text("utf-8")
    assert all(row.name in printed and row.name in written for row in rows)


def test_a_run_of_some_rows_leaves_the_results_of_a_whole_one_alone(capsys):
    before = RESULTS.read_bytes()
    main(["--quick", "--only", "serializer"])
    assert RESULTS.read_bytes() == before


@pytest.mark.parametrize(("power", "holds"), [(1.0, True), (1.1, False), (2.0, False)])
def test_the_growth_row_finds_the_exponent_of_a_power_law(power, holds):
    row = growth.row({size: size ** (power - 1) for size in growth.SIZES})
    assert row.figure == f"exponent {power:.3f}"
    assert row.holds is holds


@pytest.mark.parametrize("name", READERS)
def test_every_reader_of_the_http_rows_sees_every_token_of_a_run(name):
    said: list[str] = []
    with running() as url:
        READERS[name](url, "flat.40", said.append)
    assert "".join(said) == "".join(frames.tokens(40))


def test_the_recorded_figures_are_those_of_a_complete_run_each_with_its_verdict():
    """`make bench` writes the file; a figure that misses its goal stands there as it is."""
    cells = [line.split(" | ") for line in RESULTS.read_text("utf-8").splitlines() if line.startswith("| ")]
    verdicts = {row[0].strip("| "): row[-1].strip("| ") for row in cells[2:]}
    assert len(verdicts) == len(ROWS)
    assert set(verdicts.values()) <= {*HOLDS.values()}


def test_a_long_run_costs_no_more_memory_than_two_megabytes_beyond_its_text():
    found = memory.probe(30_000, ending=False)
    assert found["peak"] - found["utf8"] <= 2_000_000


def test_a_token_costs_the_same_early_and_late_in_a_run():
    """Loosely, for a noisy machine: twenty times the tokens, and not half as much again for each."""
    chunks = frames.chunked(frames.joined(frames.token_frames(1000)))
    sides: dict[str, Side] = {str(n): partial(partial, growth.run, chunks, n) for n in (1, 20)}
    found = interleaved(sides, 5)
    assert found["20"].seconds / 20 <= 1.5 * found["1"].seconds


def test_decoding_a_token_frame_costs_no_more_than_a_few_parses_of_it():
    """Loosely, for a noisy machine; the figure itself is for `make bench`."""
    given = frames.token_frames(2000)
    chunks = frames.chunked(frames.joined([frames.recorded().metadata, *given]))
    data = [frames.data_of(frame) for frame in given]
    sides: dict[str, Side] = {
        "ours": lambda: partial(write_lines, chunks, len),
        "parse": lambda: lambda: [orjson.loads(one) for one in data],
    }
    found = interleaved(sides, 7)
    assert found["ours"].seconds <= 3 * found["parse"].seconds
