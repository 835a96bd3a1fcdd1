"""Pages and files over HTTP, politely; whatever a server does becomes an `Response`."""

import asyncio
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from recrawl.errors import AddressError
from recrawl.http.address_guard import connector
from recrawl.http.errors import DroppedError, FetchError
from recrawl.http.gate import Gate, HostClosed
from recrawl.http.headers import conditions, location, retry_after
from recrawl.http.limits import Limits
from recrawl.http.memory_budget import MemoryBudget
from recrawl.http.request import HttpClient, Reply
from recrawl.http.robots import Robots
from recrawl.records import Page, Response, RobotsText, Validators
from recrawl.urls import canonical, host_of, redirected

if TYPE_CHECKING:
    from aiohttp import TCPConnector

#: How long a host is left alone, in seconds, that says "too many requests" and not for how long.
REST = 60.0

#: How many seconds the next hop of a redirect, or a robots.txt, waits for its turn at a host.
LONG_PATIENCE = 30.0

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_GONE = frozenset({404, 410})
_NOT_MODIFIED = 304
_TOO_MANY, _UNAVAILABLE = 429, 503


class Fetcher:
    """Fetches pages: robots.txt first, then one request at a time, redirects by hand.

    ::

        fetch(page): for each hop
          what does the host allow?      robots     forbidden, or not known yet: an error
          is it the host's turn?         gate       not soon: an error, with the time to come again
          may we connect there?          connector  checked where the socket is made
          ask, with validators           aiohttp    no cookies, no credentials, no referrer
          read as much as is wanted      bodies     decompressed here, so that bombs are small
          a redirect: where to?          canonical  once more from the top

    Servers can do what they like: `fetch` raises nothing for it. To be used as an async context
    manager.

    Args:
        agent: The User-Agent: ``name/version (+https://where.to/complain)``.
        gate: Who may be asked when.
        limits: What a fetch may take.
        allow_private: Whether addresses that are not public may be connected to.
        max_delay: The longest delay that a robots.txt can ask for, in seconds.
        recall: Gives the robots.txt that was found in an earlier run.
        remember: Is given every robots.txt found.
        connect: What connects, if not `recrawl.http.address_guard.connector`.

    Attributes:
        gate: The gate.
        limits: The limits.
        robots: What hosts allow; counts its requests itself.
        files: Requests made by `fetch_file`.
        room: Where long bodies have to fit in while they are read. Whoever keeps bodies for longer
            should say so, with `MemoryBudget.hold`.
        asker: What makes the requests, while the fetcher is open.
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
        connect: "Callable[[], TCPConnector] | None" = None,
    ) -> None:
        self.gate = gate
        self.files = 0
        self.room = MemoryBudget()
        # Files that never come must not take the connections of hosts whose rules are known.
        self._reading_rules = asyncio.Semaphore(max(limits.connections // 2, 1))
        self.robots = Robots(
            self._robots_file,
            agent,
            recall=recall,
            remember=remember,
            max_delay=max_delay,
            patience=gate.patience,
        )
        self._agent = agent
        self.limits = limits
        self._connect = connect or (
            lambda: connector(allow_private=allow_private, connections=limits.connections)
        )

    async def __aenter__(self) -> Self:
        self.asker = HttpClient(self._agent, self.limits, self._connect(), self.room)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.robots.close()
        await self.asker.close()

    async def fetch(self, page: Page, *, conditional: bool = True) -> Response:
        """Fetch a page; where there is a copy, only if it is another version than that.

        Args:
            page: What to fetch.
            conditional: Whether "not modified" is a welcome response.
        """
        asked = conditions(page.validators) if conditional and page.body else {}
        return await _Errand(self, page.url, asked, self.limits.max_bytes).run()

    async def fetch_file(
        self, url: str, max_bytes: int, validators: Validators | None = None
    ) -> Response:
        """Fetch a file that hosts offer to crawlers, such as a sitemap; robots.txt is not asked.

        Args:
            url: Its address, canonical.
            max_bytes: How much of it is wanted, after decompression.
            validators: What to ask with, where there is a copy.
        """
        asked = {} if validators is None else conditions(validators)
        response = await _Errand(self, url, asked, max_bytes, file=True).run()
        self.files += response.requests
        return response

    async def _robots_file(self, url: str, max_bytes: int) -> Response:
        """Fetch a robots.txt."""
        async with self._reading_rules:
            return await _Errand(self, url, {}, max_bytes, file=True).run()


class _Errand:
    """One fetch on its way through redirects, and what it has cost so far."""

    __slots__ = (
        "_asked",
        "_fetcher",
        "_file",
        "_max_bytes",
        "_requests",
        "_seconds",
        "_seen",
        "_start",
        "_transferred",
        "_url",
    )

    def __init__(
        self,
        fetcher: Fetcher,
        url: str,
        asked: dict[str, str],
        max_bytes: int,
        *,
        file: bool = False,
    ) -> None:
        self._fetcher = fetcher
        self._url = self._start = url
        self._asked = asked
        self._max_bytes = max_bytes
        self._file = file
        self._seen: set[str] | None = None
        self._requests = self._transferred = 0
        self._seconds = 0.0

    async def run(self) -> Response:
        """Fetch; whatever goes wrong is in the response."""
        try:
            reply = await self._follow()
            self._check(reply)
        except HostClosed as closed:
            problem = f"{host_of(self._url)} is left alone for now"
            postponed = not self._requests
            return self._answer(
                FetchError(problem, retry_after=closed.seconds, postponed=postponed)
            )
        except DroppedError:
            return self._answer(FetchError("the connection was closed before the response"))
        except FetchError as failure:
            return self._answer(failure)
        return Response(
            url=self._final(),
            status=reply.status,
            at=time.time_ns() // 1000,
            headers=reply.headers,
            body=reply.body,
            truncated=reply.truncated,
            requests=self._requests,
            transferred=self._transferred,
            seconds=self._seconds,
        )

    def _answer(self, failure: FetchError) -> Response:
        """Make a response of a failure."""
        return Response(
            url=self._final(),
            status=failure.status,
            at=time.time_ns() // 1000,
            headers=failure.headers,
            requests=self._requests,
            transferred=self._transferred,
            seconds=self._seconds,
            error=str(failure),
            retry_after=failure.retry_after,
            permanent=failure.permanent,
            postponed=failure.postponed,
        )

    def _final(self) -> str:
        """Give where redirects have led to."""
        return self._url if self._seen is None else canonical(self._url)

    async def _follow(self) -> Reply:
        """Ask, and go wherever that leads, until it leads nowhere else."""
        while True:
            if not self._file:
                await self._admit()
            try:
                reply = await self._ask()
            except DroppedError:
                # A connection had been kept on which nobody was listening any more.
                reply = await self._ask()
            self._transferred += reply.received
            if reply.status not in _REDIRECTS:
                return reply
            self._go(reply)

    async def _admit(self) -> None:
        """Ask robots.txt whether the page may be fetched, and how fast."""
        rules = await self._fetcher.robots.rules(self._url)
        if rules.problem is not None:
            raise FetchError(
                rules.problem,
                retry_after=rules.retry_after,
                permanent=rules.permanent,
                postponed=rules.pending and not self._requests,
            )
        if not rules.allows(self._url):
            raise FetchError("robots.txt forbids it", permanent=True)
        self._fetcher.gate.slow(host_of(self._url), rules.delay)

    async def _ask(self) -> Reply:
        """Make a request when it is the host's turn."""
        # Whoever has spent something already, or asks for many, waits longer.
        patience = LONG_PATIENCE if self._file or self._requests else None
        # What one host said to know a version by is not told to another.
        headers = self._asked if self._is_at_home() else {}
        async with self._fetcher.gate.turn(host_of(self._url), patience):
            begun = time.perf_counter()
            self._requests += 1
            try:
                return await self._fetcher.asker.ask(self._url, headers, self._max_bytes)
            except FetchError as failure:
                # What we do not connect to was not asked.
                self._requests -= failure.permanent
                raise
            finally:
                self._seconds += time.perf_counter() - begun

    def _is_at_home(self) -> bool:
        """Whether redirects have led to no other host."""
        return self._url is self._start or host_of(self._url) == host_of(self._start)

    def _go(self, reply: Reply) -> None:
        """Turn to where a redirect leads."""
        where = reply.header("location")
        if where is None:
            raise self._failed(reply, f"the server answered {reply.status} without a Location")
        try:
            target = redirected(self._url, location(where))
            canonical(target)
        except AddressError as error:
            raise self._failed(reply, f"redirected to what is no page: {error}") from None
        if self._seen is None:
            self._seen = {self._url}
        if target in self._seen:
            raise self._failed(reply, "redirected in a circle")
        self._seen.add(target)
        if len(self._seen) > self._fetcher.limits.max_redirects + 1:
            raise self._failed(reply, f"redirected more than {len(self._seen) - 2} times")
        self._url = target

    def _check(self, reply: Reply) -> None:
        """Refuse what is neither a page nor the news that there is none."""
        status = reply.status
        if reply.body is not None or status in _GONE:
            return
        if status == _NOT_MODIFIED and self._asked and self._is_at_home():
            return
        wait = None
        if status in {_TOO_MANY, _UNAVAILABLE}:
            wait = retry_after(reply.header("retry-after"), time.time())
            if wait is None and status == _TOO_MANY:
                wait = REST
            if wait is not None:
                self._fetcher.gate.close(host_of(self._url), wait)
        raise self._failed(reply, f"the server answered {status}", wait)

    def _failed(self, reply: Reply, problem: str, wait: float | None = None) -> FetchError:
        """Make an error of a response."""
        return FetchError(problem, status=reply.status, retry_after=wait, headers=reply.headers)
