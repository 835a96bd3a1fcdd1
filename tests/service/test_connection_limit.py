"""Strangers who connect and say nothing, or too much, keep nobody out."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from service.connecting import exchange, listening

from recrawl.service import protocol
from recrawl.service.auth.connection_limit import ConnectionLimit
from recrawl.service.protocol import MAX_HEAD

CLOSE = "Host: localhost\r\nConnection: close\r\n"
HEALTH = f"GET /health HTTP/1.1\r\n{CLOSE}\r\n".encode()
#: Not a thousand, and more connections than that.
CONNECTIONS, ATTACK = 20, 41


@pytest.fixture(autouse=True)
def few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_CONNECTIONS", CONNECTIONS)


def status(token: str) -> bytes:
    head = f"GET /api/v1/status HTTP/1.1\r\nAuthorization: Bearer {token}\r\n{CLOSE}\r\n"
    return head.encode()


@asynccontextmanager
async def idle(
    port: int, count: int, said: bytes = b"", addresses: int = 1
) -> AsyncIterator[list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]:
    """Hold connections that say something, and nothing more."""
    opened = [
        await asyncio.open_connection(
            "127.0.0.1", port, local_addr=(f"127.0.1.{1 + number % addresses}", 0)
        )
        for number in range(count)
    ]
    for _, writer in opened:
        writer.write(said)
    await asyncio.sleep(0.1)
    try:
        yield opened
    finally:
        for _, writer in opened:
            writer.close()


@pytest.mark.parametrize("addresses", [1, ATTACK])
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET /heal",
        b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nt",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n",
    ],
    ids=["nothing", "half a head", "half a body", "and stay", "a wrong token"],
)
def test_who_connects_and_dawdles_keeps_nobody_out(
    tmp_path: Path, said: bytes, addresses: int
) -> None:
    async def main() -> None:
        async with listening(tmp_path) as (on, port), idle(port, ATTACK, said, addresses):
            for _ in range(3):
                assert b"200 OK" in await exchange(port, status(on.tokens["read"]))
                assert b"200 OK" in await exchange(port, HEALTH)

    asyncio.run(main())


def test_who_has_a_token_keeps_the_connection(tmp_path: Path) -> None:
    async def main() -> None:
        async with listening(tmp_path) as (on, port):
            token = f"Authorization: Bearer {on.tokens['read']}\r\n"
            waiting = f"GET /api/v1/changes?wait=1 HTTP/1.1\r\n{CLOSE}{token}\r\n".encode()
            asked = [asyncio.ensure_future(exchange(port, waiting)) for _ in range(CONNECTIONS - 2)]
            while on.service.streams.open < CONNECTIONS - 2:  # noqa: ASYNC110 - until all have come
                await asyncio.sleep(0.01)
            # What is left is enough for strangers one after another.
            async with idle(port, ATTACK):
                assert b"200 OK" in await exchange(port, HEALTH)
            assert all([b"200 OK" in await one for one in asked])
            assert on.service.streams.open == 0

    asyncio.run(main())


def test_a_token_that_was_revoked_keeps_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with listening(tmp_path) as (on, port):
            kept = status(on.tokens["read"]).replace(b"Connection: close\r\n", b"")
            async with idle(port, CONNECTIONS, kept) as opened:
                for reader, _ in opened:
                    assert b"200 OK" in await reader.readuntil(b"\r\n")
                assert await exchange(port, HEALTH) == b""
                on.store.service.revoke_token("read")
                on.service.tokens._until = 0.0  # noqa: SLF001 - a second later
                reader, writer = opened[0]
                writer.write(kept)
                await reader.readuntil(b" 401 ")
                # Nobody has a token there any more: it makes room.
                assert b"200 OK" in await exchange(port, HEALTH)

    asyncio.run(main())


def test_an_empty_line_does_not_keep_a_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_WITHIN", 0.3)
    asked = HEALTH.replace(b"Connection: close\r\n", b"")

    async def main() -> None:
        async with listening(tmp_path) as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(asked)
            await reader.readuntil(b"}")
            writer.write(b"\r\n")
            async with asyncio.timeout(60.0):
                assert await reader.read() == b""
            writer.close()

    asyncio.run(main())


LONG = b"x" * MAX_HEAD
CHUNKED = f"POST /login HTTP/1.1\r\n{CLOSE}Transfer-Encoding: chunked\r\n\r\n".encode()


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + LONG,
        HEALTH[:-2] + b"X: " + LONG + b"\r\n\r\n",
        HEALTH[:-2] + 1_000 * (b"X: " + 100 * b"x" + b"\r\n") + b"\r\n",
        b"GET /health?" + LONG + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        CHUNKED + b"0\r\n" + 1_000 * (b"X: " + 100 * b"x" + b"\r\n") + b"\r\n",
        CHUNKED + b"0\r\nX: " + 4 * LONG,
        CHUNKED + b"1;" + 4 * LONG,
    ],
    ids=["half", "whole", "many", "url", "trailers", "a trailer", "a chunk extension"],
)
def test_headers_may_not_be_long_however_they_arrive(tmp_path: Path, sent: bytes) -> None:
    async def main() -> None:
        async with listening(tmp_path) as (_, port):
            # All at once, and bit by bit.
            for size in (len(sent), 50_000):
                parts = [sent[at : at + size] for at in range(0, len(sent), size)]
                found = await exchange(port, *parts)
                assert b"200 OK" not in found
                assert found == b"" or b"400 Bad Request" in found

    asyncio.run(main())


def test_many_requests_and_long_bodies_are_no_long_headers(tmp_path: Path) -> None:
    async def main() -> None:
        async with listening(tmp_path) as (on, port):
            kept = HEALTH.replace(b"Connection: close\r\n", b"")
            found = await exchange(port, 2_000 * kept + HEALTH)
            assert found.count(b"200 OK") == 2_001
            body = b'{"pages": [{"url": "https://a.example/"}]' + b" " * 3 * MAX_HEAD + b"}"
            head = (
                f"POST /api/v1/pages HTTP/1.1\r\n{CLOSE}Content-Type: application/json\r\n"
                f"Authorization: Bearer {on.tokens['crawl']}\r\n"
            )
            whole = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
            assert b'"new":1' in await exchange(port, whole)
            chunks = b"".join(b"4\r\n%b\r\n" % body[at : at + 4] for at in range(0, 800, 4))
            chunks += b"%x\r\n%b\r\n0\r\nX-After: all\r\n\r\n" % (len(body) - 800, body[800:])
            chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunks
            assert b'"known":1' in await exchange(port, chunked)

    asyncio.run(main())


def test_what_follows_a_body_is_no_header(tmp_path: Path) -> None:
    """A proxy in front, which checks or removes headers, does not see it as one."""

    async def main() -> None:
        async with listening(tmp_path) as (on, port):
            token = f"Authorization: Bearer {on.tokens['admin']}\r\n"
            head = f"POST /api/v1/leases HTTP/1.1\r\n{CLOSE}Content-Type: application/json\r\n"
            sent = f"{head}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n{token}\r\n"
            assert b" 401 " in await exchange(port, sent.encode())

    asyncio.run(main())


def test_malformed_requests_are_logged_together(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with listening(tmp_path) as (_, port):
            for sent in (b"\x16\x03\x01\r\n\r\n", b"GET /health HTTP/9\r\n\r\n", b"nonsense\r\n"):
                for _ in range(10):
                    assert b"400 Bad Request" in await exchange(port, sent)
            upgrade = HEALTH.replace(b"close", b"upgrade\r\nUpgrade: websocket")
            async with idle(port, ATTACK, upgrade):
                pass

    with caplog.at_level(logging.INFO):
        asyncio.run(main())
    lines = [record.getMessage() for record in caplog.records]
    assert "Invalid HTTP request received." in lines
    assert len(lines) == len(set(lines))


#: Steps of a history: who enters, from where, and what becomes of them.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["enter", "enter", "trust", "distrust", "hear", "leave"]),
        st.integers(0, 30),
        st.sampled_from("abc"),
    )
)


@given(STEPS)
def test_connections_are_never_too_many_and_no_user_loses_one(
    steps: list[tuple[str, int, str]],
) -> None:
    limited, here, trusted = ConnectionLimit[int](8), set[int](), set[int]()
    for what, one, address in steps:
        if what == "enter":
            if one in here:
                continue
            here.add(one)
            displaced = limited.enter(one, address)
        else:
            displaced = getattr(limited, what)(one)
            if one in here and what in {"trust", "distrust"}:
                (trusted.add if what == "trust" else trusted.discard)(one)
            if what == "leave":
                here.discard(one)
                trusted.discard(one)
        if displaced is not None:
            assert len(here) == 9
            assert displaced in here - trusted
            here.remove(displaced)
        assert len(here) <= 8
