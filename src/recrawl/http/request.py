"""The HTTP client: one request and its response, within limits of time, bytes and connections."""

import asyncio
import logging
import re
from collections.abc import Coroutine, Mapping
from functools import lru_cache
from typing import Any, final

from recrawl.hosts import host_of
from recrawl.http.access import Proxy, basic_auth
from recrawl.http.bodies import is_plain, read_body
from recrawl.http.connection import Connection, ConnectionDroppedError, IncompleteBodyError
from recrawl.http.connector import Attempt, Connector
from recrawl.http.failures import FAILURES, ConnectError, DroppedError, ProxyError, as_fetch_error
from recrawl.http.headers import decoded
from recrawl.http.idle_connections import IdleConnections
from recrawl.http.limits import Limits
from recrawl.http.media_types import file_type
from recrawl.http.memory_budget import SMALL, MemoryBudget
from recrawl.http.slots import Slots
from recrawl.http.target import UNSAFE, Target, target_of
from recrawl.records import Response

#: Bytes of an unwanted body, such as an error page, read so that the connection can be reused.
MAX_DRAINED = 65_536

#: Statuses of a complete page, rather than no content or part of it.
_WITH_PAGE = frozenset({200, 201, 202, 203})
_OK = 200
#: What a header must not contain, as it would allow request smuggling.
_UNSAFE_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

_log = logging.getLogger(__package__)


@final
class HttpClient:
    """Makes requests, without cookies, credentials or referrer unless given, and without retries.

    Args:
        agent: The User-Agent.
        limits: Limits on each request.
        connector: Opens connections.
        memory: The memory budget of long bodies.

    Attributes:
        connector: The connector.
    """

    def __init__(
        self, agent: str, limits: Limits, connector: Connector, memory: MemoryBudget
    ) -> None:
        self.connector = connector
        self._limits = limits
        self._memory = memory
        self._slots = Slots(limits.connections)
        self._idle = IdleConnections(limits.idle_connections)
        self._loop = asyncio.get_running_loop()
        accept = {
            "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
            "Accept-Encoding": "gzip, deflate",
        }
        self._usual = {
            "GET": _lines({"User-Agent": agent, **accept}),
            "POST": _lines({"User-Agent": agent, "Accept": "*/*"}),
        }

    async def close(self) -> None:
        """Close all connections."""
        self._idle.close()
        self.connector.close()

    def get(
        self,
        url: str,
        headers: Mapping[str, str],
        max_bytes: int,
        proxy: Proxy | None = None,
        *,
        pack: bool = False,
        pages_only: bool = False,
    ) -> Coroutine[Any, Any, Response]:
        """Make one request and read the response; the caller sets its time.

        Args:
            url: The address; its host must be canonical.
            headers: Headers in addition to the default ones.
            max_bytes: How much of the body to read, after decompression.
            pack: Whether to return a long body compressed with gzip.
            pages_only: Whether a file that is not a page is returned without its body.
            proxy: Makes the connection; None to connect directly.

        Raises:
            FetchError: There was no response, or it could not be read.
            DroppedError: A connection that had been kept open was closed without a response.
        """
        return self._send(url, headers, max_bytes, proxy, pack=pack, pages_only=pages_only)

    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, proxy: Proxy | None = None
    ) -> Coroutine[Any, Any, Response]:
        """Post a body; return the response without its body. Redirects are not followed.

        Raises:
            FetchError: There was no response.
            DroppedError: A connection that had been kept open was closed without a response; the
                server may still have received the body.
        """
        return self._send(url, headers, 0, proxy, body)

    async def _send(
        self,
        url: str,
        headers: Mapping[str, str],
        max_bytes: int,
        proxy: Proxy | None,
        body: bytes | None = None,
        *,
        pack: bool = False,
        pages_only: bool = False,
    ) -> Response:
        attempt = Attempt()
        if (turn := self._slots.take()) is not None:
            await turn
        try:
            target = target_of(url)
            data = self._request_bytes(url, target, headers, proxy, body)
            response = await self._exchange(
                url,
                target,
                data,
                max_bytes,
                proxy,
                attempt,
                pack=pack,
                drop=body is not None,
                pages_only=pages_only,
            )
        except FAILURES as error:
            problem = as_fetch_error(error, attempt, self._limits, proxy)
            _log.debug("%s failed: %s", _Shown(url, body), problem)
            raise problem from None
        finally:
            self._slots.give_back()
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("%s: %d, %d bytes", _Shown(url, body), response.status, response.transferred)
        return response

    async def _exchange(
        self,
        url: str,
        target: Target,
        data: bytes,
        max_bytes: int,
        proxy: Proxy | None,
        attempt: Attempt,
        *,
        pack: bool,
        drop: bool,
        pages_only: bool,
    ) -> Response:
        """Send a request on an idle or a new connection, and read the response."""
        now = self._loop.time()
        deadline = now + self._limits.total_timeout
        route = target.is_secure, target.authority, proxy and proxy.url
        connection = self._idle.take(route, now)
        if connection is None:
            connection = await self._open(target, proxy, attempt, deadline)
        try:
            try:
                await connection.request(data, self._limits.read_timeout, deadline)
            except ConnectionDroppedError:
                if connection.requests > 1:
                    raise DroppedError from None
                raise
            response = self._whole(url, connection, max_bytes, drop=drop)
            if response is None:
                if pages_only and file_type(decoded(connection.headers)) is not None:
                    drop = True
                response = await self._read(url, connection, max_bytes, pack=pack, drop=drop)
        except BaseException:
            connection.close()
            raise
        if connection.is_reusable:
            self._idle.keep(route, connection)
        else:
            connection.close()
        return response

    def _request_bytes(
        self,
        url: str,
        target: Target,
        headers: Mapping[str, str],
        proxy: Proxy | None,
        body: bytes | None,
    ) -> bytes:
        path, login = target.path, b""
        if proxy is not None and not target.is_secure:
            # An https request goes to the site; only the one that opens the tunnel goes to the
            # proxy.
            path, login = url.partition("#")[0], _lines(_login(proxy))
        method = "GET" if body is None else "POST"
        start = f"{method} {path} HTTP/1.1\r\nHost: {target.authority}\r\n".encode("ascii")
        length = b"" if body is None else _lines({"Content-Length": str(len(body))})
        usual = self._usual[method]
        return b"".join((start, usual, login, _lines(headers), length, b"\r\n", body or b""))

    async def _open(
        self, target: Target, proxy: Proxy | None, attempt: Attempt, deadline: float
    ) -> Connection:
        """Open a connection to a server, through a proxy if there is one."""
        try:
            async with (
                asyncio.timeout_at(deadline),
                asyncio.timeout(self._limits.connect_timeout) as limit,
            ):
                if proxy is None:
                    return await self.connector.open(
                        target.host, target.port, self._connection, attempt, tls=target.is_secure
                    )
                return await self._open_by(proxy, target, attempt, deadline)
        except TimeoutError:
            if limit.expired():
                raise ConnectError from None
            raise

    async def _open_by(
        self, proxy: Proxy, target: Target, attempt: Attempt, deadline: float
    ) -> Connection:
        by = target_of(proxy.url)
        connection = await self.connector.open(
            by.host, by.port, self._connection, attempt, tls=by.is_secure
        )
        if not target.is_secure:
            return connection
        host = f"[{target.host}]" if ":" in target.host else target.host
        where = f"{host}:{target.port}"
        start = f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n".encode("ascii")
        try:
            ask = start + _lines(_login(proxy)) + b"\r\n"
            # A tunnel follows the headers: there is no end to wait for.
            await connection.request(ask, self._limits.read_timeout, deadline, head_only=True)
            _check_tunnel(connection.status)
            return await self.connector.secure(connection, target.host, self._connection)
        except BaseException:
            connection.close()
            raise

    def _connection(self) -> Connection:
        return Connection(self._limits.max_headers, self._limits.max_header_bytes)

    def _whole(
        self, url: str, connection: Connection, max_bytes: int, *, drop: bool
    ) -> Response | None:
        """Return a response that has arrived completely, as most have; None if it has not."""
        size, status = connection.whole_size, connection.status
        is_page = status in _WITH_PAGE and not drop
        limit = min(max_bytes, SMALL) if is_page else MAX_DRAINED
        if size is None or size > limit:
            return None
        headers = decoded(connection.headers)
        if is_page and not is_plain(headers):
            return None
        body = connection.take_whole()
        return Response(url, status, 0, headers, body if is_page else None, transferred=size)

    async def _read(
        self, url: str, connection: Connection, max_bytes: int, *, pack: bool, drop: bool
    ) -> Response:
        """Read a response; if it is not a page, just enough to reuse the connection."""
        body, headers, status = None, decoded(connection.headers), connection.status
        if status in _WITH_PAGE and not drop:
            body, truncated, received = await read_body(
                connection, headers, max_bytes, self._memory, pack=pack
            )
        else:
            truncated, received = await _drain(connection, self._memory)
        if truncated:
            connection.close()
        return Response(url, status, 0, headers, body, truncated=truncated, transferred=received)


def _lines(headers: Mapping[str, str]) -> bytes:
    """Return headers as they are sent.

    Raises:
        ValueError: One of them cannot be sent.
    """
    if not headers:
        return b""
    lines = ""
    for name, value in headers.items():
        if not value.isprintable() and _UNSAFE_VALUE.search(value):
            raise ValueError(name)
        lines += f"{_checked_name(name)}: {value}\r\n"
    return lines.encode()


@lru_cache(maxsize=256)
def _checked_name(name: str) -> str:
    if UNSAFE.search(name) or ":" in name or not name:
        raise ValueError(name)
    return name


def _check_tunnel(status: int) -> None:
    if status != _OK:
        raise ProxyError(f"the proxy answered {status}")


def _login(proxy: Proxy) -> dict[str, str]:
    """Return the credentials for a proxy."""
    if not proxy.user:
        return {}
    return {"Proxy-Authorization": basic_auth(f"{proxy.user}:{proxy.password}")}


class _Shown:
    """A request as it is logged: the path of a webhook may be a secret."""

    def __init__(self, url: str, body: bytes | None) -> None:
        self._text = url, body

    def __str__(self) -> str:
        url, body = self._text
        return f"GET {url}" if body is None else f"POST to {host_of(url)}"


async def _drain(connection: Connection, memory: MemoryBudget) -> tuple[bool, int]:
    """Read and discard an unwanted body, whether or not it is complete."""
    try:
        _, truncated, received = await read_body(connection, (), MAX_DRAINED, memory)
    except IncompleteBodyError:
        return True, 0
    return truncated, received
