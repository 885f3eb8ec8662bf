"""The sync shell: a thread drives the flow of a run, and its reader waits on a condition."""

import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Any, Self, cast

import httpx

from runwire._effects import READ, Effect, Give, Open, Reply, Send, TransportFailed, Wait
from runwire._handle import Handle
from runwire._wire import Answer, headers_of, request_options, was_sent
from runwire.errors import ConnectionLost
from runwire_normalizers import Envelope, GraphOutput, ParserEvent, StreamParser

JOIN_SECONDS = 10.0


class Run(Handle):
    """A run that is being watched: iterate it for its envelopes. Leaving early detaches; the run goes on."""

    def __init__(self, http: httpx.Client, client: Any, *args: Any) -> None:
        super().__init__(*args)
        self._http = http
        self._client = client
        self._change = threading.Condition()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._response: httpx.Response | None = None
        self._chunks: Iterator[bytes] = iter(())

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Envelope]:
        self._begin()
        while True:
            batch = self._next_batch()
            if batch is None:
                return
            for envelope in batch:
                yield self._fold(envelope)

    def text(self) -> Iterator[str]:
        """The answer's text alone, piece by piece."""
        for envelope in self:
            if piece := answer_piece(self, envelope):
                yield piece

    def events(self, parser: StreamParser | None = None) -> Generator[ParserEvent, None, None]:
        """The run as typed events, as `parser` says which; the last is a `CompleteEvent`."""
        projection = (parser or StreamParser()).projection()
        for envelope in self:
            yield from self._told(projection, envelope)

    @property
    def result(self) -> GraphOutput:
        """The typed result, waited for; `RunFailed` where there is none."""
        for _ in self:
            pass
        return self._output()

    def cancel(self) -> None:
        """Asks the server to stop the run; the stream then ends with the truth about it."""
        path = self._cancel_path()
        try:
            self._check_cancel(self._http.post(path).status_code)
        except httpx.HTTPError as error:
            raise ConnectionLost(f"{type(error).__name__} when asking to stop the run", **self._watch.where) from error

    def respond(self, answer: Any, **options: Any) -> "Run":
        """The run that goes on with the answer to what this one waits for."""
        return cast(Run, self._client._respond(self, answer, options))

    def close(self) -> None:
        """Stops watching and leaves no connection and no thread behind."""
        self._stop.set()
        if self._thread and self._thread is not threading.current_thread():
            self._hang_up()
            self._thread.join(JOIN_SECONDS)

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._drive, name="runwire", daemon=True)
            self._thread.start()

    def _next_batch(self) -> list[Envelope] | None:
        with self._change:
            while True:
                batch = self._taken()
                if batch:
                    return batch
                if self._over:
                    if self._failure:
                        raise self._failure
                    return None
                self._change.wait(self._patience())

    # the thread

    def _drive(self) -> None:
        flow, failure = self._watch.flow(), None
        try:
            effect: Effect = next(flow)
            while not self._stop.is_set():
                try:
                    answer = self._read() if effect is READ else self._perform(effect)
                except TransportFailed as failed:
                    effect = flow.throw(failed)
                else:
                    effect = flow.send(answer)
        except StopIteration:
            pass
        except BaseException as raised:  # it belongs to the reader, who raises it
            failure = raised
        finally:
            flow.close()
            self._close_response()
            with self._change:
                self._over, self._failure = True, failure
                self._change.notify_all()

    def _perform(self, effect: Effect) -> Any:
        match effect:
            case Give(envelopes):
                with self._change:
                    self._push(envelopes)
                    self._change.notify_all()
            case Open():
                return self._open(effect)
            case Send():
                return self._send(effect)
            case Wait(seconds):
                self._stop.wait(seconds)
        return None

    def _send(self, effect: Send) -> Reply:
        try:
            with self._http.stream(effect.method, effect.path, **request_options(effect)) as response:
                answer = Answer(response, self._watch.limits)
                for chunk in response.iter_raw():
                    answer.feed(chunk)
                return answer.reply()
        except httpx.HTTPError as error:
            raise TransportFailed(f"{type(error).__name__}: {error}", was_sent(error)) from error

    def _open(self, effect: Open) -> Reply:
        self._close_response()
        try:
            request = self._http.build_request(effect.method, effect.path, **request_options(effect))
            response = self._response = self._http.send(request, stream=True)
            if response.status_code >= 300:
                answer = Answer(response, self._watch.limits)
                for chunk in response.iter_raw():
                    answer.feed(chunk)
                return answer.reply()
        except httpx.HTTPError as error:
            raise TransportFailed(f"{type(error).__name__}: {error}", was_sent(error)) from error
        self._chunks = response.iter_raw()
        return Reply(response.status_code, headers_of(response))

    def _read(self) -> bytes | None:
        try:
            return next(self._chunks, None)
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise TransportFailed(f"{type(error).__name__}: {error}") from error

    def _close_response(self) -> None:
        if self._response is not None:
            with suppress(httpx.HTTPError, OSError, RuntimeError):
                self._response.close()
            self._response = None

    def _hang_up(self) -> None:
        """Wakes a thread that waits for bytes: a closed socket would not."""
        response = self._response
        stream = response.extensions.get("network_stream") if response is not None else None
        sock = stream.get_extra_info("socket") if stream is not None else None
        if isinstance(sock, socket.socket):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def answer_piece(run: Handle, envelope: Envelope) -> str:
    """The text of a token of the run's own model: not of a subagent, nor of a model inside a tool."""
    if envelope.type != "llm_token" or envelope.payload["channel"] != "text":
        return ""
    parent = run.view.call(envelope.parent_id or "")
    while parent is not None and parent.kind == "subgraph":
        parent = run.view.call(parent.parent_id or "")
    return str(envelope.payload["text"]) if parent is None or parent.kind == "run" else ""
