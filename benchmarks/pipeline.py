"""The core as a client drives it: bytes in, envelopes out, each handed on and kept by nobody but the view."""

from collections.abc import Callable, Iterable

from runwire_normalizers import Envelope, RunView, SSEDecoder, StreamAdapter

Take = Callable[[Envelope], object]


class Reader:
    """One run: a decoder and an adapter that know each other."""

    def __init__(self) -> None:
        self.decoder = SSEDecoder()
        self.adapter = StreamAdapter()

    def read(self, chunks: Iterable[bytes], take: Take) -> None:
        decode, feed = self.decoder.feed, self.adapter.feed
        for chunk in chunks:
            for frame in decode(chunk):
                for envelope in feed(frame):
                    take(envelope)

    def finish(self, take: Take) -> None:
        for envelope in self.adapter.finish("success"):
            take(envelope)


def write_lines(chunks: Iterable[bytes], write: Callable[[bytes], object]) -> None:
    """The whole way to JSON lines, with nothing between that a client would not need."""
    decode, adapter = SSEDecoder().feed, StreamAdapter()
    for chunk in chunks:
        for frame in decode(chunk):
            for envelope in adapter.feed(frame):
                write(envelope.to_json() + b"\n")
    for envelope in adapter.finish("success"):
        write(envelope.to_json() + b"\n")


def sink(view: RunView) -> Take:
    """Writes each envelope's line to nowhere and folds it into the view."""
    fold = view.fold

    def take(envelope: Envelope) -> None:
        len(envelope.to_json() + b"\n")
        fold(envelope)

    return take
