"""One request and its response: within limits of time, bytes and connections."""

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import ClientTimeout, DummyCookieJar
from yarl import URL

from recrawl.http.address_guard import ATTEMPT, KEEP_ALIVE, Attempt
from recrawl.http.bodies import BrokenBodyError, read_body
from recrawl.http.errors import DroppedError, told
from recrawl.http.headers import received
from recrawl.http.limits import Limits
from recrawl.http.memory_budget import MemoryBudget
from recrawl.urls import host_of

if TYPE_CHECKING:
    from aiohttp import ClientHandlerType, ClientRequest, ClientResponse, TCPConnector

#: Bytes that are read of what nobody wants, such as the text of an error, to keep the connection.
DREGS = 65_536

#: What servers and the way to them can do to a request.
_FAILURES = (aiohttp.ClientError, OSError, BrokenBodyError, ValueError, RuntimeError)

#: Not those that say that there is no content, or only a part of it.
_WITH_PAGE = frozenset({200, 201, 202, 203})


@dataclass(slots=True)
class Reply:
    """What one request brought."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    truncated: bool
    received: int

    def header(self, name: str) -> str | None:
        """Give a header by its name in small letters."""
        return next((value for key, value in self.headers if key.lower() == name), None)


class HttpClient:
    """Makes requests: no cookies, no credentials, no referrer, and no second try unasked.

    Args:
        agent: The User-Agent.
        limits: What a request may take.
        connector: What connects.
        room: Where long bodies have to fit in.

    Attributes:
        connector: What connects.
    """

    def __init__(
        self, agent: str, limits: Limits, connector: "TCPConnector", room: MemoryBudget
    ) -> None:
        self.connector = connector
        self._limits = limits
        self._room = room
        self._slots = asyncio.Semaphore(limits.connections)
        self._kept = _KeptConnections(limits.idle_connections)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers={
                "User-Agent": agent,
                "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
                "Accept-Encoding": "gzip, deflate",
            },
            cookie_jar=_NoCookies(),
            timeout=ClientTimeout(
                total=None, sock_connect=limits.connect_timeout, sock_read=limits.idle_timeout
            ),
            auto_decompress=False,
            max_line_size=limits.max_header_bytes,
            max_field_size=limits.max_header_bytes,
            max_headers=limits.max_headers,
            middlewares=(_ask_once,),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def ask(self, url: str, headers: dict[str, str], max_bytes: int) -> Reply:
        """Make one request, and read what comes back.

        Args:
            url: The address, canonical as far as the host goes.
            headers: What to say beside the usual.
            max_bytes: How much of the content is wanted, after decompression.

        Raises:
            FetchError: Nothing came back, or nothing of use.
            DroppedError: A connection that had been kept was closed without a response.
        """
        attempt = Attempt()
        ATTEMPT.set(attempt)
        async with self._slots:
            if not self._kept.has_room(host_of(url)):
                headers = {**headers, "Connection": "close"}
            try:
                async with (
                    asyncio.timeout(self._limits.total_timeout),
                    self._session.get(
                        URL(url, encoded=True), headers=headers or None, allow_redirects=False
                    ) as response,
                ):
                    return await _read(response, max_bytes, self._room)
            except DroppedError as error:
                if attempt.connected:
                    raise told(error, attempt, self._limits) from None
                raise
            except _FAILURES as error:
                raise told(error, attempt, self._limits) from None


class _KeptConnections:
    """Counts the hosts that a connection is open to for the next request.

    A crawl of many hosts would else have more of them open than a process may have files.
    """

    def __init__(self, most: int) -> None:
        self._max = most
        self._used: OrderedDict[str, float] = OrderedDict()

    def has_room(self, host: str) -> bool:
        """Whether a connection to a host may stay open after the next request."""
        used, now = self._used, time.monotonic()
        if host not in used:
            while used and next(iter(used.values())) < now - KEEP_ALIVE:
                used.popitem(last=False)
            if len(used) >= self._max:
                return False
        used[host] = now
        used.move_to_end(host)
        return True


class _NoCookies(DummyCookieJar):
    """Keeps no cookies, and does not even read them."""

    def update_cookies_from_headers(self, headers: object, response_url: URL) -> None:
        """Read nothing."""


async def _ask_once(request: "ClientRequest", handler: "ClientHandlerType") -> "ClientResponse":
    """Keep aiohttp from asking again by itself: that would be neither counted nor spaced."""
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise DroppedError from error


async def _read(response: "ClientResponse", max_bytes: int, room: MemoryBudget) -> Reply:
    """Read a response; of one that is no page, only so much that the connection can be kept."""
    status, headers = response.status, received(response.raw_headers)
    if status in _WITH_PAGE:
        encoding = response.headers.get("Content-Encoding")
        body, truncated, length = await read_body(response.content, encoding, max_bytes, room)
    else:
        body, (truncated, length) = None, await _read_dregs(response, room)
    if truncated:
        response.close()
    return Reply(status, headers, body, truncated, length)


async def _read_dregs(response: "ClientResponse", room: MemoryBudget) -> tuple[bool, int]:
    """Read what nobody wants; it does not matter whether it is whole."""
    try:
        _, truncated, length = await read_body(response.content, None, DREGS, room)
    except aiohttp.ClientPayloadError:
        return True, 0
    return truncated, length
