"""The demo web's server over real sockets."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import aiohttp
import pytest
from demo.served import MADE, PAGES, page_with, rendering_of, server_of

from recrawl.demo import server
from recrawl.demo.server import MAX_HEAD_BYTES, listening, origins_of, serve
from recrawl.demo.sites import SITES, Validation


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = MADE

    def __call__(self) -> float:
        return self.now


def with_web(work: Callable[[list[str], Clock], Awaitable[None]]) -> None:
    """Call something while the demo web is served; its pages change after 10 and 20 seconds."""

    async def run() -> None:
        clock = Clock()
        sockets = listening(len(SITES))
        origins = origins_of(sockets)
        servers = await serve(server_of([10.0, 20.0]), sockets, clock)
        try:
            async with asyncio.timeout(600):
                await work(origins, clock)
        finally:
            for one in servers:
                one.close()

    asyncio.run(run())


async def exchange(origin: str, sent: bytes) -> bytes:
    """Send bytes to a server, and return all it sends until it closes the connection."""
    host, _, port = origin.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(sent)
    response = await reader.read()
    writer.close()
    await writer.wait_closed()
    return response


def test_every_page_is_served() -> None:
    async def work(origins: list[str], _: Clock) -> None:
        async with aiohttp.ClientSession() as session:
            for page in PAGES:
                async with session.get(origins[page.site] + page.path) as response:
                    body = await response.read()
                    assert response.status == 200
                    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
                    assert page.noise or body == rendering_of(page, 0)

    with_web(work)


def test_pages_change_when_the_clock_says_so_and_304_has_no_body() -> None:
    page = page_with(Validation.TAG_AND_DATE)

    async def work(origins: list[str], clock: Clock) -> None:
        url = origins[page.site] + page.path
        async with aiohttp.ClientSession() as session:
            for version, second in enumerate((1.0, 11.0, 21.0)):
                clock.now = MADE + second
                async with session.get(url) as response:
                    assert await response.read() == rendering_of(page, version)
                    known = {"If-None-Match": response.headers["ETag"]}
                async with session.get(url, headers=known) as response:
                    assert response.status == 304
                    assert await response.read() == b""
                    assert response.headers["Date"].endswith("GMT")

    with_web(work)


def test_a_connection_serves_requests_one_after_another_and_in_pieces() -> None:
    page = page_with(Validation.NONE)

    async def work(origins: list[str], _: Clock) -> None:
        one = f"GET {page.path}?a=b HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        last = f"HEAD {page.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        response = await exchange(origins[page.site], one + one + last)
        body = rendering_of(page, 0)
        assert response.count(b"HTTP/1.1 200 OK\r\n") == 3
        assert response.count(body) == 2
        assert response.endswith(b"Connection: close\r\n\r\n")
        host, port = origins[page.site].removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        for index in range(len(one)):
            writer.write(one[index : index + 1])
            await writer.drain()
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert await reader.readexactly(len(body)) == body
        writer.close()
        await writer.wait_closed()

    with_web(work)


def test_answers_are_not_held_back() -> None:
    page = page_with(Validation.NONE)
    delayed = []

    class Spy(server.HttpProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            connected = transport.get_extra_info("socket")
            delayed.append(not connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            super().connection_made(transport)

    async def work(origins: list[str], _: Clock) -> None:
        sent = f"GET {page.path} HTTP/1.1\r\nConnection: close\r\n\r\n".encode()
        await exchange(origins[page.site], sent)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "HttpProtocol", Spy)
        with_web(work)
    assert delayed == [False]


@pytest.mark.parametrize(
    ("sent", "response"),
    [
        (b"POST / HTTP/1.1\r\nConnection: close\r\n\r\n", b"HTTP/1.1 405 "),
        (b"GET nothing HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 "),
        (b"\r\n\r\n", b"HTTP/1.1 400 "),
        (b"x" * (MAX_HEAD_BYTES + 1), b""),
    ],
)
def test_what_is_no_request_is_refused(sent: bytes, response: bytes) -> None:
    async def work(origins: list[str], _: Clock) -> None:
        got = await exchange(origins[0], sent)
        assert got.startswith(response)
        assert got or not response

    with_web(work)


def has_many_loopback_addresses() -> bool:
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.2", 0))
        except OSError:
            return False
    return True


@pytest.mark.skipif(not has_many_loopback_addresses(), reason="there is only 127.0.0.1")
def test_sites_have_an_address_each_and_one_port() -> None:
    sockets = listening(5)
    names = [one.getsockname() for one in sockets]
    assert [host for host, _ in names] == [f"127.0.0.{number}" for number in range(2, 7)]
    assert len({port for _, port in names}) == 1
    for one in sockets:
        one.close()


def test_where_there_is_only_one_address_sites_have_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = server._bound  # noqa: SLF001

    def only_one(address: str, port: int) -> socket.socket:
        if address != "127.0.0.1":
            raise OSError(99, "Cannot assign requested address")
        return bound(address, port)

    monkeypatch.setattr(server, "_bound", only_one)
    sockets = listening(5)
    assert len(set(origins_of(sockets))) == 5
    assert all(origin.startswith("http://127.0.0.1:") for origin in origins_of(sockets))
    for one in sockets:
        one.close()
