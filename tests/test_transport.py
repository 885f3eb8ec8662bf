"""Connections whose body is taken over: it comes out whole in any chunking, over TLS too, and they are used again."""

import asyncio
import datetime
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from itertools import pairwise
from typing import Any

import h11
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from runwire import AsyncClient, Client
from runwire._bodies import AsyncBody, Body
from runwire._chunked import ChunkedBody, NotChunked
from runwire._lines import Head, Line
from runwire._transport import AsyncTransport, Transport, goes_by_proxy
from runwire.testing import ScriptedServer, text_run
from runwire.testing._http import Handler

SECONDS = 30.0
ANSWER = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: text/event-stream\r\n\r\n"


def coded(pieces: list[bytes], extension: bytes = b"", trailer: bytes = b"") -> bytes:
    chunks = [b"%x%s\r\n%s\r\n" % (len(one), extension, one) for one in pieces if one]
    return b"".join([*chunks, b"0\r\n", trailer, b"\r\n"])


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges) if start < end]


def by_h11(parts: list[bytes]) -> bytes:
    """What the library beneath httpx reads of the same answer."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    body = b""
    for part in [ANSWER, *parts]:
        connection.receive_data(part)
        while (event := connection.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return body
    raise AssertionError("the body has no end")


@given(
    st.lists(st.binary(max_size=40), max_size=6),
    st.lists(st.integers(0, 500), max_size=12),
    st.sampled_from([b"", b";a=b", b" "]),
    st.sampled_from([b"", b"x: y\r\n"]),
)
def test_a_body_comes_out_of_its_chunks_as_it_does_beneath_httpx(pieces, places, extension, trailer):
    parts = cut(coded(pieces, extension, trailer), places)
    decoder = ChunkedBody()
    body = b"".join(decoder.feed(part) for part in parts)
    assert body == by_h11(parts) == b"".join(pieces)
    assert decoder.done


def test_a_body_is_told_byte_by_byte_and_what_follows_it_is_left_out():
    decoder, told = ChunkedBody(), b""
    for byte in coded([b"hello", b" world"]) + b"HTTP/1.1 200 OK":
        told += decoder.feed(bytes([byte]))
    assert told == b"hello world"
    assert decoder.done


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n",
        b"x\r\n",
        b"-1\r\n",
        b"5\r\nhelloX\r\n",
        b"5\r\nhello\rX",
        b"f" * 16 + b"\r\n",
        b"1" * 5000,
        b"0\r\n" + b"a: b\r\n" * 20_000,
    ],
)
def test_what_does_not_follow_the_coding_is_refused_and_never_guessed(data):
    with pytest.raises(NotChunked):
        ChunkedBody().feed(data)


@pytest.mark.parametrize("newline", [b"\r\n", b"\n"])
def test_httpcore_has_the_head_and_no_byte_beyond_it_wherever_it_is_cut(newline):
    head = newline.join([b"HTTP/1.1 200 OK", b"a: b", b"", b""])
    whole = head + b"body"
    for place in range(1, len(whole)):
        known = Head()
        known.begin()
        given_out = [one for one in (known.split(part) for part in cut(whole, [place]) if known.in_head) if one]
        assert given_out == [head]
        rest = known.taken()
        assert rest is not None
        assert b"body".startswith(rest)


def test_a_body_of_which_httpcore_has_had_a_part_is_not_taken():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        line = Line(ours)
        line.write(b"GET / HTTP/1.1\r\n\r\n", 5.0)
        theirs.sendall(ANSWER + coded([b"hello"]))
        assert line.read(65536, 5.0) == ANSWER
        assert line.read(65536, 5.0) == coded([b"hello"])
        assert line.take() is None


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_connection_whose_body_was_taken_is_used_again(kind, monkeypatch):
    """The run's stream, and all that is asked after it, over one connection."""
    seen, setup = set(), Handler.setup

    def counting(self: Handler) -> None:
        seen.add(self.client_address)
        setup(self)

    monkeypatch.setattr(Handler, "setup", counting)
    with ScriptedServer() as server:
        server.add(text_run("Hello ", "world"))
        assert _text(kind, server.url) == "Hello world"
        assert len(server.requests) > 2
    assert len(seen) == 1


def _text(kind: str, url: str, **options: Any) -> str:
    if kind == "sync":
        with Client(url, **options) as client, client.stream("chat", "hi") as run:
            return "".join(run.text())

    async def read() -> str:
        async with AsyncClient(url, **options) as client, client.stream("chat", "hi") as run:
            return "".join([piece async for piece in run.text()])

    return asyncio.run(read())


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_stream_over_tls_is_read_like_any_other(kind, tmp_path, monkeypatch):
    certificate, context = _certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with ScriptedServer() as server:
        server._http.socket = context.wrap_socket(server._http.socket, server_side=True)
        server.add(text_run("Hello ", "world"))
        assert _text(kind, server.url.replace("http://", "https://")) == "Hello world"


def _certificate(folder: Any) -> tuple[Any, ssl.SSLContext]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "cert.pem", folder / "key.pem"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return public, context


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_proxy_of_the_environment_is_used(kind, monkeypatch):
    """Through a proxy the way is httpx's; the stream is the same."""
    with ScriptedServer() as server, _proxy(server.url) as (proxy, asked):
        server.add(text_run("Hello ", "world"))
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.delenv("no_proxy", raising=False)
        assert goes_by_proxy("http://server.test")
        assert _text(kind, "http://server.test") == "Hello world"
    assert any(one.startswith("POST http://server.test/threads/") for one in asked)


def test_an_address_that_the_environment_excepts_goes_by_no_proxy(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "server.test")
    assert not goes_by_proxy("http://server.test")
    assert goes_by_proxy("http://other.test")
    assert not goes_by_proxy("https://other.test")


@contextmanager
def _proxy(target: str) -> Iterator[tuple[str, list[str]]]:
    """Passes everything on to one server, whatever the name."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None: ...

        def _pass_on(self) -> None:
            asked.append(f"{self.command} {self.path}")
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            path = self.path.removeprefix("http://server.test")
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            told = httpx.request(self.command, target + path, content=body, headers=headers, trust_env=False)
            self.send_response(told.status_code)
            for name in ("content-type", "content-location"):
                if name in told.headers:
                    self.send_header(name, told.headers[name])
            self.send_header("content-length", str(len(told.content)))
            self.end_headers()
            self.wfile.write(told.content)

        do_GET = do_POST = _pass_on

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join(SECONDS)


# Errors are httpx's own, so that whoever reads them knows them.


def _refusing() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_refused_connection_is_the_same_error_as_with_httpx(kind):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    with pytest.raises(httpx.ConnectError):
        _get(kind, url)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_silence_before_the_head_is_a_timeout(kind):
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(httpx.ReadTimeout):
        _get(kind, f"http://127.0.0.1:{server.getsockname()[1]}")


def _get(kind: str, url: str) -> None:
    async def get() -> None:
        async with httpx.AsyncClient(transport=AsyncTransport(url), timeout=0.2) as http:
            await http.get(url)

    if kind == "async":
        return asyncio.run(get())
    with httpx.Client(transport=Transport(url), timeout=0.2) as http:
        http.get(url)
    return None


def test_silence_is_found_however_short_the_reader_waits_at_a_time():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        line = Line(ours)
        line.write(b"GET / HTTP/1.1\r\n\r\n", 5.0)
        theirs.sendall(ANSWER)
        assert line.read(65536, 5.0) == ANSWER
        body = Body(_response(line), silence=0.05)
        deadline = time.monotonic() + SECONDS

        def read() -> None:
            while time.monotonic() < deadline:
                body.read(0.01)

        with pytest.raises(TimeoutError):
            read()


def _response(line: Line) -> httpx.Response:
    headers = {"transfer-encoding": "chunked"}
    return httpx.Response(200, headers=headers, stream=httpx.ByteStream(b""), extensions={"network_stream": line})


BODY = b"event: a\r\ndata: 1\r\n\r\n" * 3
FORMS = {
    "chunked": ANSWER + coded([BODY]),
    "chunked, in capitals": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n" + coded([BODY]),
    "chunked, and closed": b"HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    + coded([BODY]),
    "after early hints": b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + ANSWER + coded([BODY]),
    "by its length": b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY,
    "to the end": b"HTTP/1.1 200 OK\r\n\r\n" + BODY,
    "of HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
}


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("step", [1, 7, 10_000])
@pytest.mark.parametrize("form", FORMS)
def test_an_answer_of_any_form_gives_its_body_whole(form, step, kind):
    with _answering(FORMS[form], step) as url:
        assert _body(kind, url) == BODY


@contextmanager
def _answering(data: bytes, step: int) -> Iterator[str]:
    """Gives one answer, so many bytes at a time, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            asked, _ = server.accept()
            with asked:
                asked.recv(65536)
                for start in range(0, len(data), step):
                    asked.sendall(data[start : start + step])

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join(SECONDS)


def _body(kind: str, url: str) -> bytes:
    async def read() -> bytes:
        async with httpx.AsyncClient(transport=AsyncTransport(url)) as http, http.stream("GET", url) as response:
            body, told = AsyncBody(response, SECONDS), b""
            while piece := await body.read():
                told += piece
            return told

    if kind == "async":
        return asyncio.run(read())
    with httpx.Client(transport=Transport(url)) as http, http.stream("GET", url) as response:
        body, told = Body(response, SECONDS), b""
        while isinstance(piece := body.read(), bytes):
            told += piece
        return told
