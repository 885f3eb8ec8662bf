"""The real browser behind its gate: what it may reach, whatever way a page tries, and how long contexts live."""

import asyncio
import contextlib
import ipaddress
import socket
from contextlib import asynccontextmanager

import pytest

from runwire_graphs.browser import actions, finding
from runwire_graphs.browser import sessions as of_sessions
from runwire_graphs.browser.gate import Gate, read_head
from runwire_graphs.browser.policy import Place, Policy, is_public
from runwire_graphs.browser.sessions import Sessions, current_policy
from runwire_graphs.browser.tools import act, leave
from runwire_graphs.errors import BrowserError, NoBrowser, Refused
from runwire_graphs.hands import HANDS
from runwire_graphs.settings import Settings
from tests.sites import phrase, serve_site

pytestmark = pytest.mark.bundle

WAIT = 10


@pytest.fixture
def site(monkeypatch):
    with serve_site() as served:
        monkeypatch.setenv("RUNWIRE_BROWSER_ALLOW", served.origin)
        yield served


@pytest.fixture
def private():
    """A site on loopback that is on no list."""
    with serve_site() as served:
        served.page("/", "Private", "private")
        yield served


@asynccontextmanager
async def opened():
    sessions = Sessions()
    try:
        yield sessions
    finally:
        await sessions.close()


@asynccontextmanager
async def at(sessions, url, key="thread"):
    async with sessions.session(key) as session:
        await actions.navigate(session, sessions.gate, url)
        yield session


@pytest.mark.parametrize(
    "address",
    """127.0.0.1 127.9.9.9 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 0.0.0.0 100.64.0.1 224.0.0.1
    ::1 fe80::1 fd00::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 2002:7f00:1::
    2001:0:7f00:1::80ff:fffe""".split(),
)
def test_an_address_of_a_private_network_is_not_public(address):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822"])
def test_an_address_of_the_public_network_is(address):
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://a.b/",
        "javascript:1",
        "data:text/html,x",
        "chrome://gpu",
        "",
        "http://",
        "http://[::",
    ],
)
def test_only_http_and_https_are_addresses(url):
    with pytest.raises(Refused):
        Place.of(url)


@pytest.mark.parametrize("name", ["localhost", "127.1", "2130706433", "0x7f.1", "[::ffff:7f00:1]", "LOCALHOST."])
async def test_another_spelling_of_loopback_is_loopback(name):
    with pytest.raises(Refused):
        await Policy.of([]).addresses(Place.of(f"http://{name}:80/"))


async def test_a_listed_origin_is_let_through_on_its_port_alone():
    policy = Policy.of(["http://127.0.0.1:8123"])
    assert await policy.addresses(Place("127.0.0.1", 8123)) == ["127.0.0.1"]
    with pytest.raises(Refused, match="RUNWIRE_BROWSER_ALLOW"):
        await policy.addresses(Place("127.0.0.1", 8124))


async def test_a_name_is_refused_if_any_of_its_addresses_is_private(monkeypatch):
    async def resolve(host, port, **kwargs):
        family = socket.AF_INET
        return [(family, 1, 6, "", ("93.184.216.34", port)), (family, 1, 6, "", ("10.0.0.7", port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    with pytest.raises(Refused, match=r"10\.0\.0\.7"):
        await Policy.of([]).addresses(Place("both.example", 80))


async def test_a_gate_that_closes_ends_what_still_passes_through_it(site):
    """Neither a site that goes on for ever nor a browser that reads no more holds it up."""
    flood = await asyncio.start_server(_flood, "127.0.0.1", 0)
    origin = f"http://127.0.0.1:{flood.sockets[0].getsockname()[1]}"
    gate = Gate(lambda: Policy.of([origin]))
    url = await gate.open()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    writer.write(f"GET {origin}/ HTTP/1.1\r\n\r\n".encode())
    assert await asyncio.wait_for(reader.readexactly(1024), WAIT)
    before = asyncio.all_tasks()
    await asyncio.wait_for(gate.close(), WAIT)
    assert not gate._passing
    assert asyncio.all_tasks() < before
    writer.close()
    flood.close()


async def _flood(reader, writer):
    with contextlib.suppress(ConnectionError):
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()
    writer.close()


async def test_the_gate_connects_to_the_address_that_it_checked(monkeypatch, private):
    """A name that changes its address after the check gets nowhere: it is looked up once."""
    looked_up = []
    port = int(private.origin.rpartition(":")[2])
    public = ["93.184.216.34"]

    class Turncoat(Policy):
        async def addresses(self, place):
            looked_up.append(place)
            return public

    connected = []

    async def connect(host, port):
        connected.append(host)
        raise OSError("no network here")

    gate = Gate(lambda: Turncoat(frozenset()))
    url = await gate.open()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    monkeypatch.setattr(asyncio, "open_connection", connect)
    writer.write(f"GET http://turncoat.example:{port}/ HTTP/1.1\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), WAIT)
    assert answer.startswith(b"HTTP/1.1 502")
    assert connected == public
    assert len(looked_up) == 1
    assert private.paths() == []
    writer.close()
    await gate.close()


def test_a_request_is_rewritten_for_its_site():
    ask = read_head(b"GET http://a.test:81/x/y?z HTTP/1.1\r\nHost: a.test:81\r\nProxy-Connection: keep-alive\r\n\r\n")
    assert ask.place == Place("a.test", 81)
    assert ask.head == b"GET /x/y?z HTTP/1.1\r\nHost: a.test:81\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "head", [b"\r\n\r\n", b"GET /x HTTP/1.1\r\n\r\n", b"GET file:///x HTTP/1.1\r\n\r\n", b"nonsense\r\n\r\n"]
)
def test_what_no_browser_says_to_a_proxy_is_refused(head):
    with pytest.raises(Refused):
        read_head(head)


async def test_a_page_is_opened_and_read(site):
    title, text = phrase(), phrase()
    url = site.page("/", title, f"<p>{text}</p><a href=/x>{text} link</a>")
    async with opened() as sessions, at(sessions, url) as session:
        told = await actions.read(session)
        assert title in told
        assert text in told
        assert f'[1] link "{text} link"' in await actions.look(session)


async def test_a_private_address_is_refused_before_it_is_asked(site, private):
    async with opened() as sessions, sessions.session("t") as session:
        with pytest.raises(Refused, match="private network"):
            await actions.navigate(session, sessions.gate, private.origin)
    assert private.paths() == []


async def test_a_redirect_to_a_private_address_gets_nowhere(site, private):
    site.moved["/away"] = f"{private.origin}/"
    async with opened() as sessions, sessions.session("t") as session:
        told = await actions.navigate(session, sessions.gate, f"{site.origin}/away")
        assert "status 403" in told
        assert "RUNWIRE_BROWSER_ALLOW" in await actions.read(session)
    assert private.paths() == []


REQUESTS = {
    "frame": "<iframe src='{url}'></iframe>",
    "image": "<img src='{url}'>",
    "script": "<script src='{url}'></script>",
    "fetch": "<script>fetch('{url}').catch(() => 0)</script>",
    "beacon": "<script>navigator.sendBeacon('{url}', 'x')</script>",
    "socket": "<script>new WebSocket('{url}'.replace('http', 'ws'))</script>",
    "window": "<script>window.open('{url}')</script>",
    "style": "<style>@import '{url}';</style>",
    "background": "<p style=\"background: url('{url}')\">x</p>",
    "worker": "<script>new Worker(URL.createObjectURL(new Blob([`fetch('{url}')`])))</script>",
    "events": "<script>new EventSource('{url}')</script>",
    "prefetch": "<link rel=prefetch href='{url}'>",
}
LEAVING = {
    "form": "<form action='{url}' method=post id=f></form><script>f.submit()</script>",
    "script": "<script>location = '{url}'</script>",
    "refresh": "<meta http-equiv=refresh content='0;url={url}'>",
}
WAYS_OUT = {"requests": REQUESTS, **{f"leaving by {name}": {name: way} for name, way in LEAVING.items()}}


async def trap(site, private, ways):
    """The ways by which a page that takes them all has reached the other site, given the time for it."""
    # The last thing the page does is to ask for a mark, so that its other requests have been sent by then.
    mark = f"<script>onload = () => setTimeout(() => fetch('{site.origin}/mark?done'), 300)</script>"
    body = "".join(way.format(url=f"{private.origin}/{name}") for name, way in ways.items())
    url = site.page("/trap", "Trap", body + mark)
    async with opened() as sessions, at(sessions, url) as session:
        for page in session.context.pages:
            await page.wait_for_load_state("networkidle")
    return {path.strip("/") for path in private.paths()}


@pytest.mark.parametrize("ways", WAYS_OUT)
async def test_no_way_leads_out_of_a_page_to_a_private_address(site, private, ways):
    assert await trap(site, private, WAYS_OUT[ways]) == set()


@pytest.mark.parametrize("ways", WAYS_OUT)
async def test_every_one_of_these_ways_leads_to_a_listed_address(site, private, ways, monkeypatch):
    monkeypatch.setenv("RUNWIRE_BROWSER_ALLOW", f"{site.origin},{private.origin}")
    assert await trap(site, private, WAYS_OUT[ways]) == set(WAYS_OUT[ways])


async def test_a_link_to_a_file_shows_no_file(site, tmp_path):
    secret = phrase()
    (tmp_path / "secret.txt").write_text(secret)
    url = site.page("/", "Start", f"<a href='file://{tmp_path}/secret.txt'>file</a>")
    async with opened() as sessions, at(sessions, url) as session:
        await actions.click(session, "file")
        assert secret not in await actions.read(session)


async def test_two_threads_share_nothing(site):
    url = site.page(
        "/", "Store", "<script>document.body.append(localStorage.x || 'empty'); localStorage.x = 'full'</script>"
    )
    async with opened() as sessions:
        for key in ("one", "two"):
            async with at(sessions, url, key) as session:
                assert "empty" in await actions.read(session)
        async with at(sessions, url, "one") as session:
            assert "full" in await actions.read(session)


async def test_the_oldest_idle_context_makes_room(site, monkeypatch):
    monkeypatch.setenv("RUNWIRE_BROWSER_CONTEXTS", "2")
    url = site.page("/", "Page", "page")
    async with opened() as sessions:
        for key in ("one", "two", "three"):
            async with at(sessions, url, key):
                pass
        assert set(sessions._open) == {"two", "three"}
        monkeypatch.setattr(of_sessions, "ROOM_SECONDS", 0.1)
        async with sessions.session("two"), sessions.session("three"):
            with pytest.raises(BrowserError, match="RUNWIRE_BROWSER_CONTEXTS"):
                async with sessions.session("four"):
                    pass


async def test_who_finds_no_room_waits_until_a_subagent_leaves_and_takes_none_from_it(site, monkeypatch):
    monkeypatch.setenv("RUNWIRE_BROWSER_CONTEXTS", "2")
    url = site.page("/", "Page", "page")
    async with opened() as sessions:
        for key in ("t|one", "t|two"):
            async with at(sessions, url, key):
                pass
        entered = asyncio.Event()

        async def third():
            async with at(sessions, url, "t|three"):
                entered.set()

        waiting = asyncio.create_task(third())
        async with sessions.session("t|one") as session:
            assert "Title: Page" in await actions.read(session)
        assert not entered.is_set()
        await sessions.end("t|two")
        await asyncio.wait_for(waiting, WAIT)
        assert set(sessions._open) == {"t|one", "t|three"}


async def test_an_idle_context_is_closed(site, monkeypatch):
    monkeypatch.setenv("RUNWIRE_BROWSER_IDLE_SECONDS", "0.2")
    url = site.page("/", "Page", "page")
    async with opened() as sessions:
        async with at(sessions, url) as session:
            gone = asyncio.Event()
            session.context.on("close", lambda context: gone.set())
        await asyncio.wait_for(gone.wait(), WAIT)
        assert not sessions._open
        async with sessions.session("thread") as session:
            with pytest.raises(BrowserError, match="navigate first"):
                await actions.read(session)


async def test_a_browser_that_dies_is_started_again(site):
    title = phrase()
    url = site.page("/", title, "page")
    async with opened() as sessions:
        async with at(sessions, url):
            assert sessions._browser is not None
            await sessions._browser.close()
        async with at(sessions, url) as session:
            assert title in await actions.read(session)


async def test_what_is_not_on_the_page_is_told_with_what_is(site):
    url = site.page("/", "Page", "<button>Here</button>")
    async with opened() as sessions, at(sessions, url) as session:
        with pytest.raises(BrowserError, match='button "Here"'):
            await actions.click(session, "There")
        with pytest.raises(BrowserError, match="no element 7"):
            await actions.click(session, "[7]")


async def test_a_new_window_comes_to_the_front_and_closing_it_goes_back(site):
    other = phrase()
    site.page("/other", other, "other")
    url = site.page("/", "First", "<a href=/other target=_blank>open</a>")
    async with opened() as sessions, at(sessions, url) as session:
        assert other in await actions.click(session, "open")
        assert "First" in await actions.tabs(session, "close", 2)
        assert "First" in await actions.read(session)


async def test_an_option_is_chosen_and_a_field_filled(site):
    url = site.page(
        "/",
        "Form",
        "<label>Tea <select><option>Green</option><option>Black</option></select></label><input placeholder=Name>",
    )
    async with opened() as sessions, at(sessions, url) as session:
        assert 'holding "Black"' in await actions.choose(session, "Tea", "Black")
        name = phrase()
        assert f'holding "{name}"' in await actions.type_text(session, "Name", name, submit=False)


def settings(**env):
    return Settings.read({key: str(value) for key, value in env.items()})


def program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_a_chromium_is_found_in_the_order_that_is_promised(tmp_path, monkeypatch):
    named, systems = program(tmp_path / "named"), program(tmp_path / "bin" / "chromium")
    own, unpacked = program(tmp_path / "own"), program(tmp_path / "environment" / "chromium")
    monkeypatch.setattr(finding, "UNPACKED", tmp_path / "environment" / "chromium")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert finding.find_chromium(settings(RUNWIRE_CHROMIUM=named), own) == named
    assert finding.find_chromium(settings(), own) == systems
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert finding.find_chromium(settings(), own) == own
    assert finding.find_chromium(settings(), str(tmp_path / "none")) == unpacked
    (tmp_path / "environment" / "chromium").unlink()
    with pytest.raises(NoBrowser, match="make browser"):
        finding.find_chromium(settings(), str(tmp_path / "none"))


def test_a_wrong_variable_is_named_and_nothing_else_is_tried(tmp_path):
    with pytest.raises(NoBrowser, match="RUNWIRE_CHROMIUM"):
        finding.find_chromium(settings(RUNWIRE_CHROMIUM=tmp_path / "none"), program(tmp_path / "own"))


async def test_a_subagent_that_leaves_closes_its_own_browser_and_no_other(site):
    def called(namespace):
        return {"configurable": {"thread_id": "t", "checkpoint_ns": namespace}}

    url = site.page("/", "Page", "text")
    try:
        for namespace in ("tools:main", "tools:one|tools:a", "tools:two|tools:b"):
            await act(called(namespace), lambda session: actions.navigate(session, Gate(current_policy), url))
        await leave(called("tools:one|LeaveBrowser.after_agent:c"))
        with pytest.raises(BrowserError, match="No page is open"):
            await act(called("tools:one|tools:d"), actions.read)
        for namespace in ("tools:e", "tools:two|tools:f"):
            assert "Title: Page" in await act(called(namespace), actions.read)
    finally:
        await asyncio.to_thread(HANDS.close)
