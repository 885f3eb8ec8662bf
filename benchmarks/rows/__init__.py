"""The registry of rows. A further row is a file with a `measure` and a line here."""

from benchmarks.row import Measure
from benchmarks.rows import decode, events, growth, history, http, http_memory, memory, serializer, translation

ROWS: dict[str, Measure] = {
    "decode": decode.measure,
    "growth": growth.measure,
    "history": history.measure,
    "memory": memory.measure,
    "translation": translation.measure,
    "translation-history": translation.measure_with_history,
    "events": events.measure,
    "http-flat": http.measure_flat,
    "http-paced": http.measure_paced,
    "http-latency": http.measure_latency,
    "http-memory": http_memory.measure,
    "serializer": serializer.measure,
}
