"""Run visits concurrently: pages are queued by host, and visited as hosts and connections allow."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, final

from recrawl.clock import Clock
from recrawl.content.comparison import failed
from recrawl.crawler.host_queues import MAX_WAIT, HostQueues
from recrawl.crawler.settings import Settings
from recrawl.crawler.visit import Visitor
from recrawl.errors import RecrawlError
from recrawl.http.host_pacing import HostPacing
from recrawl.records import Outcome, Page, Response, Visit

LOGGER = logging.getLogger("recrawl.crawler")

#: Pages whose robots.txt is fetched ahead, per connection.
PREPARING_PER_CONNECTION = 64
#: Real seconds that visits in flight have to finish when the crawl stops.
GRACE = 3.0


class PacedVisit(NamedTuple):
    """A visit, and what it means for the pace of its host.

    Attributes:
        visit: The visit.
        delay: Seconds between two requests to the host.
        pause: Seconds for which the host's pages are left alone; 0 for none.
        dropped: The numbers of the host's queued pages that are not visited because of the pause.
    """

    visit: Visit
    delay: float
    pause: float = 0.0
    dropped: tuple[int, ...] = ()


class Events(NamedTuple):
    """Callbacks from visits to the crawl.

    Attributes:
        found: Called with each visit.
        wake: Called when there may be something to do: pages to add, visits to start.
        is_full: Whether so much is unwritten that nothing should be visited.
        released: Called with the numbers of pages that will not be visited after all.
    """

    found: Callable[[PacedVisit], object]
    wake: Callable[[], object]
    is_full: Callable[[], bool]
    released: Callable[[Sequence[int]], object] = lambda _pages: None


class Visits(Protocol):
    """Where pages are visited: in this process (`Visiting`) or in others (`FetchProcesses`)."""

    @property
    def in_flight(self) -> int:
        """How many visits are in flight."""

    @property
    def opens_at(self) -> float:
        """When the next host with a queued page may be visited, by the crawl's clock."""

    @property
    def failed(self) -> BaseException | None:
        """An error that ends the crawl: visits cannot be made, and no server is to blame."""

    def wanted(self) -> int:
        """Return how many pages to add now."""

    def add(self, page: Page) -> bool:
        """Let a page wait for its visit; return whether its host has as many as it may have."""

    def start(self) -> None:
        """Start visits to queued pages, as far as hosts and connections allow."""

    def delay_of(self, host: str) -> float:
        """Return the seconds between two requests to a host."""

    def outages(self, now: int) -> Mapping[str, int]:
        """Return hosts and folders whose pages are all not found, and how many of them lately."""

    async def end(self) -> int:
        """Start nothing more, wait for what is in flight, and return how many visits are lost.

        Raises:
            Exception: A visit failed, and no server is to blame.
        """

    def cancel(self) -> None:
        """Cancel whatever is still in flight."""


@final
class Visiting:
    """Visits pages in this process, as many at a time as there are connections.

    Args:
        visitor: Visits pages.
        settings: How many connections there are.
        pacing: Decides how many pages of a host may be in flight, and when to back off.
        clock: The clock for delays.
        ahead: Returns what to await before a URL is fetched, which takes none of the crawl's
            connections; None for nothing.
        events: The crawl's callbacks.
    """

    def __init__(
        self,
        visitor: Visitor,
        settings: Settings,
        pacing: HostPacing,
        clock: Clock,
        ahead: Callable[[str], Callable[[], Awaitable[None]] | None],
        events: Events,
    ) -> None:
        self._visitor = visitor
        self._connections = settings.connections
        self._pacing = pacing
        self._clock = clock
        self._found, self._wake, self._is_full = events.found, events.wake, events.is_full
        self._ahead = ahead
        self._queues = HostQueues(
            pacing,
            settings.connections,
            settings.host_connections,
            max_wait=clock.passing(MAX_WAIT),
            now=clock.seconds,
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._preparing: set[asyncio.Task[None]] = set()
        self._prepared: set[int] = set()
        self._failed: BaseException | None = None
        self._is_ending = False

    @property
    def in_flight(self) -> int:
        """How many visits are in flight."""
        return len(self._tasks)

    @property
    def failed(self) -> BaseException | None:
        """What a visit raised; no server is to blame."""
        return self._failed

    @property
    def opens_at(self) -> float:
        """When the next host with a queued page may be visited, by the crawl's clock."""
        return self._queues.opens_at

    def wanted(self) -> int:
        """Return how many pages to add now."""
        return self._queues.wanted(len(self._tasks))

    def add(self, page: Page) -> bool:
        """Let a page wait for its visit; return whether its host has as many as it may have."""
        self._queues.add(page)
        return self._queues.is_full(page.host)

    def start(self) -> None:
        """Visit queued pages while there are connections."""
        while len(self._tasks) < self._connections:
            page = self._next_page()
            if page is None:
                return
            self._start(self._visit(page), self._tasks)

    def delay_of(self, host: str) -> float:
        """Return the seconds between two requests to a host."""
        return self._pacing.delay_of(host)

    def outages(self, now: int) -> Mapping[str, int]:
        """Return hosts and folders whose pages are all not found, and how many of them lately."""
        return self._visitor.outages.current(now)

    async def end(self) -> int:
        """Start nothing more, wait for what is in flight, and return how many visits are lost."""
        self._is_ending = True
        late: set[asyncio.Task[None]] = set()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=GRACE)
            for task in late:
                task.cancel()
        if self._failed is not None:
            raise self._failed
        return len(late)

    def cancel(self) -> None:
        """Cancel whatever is still in flight."""
        self._is_ending = True
        for task in (*self._tasks, *self._preparing):
            task.cancel()

    def _start(self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> None:
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._preparing.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failed = self._failed or task.exception()
            self._wake()

    def _next_page(self) -> Page | None:
        """Return the next page to visit now, or None; others are prepared on the way.

        Nothing is visited while too much is unwritten.
        """
        while not self._is_ending and not self._is_full():
            page = self._queues.next()
            if page is None:
                return None
            ahead = None if self._is_prepared(page) else self._ahead(page.url)
            if ahead is None:
                return page
            self._start(self._prepare(page, ahead), self._preparing)
        return None

    def _is_prepared(self, page: Page) -> bool:
        """Whether a page need not be prepared: it has been, or too many others are in progress."""
        if page.number in self._prepared:
            self._prepared.discard(page.number)
            return True
        return len(self._preparing) >= PREPARING_PER_CONNECTION * self._connections

    async def _prepare(self, page: Page, ahead: Callable[[], Awaitable[None]]) -> None:
        """Await what a visit would wait for, without a connection; then the page is next."""
        try:
            await ahead()
        finally:
            self._queues.done(page.host)
            self._wake()
        self._prepared.add(page.number)
        self._queues.add_first(page)

    async def _visit(self, first: Page) -> None:
        """Visit a page, then others as long as there are any: a task for each would cost more."""
        page: Page | None = first
        while page is not None:
            try:
                visit = await self._visited(page)
            finally:
                self._queues.done(page.host)
                # While all connections are in use and pages are queued, the loop has nothing to do.
                if self._queues.wants_more or len(self._tasks) < self._connections:
                    self._wake()
            self._found(self._paced(page.host, visit))
            page = self._next_page()
        self._wake()

    async def _visited(self, page: Page) -> Visit:
        """Visit a page; an error that nobody expected is a failed visit, and is logged."""
        try:
            return await self._visitor.visit(page)
        except (RecrawlError, MemoryError):
            # Other pages would meet it, too.
            raise
        except Exception as error:
            LOGGER.exception("the visit to page %d, %s, met a defect", page.number, page.url)
            problem = f"the visit met a defect of recrawl: {type(error).__name__}"
            response = Response(page.url, 0, self._clock.now(), error=problem)
            after = failed(page, problem).page
            return Visit(after, Outcome.FAILED, response, previous=page.last_visit)

    def _paced(self, host: str, visit: Visit) -> PacedVisit:
        """Return a visit with the pace of its host."""
        delay = self._pacing.delay_of(host)
        pause = self._pacing.backoff(host, visit.response)
        self._queues.release()
        if not pause:
            return PacedVisit(visit, delay)
        dropped = tuple(page.number for page in self._queues.drop(host))
        self._prepared.difference_update(dropped)
        return PacedVisit(visit, delay, pause, dropped)
