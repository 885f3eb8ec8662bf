"""Who may use the served bundle: programs of this machine without keys, owners with keys, and which web pages."""

import httpx
import pytest
from langgraph_sdk import Auth

import runwire
from runwire_graphs.auth import LOCAL, authenticate
from runwire_graphs.errors import ConfigError
from runwire_graphs.guard import refusal
from runwire_graphs.settings import STUDIO, Settings
from tests.bundle import bundle, run_by_http

pytestmark = pytest.mark.bundle

ADA, BOB = "ada-0123456789abcdef", "bob-0123456789abcdef"
KEYS = f"ada:{ADA}, bob:{BOB}"
EVIL = "https://evil.example"


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    """With keys, and with an origin that is listed."""
    folder = tmp_path_factory.mktemp("keyed")
    with bundle(folder, RUNWIRE_SERVER_KEYS=KEYS, RUNWIRE_ALLOWED_ORIGINS="https://app.example") as running:
        yield running


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    with bundle(tmp_path_factory.mktemp("local")) as running:
        yield running


def ask(served, method, path, key=None, **more):
    headers = {"x-api-key": key} if key else {}
    return httpx.request(method, f"{served.url}{path}", headers=headers | more.pop("headers", {}), timeout=30, **more)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-api-key": "wrong-0123456789abcdef"},
        {"x-api-key": ""},
        {"x-auth-scheme": "langsmith"},
        {"x-auth-scheme": "langsmith", "x-api-key": "lsv2_pt_anything"},
        {"authorization": f"Basic {ADA}"},
        {"authorization": "Bearer wrong"},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/threads", "/assistants/search", "/runs/stream", "/store/items/search", "/mcp"])
def test_without_a_key_of_the_server_nothing_opens(keyed, headers, path):
    assert ask(keyed, "POST", path, headers=headers, json={}).status_code == 401


@pytest.mark.parametrize("path", ["/runwire/shots/x.png", "/runwire/about"])
def test_the_bundles_own_routes_ask_for_a_key_too(keyed, path):
    assert ask(keyed, "GET", path).status_code == 401
    assert ask(keyed, "GET", path, ADA).status_code in (200, 404)


@pytest.mark.parametrize("headers", [{"x-api-key": ADA}, {"authorization": f"Bearer {ADA}"}], ids=str)
def test_a_key_opens_in_either_header(keyed, headers):
    assert ask(keyed, "POST", "/threads", headers=headers, json={}).status_code == 200


def test_a_thread_is_its_owners_alone(keyed):
    with runwire.Client(keyed.url, api_key=ADA) as client:
        run = client.stream("planner_style_agent", "test")
        with run:
            list(run)
        assert run.status == "success"
    path = f"/threads/{run.thread_id}"
    assert ask(keyed, "GET", f"{path}/state", ADA).status_code == 200
    body = {"assistant_id": "planner_style_agent", "input": {"messages": []}}
    for method, end, content in [
        ("GET", "", None),
        ("GET", "/state", None),
        ("POST", "/history", {}),
        ("GET", f"/runs/{run.run_id}", None),
        ("POST", "/runs/stream", body),
        ("PATCH", "", {"metadata": {"owner": "bob"}}),
        ("DELETE", "", None),
    ]:
        answer = ask(keyed, method, f"{path}{end}", BOB, json=content)
        assert answer.status_code in (403, 404), (method, end, answer.text)
    found = ask(keyed, "POST", "/threads/search", BOB, json={}).json()
    assert run.thread_id not in [thread["thread_id"] for thread in found]
    assert ask(keyed, "GET", path, ADA).json()["metadata"]["owner"] == "ada"


def test_nobody_can_say_that_a_thread_is_anothers(keyed):
    made = ask(keyed, "POST", "/threads", BOB, json={"metadata": {"owner": "ada"}})
    assert made.json()["metadata"]["owner"] == "bob"


def test_assistants_are_everybodys_to_use_and_nobodys_to_change(keyed):
    found = ask(keyed, "POST", "/assistants/search", BOB, json={}).json()
    assert {"assist_with_playwright", "planner_style_agent"} <= {one["graph_id"] for one in found}
    made = ask(keyed, "POST", "/assistants", BOB, json={"graph_id": "planner_style_agent"})
    assert made.status_code == 403


def test_what_one_owner_stores_another_does_not_find(keyed):
    item = {"namespace": ["notes"], "key": "k", "value": {"text": "of ada"}}
    assert ask(keyed, "PUT", "/store/items", ADA, json=item).status_code < 300
    own = ask(keyed, "GET", "/store/items?namespace=notes&key=k", ADA)
    assert own.json()["value"] == {"text": "of ada"}
    other = ask(keyed, "GET", "/store/items?namespace=notes&key=k", BOB)
    assert other.status_code == 404 or not other.json()


def test_a_key_is_in_no_log_and_in_no_state(keyed):
    with runwire.Client(keyed.url, api_key=ADA) as client:
        run = client.stream("planner_style_agent", "test")
        with run:
            envelopes = list(run)
        state = client.sdk.threads.get_state(run.thread_id)
    assert ADA not in keyed.log()
    assert ADA not in str(state)
    assert ADA not in "".join(str(one.to_dict()) for one in envelopes)


def test_without_keys_this_machine_needs_none(local):
    assert run_by_http(local.url, "planner_style_agent", "test")[-1][0] == "values"


async def test_an_owner_called_local_is_an_owner_like_any_other(monkeypatch):
    monkeypatch.setenv("RUNWIRE_SERVER_KEYS", "local:0123456789abcdef")
    user = await authenticate({b"x-api-key": b"0123456789abcdef"}, {})
    assert user["identity"] == "local" != LOCAL


@pytest.mark.parametrize(("client", "near"), [("127.0.0.1", True), ("::1", True), ("10.0.0.9", False), ("", False)])
async def test_without_keys_only_this_machine_is_let_in(client, near, monkeypatch):
    monkeypatch.delenv("RUNWIRE_SERVER_KEYS", raising=False)
    scope = {"client": (client, 5000) if client else None}
    if near:
        assert (await authenticate({}, scope))["identity"] == LOCAL
    else:
        with pytest.raises(Auth.exceptions.HTTPException) as caught:
            await authenticate({}, scope)
        assert caught.value.status_code == 401


@pytest.mark.parametrize(
    "origin", [EVIL, "null", "http://127.0.0.1.evil.example", "https://smith.langchain.com.evil.example"]
)
@pytest.mark.parametrize("served", ["local", "keyed"])
def test_a_page_of_another_origin_can_neither_read_nor_send(served, origin, request):
    running = request.getfixturevalue(served)
    headers = {"origin": origin, "x-api-key": ADA}
    # A form may send text/plain anywhere without asking first: CORS alone would let it through.
    for content_type in ("text/plain", "application/json"):
        sent = ask(running, "POST", "/threads", headers={**headers, "content-type": content_type}, content=b"{}")
        assert sent.status_code == 403
        assert "access-control-allow-origin" not in sent.headers
    asked_first = {**headers, "access-control-request-method": "POST"}
    assert "access-control-allow-origin" not in ask(running, "OPTIONS", "/threads", headers=asked_first).headers


@pytest.mark.parametrize(
    ("served", "origin"), [("local", "http://localhost:5173"), ("local", STUDIO), ("keyed", "https://app.example")]
)
def test_a_page_of_a_listed_origin_may_drive_the_server_and_read_where_its_run_is(served, origin, request):
    running = request.getfixturevalue(served)
    answer = ask(running, "POST", "/threads", headers={"origin": origin, "x-api-key": ADA}, json={})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == origin
    assert "content-location" in answer.headers["access-control-expose-headers"].lower()


def test_a_page_of_this_machine_is_not_listed_where_there_are_keys(keyed):
    assert (
        ask(
            keyed, "POST", "/threads", headers={"origin": "http://localhost:5173", "x-api-key": ADA}, json={}
        ).status_code
        == 403
    )


def test_a_name_that_was_made_to_point_here_is_turned_away(local):
    answer = ask(local, "POST", "/threads", headers={"host": "rebound.example"}, json={})
    assert answer.status_code == 403
    assert "RUNWIRE_SERVER_KEYS" in answer.text


def settings(**env):
    return Settings.read(env)


@pytest.mark.parametrize(
    ("headers", "env", "refused"),
    [
        ({"host": "localhost:1"}, {}, False),
        ({"host": "[::1]:1"}, {}, False),
        ({"host": ""}, {}, True),
        ({"host": "lan.example"}, {}, True),
        ({"host": "lan.example"}, {"RUNWIRE_SERVER_KEYS": KEYS}, False),
        ({"host": "lan.example", "origin": "https://lan.example"}, {"RUNWIRE_SERVER_KEYS": KEYS}, False),
        ({"host": "lan.example", "origin": EVIL}, {"RUNWIRE_SERVER_KEYS": KEYS}, True),
        ({"host": "localhost:1", "origin": EVIL}, {"RUNWIRE_ALLOWED_ORIGINS": f"{EVIL}/"}, False),
    ],
)
def test_the_guard_looks_at_the_name_and_the_origin(headers, env, refused):
    told = {key.encode(): value.encode() for key, value in headers.items()}
    assert bool(refusal(told, settings(**env))) == refused


@pytest.mark.parametrize("keys", ["ada", "ada:", ":0123456789abcdef", "ada:short", f"ada:{ADA},bob"])
def test_keys_in_another_form_are_a_wrong_setting_that_repeats_none(keys):
    with pytest.raises(ConfigError) as caught:
        _ = settings(RUNWIRE_SERVER_KEYS=keys).server_keys
    assert ADA not in str(caught.value)
