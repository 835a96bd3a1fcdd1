"""The little web's server over real sockets."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import aiohttp
import pytest
from demo.served import MADE, PAGES, page_with, print_of, server_of

from recrawl.demo import serving
from recrawl.demo.serving import LONGEST_HEAD, listening, origins_of, serve
from recrawl.demo.sites import SITES, Validation


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = MADE

    def __call__(self) -> float:
        return self.now


def with_web(work: Callable[[list[str], Clock], Awaitable[None]]) -> None:
    """Do something while the little web is there; its pages change after 10 and 20 seconds."""

    async def run() -> None:
        clock = Clock()
        sockets = listening(len(SITES))
        origins = origins_of(sockets)
        servers = await serve(server_of([10.0, 20.0]), sockets, clock)
        try:
            async with asyncio.timeout(20):
                await work(origins, clock)
        finally:
            for one in servers:
                one.close()

    asyncio.run(run())


async def spoken(origin: str, said: bytes) -> bytes:
    """Say something to a server, and give all it says until it closes the connection."""
    host, _, port = origin.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(said)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def test_every_page_is_served() -> None:
    async def work(origins: list[str], _: Clock) -> None:
        async with aiohttp.ClientSession() as session:
            for page in PAGES:
                async with session.get(origins[page.site] + page.path) as answer:
                    body = await answer.read()
                    assert answer.status == 200
                    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
                    assert page.noise or body == print_of(page, 0)

    with_web(work)


def test_pages_change_when_the_clock_says_so_and_304_has_no_body() -> None:
    page = page_with(Validation.TAG_AND_DATE)

    async def work(origins: list[str], clock: Clock) -> None:
        url = origins[page.site] + page.path
        async with aiohttp.ClientSession() as session:
            for version, second in enumerate((1.0, 11.0, 21.0)):
                clock.now = MADE + second
                async with session.get(url) as answer:
                    assert await answer.read() == print_of(page, version)
                    known = {"If-None-Match": answer.headers["ETag"]}
                async with session.get(url, headers=known) as answer:
                    assert answer.status == 304
                    assert await answer.read() == b""
                    assert answer.headers["Date"].endswith("GMT")

    with_web(work)


def test_a_connection_serves_requests_one_after_another_and_in_pieces() -> None:
    page = page_with(Validation.NONE)

    async def work(origins: list[str], _: Clock) -> None:
        one = f"GET {page.path}?a=b HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        last = f"HEAD {page.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        answer = await spoken(origins[page.site], one + one + last)
        body = print_of(page, 0)
        assert answer.count(b"HTTP/1.1 200 OK\r\n") == 3
        assert answer.count(body) == 2
        assert answer.endswith(b"Connection: close\r\n\r\n")
        host, port = origins[page.site].removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        for place in range(len(one)):
            writer.write(one[place : place + 1])
            await writer.drain()
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert await reader.readexactly(len(body)) == body
        writer.close()
        await writer.wait_closed()

    with_web(work)


def test_answers_are_not_held_back() -> None:
    page = page_with(Validation.NONE)
    delayed = []

    class Spy(serving.LittleProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            connected = transport.get_extra_info("socket")
            delayed.append(not connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            super().connection_made(transport)

    async def work(origins: list[str], _: Clock) -> None:
        said = f"GET {page.path} HTTP/1.1\r\nConnection: close\r\n\r\n".encode()
        await spoken(origins[page.site], said)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving, "LittleProtocol", Spy)
        with_web(work)
    assert delayed == [False]


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (b"POST / HTTP/1.1\r\nConnection: close\r\n\r\n", b"HTTP/1.1 405 "),
        (b"GET nothing HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 "),
        (b"\r\n\r\n", b"HTTP/1.1 400 "),
        (b"x" * (LONGEST_HEAD + 1), b""),
    ],
)
def test_what_is_no_request_is_refused(said: bytes, answer: bytes) -> None:
    async def work(origins: list[str], _: Clock) -> None:
        got = await spoken(origins[0], said)
        assert got.startswith(answer)
        assert got or not answer

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
    bound = serving._bound  # noqa: SLF001

    def only_one(address: str, port: int) -> socket.socket:
        if address != "127.0.0.1":
            raise OSError(99, "Cannot assign requested address")
        return bound(address, port)

    monkeypatch.setattr(serving, "_bound", only_one)
    sockets = listening(5)
    assert len(set(origins_of(sockets))) == 5
    assert all(origin.startswith("http://127.0.0.1:") for origin in origins_of(sockets))
    for one in sockets:
        one.close()
