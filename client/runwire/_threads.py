"""The sync shell: the reader drives the flow of a run while it waits for bytes, a thread does the rest."""

import inspect
import socket
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import Any, Self, cast

import httpx

from runwire._bodies import NOT_YET, Body
from runwire._effects import READ, Effect, Give, Open, Reply, Send, TransportFailed, Wait
from runwire._handle import Handle
from runwire._wire import Answer, headers_of, request_options, was_sent
from runwire.errors import ConnectionLost
from runwire_normalizers import Envelope, GraphOutput, ParserEvent, StreamParser

JOIN_SECONDS = 10.0
# How long the reader may be away until the thread reads in its place.
AWAY_SECONDS = 0.05


class Run(Handle):
    """A run that is being watched: iterate it for its envelopes. Leaving early detaches; the run goes on."""

    def __init__(self, http: httpx.Client, client: Any, *args: Any) -> None:
        super().__init__(*args)
        self._http = http
        self._client = client
        self._lock = threading.Lock()
        # What the reader waits on, and what the thread waits on: neither wakes the other without a reason.
        self._news, self._turn = threading.Condition(self._lock), threading.Condition(self._lock)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._flow = self._watch.flow()
        self._effect: Effect | None = None
        # Who takes the flow on, and the reader that waits, both by their threads' numbers.
        self._driver: int | None = None
        self._waiting: int | None = None
        self._left_at = 0.0
        self._ended = False
        self._is_spoiled = False
        self._response: httpx.Response | None = None
        self._body: Body | None = None

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
        with self._lock:
            self._news.notify_all()
            self._turn.notify_all()
        if self._thread and self._thread is not threading.current_thread():
            self._hang_up()
            self._thread.join(JOIN_SECONDS)

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._mind, name="runwire", daemon=True)
            self._thread.start()

    def _next_batch(self) -> list[Envelope] | None:
        me = threading.get_ident()
        try:
            while True:
                with self._lock:
                    self._waiting = me
                    batch = self._taken()
                    if batch:
                        return batch
                    if self._over:
                        if self._failure:
                            raise self._failure
                        return None
                    patience = self._patience()
                    if self._driver != me:
                        self._news.wait(patience)
                        continue
                self._drive_on(patience)
        finally:
            self._left_at, self._waiting = time.monotonic(), None

    # Whoever drives takes the flow from effect to effect. The reader does while it waits for bytes, so that nobody has
    # to wake it; the thread does everything else, and reads when the reader stays away.

    def _drive_on(self, patience: float | None) -> None:
        """The reader's turn: bytes, and what they tell; for any other effect the thread is woken."""
        try:
            self._step(patience)
            while isinstance(self._effect, Give) and not self._ended:
                self._step(None)
        except BaseException:  # Ctrl-C, at any place
            self._spoil()
            raise
        finally:
            if self._ended or self._effect is not READ:
                with self._lock:
                    self._driver = None
                    self._turn.notify_all()

    def _spoil(self) -> None:
        """Nobody knows which bytes or envelopes are lost: the former can be asked for again."""
        if self._effect is READ and inspect.getgeneratorstate(self._flow) != inspect.GEN_CLOSED:
            self._is_spoiled = True
        else:
            self._ended, self._failure = True, self._lost("the reader was interrupted in the middle of an envelope")

    def _lost(self, why: str) -> ConnectionLost:
        return ConnectionLost(why, **self._watch.where)

    def _mind(self) -> None:
        """The thread."""
        me = threading.get_ident()
        try:
            self._advance(None)
            while self._take_wheel(me):
                self._step(None)
            with suppress(ValueError):  # the reader is in it, and leaves it
                self._flow.close()
            self._close_response()
        finally:
            with self._lock:
                self._over = True
                self._news.notify_all()

    def _take_wheel(self, me: int) -> bool:
        """Whether there is more to do, once it is this thread's to do."""
        with self._lock:
            while not (self._stop.is_set() or self._ended):
                away = self._waiting is None and time.monotonic() - self._left_at > AWAY_SECONDS
                if self._driver in (None, me) or away:
                    self._driver = me
                    if self._waiting is None or self._effect is not READ or not self._is_patient:
                        return True
                    self._driver = self._waiting
                    self._news.notify_all()
                self._turn.wait(AWAY_SECONDS)
        return False

    def _step(self, patience: float | None) -> None:
        """Does what the flow asks for, and asks it for more; bytes are waited for no longer than `patience`."""
        try:
            answer = self._read(patience) if self._effect is READ else self._perform(self._effect)
        except TransportFailed as failed:
            self._advance(None, failed)
        except Exception as raised:  # it belongs to the reader, who raises it
            self._ended, self._failure = True, raised
        else:
            if answer is not NOT_YET:
                self._advance(answer)

    def _advance(self, answer: Any, failed: TransportFailed | None = None) -> None:
        try:
            self._effect = self._flow.throw(failed) if failed else self._flow.send(answer)
        except StopIteration:
            self._ended = True
        except TransportFailed as failed_twice:
            self._ended, self._failure = True, self._lost(str(failed_twice))
        except Exception as raised:  # it belongs to the reader, who raises it
            self._ended, self._failure = True, raised

    @property
    def _is_patient(self) -> bool:
        return self._body is not None and self._body.is_patient

    def _perform(self, effect: Effect | None) -> Any:
        match effect:
            case Give(envelopes):
                with self._lock:
                    self._push(envelopes)
                    self._news.notify_all()
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
        self._body = Body(response, self._watch.limits.silence)
        return Reply(response.status_code, headers_of(response))

    def _read(self, patience: float | None) -> Any:
        if self._is_spoiled:
            self._is_spoiled = False
            raise TransportFailed("the reader was interrupted in the middle of a read")
        try:
            return self._body.read(patience) if self._body is not None else None
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
