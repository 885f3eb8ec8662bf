"""Runs of a real server, cut in many places, against its own log: `python -m tests.chaos [--seed N] [--sample N]`.

The oracle reads the log and the end of a run without the SDK, so that both can only agree by being right.
"""

import argparse
import asyncio
import random
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import runwire
from runwire import Continuation, Envelope, Outcome, SSEDecoder
from runwire_normalizers import StreamAdapter
from tests.graphs import GRAPHS, burst
from tests.graphs.case import Turn, human
from tests.proxy import END, HOWS, POST_STREAM, Cut, Fresh, How, Proxy, Where, after_mark, at_byte, in_frame
from tests.serve import Api, connect, prepare

Found = TypeVar("Found")
Flavour = Literal["sync", "async"]
FLAVOURS: tuple[Flavour, ...] = ("sync", "async")
SPOTS = 60
FRESH_BYTES = 1500
DEADLINE_SECONDS = 60.0
AT_ONCE = 8
SHOWN = 300

# This graph is for faults alone, so it is not among those that are recorded.
SERVED = "\nfrom tests.graphs import burst as _burst\n\nburst = _burst.CASE.build()\n"

MARKS = {
    "between frames": re.escape(END),
    "between the last CR and LF": rb"\r\n\r(?=\n)",
    "inside an event's name": rb"event: \w\w",
    "inside data": rb"data: .{20}",
    "inside a character": rb"[\xc3-\xf4](?=[\x80-\xbf])",
    "inside an id": rb"\r\nid: \d{6}",
    "after an id": rb"\r\nid: \d{13}-0",
}


@dataclass(frozen=True)
class Scenario:
    """A graph with what goes in, turn by turn."""

    graph: str
    turns: tuple[Turn, ...]


def _of(graph: str) -> Scenario:
    return Scenario(graph, GRAPHS[graph].turns)


SCENARIOS = {
    # `200 x 2`, in digits that are no ASCII, so that frames can be cut inside a character.
    "tokens": Scenario("slow", (Turn(human("٢٠٠ x ٢")),)),
    "tool_raises": _of("tool_raises"),
    "node_raises": _of("node_raises"),
    "burst": Scenario("burst", burst.CASE.turns),
    "no_pause": Scenario("slow", (Turn(human("٤٠٠ x ٠")),)),
    "nested": _of("nested"),
    "deep": _of("deep"),
    "unicode": _of("unicode"),
    "inter": _of("inter"),
    "deep_ask": _of("deep_ask"),
}


@dataclass(frozen=True)
class Told:
    """What one watcher was told of a run."""

    thread_id: str
    run_id: str | None
    status: str
    trace_id: str | None
    envelopes: list[Envelope]


@dataclass(frozen=True)
class Ground:
    """A server to watch runs on, with a plain client of it."""

    api: Api

    @property
    def port(self) -> int:
        port = self.api.http.base_url.port
        assert port is not None
        return port

    def told(
        self, scenario: Scenario, turn: Turn, told: Told, prior: Sequence[Envelope] = ()
    ) -> tuple[Told, tuple[Any, ...]]:
        """The truth about a run, from the server's log and state, and what it waits for. `prior`: what it resumes."""
        location = f"/threads/{told.thread_id}/runs/{told.run_id}"
        outcome = self.outcome(location)
        adapter = StreamAdapter(
            label=scenario.graph,
            input=turn.input,
            resumed_from=Continuation.from_envelopes(prior) if prior else None,
        )
        frames = SSEDecoder().feed(self.api.join(location).content)
        found = [envelope for frame in frames for envelope in adapter.feed(frame)] + adapter.finish(outcome)
        truth = Told(told.thread_id, told.run_id, outcome.status, adapter.trace_id, found)
        return truth, outcome.interrupts

    def outcome(self, location: str) -> Outcome:
        run = self.api.ended(location)
        thread = location.split("/runs/")[0]
        state = self.api.get(f"{thread}/state")
        match run["status"]:
            case "error":
                return Outcome("error", self.api.get(f"{location}/join")["__error__"])
            case "timeout":
                return Outcome("timeout")
            case "interrupted":
                return Outcome("cancelled", values=state["values"])
        status: Literal["interrupted", "success"] = "interrupted" if state["next"] else "success"
        return Outcome(status, interrupts=tuple(state["interrupts"]), values=state["values"])

    def runs(self, thread_id: str) -> int:
        return len(self.api.get(f"/threads/{thread_id}/runs?limit=100"))


@contextmanager
def ground() -> Iterator[Ground]:
    """A server with the graphs of all scenarios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, tuple({scenario.graph: None for scenario in SCENARIOS.values()}))
        with (folder / "served.py").open("a") as module:
            module.write(SERVED)
        with connect(folder) as (api, _):
            yield Ground(api)


# watching


def watch(url: str, flavour: Flavour, graph: str, input: Any = None, *, limits: Any = None, **options: Any) -> Told:
    """A whole run as a reader of the SDK sees it."""
    return _read(url, flavour, limits, lambda client: client.stream(graph, input, profile="debug", **options))


def attach(url: str, flavour: Flavour, told: Told) -> Told:
    """The same run as one sees it who comes to it later."""
    return _read(url, flavour, None, lambda client: client.attach(told.thread_id, told.run_id, profile="debug"))


def _read(url: str, flavour: Flavour, limits: Any, opened: Callable[[Any], Any]) -> Told:
    more = {"limits": limits} if limits else {}

    def told(run: Any, envelopes: list[Envelope]) -> Told:
        return Told(run.thread_id, run.run_id, run.status, run.trace_id, envelopes)

    async def read() -> Told:
        async with runwire.AsyncClient(url, **more) as client, opened(client) as run:
            return told(run, [envelope async for envelope in run])

    if flavour == "async":
        return asyncio.run(read())
    with runwire.Client(url, **more) as client, opened(client) as run:
        return told(run, list(run))


def within(work: Callable[[], Found], seconds: float = DEADLINE_SECONDS) -> Found:
    """What `work` gives or raises, or `TimeoutError`; one that hangs is left behind."""
    done: Future[Found] = Future()

    def fill() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # it belongs to the caller
            done.set_exception(error)

    threading.Thread(target=fill, daemon=True).start()
    return done.result(seconds)


def difference(told: Told, truth: Told) -> str | None:
    """The first thing in which a watcher was told other than the truth; times are its own."""
    for number, (got, wanted) in enumerate(zip(told.envelopes, truth.envelopes, strict=False)):
        if replace(got, ts=None) != replace(wanted, ts=None):
            fields = [name for name, value in got.to_dict().items() if name != "ts" and value != getattr(wanted, name)]
            return f"envelope {number} differs in {', '.join(fields)}: {_short(got)} instead of {_short(wanted)}"
    if len(told.envelopes) != len(truth.envelopes):
        longer = max(told.envelopes, truth.envelopes, key=len)
        place = min(len(told.envelopes), len(truth.envelopes))
        counts = f"{len(told.envelopes)} envelopes instead of {len(truth.envelopes)}"
        return f"{counts}; the first beyond: {_short(longer[place])}"
    if (told.status, told.trace_id) != (truth.status, truth.trace_id):
        return f"{told.status} in trace {told.trace_id} instead of {truth.status} in {truth.trace_id}"
    return None


def _short(envelope: Envelope) -> str:
    text = f"{envelope.type}@{envelope.seq} {envelope.origin} {envelope.payload}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


# cases


@dataclass(frozen=True)
class Case:
    """One way to watch a scenario: whole, cut once in each turn, or cut again and again."""

    name: str
    scenario: str
    flavour: Flavour
    cuts: tuple[Cut, ...] = ()
    always: How | None = None

    def __str__(self) -> str:
        return f"{self.scenario}, {self.flavour}: {self.name}"


@dataclass(frozen=True)
class Result:
    """What came of a case: the difference, if any, the number of cuts, and the body of each turn's first stream."""

    case: Case
    difference: str | None
    cuts: int
    bodies: tuple[bytes, ...]


def spots(body: bytes, count: int, chance: random.Random) -> list[tuple[str, Where]]:
    """Places all over a body: its first bytes, its last frames, and of each kind of mark some."""
    frames = body.count(END)
    found = [(f"byte {position}", at_byte(position)) for position in (0, 1, 8)]
    for number in range(max(frames - 3, 0), frames):
        for name, share, shift in (("at its first byte", 0, 1), ("in its middle", 0.5, 0), ("at its last byte", 1, -1)):
            found.append((f"frame {number} of {frames}, {name}", in_frame(number, share, shift)))
        found.append((f"frame {number} of {frames}, behind it", in_frame(number, 1)))
    rest = count - len(found)
    kinds = ["anywhere", *MARKS]
    for number in range(rest):
        position = int((number + chance.random()) * len(body) / rest)
        kind = kinds[number % len(kinds)]
        mark = MARKS.get(kind)
        # Some streams are all ASCII.
        if mark is None or not re.search(mark, body[position:]):
            found.append((f"byte {position}", at_byte(position)))
        else:
            found.append((f"byte {position}, {kind}", after_mark(position, mark)))
    return found[:count]


def cases(scenario: str, bodies: Sequence[bytes], chance: random.Random) -> list[Case]:
    """Every place with every kind of cut, and repeated cuts of every kind; readers take turns."""
    places = [spots(body, SPOTS, chance) for body in bodies]
    found: list[Case] = []
    for how in HOWS:
        for turns in zip(*places, strict=True):
            name = f"{how} at " + ", then at ".join(text for text, _ in turns)
            cuts = tuple(Cut(where, how, match=POST_STREAM) for _, where in turns)
            found.append(Case(name, scenario, FLAVOURS[len(found) % 2], cuts))
        for flavour in FLAVOURS:
            name = f"{how} after every {FRESH_BYTES} fresh bytes"
            found.append(Case(name, scenario, flavour, always=how))
    return found


def whole(scenario: str, flavour: Flavour = "sync") -> Case:
    return Case("whole", scenario, flavour)


def run(ground: Ground, case: Case) -> Result:
    """A case within its time; a reader that hangs is left behind, on a proxy that is closed."""
    proxies: list[Proxy] = []
    try:
        found = within(partial(_compared, ground, case, proxies))
    except TimeoutError:
        asked = "\n    ".join(proxies[-1].requests[-5:])
        found = f"it hangs after {DEADLINE_SECONDS:.0f} s; its last requests:\n    {asked}"
    except Exception as error:  # whatever a reader raises is the result of its case
        found = f"{type(error).__name__}: {error}"
    for proxy in proxies:
        proxy.close()
    bodies = tuple(bytes(proxy.bodies[0]) if proxy.bodies else b"" for proxy in proxies)
    return Result(case, found, sum(proxy.cuts for proxy in proxies), bodies)


def _compared(ground: Ground, case: Case, proxies: list[Proxy]) -> str | None:
    scenario = SCENARIOS[case.scenario]
    asks: tuple[Any, ...] = ()
    prior: list[Envelope] = []
    thread_id = None
    for number, turn in enumerate(scenario.turns):
        always = Cut(Fresh(FRESH_BYTES).where, case.always) if case.always else None
        proxy = Proxy(ground.port, *case.cuts[number : number + 1], always=always)
        proxies.append(proxy)
        resume = turn.answer(asks) if turn.answer else None
        told = watch(proxy.url, case.flavour, scenario.graph, turn.input, thread_id=thread_id, resume=resume)
        truth, asks = ground.told(scenario, turn, told, prior)
        prior, thread_id = [*prior, *truth.envelopes], told.thread_id
        runs = ground.runs(thread_id)
        found = difference(told, truth)
        if found or (proxy.posts, runs) != (1, number + 1):
            return f"turn {number + 1} ({told.thread_id} {told.run_id}): {proxy.posts} posts, {runs} runs. {found}"
    return None


# the command


def try_out(ground: Ground, scenario: str, chance: random.Random, sample: int | None) -> list[Result]:
    """A scenario whole, by both readers, and then its cases."""
    uncut = [run(ground, whole(scenario, flavour)) for flavour in FLAVOURS]
    if not all(uncut[0].bodies):
        return uncut
    chosen = cases(scenario, uncut[0].bodies, chance)
    if sample is not None:
        chosen = chance.sample(chosen, min(sample, len(chosen)))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [*uncut, *pool.map(partial(run, ground), chosen)]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help=f"of {', '.join(SCENARIOS)}; all by default")
    parser.add_argument("--seed", type=int, default=0, help="where to cut (default 0)")
    parser.add_argument("--sample", type=int, help="so many cases of each scenario instead of all")
    options = parser.parse_args(arguments)
    if unknown := set(options.scenarios) - set(SCENARIOS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    failed = 0
    with ground() as here:
        for scenario in options.scenarios or SCENARIOS:
            started = time.monotonic()
            results = try_out(here, scenario, random.Random(options.seed), options.sample)
            wrong = [result for result in results if result.difference]
            failed += len(wrong)
            cuts, equal = sum(result.cuts for result in results), len(results) - len(wrong)
            seconds = time.monotonic() - started
            print(f"{scenario}: {equal} of {len(results)} equal, {cuts} cuts, {seconds:.0f} s", flush=True)
            for result in wrong:
                print(f"  {result.case}: {result.difference}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
