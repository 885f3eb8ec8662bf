"""The registry of rows. A further row is a file with a `measure` and a line here."""

from benchmarks.row import Measure
from benchmarks.rows import decode, growth, history, memory, serializer, translation

ROWS: dict[str, Measure] = {
    "decode": decode.measure,
    "growth": growth.measure,
    "history": history.measure,
    "memory": memory.measure,
    "translation": translation.measure,
    "translation-history": translation.measure_with_history,
    "serializer": serializer.measure,
}
