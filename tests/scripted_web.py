"""A web on loopback whose servers follow a script, byte by byte."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from recrawl.http.access import NO_ACCESS, Access
from recrawl.http.address_guard import is_public
from recrawl.http.connector import AddressInfo, Connector
from recrawl.http.fetch import Fetcher
from recrawl.http.gate import Gate
from recrawl.http.host_pacing import HostPacing
from recrawl.http.limits import Limits
from recrawl.records import Page

AGENT = "recrawl-test/1.0 (+https://example.org/bot)"

#: Timeouts that no test reaches, however busy the machine.
PATIENT = Limits(connect_timeout=60.0, read_timeout=60.0, total_timeout=120.0, max_bytes=1_000_000)

#: Timeouts for tests of timeouts, which run in virtual time.
QUICK = Limits(connect_timeout=1.0, read_timeout=1.0, total_timeout=2.0, max_bytes=1_000_000)


@dataclass(frozen=True)
class Request:
    """A request as the server saw it."""

    at: float
    host: str
    target: str
    headers: dict[str, str] = field(repr=False)


#: What to do with a request: bytes to send, or a function that writes to the connection. The
#: connection stays open unless the function closes it.
Script = bytes | Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


def answer(
    body: bytes | str = b"hello",
    status: str = "200 OK",
    headers: Iterable[tuple[str, str]] = (("Content-Type", "text/html"),),
) -> bytes:
    """Return a valid response."""
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data


def redirect(where: str, status: str = "302 Found") -> bytes:
    """Return a redirect."""
    return answer("moved", status, [("Location", where)])


class Web:
    """A server with a script per path, or per host and path; other paths are not found."""

    def __init__(self, scripts: dict[str, Script] | None = None) -> None:
        self.scripts: dict[str, Script] = scripts or {}
        self.log: list[Request] = []
        self.sent = 0
        self.port = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._closed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.sleep(0.01)

    @property
    def open_connections(self) -> int:
        """How many connections are open."""
        return len(self._writers)

    async def until_open(self, number: int) -> None:
        """Wait until at most so many connections are open."""
        while self.open_connections > number:
            self._closed.clear()
            await self._closed.wait()

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def page(self, path: str, host: str = "127.0.0.1") -> Page:
        return Page(0, self.url(path, host), f"{host}:{self.port}")

    def targets(self) -> list[str]:
        """Return the targets of all requests except for robots.txt."""
        return [request.target for request in self.log if request.target != "/robots.txt"]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while not writer.is_closing():
                await self._answer(await reader.readuntil(b"\r\n\r\n"), writer)
        self._writers.discard(writer)
        self._closed.set()
        with suppress(ConnectionError):
            writer.close()

    async def _answer(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in filter(None, lines):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        host = headers.get("host", "")
        request = Request(asyncio.get_running_loop().time(), host, first.split(" ")[1], headers)
        self.log.append(request)
        script = self.scripts.get(host.partition(":")[0] + request.target)
        if script is None:
            script = self.scripts.get(request.target, answer("none", "404 Not Found"))
        if isinstance(script, bytes):
            writer.write(script)
            await writer.drain()
        else:
            await script(request, writer)


def address_info(address: str, port: int) -> AddressInfo:
    """Return an address as `socket.getaddrinfo` does."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return family, socket.SOCK_STREAM, 0, "", (address, port)


class Names:
    """A resolver: each lookup of a name returns the next of its lists of addresses.

    A name without a list is unknown; every other name is that of the test server.
    """

    def __init__(self, known: dict[str, list[list[str]]] | None = None) -> None:
        self.known = known or {}
        self.lookups: list[str] = []

    async def resolve(self, host: str, port: int) -> list[AddressInfo]:
        self.lookups.append(host)
        lists = self.known.get(host, [["127.0.0.1"]])
        if not lists:
            raise OSError(None, "no such name")
        addresses = lists.pop(0) if len(lists) > 1 else lists[0]
        return [address_info(address, port) for address in addresses]

    def close(self) -> None:
        """Do nothing."""


def only_loopback_is_public(address: str) -> bool:
    """Like `is_public`, except that 127.0.0.1, the test server's address, counts as public."""
    return address == "127.0.0.1" or is_public(address)


def fetcher(
    *,
    limits: Limits = PATIENT,
    gate: Gate | None = None,
    names: Names | None = None,
    allowed: Callable[[str], bool] = only_loopback_is_public,
    access: Callable[[str], Access] = lambda _url: NO_ACCESS,
) -> Fetcher:
    """Return a fetcher for which every unknown name is that of the test server."""

    def connect() -> Connector:
        return Connector(resolver=names or Names(), allowed=allowed)

    gate = Gate(HostPacing(0.0, 8)) if gate is None else gate
    return Fetcher(AGENT, gate, limits=limits, connect=connect, access=access)
