"""`Client` and `AsyncClient`: the door to a server. What they decide is written once; only the shells differ."""

import asyncio
import random
import time
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import httpx

from runwire._config import Retry, Server, WireLimits, public_url, server
from runwire._effects import Effect, Reply, Send, TransportFailed
from runwire._handle import Handle
from runwire._replaying import replayed
from runwire._requests import OnDisconnect, checked_answer, start_body
from runwire._tasks import AsyncRun
from runwire._threads import Run
from runwire._transport import KEPT_ALIVE, AsyncTransport, Transport, goes_by_proxy
from runwire._watch import Watch
from runwire._wire import Answer, request_options, was_sent
from runwire.errors import ConfigError
from runwire_normalizers import Continuation, GraphOutput, ReplayedRun, StreamAdapter
from runwire_normalizers.sampler import Profile

if TYPE_CHECKING:
    from langgraph_sdk.client import LangGraphClient, SyncLangGraphClient

CONNECT_SECONDS = 5.0
SEND_SECONDS = 30.0
# Shorter header values are no secrets, and would be found in any text.
SECRET_LENGTH = 6
Flow = Generator[Effect, Any, Any]
T = TypeVar("T")


class _Door:
    """What both clients are: an address, limits, and the making of runs."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        headers: dict[str, str] | None = None,
        limits: WireLimits | None = None,
        retry: Retry | None = None,
    ) -> None:
        self._server = server(url, api_key, headers)
        self._limits = limits or WireLimits()
        self._retry = retry or Retry()

    @property
    def url(self) -> str:
        return public_url(self._server.url)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _options(self) -> dict[str, Any]:
        timeout = httpx.Timeout(SEND_SECONDS, connect=CONNECT_SECONDS, read=self._limits.silence, pool=None)
        return {
            "base_url": self._server.url,
            "headers": self._server.headers,
            "timeout": timeout,
            # Of the way through a proxy; our own transport has the same.
            "limits": httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_ALIVE),
            # A key goes to the configured origin alone.
            "follow_redirects": False,
        }

    def _transport(self, kind: Callable[[str], T]) -> T | None:
        """Our own, unless the way leads through a proxy."""
        return None if goes_by_proxy(self._server.url) else kind(self._server.url)

    def _watch(self, thread_id: str, run_id: str | None, body: dict[str, Any] | None, adapter: StreamAdapter) -> Watch:
        return Watch(
            adapter,
            thread_id,
            run_id,
            body,
            limits=self._limits,
            retry=self._retry,
            clock=time.time,
            chance=random.random,
            scrub=self._scrub,
        )

    def _scrub(self, text: str) -> str:
        """What a server says, without the headers that only it may see."""
        for value in self._server.headers.values():
            text = text.replace(value, "[scrubbed]") if len(value) >= SECRET_LENGTH else text
        return text

    def _started(
        self,
        assistant: str,
        input: Any,
        thread_id: str | None,
        resume: Any,
        before: Continuation | None,
        stream_modes: Sequence[str] | None,
        config: Mapping[str, Any] | None,
        context: Mapping[str, Any] | None,
        metadata: Mapping[str, Any] | None,
        on_disconnect: OnDisconnect,
    ) -> Watch:
        if resume is not None and thread_id is None:
            raise ConfigError("to resume, name the thread that waits")
        body = start_body(
            assistant,
            input,
            resume,
            uuid.uuid4().hex[:12],
            modes=stream_modes,
            config=config,
            context=context,
            metadata=metadata,
            on_disconnect=on_disconnect,
        )
        adapter = StreamAdapter(label=assistant, input=body.get("input"), resumed_from=before)
        watch = self._watch(thread_id or str(uuid.uuid4()), None, body, adapter)
        watch.prior = resume is not None and before is None
        return watch

    def _joined(self, thread_id: str, run_id: str) -> Watch:
        return self._watch(thread_id, run_id, None, StreamAdapter(run_id=run_id))

    def _prepared(self, run: Handle, answer: Any, options: dict[str, Any]) -> dict[str, Any]:
        if run.status != "interrupted":
            raise ConfigError(f"the run does not wait for an answer: it is {run.status}", **run._watch.where)
        before = run._watch.adapter.continuation()
        given = {"assistant": run._assistant, "thread_id": run.thread_id, "profile": run._profile}
        return {**given, **options, "resume": checked_answer(run.interrupts, answer), "before": before}


class Client(_Door):
    """A server, from sync code. Without a URL it is `RUNWIRE_URL`, LangGraph's own variable, or the local server."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        headers: dict[str, str] | None = None,
        limits: WireLimits | None = None,
        retry: Retry | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        super().__init__(url, api_key, headers=headers, limits=limits, retry=retry)
        self._own = http is None
        self._http = http or httpx.Client(transport=self._transport(Transport), **self._options())
        self._sdk: SyncLangGraphClient | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections that the client opened itself."""
        if self._own:
            self._http.close()
        if self._sdk is not None:
            self._sdk.close()

    @property
    def sdk(self) -> "SyncLangGraphClient":
        """langgraph-sdk's client of the same server, for the rest of its API."""
        if self._sdk is None:
            # Only here: it is heavier than all the rest.
            from langgraph_sdk import get_sync_client

            self._sdk = get_sync_client(
                url=self._server.url, api_key=self._server.headers.get("x-api-key"), headers=_sdk_headers(self._server)
            )
        return self._sdk

    def stream(
        self,
        assistant: str,
        input: Any = None,
        *,
        thread_id: str | None = None,
        resume: Any = None,
        profile: Profile = "user",
        stream_modes: Sequence[str] | None = None,
        config: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        on_disconnect: OnDisconnect = "continue",
        before: Continuation | None = None,
    ) -> Run:
        """A new run, or with `resume` the answer to one that waits. It starts when it is entered or iterated."""
        watch = self._started(
            assistant, input, thread_id, resume, before, stream_modes, config, context, metadata, on_disconnect
        )
        return Run(self._http, self, watch, assistant, profile, timeout, None, time.time)

    def run(self, assistant: str, input: Any = None, **options: Any) -> GraphOutput:
        """The typed result of a new run; `RunFailed` where there is none. The options are those of `stream`."""
        with self.stream(assistant, input, **options) as run:
            return run.result

    def attach(
        self,
        thread_id: str,
        run_id: str,
        *,
        after: str | None = None,
        profile: Profile = "user",
        timeout: float | None = None,
    ) -> Run:
        """A run that was started elsewhere, from its beginning or after the cursor of an earlier reader."""
        watch = self._joined(thread_id, run_id)
        return Run(self._http, self, watch, None, profile, timeout, after, time.time)

    def replay(self, thread_id: str, run_id: str | None = None) -> list[ReplayedRun]:
        """The runs of a thread from its checkpoints, or those of one run's trace."""
        ask = self._watch(thread_id, run_id, None, StreamAdapter())._send
        return cast(list[ReplayedRun], self._drive(replayed(thread_id, run_id, ask)))

    def _respond(self, run: Run, answer: Any, options: dict[str, Any]) -> Run:
        return self.stream(**self._prepared(run, answer, options))

    def _drive(self, flow: Flow) -> Any:
        try:
            effect = next(flow)
            while True:
                try:
                    answer = self._perform(effect)
                except TransportFailed as failed:
                    effect = flow.throw(failed)
                else:
                    effect = flow.send(answer)
        except StopIteration as done:
            return done.value

    def _perform(self, effect: Effect) -> Reply | None:
        if not isinstance(effect, Send):
            time.sleep(getattr(effect, "seconds", 0.0))
            return None
        try:
            with self._http.stream(effect.method, effect.path, **request_options(effect)) as response:
                answer = Answer(response, self._limits)
                for chunk in response.iter_raw():
                    answer.feed(chunk)
                return answer.reply()
        except httpx.HTTPError as error:
            raise TransportFailed(f"{type(error).__name__}: {error}", was_sent(error)) from error


class AsyncClient(_Door):
    """A server, from async code: the twin of `Client`."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        headers: dict[str, str] | None = None,
        limits: WireLimits | None = None,
        retry: Retry | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(url, api_key, headers=headers, limits=limits, retry=retry)
        self._own = http is None
        self._http = http or httpx.AsyncClient(transport=self._transport(AsyncTransport), **self._options())
        self._sdk: LangGraphClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections that the client opened itself."""
        if self._own:
            await self._http.aclose()
        if self._sdk is not None:
            await self._sdk.aclose()

    @property
    def sdk(self) -> "LangGraphClient":
        """langgraph-sdk's client of the same server, for the rest of its API."""
        if self._sdk is None:
            from langgraph_sdk import get_client

            self._sdk = get_client(
                url=self._server.url, api_key=self._server.headers.get("x-api-key"), headers=_sdk_headers(self._server)
            )
        return self._sdk

    def stream(
        self,
        assistant: str,
        input: Any = None,
        *,
        thread_id: str | None = None,
        resume: Any = None,
        profile: Profile = "user",
        stream_modes: Sequence[str] | None = None,
        config: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        on_disconnect: OnDisconnect = "continue",
        before: Continuation | None = None,
    ) -> AsyncRun:
        """A new run, or with `resume` the answer to one that waits. It starts when it is entered or iterated."""
        watch = self._started(
            assistant, input, thread_id, resume, before, stream_modes, config, context, metadata, on_disconnect
        )
        return AsyncRun(self._http, self, watch, assistant, profile, timeout, None, time.time)

    async def run(self, assistant: str, input: Any = None, **options: Any) -> GraphOutput:
        """The typed result of a new run; `RunFailed` where there is none. The options are those of `stream`."""
        async with self.stream(assistant, input, **options) as run:
            return await run.result()

    def attach(
        self,
        thread_id: str,
        run_id: str,
        *,
        after: str | None = None,
        profile: Profile = "user",
        timeout: float | None = None,
    ) -> AsyncRun:
        """A run that was started elsewhere, from its beginning or after the cursor of an earlier reader."""
        watch = self._joined(thread_id, run_id)
        return AsyncRun(self._http, self, watch, None, profile, timeout, after, time.time)

    async def replay(self, thread_id: str, run_id: str | None = None) -> list[ReplayedRun]:
        """The runs of a thread from its checkpoints, or those of one run's trace."""
        ask = self._watch(thread_id, run_id, None, StreamAdapter())._send
        return cast(list[ReplayedRun], await self._drive(replayed(thread_id, run_id, ask)))

    def _respond(self, run: AsyncRun, answer: Any, options: dict[str, Any]) -> AsyncRun:
        return self.stream(**self._prepared(run, answer, options))

    async def _drive(self, flow: Flow) -> Any:
        try:
            effect = next(flow)
            while True:
                try:
                    answer = await self._perform(effect)
                except TransportFailed as failed:
                    effect = flow.throw(failed)
                else:
                    effect = flow.send(answer)
        except StopIteration as done:
            return done.value

    async def _perform(self, effect: Effect) -> Reply | None:
        if not isinstance(effect, Send):
            await asyncio.sleep(getattr(effect, "seconds", 0.0))
            return None
        try:
            async with self._http.stream(effect.method, effect.path, **request_options(effect)) as response:
                answer = Answer(response, self._limits)
                async for chunk in response.aiter_raw():
                    answer.feed(chunk)
                return answer.reply()
        except httpx.HTTPError as error:
            raise TransportFailed(f"{type(error).__name__}: {error}", was_sent(error)) from error


def _sdk_headers(known: Server) -> dict[str, str]:
    return {name: value for name, value in known.headers.items() if name.lower() != "x-api-key"}
