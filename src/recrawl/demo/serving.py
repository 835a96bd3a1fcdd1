"""The little web's process: it listens, and lives as long as whoever started it.

It reads from standard input what it is to serve, as a line of JSON, then says where on standard
output; the next line is when pages are to begin to change. When standard input ends, so does it.
"""

import asyncio
import json
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from typing import cast

from recrawl.demo.answering import Answered, Asked, LittleServer
from recrawl.demo.pages import LittlePress, little_pages
from recrawl.demo.sites import SITES

#: A request's head is at most so long.
LONGEST_HEAD = 16_384
REASONS = {200: "OK", 304: "Not Modified", 400: "Bad Request", 404: "Not Found", 405: "Not Allowed"}
#: How often a port is looked for that is free on all addresses.
TRIES = 10


class LittleProtocol(asyncio.Protocol):
    """HTTP/1.1 as far as a crawler needs it: GET and HEAD, and connections that are kept.

    Args:
        site: The number of the site that listens here.
        server: Who answers.
        clock: Gives Unix seconds.
    """

    def __init__(self, site: int, server: LittleServer, clock: Callable[[], float]) -> None:
        self._site = site
        self._server = server
        self._clock = clock
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what to answer on."""
        # Other loops have transports of their own, which asyncio's classes do not know.
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        self._received += data
        while self._transport is not None and not self._transport.is_closing():
            head, end, rest = self._received.partition(b"\r\n\r\n")
            if not end:
                if len(head) > LONGEST_HEAD:
                    self._transport.close()
                return
            self._received = rest
            self._answer(self._transport, head.decode("latin-1").split("\r\n"))

    def _answer(self, transport: asyncio.WriteTransport, lines: list[str]) -> None:
        now = self._clock()
        method, _, target = lines[0].partition(" ")
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:])
        }
        answered = self._answered(method, target, headers, now)
        closes = answered.status == 400 or headers.get("connection", "").lower() == "close"  # noqa: PLR2004
        head = _head(answered, now, closes=closes)
        transport.write(head if method == "HEAD" else head + answered.body)
        if closes:
            transport.close()

    def _answered(self, method: str, target: str, headers: dict[str, str], now: float) -> Answered:
        if not target.startswith("/"):
            return Answered(400)
        if method not in {"GET", "HEAD"}:
            return Answered(405, (("Allow", "GET, HEAD"),))
        asked = Asked(
            self._site,
            target.partition(" ")[0].partition("?")[0],
            headers.get("if-none-match"),
            headers.get("if-modified-since"),
        )
        return self._server.answer(asked, now)


def _head(answered: Answered, now: float, *, closes: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {answered.status} {REASONS[answered.status]}",
        f"Date: {formatdate(now, usegmt=True)}",
        *(f"{name}: {value}" for name, value in answered.headers),
    ]
    if answered.status != 304:  # noqa: PLR2004
        lines.append(f"Content-Length: {len(answered.body)}")
    if closes:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def listening(count: int) -> list[socket.socket]:
    """Open a socket for each site: 127.0.0.2 and on with one port, or 127.0.0.1 with many.

    Where a system has only 127.0.0.1, sites are told apart by their ports.
    """
    for _ in range(TRIES):
        with suppress(OSError):
            return _on_one_port([f"127.0.0.{2 + number}" for number in range(count)])
    return [_bound("127.0.0.1", 0) for _ in range(count)]


def _on_one_port(addresses: list[str]) -> list[socket.socket]:
    opened: list[socket.socket] = []
    try:
        for address in addresses:
            opened.append(_bound(address, opened[0].getsockname()[1] if opened else 0))
    except OSError:
        for one in opened:
            one.close()
        raise
    return opened


def _bound(address: str, port: int) -> socket.socket:
    # With the protocol said, asyncio switches off the delays of TCP for connections made here.
    one = socket.socket(proto=socket.IPPROTO_TCP)
    try:
        one.bind((address, port))
    except OSError:
        one.close()
        raise
    return one


def origins_of(sockets: list[socket.socket]) -> list[str]:
    """Give the sites' addresses, such as ``http://127.0.0.2:8080``."""
    return ["http://{}:{}".format(*one.getsockname()) for one in sockets]


async def serve(
    server: LittleServer, sockets: list[socket.socket], clock: Callable[[], float]
) -> list[asyncio.Server]:
    """Listen on the sockets, one a site."""
    loop = asyncio.get_running_loop()

    def protocol_of(site: int) -> Callable[[], LittleProtocol]:
        return lambda: LittleProtocol(site, server, clock)

    return [
        await loop.create_server(protocol_of(site), sock=one, backlog=512)
        for site, one in enumerate(sockets)
    ]


async def _live() -> None:
    """Serve what standard input asks for, until it ends."""
    given = json.loads(sys.stdin.readline())
    sockets = listening(len(SITES))
    origins = origins_of(sockets)
    press = LittlePress(given["seed"], little_pages(given["pages"], given["seed"]), origins)
    server = LittleServer(press, given["changes"], given["ages"], given["made"])
    servers = await serve(server, sockets, time.time)
    sys.stdout.write(json.dumps(origins) + "\n")
    sys.stdout.flush()
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def listen() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(server.begin, float(line))
        loop.call_soon_threadsafe(ended.set)

    # A thread, as not every system can wait for standard input and for sockets at once.
    threading.Thread(target=listen, daemon=True).start()
    await ended.wait()
    for one in servers:
        one.close()


if __name__ == "__main__":
    asyncio.run(_live())
