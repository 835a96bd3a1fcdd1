"""Pages by https through a proxy: it opens a tunnel, and what goes through it is for the server."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from scripted_web import answer, fetcher

from recrawl.http.access import Access, Proxy, basic_auth
from recrawl.http.connection import Connection
from recrawl.http.connector import Connector
from recrawl.records import Page, Response

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl makes the certificate"
)

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter
OPENED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@pytest.fixture
def server_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Make a certificate for far.example that is believed here."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",  # noqa: S607
         "-subj", "/CN=far.example", "-addext", "subjectAltName=DNS:far.example",
         "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


class Far:
    """A server that speaks TLS, and a proxy that opens tunnels to it; both note what they get."""

    def __init__(self, context: ssl.SSLContext, opened: bytes = OPENED) -> None:
        self._context = context
        self._opened = opened
        self._serving: set[asyncio.Task[None]] = set()
        self.asked: list[str] = []
        self.requests: list[str] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[int]:
        """Serve; yields the port of the proxy."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._context)
        self._port = server.sockets[0].getsockname()[1]
        proxy = await asyncio.start_server(self._tunnel, "127.0.0.1", 0)
        async with server, proxy:
            yield proxy.sockets[0].getsockname()[1]
            await asyncio.gather(*self._serving)

    async def _serve(self, reader: Reader, writer: Writer) -> None:
        async with self._until_closed(writer):
            while True:
                self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
                is_page = " /a " in self.requests[-1]
                writer.write(answer("from afar") if is_page else answer("", "404 Not Found"))

    async def _tunnel(self, reader: Reader, writer: Writer) -> None:
        async with self._until_closed(writer):
            self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(self._opened)
            if self._opened == OPENED:
                far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
                async with self._until_closed(far_writer):
                    there = asyncio.create_task(_pass_on(reader, far_writer))
                    await _pass_on(far_reader, writer)
                    await there

    @asynccontextmanager
    async def _until_closed(self, writer: Writer) -> AsyncIterator[None]:
        """Talk until one end has gone, and leave nothing open."""
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        with suppress(asyncio.IncompleteReadError, OSError):
            yield
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _pass_on(reader: Reader, writer: Writer) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


def fetched(far: Far, user: str = "", host: str = "far.example") -> Response:
    async def main() -> Response:
        async with far.running() as port:
            access = Access(proxy=Proxy(f"http://proxy.test:{port}", user, "sesame"))
            async with fetcher(access=lambda _: access) as made:
                return await made.fetch(Page(0, f"https://{host}/a", host))

    return asyncio.run(main())


def test_the_proxy_sees_a_name_and_the_server_the_request(server_context: ssl.SSLContext) -> None:
    far = Far(server_context)
    got = fetched(far, "me")
    assert (got.error, got.body) == (None, b"from afar")
    # Both requests go through one tunnel, and the login is for the proxy alone.
    (asked,) = far.asked
    assert asked.startswith("CONNECT far.example:443 HTTP/1.1\r\nHost: far.example:443\r\n")
    assert f"Proxy-Authorization: {basic_auth('me:sesame')}\r\n" in asked
    assert [request.split()[1] for request in far.requests] == ["/robots.txt", "/a"]
    assert all("proxy" not in request.lower() for request in far.requests)


def test_a_proxy_without_a_login_is_sent_none(server_context: ssl.SSLContext) -> None:
    far = Far(server_context)
    assert fetched(far).body == b"from afar"
    assert "authorization" not in far.asked[0].lower()


@pytest.mark.parametrize(
    ("opened", "problem"),
    [
        (b"HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n", "the proxy answered 407"),
        (b"", "the connection was closed before the response"),
    ],
)
def test_a_tunnel_that_cannot_be_used_is_told(
    server_context: ssl.SSLContext, opened: bytes, problem: str
) -> None:
    got = fetched(Far(server_context, opened))
    assert got.error is not None
    assert got.error.endswith(problem)
    assert got.body is None


def test_a_tunnel_that_ends_before_there_is_tls_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        async def ended(*_: object, **__: object) -> None:
            """Return nothing, as asyncio does when the connection is closed meanwhile."""

        monkeypatch.setattr(asyncio.get_running_loop(), "start_tls", ended)
        through = Connection(100, 1000)
        through.connection_made(asyncio.Transport())
        with pytest.raises(ConnectionResetError):
            await Connector().secure(through, "far.example", lambda: Connection(100, 1000))

    asyncio.run(main())


def test_the_certificate_is_that_of_the_server_and_not_of_whoever_answers(
    server_context: ssl.SSLContext,
) -> None:
    got = fetched(Far(server_context), host="other.example")
    assert (got.error or "").endswith("the certificate is not valid")
