"""What clients may do with connections: how slow, how large, and how many."""

import asyncio
from pathlib import Path

import pytest
from service.connecting import exchange, listening

from recrawl.service import protocol
from recrawl.service.auth.guard import NO_HEAD


@pytest.mark.parametrize("what", ["nothing", "half a head", "half a body"])
def test_who_says_nothing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(protocol, "HEAD_WITHIN", 0.3)
    monkeypatch.setattr(protocol, "BODY_WITHIN", 0.3)
    head = b"POST /login HTTP/1.1\r\nHost: localhost\r\n"
    length = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 99\r\n\r\ntoken"
    parts = {"nothing": b"", "half a head": head, "half a body": head + length}[what]

    async def main() -> None:
        async with listening(tmp_path) as (_, port):
            assert b"200 OK" not in await exchange(port, parts)

    asyncio.run(main())


def test_a_request_that_broke_off_can_be_repeated_with_its_key(tmp_path: Path) -> None:
    body = b'{"pages": [{"url": "https://a.example/"}]}'

    async def main() -> None:
        async with listening(tmp_path) as (on, port):
            head = (
                f"POST /api/v1/pages HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: once\r\n"
                f"Authorization: Bearer {on.tokens['admin']}\r\nConnection: close\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            ).encode()
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head + body[:10])
            await writer.drain()
            writer.close()
            await asyncio.sleep(0.2)
            assert b'"new":1' in await exchange(port, head + body)

    asyncio.run(main())


def test_headers_without_end_are_not_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with listening(tmp_path) as (_, port):
            lines = [b"X-%d: %s\r\n" % (number, b"a" * 1_000) for number in range(500)]
            found = await exchange(port, b"GET /health HTTP/1.1\r\nHost: localhost\r\n", *lines)
            assert found == b"" or found.startswith(b"HTTP/1.1 400")

    asyncio.run(main())


def test_a_connection_is_used_again_and_for_what_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Patience ends with the request: the answer may take as long as it takes."""
    monkeypatch.setattr(protocol, "HEAD_WITHIN", 0.8)
    monkeypatch.setattr(protocol, "BODY_WITHIN", 0.8)

    async def main() -> None:
        async with listening(tmp_path) as (on, port):
            token = f"Authorization: Bearer {on.tokens['read']}\r\n"
            waiting = f"GET /api/v1/changes?wait=1 HTTP/1.1\r\nHost: localhost\r\n{token}\r\n"
            last = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            found = await exchange(port, (2 * waiting + last).encode())
            assert found.count(b"HTTP/1.1 200 OK") == 3

    asyncio.run(main())


def test_the_headers_alone_are_those_of_the_whole_answer(tmp_path: Path) -> None:
    """Load balancers and monitors ask so whether somebody is there."""

    async def main() -> None:
        async with listening(tmp_path) as (on, port):
            token = f"Authorization: Bearer {on.tokens['read']}\r\nHost: localhost\r\n"
            for path, status in (("/health", 200), ("/api/v1/changes", 200), ("/nothing", 404)):
                asked = f"{path} HTTP/1.1\r\n{token}Connection: close\r\n\r\n"
                head, _, body = (await exchange(port, f"HEAD {asked}".encode())).partition(
                    b"\r\n\r\n"
                )
                whole, _, text = (await exchange(port, f"GET {asked}".encode())).partition(
                    b"\r\n\r\n"
                )
                assert head.startswith(f"HTTP/1.1 {status} ".encode())
                assert _without_date(head) == _without_date(whole)
                assert body == b""
                assert text != b""
            for path in NO_HEAD:
                name = "callback" if path.endswith("/") else ""
                asked = f"HEAD {path}{name} HTTP/1.1\r\n{token}Connection: close\r\n\r\n"
                assert (await exchange(port, asked.encode())).startswith(b"HTTP/1.1 405 ")
            nobody = (
                b"HEAD /api/v1/changes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            )
            assert (await exchange(port, nobody)).startswith(b"HTTP/1.1 401 ")

    asyncio.run(main())


def _without_date(head: bytes) -> list[bytes]:
    return [line for line in head.split(b"\r\n") if not line.startswith(b"date:")]
