"""Servers that do what servers must not do, in a process of their own.

``python -m acceptance.hostile_server COPIES`` starts that many hosts of each kind, prints their
addresses by kind as a line of JSON, and serves until its standard input is closed.
"""

import asyncio
import itertools
import json
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress

from acceptance import bombs
from acceptance.bombs import fresh
from acceptance.hostile_framing import FRAMING, OK, Behaviour

Writer = asyncio.StreamWriter
PIECE = b"<p>and so on and on" * 3_000
_numbers = itertools.count()
_tasks: set[asyncio.Task[None]] = set()


def whole(body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    """Return a valid response."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n{more}"
    return head.encode() + b"\r\n" + body


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


async def slow_rules(path: str, writer: Writer) -> None:
    await (drip if path == "/robots.txt" else good)(path, writer)


async def rules_that_move(path: str, writer: Writer) -> None:
    await (endless_redirects if path == "/robots.txt" else good)(path, writer)


def rules(text: Callable[[], bytes]) -> Behaviour:
    """Return what a host does that only sends a robots.txt."""

    async def do(path: str, writer: Writer) -> None:
        await (good(path, writer) if path != "/robots.txt" else send(writer, text()))

    return do


def sitemap(text: Callable[[], bytes]) -> Behaviour:
    """Return what a host does that only sends a sitemap."""

    async def do(path: str, writer: Writer) -> None:
        await (good(path, writer) if not path.endswith(".xml") else send(writer, text()))

    return do


def page(piece: bytes) -> Behaviour:
    """Return what a host does whose pages repeat something."""

    async def do(_: str, writer: Writer) -> None:
        await send(writer, bombs.filled(piece))

    return do


async def send(writer: Writer, body: bytes) -> None:
    writer.write(whole(body))


async def sitemaps_without_end(path: str, writer: Writer) -> None:
    if not path.endswith(".xml"):
        return await good(path, writer)
    address, port = writer.get_extra_info("sockname")[:2]
    return await send(writer, bombs.sitemap_of_sitemaps(f"http://{address}:{port}"))


async def high_bytes(_: str, writer: Writer) -> None:
    headers = b"Link: </\xe9>; rel=next\r\nContent-Disposition: inline; filename=\xff\xfe\x80\r\n"
    body = fresh()
    writer.write(OK + headers + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


async def endless_header(_: str, writer: Writer) -> None:
    writer.write(OK + b"X-Long: ")
    await repeat(writer, b"x" * 60_000)


async def much_and_then_little(_: str, writer: Writer) -> None:
    writer.write(OK + b"Content-Length: 10000000\r\n\r\n" + fresh() + b"x" * 9_000_000)
    await writer.drain()
    await repeat(writer, b"x", 1.0)


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


#: What hosts do to requests for pages only; robots.txt is not found.
TO_PAGES: dict[str, Behaviour] = (
    {
        one.__name__: one
        for one in (
            endless,
            endless_chunks,
            drip,
            silence,
            redirect_loop,
            to_another_scheme,
            broken_chunks,
            too_long_a_length,
            too_short_a_length,
            many_headers,
            nested,
            nothing_but_links,
            storm,
            cut_off,
            high_bytes,
            endless_header,
            much_and_then_little,
            sitemaps_without_end,
        )
    }
    | {name: page(piece) for name, piece in bombs.PAGES.items()}
    | FRAMING
)
#: What hosts do to all requests, robots.txt included.
TO_ALL: dict[str, Behaviour] = {
    one.__name__: one
    for one in (
        bomb,
        drip_of_headers,
        endless_redirects,
        false_charset,
        endless_rules,
        silent_rules,
        slow_rules,
        rules_that_move,
    )
} | {
    "rules_for_many": rules(bombs.robots_of_agents),
    "rules_of_stars": rules(bombs.robots_of_stars),
}
SITEMAPS: dict[str, Behaviour] = {
    "sitemap_of_comment": sitemap(bombs.sitemap_of_comment),
    "sitemap_of_defaults": sitemap(bombs.sitemap_of_defaults),
    "sitemap_of_depth": sitemap(bombs.sitemap_of_depth),
}
#: Kinds whose sitemap is to be read.
WITH_SITEMAP = (*SITEMAPS, "sitemaps_without_end", "bomb", "endless", "silence")
MORTAL = "dying"
KINDS = (*TO_PAGES, *TO_ALL, *SITEMAPS, MORTAL)


async def start(do: Behaviour, address: str, *, to_robots: bool) -> asyncio.Server:
    """Start a host."""

    async def serve(reader: asyncio.StreamReader, writer: Writer) -> None:
        task = asyncio.current_task()
        if task is not None:
            # Nobody else holds on to a task that waits for ever.
            _tasks.add(task)
            task.add_done_callback(_tasks.discard)
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


def behaviour(kind: str) -> tuple[Behaviour, bool]:
    """Return what a kind of host does, and whether it also does it to requests for robots.txt."""
    if kind == MORTAL:
        return Dying(), False
    return (TO_PAGES | TO_ALL | SITEMAPS)[kind], kind in TO_ALL


async def main(copies: int, kinds: list[str]) -> None:
    """Serve until standard input is closed."""
    for make in (bombs.robots_of_agents, bombs.sitemap_of_comment, bombs.sitemap_of_depth):
        make()  # now, as a crawler would not wait for it
    urls: dict[str, list[str]] = {kind: [] for kind in kinds}
    addresses = (f"127.0.1.{number}" for number in itertools.count(1))
    for kind in kinds * copies:
        do, to_robots = behaviour(kind)
        server = await start(do, next(addresses), to_robots=to_robots)
        if isinstance(do, Dying):
            do.server = server
        urls[kind].append("http://{}:{}".format(*server.sockets[0].getsockname()))
    print(json.dumps(urls), flush=True)  # noqa: T201 - to whoever started it
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2:] or list(KINDS)))
