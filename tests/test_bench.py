"""The benchmark runs: every row gives a figure and a goal. What the figures are is for `make bench` to say."""

import re

import pytest

from benchmarks.rows import ROWS, growth
from benchmarks.run import RESULTS, main


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
