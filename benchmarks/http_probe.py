"""The peak memory of one run read over HTTP, printed: `python -m benchmarks.http_probe READER URL THREAD`."""

import sys
import tracemalloc

from benchmarks.readers import READERS


def main(reader: str, url: str, thread: str) -> None:
    read = READERS[reader]
    # What a first run leaves behind, imports and caches, is no part of what the second one takes.
    read(url, "flat.50", len)
    tracemalloc.start()
    read(url, thread, len)
    print(tracemalloc.get_traced_memory()[1])


if __name__ == "__main__":
    main(*sys.argv[1:])
