"""The ledger and the tests agree in both directions, and the checker of that finds each kind of fault."""

import copy
from typing import Any

import pytest

from tests.ledger import collected, load, problems

SOUND: dict[str, Any] = {
    "parts": {"sdk": "the client"},
    "promise": [
        {"id": "a", "source": "design 1", "quote": "words", "tests": ["tests/test_a.py::test_a"]},
        {"id": "b", "source": "design 2", "quote": "words", "later": "sdk"},
    ],
    "housekeeping": {"tests": ["tests/test_a.py::test_b"]},
}
TESTS = {"tests/test_a.py::test_a", "tests/test_a.py::test_b"}


def test_the_ledger_and_the_tests_agree():
    assert problems(load(), collected()) == []


def test_a_sound_ledger_has_no_problems():
    assert problems(SOUND, TESTS) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"id": "b"}, "id 'b' is used 2 times"),
        ({"id": ""}, "id '' is used 1 times"),
        ({"quote": ""}, "a: no quote"),
        ({"source": ""}, "a: no source"),
        ({"tests": []}, "a: neither tests nor later"),
        ({"later": "someday"}, "a: later names the unknown part 'someday'"),
        ({"tests": ["tests/test_a.py::test_gone"]}, "tests/test_a.py::test_gone: in the ledger, but pytest"),
        ({"tests": ["tests/test_a.py::test_b"]}, "tests/test_a.py::test_a: holds no promise"),
    ],
)
def test_a_fault_in_the_ledger_is_found(change, complaint):
    ledger = copy.deepcopy(SOUND)
    ledger["promise"][0] |= change
    assert any(problem.startswith(complaint) for problem in problems(ledger, TESTS))


def test_a_test_that_nobody_lists_is_found():
    assert problems(SOUND, {*TESTS, "tests/test_new.py::test_new"}) == [
        "tests/test_new.py::test_new: holds no promise of the ledger"
    ]
