"""The demo web's server process, which ends with the process that started it.

It reads what to serve from standard input, as a line of JSON, and writes its origins to standard
output. The next line of input is the time from which pages change; at end of input it exits.
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

from recrawl.demo.handler import Request, RequestHandler, Response
from recrawl.demo.pages import PageRenderer, draw_pages
from recrawl.demo.sites import SITES

#: The maximum size of a request's head.
MAX_HEAD_BYTES = 16_384
REASONS = {200: "OK", 304: "Not Modified", 400: "Bad Request", 404: "Not Found", 405: "Not Allowed"}
#: Attempts to find a port that is free on all addresses.
TRIES = 10


class HttpProtocol(asyncio.Protocol):
    """The part of HTTP/1.1 that a crawler needs: GET and HEAD on persistent connections.

    Args:
        site: The number of the site that listens here.
        handler: Responds to requests.
        clock: Returns Unix seconds.
    """

    def __init__(self, site: int, handler: RequestHandler, clock: Callable[[], float]) -> None:
        self._site = site
        self._handler = handler
        self._clock = clock
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # Other event loops have transports that are not instances of asyncio's classes.
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        """Respond to every complete request."""
        self._received += data
        while self._transport is not None and not self._transport.is_closing():
            head, end, rest = self._received.partition(b"\r\n\r\n")
            if not end:
                if len(head) > MAX_HEAD_BYTES:
                    self._transport.close()
                return
            self._received = rest
            self._respond(self._transport, head.decode("latin-1").split("\r\n"))

    def _respond(self, transport: asyncio.WriteTransport, lines: list[str]) -> None:
        now = self._clock()
        method, _, target = lines[0].partition(" ")
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:])
        }
        response = self._response(method, target, headers, now)
        closes = response.status == 400 or headers.get("connection", "").lower() == "close"  # noqa: PLR2004
        head = _head(response, now, closes=closes)
        transport.write(head if method == "HEAD" else head + response.body)
        if closes:
            transport.close()

    def _response(self, method: str, target: str, headers: dict[str, str], now: float) -> Response:
        if not target.startswith("/"):
            return Response(400)
        if method not in {"GET", "HEAD"}:
            return Response(405, (("Allow", "GET, HEAD"),))
        request = Request(
            self._site,
            target.partition(" ")[0].partition("?")[0],
            headers.get("if-none-match"),
            headers.get("if-modified-since"),
        )
        return self._handler.respond(request, now)


def _head(response: Response, now: float, *, closes: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {response.status} {REASONS[response.status]}",
        f"Date: {formatdate(now, usegmt=True)}",
        *(f"{name}: {value}" for name, value in response.headers),
    ]
    if response.status != 304:  # noqa: PLR2004
        lines.append(f"Content-Length: {len(response.body)}")
    if closes:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def listening(count: int) -> list[socket.socket]:
    """Open a socket per site: 127.0.0.2 and up with one port, or 127.0.0.1 with many.

    The latter is for systems that only have 127.0.0.1, where sites differ by port.
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
    # Given the protocol, asyncio disables Nagle's algorithm for connections accepted here.
    one = socket.socket(proto=socket.IPPROTO_TCP)
    try:
        one.bind((address, port))
    except OSError:
        one.close()
        raise
    return one


def origins_of(sockets: list[socket.socket]) -> list[str]:
    """Return the sites' origins, such as ``http://127.0.0.2:8080``."""
    return ["http://{}:{}".format(*one.getsockname()) for one in sockets]


async def serve(
    handler: RequestHandler, sockets: list[socket.socket], clock: Callable[[], float]
) -> list[asyncio.Server]:
    """Listen on the sockets, one per site."""
    loop = asyncio.get_running_loop()

    def protocol_of(site: int) -> Callable[[], HttpProtocol]:
        return lambda: HttpProtocol(site, handler, clock)

    return [
        await loop.create_server(protocol_of(site), sock=one, backlog=512)
        for site, one in enumerate(sockets)
    ]


async def _main() -> None:
    """Serve what standard input describes, until it ends."""
    given = json.loads(sys.stdin.readline())
    sockets = listening(len(SITES))
    origins = origins_of(sockets)
    renderer = PageRenderer(given["seed"], draw_pages(given["pages"], given["seed"]), origins)
    handler = RequestHandler(renderer, given["changes"], given["ages"], given["created"])
    servers = await serve(handler, sockets, time.time)
    sys.stdout.write(json.dumps(origins) + "\n")
    sys.stdout.flush()
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def listen() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(handler.begin, float(line))
        loop.call_soon_threadsafe(ended.set)

    # A thread, as not every system can poll standard input and sockets together.
    threading.Thread(target=listen, daemon=True).start()
    await ended.wait()
    for one in servers:
        one.close()


if __name__ == "__main__":
    asyncio.run(_main())
