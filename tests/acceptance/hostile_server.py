"""Servers that do what servers must not do, in a process of their own.

``python hostile_server.py COPIES`` starts that many hosts of each kind, prints their addresses as a
line of JSON, and serves until its standard input is closed.
"""

import asyncio
import itertools
import json
import sys
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress

Writer = asyncio.StreamWriter
Behaviour = Callable[[str, Writer], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
PIECE = b"<p>and so on and on" * 3_000
WORDS = [b"nobody", b"ever", b"wrote", b"this", b"before", b"today"]
_numbers = itertools.count()


def whole(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    """Return a valid response."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n{more}"
    return head.encode() + b"\r\n" + body


def fresh() -> bytes:
    """Return a text that is new, so that the page has to be parsed."""
    number = next(_numbers)
    return b"<p>" + b" ".join(WORDS[number // 6**digit % 6] for digit in range(6))


async def repeat(writer: Writer, piece: bytes, pause: float = 0.0) -> None:
    """Send the same bytes until the connection is closed."""
    while not writer.is_closing():
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(pause)


async def endless(_: str, writer: Writer) -> None:
    writer.write(OK + b"\r\n" + fresh())
    await repeat(writer, PIECE)


async def endless_chunks(_: str, writer: Writer) -> None:
    first = fresh()
    writer.write(OK + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(first), first))
    await repeat(writer, b"%x\r\n%s\r\n" % (len(PIECE), PIECE))


async def bomb(_: str, writer: Writer) -> None:
    packer = zlib.compressobj(9, wbits=31)
    first = packer.compress(fresh()) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    writer.write(OK + b"Content-Encoding: gzip\r\n\r\n" + first)
    await repeat(writer, again * 100)


async def drip(_: str, writer: Writer) -> None:
    writer.write(OK + b"Content-Length: 100000\r\n\r\n")
    await repeat(writer, b"x", 0.1)


async def drip_of_headers(_: str, writer: Writer) -> None:
    writer.write(OK)
    await repeat(writer, b"X", 0.1)


async def silence(_: str, writer: Writer) -> None:
    await writer.wait_closed()


async def redirect_loop(path: str, writer: Writer) -> None:
    where = path.removesuffix("/again") if path.endswith("/again") else f"{path}/again"
    writer.write(whole(b"", "302 Found", f"Location: {where}\r\n"))


async def endless_redirects(_: str, writer: Writer) -> None:
    writer.write(whole(b"", "302 Found", f"Location: /{next(_numbers)}\r\n"))


async def to_another_scheme(_: str, writer: Writer) -> None:
    writer.write(whole(b"", "302 Found", "Location: file:///etc/passwd\r\n"))


async def broken_chunks(_: str, writer: Writer) -> None:
    writer.write(OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\nzz\r\n")
    writer.close()


async def too_long_a_length(_: str, writer: Writer) -> None:
    writer.write(OK + b"Content-Length: 99999999999\r\n\r\nshort")


async def too_short_a_length(_: str, writer: Writer) -> None:
    writer.write(OK + b"Content-Length: 5\r\n\r\nhello" + whole(b"<p>what nobody asked for"))


async def false_charset(_: str, writer: Writer) -> None:
    head = OK.replace(b"text/html", b"text/html; charset=utf-16\xff; charset=rot13")
    body = b"\xff\xfe\x00<p>\xd8" + fresh() + bytes(range(256))
    writer.write(head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


async def many_headers(_: str, writer: Writer) -> None:
    writer.write(OK + b"".join(b"X-%d: %d\r\n" % (n, n) for n in range(10_000)) + b"\r\nhello")
    writer.close()


async def nested(_: str, writer: Writer) -> None:
    writer.write(whole(fresh() + b"<div><b>" * 1_250_000))


async def nothing_but_links(_: str, writer: Writer) -> None:
    writer.write(whole(fresh() + b"<a href=/x>y</a>" * 600_000))


async def storm(_: str, writer: Writer) -> None:
    writer.write(whole(b"", "429 Too Many Requests"))


async def cut_off(_: str, writer: Writer) -> None:
    writer.write(OK + b"Content-Length: 100000\r\n\r\n" + PIECE[:10_000])
    await writer.drain()
    writer.transport.abort()


async def good(_: str, writer: Writer) -> None:
    writer.write(whole(fresh()))


async def endless_rules(path: str, writer: Writer) -> None:
    if path != "/robots.txt":
        return await good(path, writer)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\n")
    for number in range(50_000):
        writer.write(b"".join(b"Disallow: /secret/%d/%d\n" % (number, n) for n in range(45)))
        await writer.drain()
    writer.close()
    return None


async def silent_rules(path: str, writer: Writer) -> None:
    await (silence if path == "/robots.txt" else good)(path, writer)


class Dying:
    """Responds to some requests, to half of the last one, and then refuses connections."""

    def __init__(self) -> None:
        self.left = 5
        self.server: asyncio.Server | None = None

    async def __call__(self, path: str, writer: Writer) -> None:
        self.left -= 1
        if self.left:
            return await good(path, writer)
        if self.server is not None:
            self.server.close()
        return await cut_off(path, writer)


#: What a host does, and whether it also does it to requests for robots.txt.
BEHAVIOURS: list[tuple[Behaviour, bool]] = [
    (endless, False),
    (endless_chunks, False),
    (bomb, True),
    (drip, False),
    (drip_of_headers, True),
    (silence, False),
    (redirect_loop, False),
    (endless_redirects, True),
    (to_another_scheme, False),
    (broken_chunks, False),
    (too_long_a_length, False),
    (too_short_a_length, False),
    (false_charset, True),
    (many_headers, False),
    (nested, False),
    (nothing_but_links, False),
    (storm, False),
    (cut_off, False),
    (endless_rules, True),
    (silent_rules, True),
]


async def start(do: Behaviour, address: str, *, to_robots: bool) -> asyncio.Server:
    """Start a host."""

    async def serve(reader: asyncio.StreamReader, writer: Writer) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode("latin-1")
                if path == "/robots.txt" and not to_robots:
                    writer.write(whole(b"", "404 Not Found"))
                else:
                    await do(path, writer)
                await writer.drain()
        writer.transport.abort()

    return await asyncio.start_server(serve, address, 0)


async def main(copies: int) -> None:
    """Serve until standard input is closed."""
    mortals = [Dying() for _ in range(copies)]
    hosts: list[tuple[Behaviour, bool]] = [
        *BEHAVIOURS * copies,
        *((mortal, False) for mortal in mortals),
    ]
    servers = [
        await start(do, f"127.0.1.{number + 1}", to_robots=to_robots)
        for number, (do, to_robots) in enumerate(hosts)
    ]
    for mortal, server in zip(mortals, servers[-copies:], strict=True):
        mortal.server = server
    urls = ["http://{}:{}".format(*server.sockets[0].getsockname()) for server in servers]
    print(json.dumps(urls), flush=True)  # noqa: T201 - to whoever started it
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
