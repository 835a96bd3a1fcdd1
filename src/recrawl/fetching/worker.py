"""The worker: it visits queued pages concurrently, as hosts and connections allow."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, final

from recrawl.content.comparison import failed
from recrawl.engine.host_queue import HostQueue
from recrawl.engine.lessee import Events
from recrawl.errors import RecrawlError
from recrawl.fetching.visit import Visitor
from recrawl.records import Outcome, Page, Response, Visit

LOGGER = logging.getLogger("recrawl.crawler")

#: Pages whose robots.txt is fetched ahead, per connection.
PREPARING_PER_CONNECTION = 64
#: Real seconds that visits in flight have to finish when the crawl stops.
GRACE = 3.0


@final
class Worker:
    """Visits queued pages in this process, as many at a time as there are connections.

    Args:
        visitor: Visits pages.
        queue: The pages to visit.
        connections: How many visits may be in flight.
        ahead: Returns what to await before a URL is fetched, which takes none of the crawl's
            connections; None for nothing.
        events: Callbacks to whoever fills the queue.
        now: Returns the present, in microseconds.
    """

    def __init__(
        self,
        visitor: Visitor,
        queue: HostQueue,
        connections: int,
        ahead: Callable[[str], Callable[[], Awaitable[None]] | None],
        events: Events,
        now: Callable[[], int],
    ) -> None:
        self._now = now
        self._visitor = visitor
        self._queue = queue
        self._connections = connections
        self._found, self._wake, self._is_full = events
        self._ahead = ahead
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
        return self._queue.opens_at

    def wanted(self) -> int:
        """Return how many pages to queue now."""
        return self._queue.wanted(len(self._tasks))

    def start(self) -> None:
        """Visit queued pages while there are connections."""
        while len(self._tasks) < self._connections:
            page = self._next_page()
            if page is None:
                return
            self._start(self._visit(page), self._tasks)

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
            page = self._queue.next()
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
            self._queue.done(page.host)
            self._wake()
        self._prepared.add(page.number)
        self._queue.add_first(page)

    async def _visit(self, first: Page) -> None:
        """Visit a page, then others as long as there are any: a task for each would cost more."""
        page: Page | None = first
        while page is not None:
            try:
                visit = await self._visited(page)
            finally:
                self._queue.done(page.host)
                # While all connections are in use and pages are queued, the loop has nothing to do.
                if self._queue.wants_more or len(self._tasks) < self._connections:
                    self._wake()
            self._prepared.difference_update(self._found(visit))
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
            response = Response(page.url, 0, self._now(), error=problem)
            after = failed(page, problem).page
            return Visit(after, Outcome.FAILED, response, previous=page.last_visit)
