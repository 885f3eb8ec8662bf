"""`make desktop`: sees to it that the parts of the virtual desktop are there, or says what to do."""

import os
import subprocess
import sys

from runwire_graphs.computer.backends.desktop import CURE, PARTS, WARNING, missing_parts


def main() -> int:
    missing = missing_parts()
    if missing and os.geteuid() == 0:
        print(f"desktop: {', '.join(missing)} are missing; apt-get installs them …", flush=True)
        _apt([PARTS[name] for name in missing])
        missing = missing_parts()
    if missing:
        print(f"desktop: {', '.join(missing)} are missing. {CURE}", file=sys.stderr)
        return 1
    print(f"desktop: all parts are there; set RUNWIRE_COMPUTER=desktop to use it. {WARNING}")
    return 0


def _apt(packages: list[str]) -> None:
    for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        try:
            subprocess.run(["apt-get", "-qq", *command], check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"desktop: {error}", file=sys.stderr)
            return


if __name__ == "__main__":
    sys.exit(main())
