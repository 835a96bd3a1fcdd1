"""Fetch pages and files politely; whatever a server does becomes a `Response`."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, Self

from recrawl.challenges import challenge_in_headers
from recrawl.errors import AddressError
from recrawl.hosts import host_of, is_same_site
from recrawl.http.access import NO_ACCESS, SESSION_HEADERS, Access, is_private_name
from recrawl.http.connector import Connector
from recrawl.http.failures import DROPPED, DroppedError, FetchError
from recrawl.http.gate import Gate, HostClosed
from recrawl.http.headers import conditions, location, retry_after
from recrawl.http.limits import Limits
from recrawl.http.media_types import file_type
from recrawl.http.memory_budget import MemoryBudget
from recrawl.http.request import HttpClient
from recrawl.http.robots import ROBOTS, Robots, Rules
from recrawl.records import (
    DISALLOWED,
    NOT_A_PAGE,
    PRIVATE,
    Page,
    Response,
    RobotsText,
    Validators,
)
from recrawl.urls import canonical, host_in, origin_of, redirected

#: Seconds that a redirect's next hop, or a robots.txt, waits for its turn at a host.
LONG_PATIENCE = 30.0
#: Redirects followed for a robots.txt, whatever the limit for pages: what RFC 9309 asks for.
ROBOTS_REDIRECTS = 5

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NOT_FOUND = frozenset({404, 410})
_SUCCESS = range(200, 300)
_TOO_MANY, _UNAVAILABLE = 429, 503


class Elsewhere(Protocol):
    """Forwards requests to other hosts than the page's, which others may be asking."""

    async def request(self, url: str, max_bytes: int, *, is_robots: bool, pack: bool) -> Response:
        """Forward a request to `Fetcher.fetch_hop` in another process."""


class Fetcher:
    """Fetches pages: robots.txt first, then one request at a time, following redirects itself.

    ::

        fetch(page): for each hop
          does robots.txt allow it?      robots         no, or not known yet: an error
          is it the host's turn?         gate           not soon: an error, with the delay
          may we connect there?          address_guard  checked as the socket is created
          request, with validators       request        cookies and credentials: to the page's host
          read up to the limit           bodies         decompressed here, a piece at a time
          a redirect?                    urls           start over with the next hop

    Servers can do what they like: `fetch` never raises because of them. Use as an async context
    manager.

    Args:
        agent: The User-Agent: ``name/version (+https://example.org/contact)``.
        gate: Decides when each host may be sent a request, and tells the time.
        limits: Limits on each fetch.
        allow_private: Whether to connect to addresses that are not public.
        max_delay: The longest delay honoured from a robots.txt, in seconds.
        recall: Returns the robots.txt that an earlier run found.
        remember: Called with each robots.txt found.
        access: Returns the headers, cookies, credentials and proxy for a URL. Redirects to another
            host, or from https to http, are followed without them, by the proxy of their own URL.
        connect: Returns a connector; by default, a `Connector`.
        elsewhere: Follows redirects to hosts of other processes; None if there are no others.
        memory: The memory budget of long bodies; by default, a new one.

    Attributes:
        gate: The gate.
        limits: The limits.
        robots: The rules of hosts; counts its requests itself.
        files: Requests made by `fetch_file`.
        memory: The memory budget of long bodies while they are read. Callers that keep bodies
            longer should count them, with `MemoryBudget.hold`.
        client: Makes the requests while the fetcher is open.
        access: As given.
        allow_private: As given.
        elsewhere: As given.
    """

    def __init__(
        self,
        agent: str,
        gate: Gate,
        *,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        allow_private: bool = False,
        max_delay: float = 30.0,
        recall: Callable[[str], RobotsText | None] = lambda _: None,
        remember: Callable[[str, RobotsText], None] = lambda *_: None,
        access: Callable[[str], Access] = lambda _: NO_ACCESS,
        connect: Callable[[], Connector] | None = None,
        elsewhere: Elsewhere | None = None,
        memory: MemoryBudget | None = None,
    ) -> None:
        self.gate = gate
        self.elsewhere = elsewhere
        self.access = access
        self.allow_private = allow_private
        self.limits = limits
        self.files = 0
        self.memory = memory or MemoryBudget()
        # Files that never arrive must not use up the connections for hosts with known rules.
        self._robots_slots = asyncio.Semaphore(max(limits.connections // 2, 1))
        self.robots = Robots(
            self._fetch_robots,
            agent,
            recall=recall,
            remember=remember,
            max_delay=max_delay,
            patience=gate.patience,
            clock=gate.clock,
        )
        self._agent = agent
        self._connect = connect or (
            lambda: Connector(allow_private=allow_private, dns_threads=limits.connections)
        )

    async def __aenter__(self) -> Self:
        self.client = HttpClient(self._agent, self.limits, self._connect(), self.memory)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.robots.close()
        await self.client.close()

    def fetch(self, page: Page, *, conditional: bool = True) -> Coroutine[Any, Any, Response]:
        """Fetch a page; if there is a copy, only if the server has a newer version.

        If it was found by following links, and there is no copy yet, its media type decides whether
        it is a page at all: if not, that is an error, and its body is not read.

        Args:
            page: The page.
            conditional: Whether to send the validators of the copy, so that the response may be
                "not modified".
        """
        headers = conditions(page.validators) if conditional and page.body else {}
        pages_only = page.depth > 0 and page.body is None
        limit = self.limits.max_bytes
        return _Fetch(self, page.url, headers, limit, pages_only=pages_only).run()

    async def fetch_file(
        self,
        url: str,
        max_bytes: int,
        validators: Validators | None = None,
        *,
        stay_on_site: bool = False,
    ) -> Response:
        """Fetch a file meant for crawlers, such as a sitemap, under the same rules as a page.

        The robots.txt of each host on the way is obeyed; the fetch waits longer for its turn. A
        long body is returned compressed with gzip, unless it is compressed already.

        Args:
            url: Its canonical address.
            max_bytes: How much to read, after decompression.
            validators: The validators of the copy, if there is one.
            stay_on_site: Whether a redirect to somebody else's host is an error.
        """
        headers = {} if validators is None else conditions(validators)
        fetch = _Fetch(
            self, url, headers, max_bytes, is_patient=True, stay_on_site=stay_on_site, pack=True
        )
        response = await fetch.run()
        self.files += response.requests
        return response

    async def fetch_hop(
        self, url: str, max_bytes: int, *, is_robots: bool = False, pack: bool = False
    ) -> Response:
        """Make one request for a redirect that another process follows, without following further.

        The rules and the pace of the host apply. No credentials are sent, as the fetch began at
        another host.

        Args:
            url: The target of the redirect.
            max_bytes: How much to read, after decompression.
            is_robots: Whether the fetch is for the robots.txt of another host.
            pack: Whether a long body is returned compressed.
        """
        return await _Fetch(
            self, url, {}, max_bytes, is_patient=True, is_robots=is_robots, pack=pack, is_hop=True
        ).run()

    def ahead(self, url: str) -> Callable[[], Awaitable[None]] | None:
        """Return a function that reads the robots.txt of a page's host; None if it is known.

        A fetch waits for it anyway; a caller with other work to do can wait for it beforehand.
        """
        return partial(self._read_ahead, url) if self.robots.known(url) is None else None

    async def _read_ahead(self, url: str) -> None:
        # Nothing else has to wait for this.
        rules = await self.robots.rules(url, LONG_PATIENCE)
        if rules.problem is None:
            self.gate.pacing.set_delay(host_of(url), rules.delay)

    async def named_sitemaps(self, url: str) -> tuple[str, ...] | None:
        """Return the sitemaps that the robots.txt of a URL's host names, as written there.

        None if the file cannot be read for now.
        """
        rules = await self.robots.rules(url)
        return rules.sitemaps if rules.problem is None else None

    async def _fetch_robots(self, url: str, max_bytes: int) -> Response:
        async with self._robots_slots:
            return await _Fetch(self, url, {}, max_bytes, is_patient=True, is_robots=True).run()


class _Fetch:
    """One fetch through its redirects, and its cost so far."""

    __slots__ = (
        "_conditions",
        "_fetcher",
        "_host",
        "_is_hop",
        "_is_patient",
        "_is_robots",
        "_is_trusted",
        "_max_bytes",
        "_pack",
        "_pages_only",
        "_requests",
        "_seconds",
        "_seen",
        "_start",
        "_stay_on_site",
        "_transferred",
        "_url",
    )

    def __init__(
        self,
        fetcher: Fetcher,
        url: str,
        headers: dict[str, str],
        max_bytes: int,
        *,
        is_patient: bool = False,
        is_robots: bool = False,
        stay_on_site: bool = False,
        pack: bool = False,
        is_hop: bool = False,
        pages_only: bool = False,
    ) -> None:
        self._fetcher = fetcher
        self._url = self._start = url
        self._host = host_in(url)
        self._conditions = headers
        self._max_bytes = max_bytes
        self._is_patient = is_patient
        self._is_robots = is_robots
        self._is_hop = is_hop
        self._is_trusted = not is_hop
        self._stay_on_site = stay_on_site
        self._pack = pack
        self._pages_only = pages_only
        self._seen: set[str] | None = None
        self._requests = self._transferred = 0
        self._seconds = 0.0

    async def run(self) -> Response:
        """Fetch; any failure is in the response."""
        try:
            response = await self._follow()
            self._check(response)
        except HostClosed as closed:
            problem = f"{self._host} may not be requested yet"
            response = FetchError(
                problem, retry_after=closed.seconds, postponed=not self._requests
            ).response
        except DroppedError:
            response = FetchError(DROPPED).response
        except FetchError as error:
            response = error.response
        # Not `replace`, which takes three times as long.
        return Response(
            self._url if self._seen is None else canonical(self._url),
            response.status,
            self._fetcher.gate.clock.now(),
            response.headers,
            response.body,
            response.truncated,
            self._requests,
            self._transferred,
            self._seconds,
            response.error,
            response.retry_after,
            response.permanent,
            response.postponed,
        )

    async def _follow(self) -> Response:
        """Make requests until one is not redirected."""
        while True:
            response = await self._next_response()
            self._transferred += response.transferred
            if response.status not in _REDIRECTS or self._is_hop:
                return response
            self._redirect(response)

    async def _next_response(self) -> Response:
        """Make the next request, if robots.txt allows it."""
        fetcher = self._fetcher
        if fetcher.elsewhere is not None and self._host != host_in(self._start):
            return await self._request_elsewhere(fetcher.elsewhere)
        if not self._is_robots or self._is_strange():
            self._admit(fetcher.robots.known(self._url) or await fetcher.robots.rules(self._url))
        try:
            return await self._request()
        except DroppedError:
            # The server had closed a connection that was kept open: retry once.
            return await self._request()

    async def _request_elsewhere(self, elsewhere: Elsewhere) -> Response:
        """Forward a request to the process that is responsible for the host."""
        response = await elsewhere.request(
            self._url, self._max_bytes, is_robots=self._is_robots, pack=self._pack
        )
        self._requests += response.requests
        self._seconds += response.seconds
        if response.error is None:
            return response
        self._transferred += response.transferred
        raise FetchError(
            response.error,
            response,
            retry_after=response.retry_after,
            permanent=response.permanent,
        )

    def _is_strange(self) -> bool:
        """Whether a robots.txt is redirected to what somebody else's robots.txt may disallow.

        That is every path of another origin except its own robots.txt.
        """
        origin = origin_of(self._url)
        is_own = not self._is_hop and origin == origin_of(self._start)
        return not is_own and self._url != origin + ROBOTS

    def _admit(self, rules: Rules) -> None:
        """Obey robots.txt: whether the page may be fetched, and how fast."""
        if rules.problem is not None:
            raise FetchError(
                rules.problem,
                retry_after=rules.retry_after,
                permanent=rules.permanent,
                postponed=rules.pending and not self._requests,
            )
        if not rules.allows(self._url):
            if self._is_robots:
                raise FetchError(f"redirected to a page that robots.txt of {self._host} disallows")
            raise FetchError(DISALLOWED, permanent=True)
        self._fetcher.gate.pacing.set_delay(self._host, rules.delay)

    async def _request(self) -> Response:
        """Make one request when it is the host's turn."""
        # A fetch that has made requests already, or that others wait for, is more patient.
        patience = LONG_PATIENCE if self._is_patient or self._requests else None
        # Validators from one host are not revealed to another.
        headers = self._conditions if self._is_same_host() else {}
        access = self._fetcher.access(self._url)
        extra: dict[str, str] = {}
        if access is not NO_ACCESS:
            self._check_proxied(access)
            if self._is_trusted:
                extra = access.headers_for(self._url, self._fetcher.gate.clock.now() / 1e6)
                headers = {**extra, **headers}
        gate = self._fetcher.gate
        if (turn := gate.start(self._host, patience)) is not None:
            await turn
        start = time.perf_counter()
        self._requests += 1
        try:
            response = await self._fetcher.client.get(
                self._url,
                headers,
                self._max_bytes,
                access.proxy,
                pack=self._pack,
                pages_only=self._pages_only,
            )
            return _without_session(response) if extra else response
        except FetchError as error:
            # An address that we refuse to connect to was not requested.
            self._requests -= error.response.permanent
            raise
        finally:
            self._seconds += time.perf_counter() - start
            gate.end(self._host)

    def _check_proxied(self, access: Access) -> None:
        """Reject a target that we would not connect to ourselves, before asking a proxy to."""
        if access.proxy is None or self._fetcher.allow_private or not is_private_name(self._url):
            return
        problem = f"the address {self._host} {PRIVATE} to crawl it"
        raise FetchError(problem, permanent=True)

    def _is_same_host(self) -> bool:
        """Whether redirects have not led to another host."""
        return self._url is self._start or self._host == host_in(self._start)

    def _redirect(self, response: Response) -> None:
        """Move on to the target of a redirect."""
        target = response.header("location")
        if target is None:
            problem = f"the server answered {response.status} without a Location"
            raise FetchError(problem, response)
        try:
            target = redirected(self._url, location(target))
            canonical(target)
        except AddressError as error:
            raise FetchError(f"redirected to an invalid address: {error}", response) from None
        host = host_of(target)
        start = host_in(self._start)
        if self._stay_on_site and not is_same_site(host, start):
            raise FetchError(f"redirected to another host, {host}", response)
        if self._seen is None:
            self._seen = {self._url}
        if target in self._seen:
            raise FetchError("redirected in a loop", response)
        limits = self._fetcher.limits
        if len(self._seen) > (ROBOTS_REDIRECTS if self._is_robots else limits.max_redirects):
            raise FetchError(f"redirected more than {len(self._seen) - 1} times", response)
        self._seen.add(target)
        # Headers for one host go to no other, and never unencrypted; nor are they resumed later.
        is_downgrade = self._url.startswith("https:") and target.startswith("http:")
        self._is_trusted &= host == start and not is_downgrade
        self._url, self._host = target, host

    def _check(self, response: Response) -> None:
        """Raise unless the response is a page, not found, or a "not modified" we asked for."""
        challenge = challenge_in_headers(response.headers)
        if challenge is not None:
            raise FetchError(challenge, replace(response, body=None))
        if self._pages_only and response.status in _SUCCESS:
            kind = file_type(response.headers)
            if kind is not None:
                file = replace(response, body=None)
                raise FetchError(f"{NOT_A_PAGE}: {kind}", file, permanent=True)
        if response.body is not None or response.status in _NOT_FOUND:
            return
        if self._is_hop and response.status in _REDIRECTS:
            return
        if response.is_not_modified and self._conditions and self._is_same_host():
            return
        backoff = None
        if response.status in {_TOO_MANY, _UNAVAILABLE}:
            requested = retry_after(
                response.header("retry-after"), self._fetcher.gate.clock.now() / 1e6
            )
            backoff = self._fetcher.gate.close_host(self._host, response.status, requested)
        raise FetchError(f"the server answered {response.status}", response, retry_after=backoff)


def _without_session(response: Response) -> Response:
    """Return a response without headers that may hold a session's secret."""
    kept = tuple(one for one in response.headers if one[0].lower() not in SESSION_HEADERS)
    return response if len(kept) == len(response.headers) else replace(response, headers=kept)
