"""A real server behind a proxy that breaks connections: the reader is told the same as if nothing had happened.

A seeded sample; `python -m tests.chaos` tries every place.
"""

import random
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import runwire
from tests.chaos import (
    AT_ONCE,
    FLAVOURS,
    MARKS,
    SCENARIOS,
    Case,
    Flavour,
    Ground,
    Result,
    Told,
    attach,
    difference,
    ground,
    run,
    watch,
    whole,
    within,
)
from tests.graphs.case import Turn, human
from tests.proxy import HOWS, POST_STREAM, Answer, Cut, Drip, Lose, Proxy, RequestFault, after_mark, at_byte

SEED = 4
SMALL, SMALLEST = human("20 x 2"), human("1 x 0")
JOIN = re.compile(r"GET \S*/runs/[^/]+/stream\b")
RUN = re.compile(r"GET \S*/runs/[^/]+$")
STATE = re.compile(r"GET \S*/state\b")
# About the bytes of each turn's stream, so that a cut falls inside it.
SIZES = {
    "tokens": (240_000,),
    "tool_raises": (10_000,),
    "node_raises": (8_000,),
    "burst": (240_000,),
    "deep": (120_000,),
    "unicode": (40_000,),
    "inter": (5_500, 8_000),
    "deep_ask": (80_000, 20_000),
}
# The streams of the other scenarios are all ASCII.
WIDE = frozenset({"tokens", "burst", "unicode"})


def _sample() -> Iterator[Case]:
    chance = random.Random(SEED)
    for scenario, sizes in SIZES.items():
        for number, how in enumerate(chance.sample(HOWS, 2)):
            marks = [mark for mark in MARKS if scenario in WIDE or mark != "inside a character"]
            places = [(chance.randrange(size * 8 // 10), chance.choice(marks)) for size in sizes]
            cuts = [Cut(after_mark(byte, MARKS[mark]), how, match=POST_STREAM) for byte, mark in places]
            name = f"{how} at " + ", then at ".join(f"byte {byte}, {mark}" for byte, mark in places)
            yield Case(name, scenario, FLAVOURS[number], tuple(cuts))
    error = after_mark(0, rb"event: error\r\ndata: .")
    yield Case("fin inside the error", "node_raises", "sync", (Cut(error, "fin"),))
    yield Case("clean inside the error", "tool_raises", "async", (Cut(error, "clean"),))
    yield Case("reset again and again", "burst", "sync", always="reset")
    yield Case("clean again and again", "inter", "async", always="clean")


CASES = list(_sample())
WHOLE = [whole(scenario) for scenario in SIZES]


@pytest.fixture(scope="module")
def here() -> Iterator[Ground]:
    with ground() as server:
        yield server


@pytest.fixture(scope="module")
def results(here: Ground) -> dict[str, Result]:
    """All cases at once: each of them mostly waits for the server to start its run."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {str(result.case): result for result in pool.map(partial(run, here), [*WHOLE, *CASES])}


@pytest.fixture(scope="module")
def first(here: Ground) -> Told:
    """A run that is over."""
    return within(partial(watch, str(here.api.http.base_url), "sync", "slow", SMALL))


@pytest.fixture(params=FLAVOURS)
def flavour(request: pytest.FixtureRequest) -> Flavour:
    chosen: Flavour = request.param
    return chosen


def _expect_truth(here: Ground, told: Told, proxy: Proxy, input: Any = SMALL) -> None:
    """The truth, in one run that was asked for once."""
    truth, _ = here.told(SCENARIOS["tokens"], Turn(input), told)
    assert difference(told, truth) is None
    assert (here.runs(told.thread_id), proxy.posts) == (1, 1)


@pytest.mark.parametrize("case", WHOLE, ids=str)
def test_a_run_that_nothing_befalls_is_told_as_the_log_of_the_server_has_it(results, case):
    assert results[str(case)].difference is None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_run_whose_connection_is_cut_is_told_as_if_it_were_not(results, case):
    result = results[str(case)]
    assert result.difference is None
    assert result.cuts >= max(len(case.cuts), 1)


def test_a_connection_that_falls_silent_is_given_up_and_the_run_told_to_its_end(here, flavour):
    limits = runwire.WireLimits(silence=1.0)
    with Proxy(here.port, Cut(at_byte(9000), "stall")) as proxy:
        told = within(partial(watch, proxy.url, flavour, "slow", SMALL, limits=limits))
        assert proxy.cuts == 1
        _expect_truth(here, told, proxy)


def test_a_run_that_comes_byte_by_byte_is_told_as_if_it_came_whole(here, flavour):
    with Proxy(here.port, always=Drip(0.0001)) as proxy:
        _expect_truth(here, within(partial(watch, proxy.url, flavour, "slow", SMALLEST)), proxy, SMALLEST)


def test_a_server_that_is_busy_is_asked_again_when_it_says_so_and_runs_once(here, flavour):
    started = time.monotonic()
    with Proxy(here.port) as proxy:
        proxy.ask(Answer(503, retry_after="2"), Answer(429, retry_after="0"))
        told = within(partial(watch, proxy.url, flavour, "slow", SMALL))
        assert time.monotonic() - started >= 2
        _expect_truth(here, told, proxy)


@pytest.mark.parametrize(
    "fault",
    [Lose("reply"), Lose("request"), Answer(504, reached=True), Answer(502)],
    ids=["lost reply", "lost request", "late gateway", "bad gateway"],
)
def test_a_request_without_its_answer_leaves_exactly_one_run(here, flavour, fault):
    with Proxy(here.port) as proxy:
        proxy.ask(fault)
        _expect_truth(here, within(partial(watch, proxy.url, flavour, "slow", SMALL)), proxy)


@pytest.mark.parametrize(
    "then", [lambda proxy: proxy.refuse(3), lambda proxy: proxy.shut(0.6)], ids=["reset", "refused"]
)
def test_a_reader_whose_connections_are_refused_after_a_cut_comes_back(here, flavour, then):
    with Proxy(here.port, Cut(at_byte(9000), "fin", then)) as proxy:
        told = within(partial(watch, proxy.url, flavour, "slow", SMALL))
        assert proxy.cuts == 1
        _expect_truth(here, told, proxy)


@pytest.mark.parametrize(
    "faults",
    [
        (Answer(503, JOIN, retry_after="0"), Answer(502, JOIN)),
        (Answer(500, RUN), Lose("reply", RUN)),
        (Lose("request", STATE), Answer(429, STATE, retry_after="0")),
    ],
    ids=["join", "run", "state"],
)
def test_a_server_that_fails_when_it_is_asked_after_a_cut_is_asked_again(
    here, flavour, faults: tuple[RequestFault, ...]
):
    with Proxy(here.port, Cut(at_byte(9000), "clean")) as proxy:
        proxy.ask(*faults)
        told = within(partial(watch, proxy.url, flavour, "slow", SMALL))
        assert proxy.cuts == 1
        _expect_truth(here, told, proxy)


@pytest.mark.parametrize("how", HOWS)
def test_a_watcher_who_comes_after_the_end_and_is_cut_is_told_the_same_as_a_replay(here, first, flavour, how):
    with Proxy(here.port, Cut(at_byte(9000), how)) as proxy:
        told = within(partial(attach, proxy.url, flavour, first))
        assert proxy.cuts == 1
        assert {envelope.origin for envelope in told.envelopes} == {"replay"}
        live = [replace(envelope, origin="live") for envelope in told.envelopes]
        assert difference(replace(told, envelopes=live), first) is None
