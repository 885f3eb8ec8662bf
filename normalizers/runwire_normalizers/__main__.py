"""`python -m runwire_normalizers FILE.sse`: the envelopes of a recorded stream, one JSON line each, or its view."""

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from runwire_normalizers.adapter import StreamAdapter
from runwire_normalizers.conformance import check
from runwire_normalizers.continuation import Continuation
from runwire_normalizers.envelope import Envelope
from runwire_normalizers.outcome import Outcome
from runwire_normalizers.sse import SSEDecoder
from runwire_normalizers.view import RunView

CHUNK = 65536


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the envelopes, with `--view` their tree, with `--check` the rules they break; 1 if they break one."""
    parser = argparse.ArgumentParser(prog="python -m runwire_normalizers", description=__doc__)
    parser.add_argument("file", metavar="FILE.sse", type=Path)
    parser.add_argument("--after", metavar="EARLIER.sse", type=Path, help="the stream of the run that this one resumes")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--check", action="store_true", help="check the rules of the envelope instead of printing")
    instead.add_argument("--view", action="store_true", help="print the tree of calls instead of the envelopes")
    options = parser.parse_args(argv)
    try:
        # Whatever the earlier frames tell: a run that was resumed had been waiting.
        earlier = list(envelopes(options.after, outcome=Outcome("interrupted"))) if options.after else None
        found = envelopes(options.file, Continuation.from_envelopes(earlier) if earlier else None)
        if options.view:
            return _viewed([*(earlier or ()), *found])
        return _checked(list(found), earlier) if options.check else _printed(found)
    except OSError as error:
        print(f"cannot read {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0


def envelopes(
    path: Path, resumed_from: Continuation | None = None, outcome: Outcome | None = None
) -> Iterator[Envelope]:
    """The envelopes of a recorded stream; without an outcome, its own frames tell how it ended."""
    decoder, adapter = SSEDecoder(), StreamAdapter(resumed_from=resumed_from)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            for event in decoder.feed(chunk):
                yield from adapter.feed(event)
    yield from adapter.finish(outcome)


def _printed(found: Iterator[Envelope]) -> int:
    for envelope in found:
        sys.stdout.buffer.write(envelope.to_json() + b"\n")
    sys.stdout.flush()
    return 0


def _viewed(found: list[Envelope]) -> int:
    width = shutil.get_terminal_size((100, 24)).columns
    sys.stdout.buffer.write(RunView.of(found).render(width).encode() + b"\n")
    sys.stdout.flush()
    return 0


def _checked(found: list[Envelope], earlier: list[Envelope] | None) -> int:
    violations = check(found, after=earlier)
    for violation in violations:
        print(violation)
    print(f"{len(found)} envelopes, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
