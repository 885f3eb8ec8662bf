"""The ledger leads from each promise to its tests; `python -m tests.ledger` prints where the two differ.

It checks names, not truth: that a test really holds its promise is for the reader of both.
"""

import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.rooms import ROOT

PATH = ROOT / "docs" / "ledger.toml"


def load() -> dict[str, Any]:
    return tomllib.loads(PATH.read_text("utf-8"))


def collected() -> set[str]:
    """The test functions that pytest finds in the whole repository, without their parameters."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(f"pytest cannot collect the tests:\n{done.stdout}\n{done.stderr}")
    return {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}


def problems(ledger: dict[str, Any], tests: set[str]) -> list[str]:
    return [*_unsound(ledger), *_not_collected(ledger, tests), *_unlisted(ledger, tests)]


def _unsound(ledger: dict[str, Any]) -> Iterator[str]:
    for name, count in Counter(promise.get("id") for promise in ledger["promise"]).items():
        if count > 1 or not name:
            yield f"id {name!r} is used {count} times"
    for promise in ledger["promise"]:
        yield from (f"{promise.get('id')}: no {key}" for key in ("source", "quote") if not promise.get(key))
        if not promise.get("tests") and "later" not in promise:
            yield f"{promise.get('id')}: neither tests nor later"
        if promise.get("later", "-") not in {"-", *ledger["parts"]}:
            yield f"{promise.get('id')}: later names the unknown part {promise['later']!r}"


def listed(ledger: dict[str, Any]) -> set[str]:
    """Every test the ledger names, for a promise or as housekeeping."""
    held = {test for promise in ledger["promise"] for test in promise.get("tests", [])}
    return held | set(ledger["housekeeping"]["tests"])


def _not_collected(ledger: dict[str, Any], tests: set[str]) -> Iterator[str]:
    yield from (f"{test}: in the ledger, but pytest does not find it" for test in sorted(listed(ledger) - tests))


def _unlisted(ledger: dict[str, Any], tests: set[str]) -> Iterator[str]:
    yield from (f"{test}: holds no promise of the ledger" for test in sorted(tests - listed(ledger)))


def main() -> int:
    ledger = load()
    found = problems(ledger, collected())
    waiting = Counter(promise["later"] for promise in ledger["promise"] if "later" in promise)
    print("\n".join(found) or "the ledger and the tests agree")
    print(f"{len(ledger['promise'])} promises, waiting: {dict(waiting)}", file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
