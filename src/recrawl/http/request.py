"""The HTTP client: one request and its response, within limits of time, bytes and connections."""

import asyncio
import logging
import re
import ssl
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple, final

from recrawl.hosts import DEFAULT_PORTS, host_of
from recrawl.http.access import Proxy, basic_auth
from recrawl.http.bodies import BrokenBodyError, read_body
from recrawl.http.connection import (
    Connection,
    ConnectionDroppedError,
    IncompleteBodyError,
    InvalidResponseError,
    ReadTimeoutError,
)
from recrawl.http.connector import Attempt, Connector, UnknownHostError
from recrawl.http.headers import decoded
from recrawl.http.limits import Limits
from recrawl.http.memory_budget import MemoryBudget
from recrawl.records import PRIVATE, Response

#: Bytes of an unwanted body, such as an error page, read so that the connection can be reused.
MAX_DRAINED = 65_536

#: Seconds that an idle connection is kept open.
KEEP_ALIVE: Final = 15.0

#: The error of a request whose connection was dropped.
DROPPED = "the connection was closed before the response"

#: Everything a server or the network can do to a request.
_FAILURES = (
    OSError,
    BrokenBodyError,
    IncompleteBodyError,
    InvalidResponseError,
    ValueError,
    RuntimeError,
)

#: The statuses that come with a whole page; not those with no content or a part of it.
_WITH_PAGE = frozenset({200, 201, 202, 203})
_OK = 200
#: What a request line and a header must not hold: whoever could write it would write requests.
_UNSAFE_TARGET = re.compile(r"[^\x21-\x7e]")
_UNSAFE_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

_log = logging.getLogger(__package__)


class FetchError(Exception):
    """A fetch failed.

    Args:
        error: Why, in a few words.
        response: The server's response, if there was one.
        retry_after: Seconds until it is worth trying again, if known.
        permanent: Whether trying again is pointless.
        postponed: Whether no request was made because it was too soon.

    Attributes:
        response: The failure as a response.
    """

    def __init__(
        self,
        error: str,
        response: Response | None = None,
        *,
        retry_after: float | None = None,
        permanent: bool = False,
        postponed: bool = False,
    ) -> None:
        self.response = replace(
            response or Response("", 0, at=0),
            truncated=False,
            error=error,
            retry_after=retry_after,
            permanent=permanent,
            postponed=postponed,
        )
        super().__init__(error)


class DroppedError(Exception):
    """The server closed a connection that was kept open, before it responded: try another."""


class ConnectError(Exception):
    """A connection could not be opened in time."""


class ProxyError(Exception):
    """A proxy did not do what it was asked for; the message says what it did."""


class Target(NamedTuple):
    """Where a request goes.

    Attributes:
        is_secure: Whether over TLS.
        host: The name to connect to, without brackets.
        port: The port.
        authority: Host and port as they are written in requests.
        path: Path and query.
    """

    is_secure: bool
    host: str
    port: int
    authority: str
    path: str


def target_of(url: str) -> Target:
    """Return where a URL leads.

    Raises:
        ValueError: It cannot be requested.

    >>> target_of("https://example.org/a?b=1#c")
    Target(is_secure=True, host='example.org', port=443, authority='example.org', path='/a?b=1')
    """
    scheme, _, rest = url.partition("://")
    _, slash, path = rest.partition("#")[0].partition("/")
    target = slash + path or "/"
    if _UNSAFE_TARGET.search(target):
        raise ValueError(url)
    return Target(*_server(scheme, host_of(url)), target)


@lru_cache(maxsize=4096)
def _server(scheme: str, authority: str) -> tuple[bool, str, int, str]:
    if scheme not in DEFAULT_PORTS or _UNSAFE_TARGET.search(authority):
        raise ValueError(scheme)
    name, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        name, port = authority, str(DEFAULT_PORTS[scheme])
    return scheme == "https", name.strip("[]"), int(port), authority


@final
class HttpClient:
    """Makes requests, with no cookies, credentials or referrer but those given, and no retries.

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
        self._slots = asyncio.Semaphore(limits.connections)
        self._idle = _IdleConnections(limits.idle_connections)
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

    async def get(
        self,
        url: str,
        headers: Mapping[str, str],
        max_bytes: int,
        proxy: Proxy | None = None,
        *,
        pack: bool = False,
    ) -> Response:
        """Make one request and read the response; whoever asks for it dates it.

        Args:
            url: The address; its host must be canonical.
            headers: Headers in addition to the usual ones.
            max_bytes: How much of the body to read, after decompression.
            pack: Whether to return a long body compressed with gzip.
            proxy: Makes the connection; None to connect directly.

        Raises:
            FetchError: There was no response, or it could not be read.
            DroppedError: A connection that had been kept open was closed without a response.
        """
        return await self._send(url, headers, max_bytes, proxy, pack=pack)

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, proxy: Proxy | None = None
    ) -> Response:
        """Send a body; return the response without its own. Redirects are not followed.

        Raises:
            FetchError: There was no response.
            DroppedError: A connection that had been kept open was closed without a response; the
                server may have received the body all the same.
        """
        return await self._send(url, headers, 0, proxy, body)

    async def _send(
        self,
        url: str,
        headers: Mapping[str, str],
        max_bytes: int,
        proxy: Proxy | None,
        body: bytes | None = None,
        *,
        pack: bool = False,
    ) -> Response:
        attempt = Attempt()
        # The path of a webhook may be a secret.
        shown = f"GET {url}" if body is None else f"POST to {host_of(url)}"
        async with self._slots:
            try:
                target = target_of(url)
                data = self._request_bytes(url, target, headers, proxy, body)
                response = await self._exchange(
                    url, target, data, max_bytes, proxy, attempt, pack=pack, drop=body is not None
                )
            except (*_FAILURES, ConnectError, ProxyError) as error:
                problem = _as_fetch_error(error, attempt, self._limits, proxy)
                _log.debug("%s failed: %s", shown, problem)
                raise problem from None
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("%s: %d, %d bytes", shown, response.status, response.transferred)
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
    ) -> Response:
        """Send a request on a connection that is kept open, or on a new one, and read on."""
        deadline = self._loop.time() + self._limits.total_timeout
        key = target.is_secure, target.authority, proxy and proxy.url
        connection = self._idle.take(key, self._loop.time())
        if connection is None:
            connection = await self._open(target, proxy, attempt, deadline)
        try:
            try:
                await connection.request(data, self._limits.read_timeout, deadline)
            except ConnectionDroppedError:
                if connection.requests > 1:
                    raise DroppedError from None
                raise
            response = await self._read(url, connection, max_bytes, deadline, pack=pack, drop=drop)
        except BaseException:
            connection.close()
            raise
        if connection.is_reusable:
            self._idle.keep(key, connection)
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
            # A request over https is for the site; only the one that opens the tunnel is for the
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
            await connection.request(
                start + _lines(_login(proxy)) + b"\r\n", self._limits.read_timeout, deadline
            )
            _check_tunnel(connection.status)
            return await self.connector.secure(connection, target.host, self._connection)
        except BaseException:
            connection.close()
            raise

    def _connection(self) -> Connection:
        return Connection(self._limits.max_headers, self._limits.max_header_bytes)

    async def _read(
        self,
        url: str,
        connection: Connection,
        max_bytes: int,
        deadline: float,
        *,
        pack: bool,
        drop: bool,
    ) -> Response:
        """Read a response; if it is not a page, just enough to reuse the connection."""
        body, headers, status = None, decoded(connection.headers), connection.status
        if status in _WITH_PAGE and not drop:
            encoding = next((v for name, v in headers if name.lower() == "content-encoding"), None)
            body, truncated, received = await read_body(
                connection,
                encoding,
                max_bytes,
                self._memory,
                host_of(url),
                pack=pack,
                deadline=deadline,
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
    for name, value in headers.items():
        if _UNSAFE_VALUE.search(value) or _UNSAFE_TARGET.search(name) or ":" in name or not name:
            raise ValueError(name)
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()


def _check_tunnel(status: int) -> None:
    if status != _OK:
        raise ProxyError(f"the proxy answered {status}")


def _login(proxy: Proxy) -> dict[str, str]:
    """Return the credentials for a proxy."""
    if not proxy.user:
        return {}
    return {"Proxy-Authorization": basic_auth(f"{proxy.user}:{proxy.password}")}


_Key = tuple[bool, str, str | None]


@final
class _IdleConnections:
    """Connections that are kept open, for at most so many servers.

    Otherwise, a crawl of many hosts would run out of file descriptors.
    """

    def __init__(self, max_servers: int) -> None:
        self._max_servers = max_servers
        self._kept: OrderedDict[_Key, list[Connection]] = OrderedDict()
        self._sweep: asyncio.TimerHandle | None = None

    def take(self, key: _Key, now: float) -> Connection | None:
        """Return an open connection to a server, the one used last; None if there is none."""
        kept = self._kept.get(key)
        while kept:
            connection = kept.pop()
            if connection.is_reusable and connection.used_at > now - KEEP_ALIVE:
                return connection
            connection.close()
        if kept is not None:
            del self._kept[key]
        return None

    def keep(self, key: _Key, connection: Connection) -> None:
        """Keep a connection open, and close those of a server that was not asked for long."""
        self._kept.setdefault(key, []).append(connection)
        self._kept.move_to_end(key)
        if len(self._kept) > self._max_servers:
            self._drop(next(iter(self._kept)))
        if self._sweep is None:
            loop = asyncio.get_running_loop()
            self._sweep = loop.call_later(KEEP_ALIVE, self._close_old, loop)

    def close(self) -> None:
        """Close all."""
        if self._sweep is not None:
            self._sweep.cancel()
        for key in list(self._kept):
            self._drop(key)

    def _drop(self, key: _Key) -> None:
        for connection in self._kept.pop(key):
            connection.close()

    def _close_old(self, loop: asyncio.AbstractEventLoop) -> None:
        self._sweep = None
        oldest = loop.time() - KEEP_ALIVE
        for key, kept in list(self._kept.items()):
            fresh = [one for one in kept if one.is_reusable and one.used_at > oldest]
            for connection in kept:
                if connection not in fresh:
                    connection.close()
            self._kept[key] = fresh
            if not fresh:
                del self._kept[key]
        if self._kept:
            self._sweep = loop.call_later(KEEP_ALIVE, self._close_old, loop)


async def _drain(connection: Connection, memory: MemoryBudget) -> tuple[bool, int]:
    """Read and discard an unwanted body, whether or not it is complete."""
    try:
        _, truncated, received = await read_body(connection, None, MAX_DRAINED, memory)
    except IncompleteBodyError:
        return True, 0
    return truncated, received


def _as_fetch_error(
    error: Exception, attempt: Attempt, limits: Limits, proxy: Proxy | None
) -> FetchError:
    """Describe why a request failed."""
    if attempt.refused is not None and not attempt.connected:
        which, use = ("the address", "crawl") if proxy is None else ("the proxy's address", "use")
        return FetchError(
            f"{which} {attempt.refused} {PRIVATE} to {use} it",
            permanent=True,
        )
    if isinstance(error, (BrokenBodyError, ProxyError)):
        return FetchError(str(error))
    to_proxy = " to the proxy" if proxy is not None and not attempt.connected else ""
    if isinstance(error, UnknownHostError):
        return FetchError(f"no connection{to_proxy}: unknown host")
    for kind, words in _WORDS:
        if isinstance(error, kind):
            return FetchError(words.format(limits=limits))
    if isinstance(error, OSError):
        by = " to the proxy" if proxy is not None else ""
        return FetchError(f"no connection{by}: {_reason(error)}")
    return FetchError("the request cannot be made")


def _reason(error: OSError) -> str:
    """Return the operating system's message, worded for use inside a sentence."""
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    # The address that was tried follows in brackets.
    return (error.strerror or "").partition("[")[0].strip().lower() or "unreachable"


#: More specific exceptions come before more general ones.
_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (ssl.SSLCertVerificationError, "the certificate is not valid"),
    (ssl.SSLError, "no secure connection: the server does not speak TLS"),
    (ConnectError, "no connection within {limits.connect_timeout:g} s"),
    (ReadTimeoutError, "no data for {limits.read_timeout:g} s"),
    (TimeoutError, "timed out after {limits.total_timeout:g} s"),
    (IncompleteBodyError, "the body is incomplete or broken"),
    (InvalidResponseError, "the response is not valid HTTP"),
    (ConnectionDroppedError, DROPPED),
)
