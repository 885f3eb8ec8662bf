"""`python -m tests.goldens` writes the golden envelopes of every recording anew; the diff is for a person to read."""

import shutil
import sys

from tests.feeding import GOLDENS, NAMES, golden_path, lines, told


def main() -> int:
    shutil.rmtree(GOLDENS, ignore_errors=True)
    for name in NAMES:
        path = golden_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines(told(name)))
    print(f"{len(NAMES)} goldens")
    return 0


if __name__ == "__main__":
    sys.exit(main())
