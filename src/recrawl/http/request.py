"""The HTTP client: one request and its response, within limits of time, bytes and connections."""

import asyncio
import logging
import time
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

import aiohttp
from aiohttp import ClientTimeout, DummyCookieJar
from yarl import URL

from recrawl.hosts import host_of
from recrawl.http.access import Proxy, basic_auth
from recrawl.http.address_guard import ATTEMPT, KEEP_ALIVE, Attempt
from recrawl.http.bodies import BrokenBodyError, read_body
from recrawl.http.headers import decoded
from recrawl.http.limits import Limits
from recrawl.http.memory_budget import MemoryBudget
from recrawl.records import PRIVATE, Response

if TYPE_CHECKING:
    from aiohttp import ClientHandlerType, ClientRequest, ClientResponse, TCPConnector

#: Bytes of an unwanted body, such as an error page, read so that the connection can be reused.
MAX_DRAINED = 65_536

#: The error of a request whose connection was dropped.
DROPPED = "the connection was closed before the response"

#: Everything a server or the network can do to a request.
_FAILURES = (aiohttp.ClientError, OSError, BrokenBodyError, ValueError, RuntimeError)

#: The statuses that come with a whole page; not those with no content or a part of it.
_WITH_PAGE = frozenset({200, 201, 202, 203})

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


class DroppedError(aiohttp.ClientError):
    """The server closed the connection before it responded.

    A class of its own keeps aiohttp from retrying by itself, uncounted and without a delay.
    """


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
        self, agent: str, limits: Limits, connector: "TCPConnector", memory: MemoryBudget
    ) -> None:
        self.connector = connector
        self._limits = limits
        self._memory = memory
        self._slots = asyncio.Semaphore(limits.connections)
        self._idle = _IdleConnections(limits.idle_connections)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers={
                "User-Agent": agent,
                "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
                "Accept-Encoding": "gzip, deflate",
            },
            cookie_jar=_NoCookies(),
            timeout=ClientTimeout(
                total=None, sock_connect=limits.connect_timeout, sock_read=limits.read_timeout
            ),
            auto_decompress=False,
            max_line_size=limits.max_header_bytes,
            max_field_size=limits.max_header_bytes,
            max_headers=limits.max_headers,
            middlewares=(_without_retry,),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def get(
        self,
        url: str,
        headers: dict[str, str],
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
        attempt = Attempt()
        ATTEMPT.set(attempt)
        async with self._slots:
            login, arguments = _by(proxy, url)
            headers = {**headers, **login}
            if not self._idle.may_keep(host_of(url)):
                headers["Connection"] = "close"
            try:
                async with (
                    asyncio.timeout(self._limits.total_timeout),
                    self._session.get(
                        URL(url, encoded=True),
                        headers=headers or None,
                        allow_redirects=False,
                        **arguments,
                    ) as answer,
                ):
                    response = await _read(url, answer, max_bytes, self._memory, pack=pack)
            except _FAILURES as error:
                if isinstance(error, DroppedError) and not attempt.connected:
                    raise
                problem = _as_fetch_error(error, attempt, self._limits, proxy)
                _log.debug("GET %s failed: %s", url, problem)
                raise problem from None
        _log.debug("GET %s: %d, %d bytes", url, response.status, response.transferred)
        return response


class _ProxyArguments(TypedDict, total=False):
    proxy: str
    proxy_headers: dict[str, str]


def _by(proxy: Proxy | None, url: str) -> tuple[dict[str, str], _ProxyArguments]:
    """Return the headers and arguments that a request by a proxy has in addition."""
    if proxy is None:
        return {}, {}
    if not proxy.user:
        return {}, {"proxy": proxy.url}
    login = {"Proxy-Authorization": basic_auth(f"{proxy.user}:{proxy.password}")}
    # A request over https is for the site; only the one that opens the tunnel is for the proxy.
    if url.startswith("https:"):
        return {}, {"proxy": proxy.url, "proxy_headers": login}
    return login, {"proxy": proxy.url}


class _IdleConnections:
    """Limits the hosts to which an idle connection is kept open.

    Otherwise, a crawl of many hosts would run out of file descriptors.
    """

    def __init__(self, max_hosts: int) -> None:
        self._max_hosts = max_hosts
        self._used: OrderedDict[str, float] = OrderedDict()

    def may_keep(self, host: str) -> bool:
        """Whether a connection to a host may stay open after the next request."""
        used, now = self._used, time.monotonic()
        if host not in used:
            while used and next(iter(used.values())) < now - KEEP_ALIVE:
                used.popitem(last=False)
            if len(used) >= self._max_hosts:
                return False
        used[host] = now
        used.move_to_end(host)
        return True


class _NoCookies(DummyCookieJar):
    """Does not even parse cookies."""

    def update_cookies_from_headers(self, headers: object, response_url: URL) -> None:
        """Ignore them."""


async def _without_retry(
    request: "ClientRequest", handler: "ClientHandlerType"
) -> "ClientResponse":
    """Keep aiohttp from retrying by itself: that would be neither counted nor delayed."""
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise DroppedError from error


async def _read(
    url: str, answer: "ClientResponse", max_bytes: int, memory: MemoryBudget, *, pack: bool
) -> Response:
    """Read a response; if it is not a page, just enough to reuse the connection."""
    body, encoding = None, answer.headers.get("Content-Encoding")
    if answer.status in _WITH_PAGE:
        body, truncated, received = await read_body(
            answer.content, encoding, max_bytes, memory, host_of(url), pack=pack
        )
    else:
        truncated, received = await _drain(answer, memory)
    if truncated:
        answer.close()
    return Response(
        url,
        answer.status,
        0,
        decoded(answer.raw_headers),
        body,
        truncated=truncated,
        transferred=received,
    )


async def _drain(answer: "ClientResponse", memory: MemoryBudget) -> tuple[bool, int]:
    """Read and discard an unwanted body, whether or not it is complete."""
    try:
        _, truncated, received = await read_body(answer.content, None, MAX_DRAINED, memory)
    except aiohttp.ClientPayloadError:
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
    known = str(error) if isinstance(error, BrokenBodyError) else None
    if proxy is not None:
        known = known or _proxy_trouble(error)
    if known is not None:
        return FetchError(known)
    for kind, words in _WORDS:
        if isinstance(error, kind):
            return FetchError(words.format(limits=limits))
    if isinstance(error, aiohttp.ClientConnectorError):
        return FetchError(f"no connection: {_reason(error.os_error)}")
    if isinstance(error, (DroppedError, OSError)):
        return FetchError(DROPPED)
    return FetchError("the request cannot be made")


def _proxy_trouble(error: Exception) -> str | None:
    """Describe an error of a proxy; None if it is none."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "no connection to the proxy: unknown host"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"no connection to the proxy: {_reason(error.os_error)}"
    return None


def _reason(error: OSError) -> str:
    """Return the operating system's message, worded for use inside a sentence."""
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    # The address that was tried follows in brackets.
    return (error.strerror or "").partition("[")[0].strip().lower() or "unreachable"


#: More specific exceptions come before more general ones.
_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ClientConnectorCertificateError, "the certificate is not valid"),
    (aiohttp.ClientConnectorSSLError, "no secure connection: the server does not speak TLS"),
    (aiohttp.ClientConnectorDNSError, "no connection: unknown host"),
    (aiohttp.ConnectionTimeoutError, "no connection within {limits.connect_timeout:g} s"),
    (aiohttp.SocketTimeoutError, "no data for {limits.read_timeout:g} s"),
    (TimeoutError, "timed out after {limits.total_timeout:g} s"),
    (aiohttp.ClientPayloadError, "the body is incomplete or broken"),
    (aiohttp.ClientResponseError, "the response is not valid HTTP"),
)
