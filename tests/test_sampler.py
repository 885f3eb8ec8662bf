"""The sampler on a clock of its own: what merges, what never does, what is due when, and a reader that stops."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from runwire_normalizers import Envelope, EventSampler, Limits, StreamAdapter, StreamPart, conformance
from tests.feeding import NAMES, earlier, told

WINDOW, INTERVAL = Limits().window, Limits().update_interval


class Clock:
    """Time that moves when it is told to, and calls back those who asked for it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def __call__(self) -> float:
        return self.now

    def later(self, delay: float, callback: Callable[[], None]) -> "Handle":
        self.timers.append((self.now + delay, callback))
        return Handle(self, callback)

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer[0] <= end]:
            first = min(due, key=lambda timer: timer[0])
            self.timers.remove(first)
            self.now = max(self.now, first[0])
            first[1]()
        self.now = end


class Handle:
    def __init__(self, clock: Clock, callback: Callable[[], None]) -> None:
        self.clock, self.callback = clock, callback

    def cancel(self) -> None:
        self.clock.timers = [timer for timer in self.clock.timers if timer[1] is not self.callback]


class Call:
    """A call that tells itself, at the right positions."""

    def __init__(self, call_id: str) -> None:
        self.call_id, self.seq, self.offsets = call_id, 0, dict[Any, int]()

    def tell(self, type_: Any, payload: dict[str, Any], step: int = 1) -> Envelope:
        self.seq += step
        return Envelope(type_, None, "t", "r", "p", self.call_id, self.seq, "live", None, payload)

    def token(self, text: str, channel: str = "text", tool_call_id: str | None = None) -> Envelope:
        offset = self.offsets.get((channel, tool_call_id), 0)
        self.offsets[channel, tool_call_id] = offset + len(text)
        payload: dict[str, Any] = {"text": text, "channel": channel, "offset": offset}
        if channel == "tool_args":
            payload |= {"tool_call_id": tool_call_id, "tool_name": "search"}
        return self.tell("llm_token", payload, len(text))

    def update(self, data: Any, kind: str = "custom") -> Envelope:
        return self.tell("tool_update", {"kind": kind, "data": data})

    def warning(self) -> Envelope:
        return self.tell("warning", {"code": "late", "message": "", "raw": None})


def sampled(profile: Any = "user", **options: Any) -> tuple[EventSampler, Clock, list[Envelope]]:
    clock, found = Clock(), list[Envelope]()
    return EventSampler(found.append, profile, clock=clock, timer=clock.later, **options), clock, found


def texts(found: list[Envelope]) -> list[str]:
    return [envelope.payload.get("text", envelope.type) for envelope in found]


def test_one_token_and_then_silence_arrives_by_250_ms():
    sampler, clock, found = sampled()
    sampler.push(Call("a").token("alone"))
    assert found == []
    clock.advance(0.25)
    assert texts(found) == ["alone"]


def test_an_update_in_silence_arrives_by_250_ms():
    sampler, clock, found = sampled()
    call = Call("a")
    for number in range(3):
        sampler.push(call.update(number))
    clock.advance(0.25)
    assert [envelope.payload["data"] for envelope in found] == [0, [1, 2]]


def test_without_a_timer_due_tells_when_to_tick():
    clock, found = Clock(), list[Envelope]()
    sampler = EventSampler(found.append, clock=clock)
    assert sampler.due is None
    sampler.push(Call("a").token("alone"))
    assert sampler.due == clock.now + WINDOW
    clock.now += WINDOW
    sampler.tick()
    assert texts(found) == ["alone"]
    assert sampler.due is None


def test_tokens_of_one_window_merge_into_one_at_the_position_of_the_last():
    sampler, clock, found = sampled()
    call = Call("a")
    for text in ("Hel", "lo ", "you"):
        sampler.push(call.token(text))
        clock.advance(WINDOW / 10)
    clock.advance(WINDOW)
    (merged,) = found
    assert merged.payload == {"text": "Hello you", "channel": "text", "offset": 0}
    assert merged.seq == 9


def test_the_next_window_begins_with_the_next_token():
    sampler, clock, found = sampled()
    call = Call("a")
    for text in "abcd":
        sampler.push(call.token(text))
        clock.advance(WINDOW * 0.6)
    clock.advance(WINDOW)
    assert texts(found) == ["ab", "cd"]


@pytest.mark.parametrize("window", [0.0, 0.024, 0.076, 1.0])
def test_a_window_outside_25_to_75_ms_is_refused(window):
    with pytest.raises(ValueError, match="merge within"):
        Limits(window=window)


def test_an_update_interval_past_250_ms_is_refused():
    with pytest.raises(ValueError, match="flushed within"):
        Limits(update_interval=0.3)


def test_debug_hands_out_everything_as_it_comes():
    sampler, _, found = sampled("debug")
    call = Call("a")
    pushed = [call.token("a"), call.token("b"), call.update(1), call.update(2), call.warning()]
    for number, envelope in enumerate(pushed, 1):
        sampler.push(envelope)
        assert len(found) == number
    assert found == pushed


def test_an_unknown_profile_is_refused():
    with pytest.raises(ValueError, match="user and debug"):
        EventSampler(None, "quiet")  # type: ignore[arg-type]


def test_without_any_time_nothing_is_merged():
    found: list[Envelope] = []
    sampler, call = EventSampler(found.append), Call("a")
    for text in "abc":
        sampler.push(call.token(text))
    assert texts(found) == ["a", "b", "c"]


def test_without_a_clock_the_envelopes_own_times_count():
    found: list[Envelope] = []
    sampler, call = EventSampler(found.append), Call("a")
    for number, text in enumerate("abcd"):
        envelope = call.token(text)
        envelope.ts = 5.0 + number * WINDOW * 0.6
        sampler.push(envelope)
    assert texts(found) == ["ab"]
    assert texts(sampler.flush()) == ["cd"]
    assert texts(found) == ["ab", "cd"]


def test_merging_never_crosses_a_channel_or_a_tool_call():
    sampler, clock, found = sampled()
    call = Call("a")
    said: list[tuple[str, str, str | None]]
    said = [("a", "text", None), ("b", "text", None), ("c", "reasoning", None), ("d", "text", None)]
    said += [("e", "tool_args", "1"), ("f", "tool_args", "1"), ("g", "tool_args", "2"), ("h", "tool_args", "1")]
    for text, channel, id in said:
        sampler.push(call.token(text, channel, id))
    clock.advance(WINDOW)
    assert [(e.payload["text"], e.payload["channel"], e.payload["offset"], e.seq) for e in found] == [
        ("ab", "text", 0, 2),
        ("c", "reasoning", 0, 3),
        ("d", "text", 2, 4),
        ("ef", "tool_args", 0, 6),
        ("g", "tool_args", 0, 7),
        ("h", "tool_args", 2, 8),
    ]


def test_calls_that_speak_at_once_merge_each_for_itself():
    sampler, clock, found = sampled()
    a, b = Call("a"), Call("b")
    for one, other in zip("abc", "xyz", strict=True):
        sampler.push(a.token(one))
        sampler.push(b.token(other))
    clock.advance(WINDOW)
    assert sorted(texts(found)) == ["abc", "xyz"]


@pytest.mark.parametrize(
    "type_", "llm_start llm_end tool_start tool_end subgraph_checkpoint subgraph_resume warning error".split()
)
def test_whatever_else_comes_goes_out_at_once_after_all_before_it(type_):
    sampler, _, found = sampled()
    a, b, c = Call("a"), Call("b"), Call("c")
    sampler.push(a.token("one"))
    sampler.push(b.update({"at": 1}))
    sampler.push(b.update({"at": 2}))
    sampler.push(c.tell(type_, {}))
    assert [e.type for e in found] == ["tool_update", "llm_token", "tool_update", type_]


def test_a_hole_in_the_positions_stays_a_hole():
    sampler, clock, found = sampled()
    call = Call("a")
    sampler.push(call.token("ab"))
    call.token("lost")
    sampler.push(call.token("cd"))
    clock.advance(WINDOW)
    assert [(e.payload["text"], e.seq) for e in found] == [("ab", 2), ("cd", 8)]


def test_updates_of_one_call_come_an_interval_apart_and_none_is_lost():
    sampler, clock, found = sampled()
    a, b = Call("a"), Call("b")
    arrived = []
    for number in range(12):
        sampler.push(a.update(number))
        sampler.push(b.update(-number))
        clock.advance(INTERVAL / 4)
        arrived.append(len([e for e in found if e.call_id == "a"]))
    assert arrived == [1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4]
    clock.advance(INTERVAL)
    mine = [e.payload for e in found if e.call_id == "a"]
    assert mine[0] == {"kind": "custom", "data": 0}
    assert mine[1] == {"kind": "custom", "data": [1, 2, 3], "merged": 3}
    assert sum(payload.get("merged", 1) for payload in mine) == 12
    assert found[-1].seq == 12


def test_merged_state_is_one_delta():
    sampler, clock, found = sampled()
    call = Call("a")
    none: dict[str, Any] = {"added": {}, "changed": {}, "removed": []}
    sampler.push(call.update({"plan": [0]}, "state"))
    sampler.push(call.update({"plan": [1], "output": {"x": 1}, "files": none | {"added": {"a": 1, "b": 1}}}, "state"))
    sampler.push(call.update({"output": {"y": 2}, "files": none | {"changed": {"a": 2, "c": 2}}}, "state"))
    sampler.push(call.update({"todos": [], "files": none | {"removed": ["b", "d"]}}, "state"))
    sampler.push(call.update({"files": none | {"added": {"d": 4}}}, "state"))
    clock.advance(INTERVAL)
    assert found[1].payload == {
        "kind": "state",
        "data": {
            "plan": [1],
            "todos": [],
            "output": {"x": 1, "y": 2},
            "files": {"added": {"a": 2}, "changed": {"c": 2, "d": 4}, "removed": ["b"]},
        },
        "merged": 4,
    }


def test_of_merged_progress_the_last_counts():
    sampler, clock, found = sampled()
    call = Call("a")
    for number in range(4):
        sampler.push(call.update({"done": number}, "progress"))
    clock.advance(INTERVAL)
    assert [e.payload for e in found] == [
        {"kind": "progress", "data": {"done": 0}},
        {"kind": "progress", "data": {"done": 3}, "merged": 3},
    ]


def test_a_long_log_is_trimmed_with_a_mark_in_user_and_whole_in_debug():
    log = "x" * 3000 + "y" * 3000
    for profile, expected in (("user", "x" * 2000 + "… [2000 characters trimmed] …" + "y" * 2000), ("debug", log)):
        sampler, _, found = sampled(profile)
        sampler.push(Call("a").update({"lines": [log, "short"], "n": 1}))
        assert found[0].payload["data"] == {"lines": [expected, "short"], "n": 1}


def test_a_log_of_many_entries_keeps_its_ends_and_tells_what_is_left_out():
    sampler, clock, found = sampled(limits=Limits(log_entries=6))
    call = Call("a")
    for number in range(100):
        sampler.push(call.update(number))
    clock.advance(INTERVAL)
    assert found[1].payload["data"] == [1, 2, 3, {"$trimmed": 93}, 97, 98, 99]
    assert found[1].payload["merged"] == 99
    assert found[1].seq == 100


def test_state_is_never_trimmed():
    sampler, _, found = sampled()
    sampler.push(Call("a").update({"plan": "x" * 9000}, "state"))
    assert found[0].payload["data"]["plan"] == "x" * 9000


@pytest.mark.parametrize("profile", ["user", "debug"])
def test_a_reader_that_stops_costs_memory_by_the_open_calls_and_loses_nothing(profile):
    clock = Clock()
    sampler = EventSampler(None, profile, clock=clock, limits=Limits(backlog=16))
    calls = [Call(f"c{number}") for number in range(8)]
    for _ in range(1000):
        for call in calls:
            sampler.push(call.token("word "))
            clock.advance(0.001)
    held = len(sampler._ready) + len(sampler._waiting)
    assert held <= 16 + len(calls)
    found = sampler.take() + sampler.flush()
    for call in calls:
        mine = [e for e in found if e.call_id == call.call_id]
        assert "".join(e.payload["text"] for e in mine) == "word " * 1000
        assert [e.seq for e in mine] == sorted(e.seq for e in mine)


def test_a_reader_that_stops_gets_starts_and_ends_unmerged_and_in_order():
    clock = Clock()
    sampler, pushed = EventSampler(None, clock=clock), list[Envelope]()
    for number in range(50):
        call = Call(f"c{number}")
        told = [call.tell("llm_start", {}), *(call.token("ab") for _ in range(20)), call.tell("llm_end", {})]
        pushed += told
        for envelope in told:
            sampler.push(envelope)
            clock.advance(0.01)
    found = sampler.take()
    assert [e for e in found if e.type != "llm_token"] == [e for e in pushed if e.type != "llm_token"]
    assert [e.type for e in found] == ["llm_start", "llm_token", "llm_end"] * 50
    assert all(e.payload["text"] == "ab" * 20 for e in found if e.type == "llm_token")


@pytest.mark.parametrize("turns", [("text", "reasoning"), ("tool_args", "tool_args")])
def test_a_call_whose_channels_take_turns_costs_a_stopped_reader_no_more(turns):
    clock = Clock()
    sampler, call, said = EventSampler(None, clock=clock), Call("a"), dict[Any, str]()
    for number in range(5000):
        channel, id = turns[number % 2], f"call-{number % 2}" if turns[0] == "tool_args" else None
        sampler.push(call.token(f"{number} ", channel, id))
        said[channel, id] = said.get((channel, id), "") + f"{number} "
    assert len(sampler._waiting) <= 33
    found = sampler.flush()
    told = dict[Any, str]()
    for envelope in found:
        key = envelope.payload["channel"], envelope.payload.get("tool_call_id")
        assert envelope.payload["offset"] == len(told.get(key, ""))
        told[key] = told.get(key, "") + envelope.payload["text"]
    assert told == said
    assert [e.seq - len(e.payload["text"]) for e in found[1:]] == [e.seq for e in found[:-1]]


def test_updates_of_several_kinds_that_take_turns_cost_a_stopped_reader_no_more():
    sampler, call = EventSampler(None, clock=Clock()), Call("a")
    for number in range(2000):
        sampler.push(call.update(number) if number % 2 else call.update({"output": {"at": number}}, "state"))
    assert len(sampler._waiting) <= 33
    found = sampler.flush()
    assert sum(e.payload.get("merged", 1) for e in found) == 2000
    assert [e.seq - e.payload.get("merged", 1) for e in found] == [0, *(e.seq for e in found[:-1])]
    assert [e.payload["data"] for e in found if e.payload["kind"] == "state"][-1] == {"output": {"at": 1998}}


def test_updates_of_several_kinds_that_take_turns_come_an_interval_apart_in_their_order():
    sampler, clock, found = sampled()
    call, counts = Call("a"), []
    for number in range(40):
        sampler.push(call.update(number) if number % 2 else call.update({"output": {"at": number}}, "state"))
        clock.advance(0.005)
        counts.append(len(found))
    assert len(set(counts)) <= 3
    clock.advance(INTERVAL)
    assert [e.seq for e in found] == list(range(1, 41))


def test_an_emitter_that_raises_loses_nothing_that_it_has_not_seen():
    found: list[Envelope] = []

    def emit(envelope: Envelope) -> None:
        found.append(envelope)
        if len(found) == 1:
            raise ConnectionError

    clock = Clock()
    sampler, a, b = EventSampler(emit, clock=clock), Call("a"), Call("b")
    sampler.push(a.token("x"))
    sampler.push(b.token("y"))
    with pytest.raises(ConnectionError):
        sampler.push(a.tell("llm_end", {}))
    sampler.tick()
    assert texts(found) == ["x", "y", "llm_end"]


def test_two_tool_calls_without_ids_never_merge():
    sampler, clock, found = sampled()
    call = Call("a")
    for text in ('{"q":1}', '{"q":2}'):
        call.offsets.clear()
        sampler.push(call.token(text, "tool_args"))
    clock.advance(WINDOW)
    assert texts(found) == ['{"q":1}', '{"q":2}']


def test_order_within_a_call_holds_where_only_some_envelopes_have_a_time():
    found: list[Envelope] = []
    sampler, call = EventSampler(found.append), Call("a")
    for text, channel, ts in (("x", "text", 5.0), ("r", "reasoning", None), ("y", "text", 5.01)):
        envelope = call.token(text, channel)
        envelope.ts = ts
        sampler.push(envelope)
    sampler.flush()
    assert [e.seq for e in found] == [1, 2, 3]


@pytest.mark.parametrize("jump", [-3600.0, -0.04, 3600.0])
def test_a_clock_that_jumps_makes_nothing_wait_longer(jump):
    sampler, clock, found = sampled()
    call = Call("a")
    sampler.push(call.update(0))
    sampler.push(call.update(1))
    sampler.push(Call("b").token("before"))
    clock.now += jump
    clock.timers = [(at + jump, callback) for at, callback in clock.timers]
    sampler.push(Call("c").token("after"))
    clock.advance(0.25)
    assert sorted(map(str, (e.payload.get("text", e.payload.get("data")) for e in found))) == [
        "0",
        "1",
        "after",
        "before",
    ]


def test_a_flush_leaves_no_timer():
    sampler, clock, _ = sampled()
    sampler.push(Call("a").token("x"))
    sampler.flush()
    assert clock.timers == []


async def test_adapt_does_not_take_its_emitters_failure_for_the_graphs():
    found: list[Envelope] = []

    async def emit(envelope: Envelope) -> None:
        found.append(envelope)
        if envelope.type == "llm_token":
            raise ConnectionError("the reader has gone")

    async def source():
        yield "messages", ({"type": "AIMessageChunk", "id": "m1", "content": "a"}, {"langgraph_node": "model"})

    with pytest.raises(ConnectionError):
        await StreamAdapter(emit).adapt(source(), "chat")
    assert [e.type for e in found] == ["tool_start", "llm_start", "llm_token"]


def test_a_call_that_ended_leaves_nothing_behind():
    sampler, clock, _ = sampled()
    for number in range(100):
        call = Call(f"c{number}")
        for data in range(3):
            sampler.push(call.update(data))
        sampler.push(call.tell("tool_end", {}))
        clock.advance(0.01)
    assert not sampler._updated
    assert not sampler._pieces
    assert clock.timers == []


@pytest.mark.parametrize("pace", [0.0, 0.004, 0.06, 0.3])
@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(("every.sse", "every.2.sse"))])
def test_a_sampled_recording_passes_the_checker_and_keeps_all_but_tokens_and_updates(name, pace):
    sampler, clock, found = sampled()
    for envelope in told(name):
        sampler.push(envelope)
        clock.advance(pace)
    before = earlier(name)
    assert conformance.check(found, after=told(before) if before else None) == []
    kept = [e for e in found if e.type not in ("llm_token", "tool_update")]
    assert kept == [e for e in told(name) if e.type not in ("llm_token", "tool_update")]


async def test_adapt_hands_a_token_out_while_its_source_is_silent():
    clock, found, more = Clock(), list[Envelope](), asyncio.Event()

    async def source():
        for text in ("Hel", "lo"):
            yield "messages", ({"type": "AIMessageChunk", "id": "m1", "content": text}, {"langgraph_node": "model"})
        await more.wait()

    adapter = StreamAdapter(found.append, clock=clock, timer=clock.later)
    running = asyncio.ensure_future(adapter.adapt(source(), "chat"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert texts(found) == ["tool_start", "llm_start"]
    clock.advance(0.25)
    for _ in range(10):
        await asyncio.sleep(0)
    assert texts(found) == ["tool_start", "llm_start", "Hello"]
    more.set()
    await running
    assert conformance.check(found) == []


async def test_adapt_that_is_cancelled_leaves_no_timer_and_no_task():
    clock = Clock()
    stuck = asyncio.Event()

    async def emit(envelope: Envelope) -> None:
        if envelope.type == "llm_token":
            await stuck.wait()

    async def source():
        yield "messages", ({"type": "AIMessageChunk", "id": "m1", "content": "a"}, {"langgraph_node": "model"})
        await stuck.wait()

    running = asyncio.ensure_future(StreamAdapter(emit, clock=clock, timer=clock.later).adapt(source(), "chat"))
    for _ in range(10):
        await asyncio.sleep(0)
    clock.advance(0.25)
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    for _ in range(5):
        await asyncio.sleep(0)
    assert clock.timers == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize(("second", "node"), [("plan", "plan"), ("write", None)])
def test_merged_updates_name_their_node_as_long_as_it_is_the_same(second, node):
    parts = [StreamPart("updates", (), {name: {"x": n, "y": n}}) for n, name in enumerate(["plan", second])]
    adapter, sampler = StreamAdapter(run_id="r"), EventSampler(None, "user", clock=lambda: 0.0)
    for part in parts:
        for envelope in adapter.feed(part):
            sampler.push(envelope)
    told = [e.payload for e in sampler.flush() if e.type == "tool_update"]
    assert [(p["node"], p["namespace"], p.get("merged")) for p in told] == [(node, [], 2)]
