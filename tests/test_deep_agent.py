"""`deep_agent` on the real server, keyless: subagents at once and two deep, todos, files, and approvals."""

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import runwire
from runwire import RunView, SSEDecoder, StreamAdapter, conformance
from tests.bundle import bundle, run_by_http
from tests.chaos import MARKS, Ground, Scenario, Told, difference, within
from tests.contract004 import MESSAGES
from tests.graphs.case import Turn, human
from tests.orders import reordered
from tests.proxy import HOWS, POST_STREAM, Cut, Proxy, after_mark
from tests.serve import RUN_SECONDS, Api
from tests.sites import phrase, serve_site
from tests.threads import kept, kept_messages
from tests.trees import tree

pytestmark = pytest.mark.bundle

APPROVE = {"decisions": [{"type": "approve"}]}
STATE = {
    "type": "object",
    "properties": {
        "messages": MESSAGES,
        "files": {
            "type": "object",
            "additionalProperties": {"type": "object", "required": ["content", "encoding"]},
        },
        "todos": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "status": {"enum": ["pending", "in_progress", "completed"]},
                },
                "required": ["content", "status"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["messages", "files", "todos"],
    "additionalProperties": False,
}
MODE_SETS = [
    ["tasks", "messages-tuple"],
    ["debug", "messages-tuple"],
    ["events"],
    ["updates", "messages-tuple"],
    ["values", "messages-tuple"],
    ["tasks"],
    ["updates"],
    ["values"],
    ["messages-tuple"],
]


@pytest.fixture(scope="module")
def site():
    with serve_site() as served:
        yield served


@pytest.fixture(scope="module")
def served(tmp_path_factory, site):
    with bundle(tmp_path_factory.mktemp("deep"), RUNWIRE_BROWSER_ALLOW=site.origin) as running:
        (running.files / "numbers.csv").write_text("region,amount\neast,40\nwest,1\neast,2.5\n")
        yield running


@pytest.fixture(scope="module")
def client(served):
    with runwire.Client(served.url) as opened:
        yield opened


@pytest.fixture(scope="module")
def api(served):
    with httpx.Client(base_url=served.url, timeout=RUN_SECONDS) as http:
        yield Api(http)


@pytest.fixture(scope="module")
def pages(site):
    """Two pages and their texts."""
    texts = [phrase(), phrase()]
    return [site.page(f"/{number}", f"Page {number}", text) for number, text in enumerate(texts)], texts


@pytest.fixture(scope="module")
def ask(pages):
    (one, two), _ = pages
    total = "compute the sum of amount by region in numbers.csv"
    return f"compare {one} and {two}, {total}, and write what you find to found.md"


def watched(client, text, before=(), thread_id=None, **more):
    """A run to its end or its pause, with every envelope checked."""
    with client.stream("deep_agent", text, thread_id=thread_id, profile="debug", **more) as run:
        envelopes = list(run)
    assert conformance.check(envelopes, after=before or None) == []
    return run, envelopes


def answered(run, envelopes, answer=APPROVE, **more):
    with run.respond(answer, profile="debug", **more) as resumed:
        rest = list(resumed)
    assert conformance.check(rest, after=envelopes) == []
    return resumed, rest


@pytest.fixture(scope="module")
def first(client, ask):
    """A run up to its question."""
    return watched(client, ask)


@pytest.fixture(scope="module")
def whole(first):
    """The run that goes on once it is approved, and the envelopes of both."""
    run, envelopes = first
    resumed, rest = answered(run, envelopes)
    return resumed, [*envelopes, *rest]


def said(run):
    return str(run.result.messages[-1]["content"])


def tools(envelopes):
    """Tool calls by id, as their starts tell them."""
    return {e.call_id: e for e in envelopes if e.type == "tool_start" and e.payload["kind"] == "tool"}


def deltas(envelopes, key):
    """The state updates of the run itself that tell this key, by their place in the stream."""
    updates = [(at, e) for at, e in enumerate(envelopes) if e.type == "tool_update" and e.parent_id is None]
    return [
        (at, e.payload["data"][key]) for at, e in updates if e.payload["kind"] == "state" and key in e.payload["data"]
    ]


def test_each_subagent_is_the_tool_call_that_started_it_two_deep_and_by_name(whole):
    _, envelopes = whole
    calls = tools(envelopes)
    handed = {id: e for id, e in calls.items() if e.payload["tool_name"] == "task"}
    assert sorted(e.agent for e in handed.values()) == ["planner", "reader", "reader", "team"]
    names = {id: e.agent for id, e in handed.items()}
    team = next(id for id, name in names.items() if name == "team")
    root = envelopes[0].call_id
    assert {e.agent: e.parent_id for e in handed.values()} == {"team": root, "planner": root, "reader": team}
    assert {e.payload["kind"] for e in envelopes if e.type == "tool_start"} == {"run", "tool"}
    spoken = {(e.parent_id, e.agent) for e in envelopes if e.type == "llm_start"}
    assert spoken == {(root, "deep_agent"), *names.items()}
    used = {(e.agent, e.payload["tool_name"]) for e in calls.values() if e.parent_id in names}
    assert used == {("reader", "task"), ("reader", "navigate"), ("reader", "read"), ("planner", "compute")}


def test_subagents_work_at_once(whole):
    _, envelopes = whole
    places = {
        (e.payload["tool_call_id"] if e.type == "tool_start" else e.call_id, e.type): at
        for at, e in enumerate(envelopes)
    }
    handed = [e for e in tools(envelopes).values() if e.payload["tool_name"] == "task"]
    starts = {e.call_id: places[e.payload["tool_call_id"], "tool_start"] for e in handed}
    ends = {e.call_id: places[e.call_id, "tool_end"] for e in handed}
    for group in (["planner", "team"], ["reader"]):
        mine = [e.call_id for e in handed if e.agent in group]
        assert len(mine) == 2
        assert max(starts[id] for id in mine) < min(ends[id] for id in mine)


def test_a_table_and_a_file_are_among_the_results(whole, pages):
    run, envelopes = whole
    ends = {e.call_id: e.payload for e in envelopes if e.type == "tool_end"}
    table = next(ends[id] for id, e in tools(envelopes).items() if e.payload["tool_name"] == "compute")["result"]
    assert (table["kind"], sorted(table["rows"])) == ("table", [["east", 42.5], ["west", 1.0]])
    file = run.result.files["/found.md"]["content"]
    assert all(text in file for text in pages[1])
    assert "east | 42.5" in file
    assert run.view.files.keys() == {"/found.md"}
    assert run.result.to_dict()["type"] == "deep_agent"


def test_todos_and_files_are_told_as_deltas_while_the_run_goes_on(whole):
    _, envelopes = whole
    todos = [(at, [one["status"] for one in told]) for at, told in deltas(envelopes, "todos")]
    assert [told for _, told in todos] == [
        ["in_progress", "in_progress", "pending"],
        ["completed", "completed", "in_progress"],
        ["completed", "completed", "completed"],
    ]
    names = {e.payload["tool_name"]: at for at, e in enumerate(envelopes) if e.type == "tool_start"}
    tasks = [at for at, e in enumerate(envelopes) if e.type == "tool_start" and e.payload["tool_name"] == "task"]
    assert todos[0][0] < min(tasks) < max(tasks) < todos[1][0] < names["write_file"]
    ((at, files),) = deltas(envelopes, "files")
    assert (list(files["added"]), files["changed"], files["removed"]) == (["/found.md"], {}, [])
    assert names["write_file"] < at < todos[2][0]


def test_nothing_private_is_told_or_kept(whole, client, served, api):
    run, envelopes = whole
    Draft202012Validator(STATE).validate(client.sdk.threads.get_state(run.thread_id)["values"])
    assert not [
        e for e in envelopes if e.type == "tool_update" and e.parent_id is None and "output" in e.payload["data"]
    ]
    final = run_by_http(served.url, "deep_agent", "test")[-1][1]
    Draft202012Validator(STATE).validate(final)
    (found,) = api.post("/assistants/search", {"graph_id": "deep_agent"})
    schemas = api.get(f"/assistants/{found['assistant_id']}/schemas")
    assert set(schemas["output_schema"]["properties"]) == {"messages", "files", "todos"}
    assert set(schemas["input_schema"]["properties"]) == {"messages", "files"}


def test_before_a_file_is_written_a_person_is_asked(first):
    run, envelopes = first
    assert run.status == "interrupted"
    assert [one["id"] for one in envelopes[-1].payload["interrupts"]] == [one["id"] for one in run.interrupts]
    assert [one["owner"]["name"] for one in run.interrupts] == ["deep_agent"]
    value = run.interrupts[0]["value"]
    assert value["action_requests"][0]["description"] == "Write /found.md?"
    assert value["review_configs"][0]["allowed_decisions"] == ["approve", "edit", "reject"]
    assert deltas(envelopes, "files") == []


def test_an_answer_that_is_no_decision_is_asked_for_again(client):
    text = phrase()
    run, _ = watched(client, f"write '{text}' to asked.txt")
    for wrong in ("yes", {"decisions": [{"type": "perhaps"}]}):
        told = client.sdk.runs.wait(run.thread_id, "deep_agent", command={"resume": wrong}, raise_error=False)
        assert told["__interrupt__"][0]["value"] == run.interrupts[0]["value"]
    with client.stream("deep_agent", thread_id=run.thread_id, resume=APPROVE) as resumed:
        list(resumed)
    assert resumed.result.files["/asked.txt"]["content"] == text


def test_a_rejected_file_is_not_written_and_the_answer_says_so(client):
    text, reason = phrase(), phrase()
    run, envelopes = watched(client, f"write '{text}' to no.txt")
    resumed, rest = answered(run, envelopes, {"decisions": [{"type": "reject", "message": reason}]})
    assert resumed.result.files == {}
    assert reason in said(resumed)
    ends = [e.payload for e in rest if e.type == "tool_end"]
    assert [(end["tool_name"], end["status"]) for end in ends] == [("write_file", "error"), ("deep_agent", "ok")]


def test_an_edited_file_is_written_as_the_person_changed_it(client):
    args = {"file_path": "/theirs.txt", "content": phrase()}
    run, envelopes = watched(client, f"write '{phrase()}' to mine.txt")
    edit = {"type": "edit", "edited_action": {"name": "write_file", "args": args}}
    resumed, _ = answered(run, envelopes, {"decisions": [edit]})
    assert {path: file["content"] for path, file in resumed.result.files.items()} == {"/theirs.txt": args["content"]}
    assert "/theirs.txt, as you changed it" in said(resumed)


def test_the_next_turn_reads_changes_and_removes_what_the_thread_has_written(client):
    old, new = phrase(), phrase()
    run, envelopes = watched(client, f"write '{old}' to kept.txt")
    answered(run, envelopes)
    again, _ = watched(client, "read kept.txt", thread_id=run.thread_id)
    assert old in said(again)
    for request, changed, removed in (
        (f"replace '{old}' with '{new}' in kept.txt", ["/kept.txt"], []),
        ("delete kept.txt", [], ["/kept.txt"]),
    ):
        run, envelopes = watched(client, request, thread_id=run.thread_id)
        _, rest = answered(run, envelopes)
        ((_, files),) = deltas(rest, "files")
        assert (files["added"], list(files["changed"]), files["removed"]) == ({}, changed, removed)


def test_each_subagent_has_a_browser_of_its_own(client, site):
    urls = [site.page(f"/own{number}", "Own", "own") for number in range(2)]
    before = len(site.asked)
    run, _ = watched(client, f"open {urls[0]} and {urls[1]}")
    watched(client, f"open {urls[0]}", thread_id=run.thread_id)
    # Whoever came before would bring the cookie that was set.
    assert [cookie for path, cookie in site.asked[before:] if path.startswith("/own")] == [""] * 3


def test_a_page_that_cannot_be_opened_is_told_beside_one_that_can(client, site):
    text = phrase()
    url = site.page("/healthy", "Healthy", text)
    run, envelopes = watched(client, f"open http://127.0.0.1:9/ and {url}")
    assert run.status == "success"
    assert text in said(run)
    assert "RUNWIRE_BROWSER_ALLOW" in said(run)
    calls = tools(envelopes)
    parents = {
        calls[e.call_id].parent_id: e.payload["status"]
        for e in envelopes
        if e.type == "tool_end" and e.payload["tool_name"] == "navigate"
    }
    asked = {calls[str(id)].payload["args"]["description"]: status for id, status in parents.items()}
    assert asked == {"open http://127.0.0.1:9/; read the page": "error", f"open {url}; read the page": "ok"}


def test_what_the_planner_asks_is_answered_through_the_agent(client, served):
    text = phrase()
    (served.files / "asked.txt").write_text(text)
    run, envelopes = watched(client, "read the file")
    assert "path" in run.interrupts[0]["value"]["question"]
    (planner,) = (e for e in tools(envelopes).values() if e.payload["tool_name"] == "task")
    waiting = {e.call_id: e.parent_id for e in envelopes if e.type == "subgraph_checkpoint" and e.payload["interrupts"]}
    assert waiting[planner.call_id] == envelopes[0].call_id
    assert planner.call_id in waiting.values()
    resumed, _ = answered(run, envelopes, "asked.txt")
    assert text in said(resumed)


def test_two_runs_at_once_keep_apart(client, site):
    texts = [phrase() for _ in range(2)]
    urls = [site.page(f"/apart{number}", "Apart", text) for number, text in enumerate(texts)]

    def drive(number):
        run, envelopes = watched(client, f"open {urls[number]}, read it and write it to {number}.md")
        return answered(run, envelopes)[0].result.files

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(drive, range(2)))
    assert [list(files) for files in found] == [["/0.md"], ["/1.md"]]
    for number, files in enumerate(found):
        content = files[f"/{number}.md"]["content"]
        assert [text in content for text in texts] == [number == 0, number == 1]


@pytest.mark.parametrize("seed", range(4))
def test_subagents_that_finish_in_another_order_give_the_same_tree(first, api, seed):
    run, envelopes = first
    frames = SSEDecoder().feed(api.join(f"/threads/{run.thread_id}/runs/{run.run_id}").content)
    shuffled = reordered(frames, random.Random(seed))
    assert [frame.raw for frame in shuffled] != [frame.raw for frame in frames]
    adapter = StreamAdapter(label="deep_agent", input=envelopes[0].payload["input"])
    told = [envelope for frame in shuffled for envelope in adapter.feed(frame)]
    told += adapter.finish(runwire.Outcome("interrupted", interrupts=tuple(run.view.root.interrupts)))
    assert conformance.check(told) == []
    assert tree(told) == tree(envelopes)
    ends = [[e.call_id for e in one if e.type == "tool_end"] for one in (told, envelopes)]
    assert sorted(ends[0]) == sorted(ends[1])


@pytest.fixture(scope="module")
def by_modes(client, ask):
    """The same request in every set of modes, several at once: each run to its question, and on from there."""

    def drive(modes):
        run, envelopes = watched(client, ask, stream_modes=modes)
        return run, *answered(run, envelopes, stream_modes=modes), envelopes

    with ThreadPoolExecutor(len(MODE_SETS)) as pool:
        return dict(zip(map("+".join, MODE_SETS), pool.map(drive, MODE_SETS), strict=True))


@pytest.mark.parametrize("modes", ["+".join(modes) for modes in MODE_SETS])
def test_every_set_of_modes_gives_a_sound_stream(by_modes, modes):
    run, resumed, rest, envelopes = by_modes[modes]
    assert (run.status, resumed.status) == ("interrupted", "success")
    assert "/found.md" in resumed.result.files
    assert not [e.payload for e in [*envelopes, *rest] if e.type == "warning"]


@pytest.fixture(scope="module")
def by_cuts(api, ask):
    """The same request with the streams of both its runs cut somewhere, in each way, several at once."""

    def drive(how):
        chance = random.Random(how)
        cuts = [
            Cut(after_mark(chance.randrange(size), MARKS["inside data"]), how, match=POST_STREAM)
            for size in (250_000, 40_000)
        ]
        with Proxy(Ground(api).port, *cuts) as proxy, runwire.Client(proxy.url) as client:
            run, envelopes = within(partial(watched, client, ask))
            first = compared(run, envelopes, Turn(human(ask)))
            resumed, rest = within(partial(answered, run, envelopes))
            return [*first, *compared(resumed, rest, Turn(None), envelopes)], proxy.cuts

    def compared(run, envelopes, turn, prior=()):
        told = Told(run.thread_id, run.run_id, run.status, run.trace_id, envelopes)
        truth, _ = Ground(api).told(Scenario("deep_agent", ()), turn, told, prior)
        return [difference(told, truth)]

    with ThreadPoolExecutor(len(HOWS)) as pool:
        return dict(zip(HOWS, pool.map(drive, HOWS), strict=True))


@pytest.mark.parametrize("how", HOWS)
def test_a_cut_in_the_middle_changes_nothing(by_cuts, how):
    assert by_cuts[how] == ([None, None], 2)


def test_a_replay_of_the_thread_equals_what_was_seen_live(whole, client, api):
    run, envelopes = whole
    again = [e for one in client.replay(run.thread_id) for e in one.envelopes]
    namespaces = {"|".join(e.payload["namespace"]) for e in envelopes if e.payload.get("namespace")}
    bodies = [{"limit": 100, "checkpoint": {"checkpoint_ns": name}} for name in ["", *sorted(namespaces)]]
    messages = set(kept_messages([api.post(f"/threads/{run.thread_id}/history", body) for body in bodies]))
    seen, retold = (without_nodes(kept(RunView.of(one), messages)) for one in (envelopes, again))
    assert len(seen) > 20
    assert retold == seen


def without_nodes(calls):
    """History does not keep the node of a task that is behind several others, as the planner's are."""
    return {id: {**facts, "node": None} for id, facts in calls.items()}
