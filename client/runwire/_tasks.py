"""The async shell: a task drives the flow of a run, and its reader waits on an event."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Any, Self, cast

import httpx

from runwire._bodies import AsyncBody
from runwire._effects import READ, Effect, Give, Open, Reply, Send, TransportFailed, Wait
from runwire._handle import Handle
from runwire._threads import answer_piece
from runwire._wire import Answer, headers_of, request_options, was_sent
from runwire.errors import ConnectionLost
from runwire_normalizers import Envelope, GraphOutput, ParserEvent, StreamParser


class AsyncRun(Handle):
    """A run that is being watched: iterate it for its envelopes. Leaving early detaches; the run goes on."""

    def __init__(self, http: httpx.AsyncClient, client: Any, *args: Any) -> None:
        super().__init__(*args)
        self._http = http
        self._client = client
        self._change = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._response: httpx.Response | None = None
        self._body: AsyncBody | None = None

    async def __aenter__(self) -> Self:
        self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[Envelope]:
        self._begin()
        while True:
            batch = await self._next_batch()
            if batch is None:
                return
            for envelope in batch:
                yield self._fold(envelope)

    async def text(self) -> AsyncIterator[str]:
        """The answer's text alone, piece by piece."""
        async for envelope in self:
            if piece := answer_piece(self, envelope):
                yield piece

    async def events(self, parser: StreamParser | None = None) -> AsyncGenerator[ParserEvent, None]:
        """The run as typed events, as `parser` says which; the last is a `CompleteEvent`."""
        projection = (parser or StreamParser()).projection()
        async for envelope in self:
            for event in self._told(projection, envelope):
                yield event

    async def result(self) -> GraphOutput:
        """The typed result, waited for; `RunFailed` where there is none."""
        async for _ in self:
            pass
        return self._output()

    async def cancel(self) -> None:
        """Asks the server to stop the run; the stream then ends with the truth about it."""
        path = self._cancel_path()
        try:
            self._check_cancel((await self._http.post(path)).status_code)
        except httpx.HTTPError as error:
            raise ConnectionLost(f"{type(error).__name__} when asking to stop the run", **self._watch.where) from error

    def respond(self, answer: Any, **options: Any) -> "AsyncRun":
        """The run that goes on with the answer to what this one waits for."""
        return cast(AsyncRun, self._client._respond(self, answer, options))

    async def close(self) -> None:
        """Stops watching and leaves no connection and no task behind."""
        if self._task and not self._task.done():
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _begin(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._drive(), name="runwire")

    async def _next_batch(self) -> list[Envelope] | None:
        while True:
            batch = self._taken()
            if batch:
                return batch
            if self._over:
                if self._failure:
                    raise self._failure
                return None
            self._change.clear()
            patience = self._patience()
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._change.wait()

    # the task

    async def _drive(self) -> None:
        flow, failure = self._watch.flow(), None
        try:
            effect: Effect = next(flow)
            while True:
                try:
                    answer = await (self._read() if effect is READ else self._perform(effect))
                except TransportFailed as failed:
                    effect = flow.throw(failed)
                else:
                    effect = flow.send(answer)
        except StopIteration:
            pass
        except asyncio.CancelledError:
            raise
        except BaseException as raised:  # it belongs to the reader, who raises it
            failure = raised
        finally:
            flow.close()
            await self._close_response()
            self._over, self._failure = True, failure
            self._change.set()

    async def _perform(self, effect: Effect) -> Any:
        match effect:
            case Give(envelopes):
                self._push(envelopes)
                self._change.set()
            case Open():
                return await self._open(effect)
            case Send():
                return await self._send(effect)
            case Wait(seconds):
                await asyncio.sleep(seconds)
        return None

    async def _send(self, effect: Send) -> Reply:
        try:
            async with self._http.stream(effect.method, effect.path, **request_options(effect)) as response:
                answer = Answer(response, self._watch.limits)
                async for chunk in response.aiter_raw():
                    answer.feed(chunk)
                return answer.reply()
        except httpx.HTTPError as error:
            raise TransportFailed(f"{type(error).__name__}: {error}", was_sent(error)) from error

    async def _open(self, effect: Open) -> Reply:
        await self._close_response()
        try:
            request = self._http.build_request(effect.method, effect.path, **request_options(effect))
            response = self._response = await self._http.send(request, stream=True)
            if response.status_code >= 300:
                answer = Answer(response, self._watch.limits)
                async for chunk in response.aiter_raw():
                    answer.feed(chunk)
                return answer.reply()
        except httpx.HTTPError as error:
            raise TransportFailed(f"{type(error).__name__}: {error}", was_sent(error)) from error
        self._body = AsyncBody(response, self._watch.limits.silence)
        return Reply(response.status_code, headers_of(response))

    async def _read(self) -> bytes | None:
        try:
            return await self._body.read() if self._body is not None else None
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise TransportFailed(f"{type(error).__name__}: {error}") from error

    async def _close_response(self) -> None:
        if self._response is not None:
            with suppress(httpx.HTTPError, OSError, RuntimeError):
                await self._response.aclose()
            self._response = None
