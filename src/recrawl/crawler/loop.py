"""The crawl loop: it brings clock, network and store together, and decides nothing."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, final

from recrawl.clock import Clock
from recrawl.crawler.discovery import Discovery
from recrawl.crawler.frontier_memory import FrontierMemory
from recrawl.crawler.gauges import Gauges
from recrawl.crawler.host_queues import FULL_PAUSE, MAX_WAIT, HostQueues
from recrawl.crawler.load import CrawlFrontier, days
from recrawl.crawler.polling import MIN_NAP, Polling
from recrawl.crawler.record import BATCH, BATCH_SECONDS, Recorder
from recrawl.crawler.settings import Settings
from recrawl.crawler.stats import Stats
from recrawl.crawler.store_thread import StoreThread
from recrawl.crawler.visit import Visitor
from recrawl.crawler.waking import Waking
from recrawl.errors import RecrawlError
from recrawl.http.host_pacing import HostPacing
from recrawl.http.memory_budget import MemoryBudget
from recrawl.records import RESTING, Page, Visit
from recrawl.store.rows import Spent

LOGGER = logging.getLogger("recrawl.crawler")

#: Pages whose robots.txt is read ahead, per connection.
PREPARING_PER_CONNECTION = 64
#: Real seconds that visits in flight are given to end when the crawl stops.
GRACE = 3.0
#: Seconds between two runs of each periodic task, by the clock of the crawl...
EDITS_EVERY, SITEMAPS_EVERY, WAKING_EVERY = 1.0, 5.0, 60.0
#: ...and real ones, of those that write, or that somebody looks at.
KEEP_EVERY, PRICE_EVERY, TROUBLE_EVERY, WATCH_EVERY = 10.0, 5.0, 10.0, 0.5


@final
class Crawl:
    """Keep the copies fresh until stopped.

    ::

        step                     what it does                                     where it runs
        CrawlFrontier.take       the pages worth a visit now, within the budget   event loop
        Storing.pages            what the store knows about them                  store thread
        HostQueues.add, next     hosts take turns; HostPacing limits visits       event loop
        Fetcher.ahead            robots.txt of a host that is new, read ahead     event loop
        Visitor.visit            one visit, of which many are in flight:
          Fetching.fetch           through the gate, at the pace of HostPacing    event loop
          read_response            compared with the copy, searched for links;    parse pool, if it
                                   a second fetch if need be                      is not harmless
        HostPacing.backoff       when the host may be visited again               event loop
        CrawlFrontier.defer      no page of the host before that                  event loop
        Templates.learn          what the pages of a host have in common          event loop
        Recorder.learn           visits teach the frontier -> beliefs             event loop
        Storing.record           log, beliefs, copies and templates in one        store thread
                                 transaction
        Discovery.learn          links of changed pages                           store thread

        and from time to time
        Discovery.apply_edits    what other processes changed in the store        store thread
        Discovery.read_sitemaps  new pages, and dates as evidence                 event loop, parse
                                                                                  pool, store thread
        Waking.wake              pages that are gone or refused, to look at again store thread
        FrontierMemory.keep      trust in signals, the activity of neighbours     store thread
        FrontierMemory           the price of a visit, for `recrawl status`       store thread
          .publish_price

    Visits run side by side; what they found is written in order, by one thread. Killed at any
    time, the crawl loses what was in flight and nothing that was written.

    Args:
        frontier: The frontier of the store's pages.
        visitor: Visits pages.
        store: Where everything is recorded.
        settings: The crawler's settings.
        pacing: Decides how many pages of a host may be in flight, and when to back off.
        discovery: Brings in pages and evidence.
        other_requests: Returns how many requests were made so far for robots.txt and for sitemaps.
        memory: Accounts for the bodies that wait to be written.
        ahead: Returns what to do, and wait for, before a URL is fetched; it needs no connection of
            the crawl's. None for nothing.
        clock: What budget, delays and periods go by.
        watch: Called with the stats from time to time.

    Attributes:
        stats: Counts of this run.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        visitor: Visitor,
        store: StoreThread,
        settings: Settings,
        *,
        pacing: HostPacing,
        discovery: Discovery,
        other_requests: Callable[[], tuple[int, int]],
        memory: MemoryBudget,
        ahead: Callable[[str], Callable[[], Awaitable[None]] | None] = lambda _url: None,
        clock: Clock | None = None,
        watch: Callable[[Stats], object] | None = None,
    ) -> None:
        self._frontier = frontier
        self._visitor = visitor
        self._store = store
        self._settings = settings
        self._pacing = pacing
        self._discovery = discovery
        self._other_requests = other_requests
        self._clock = clock = clock or Clock()
        self._watch = watch
        self._recorder = Recorder(
            frontier,
            store,
            memory,
            visitor.patience.gone_time,
            clock.passing,
            visitor.templates,
        )
        self._waking = Waking(frontier, store, settings.budget)
        self._memory = FrontierMemory(frontier, store)
        self._polling = Polling(clock)
        self._queues = HostQueues(
            pacing,
            settings.connections,
            settings.host_connections,
            max_wait=clock.passing(MAX_WAIT),
            now=clock.seconds,
        )
        self._ahead = ahead
        self._tasks: set[asyncio.Task[None]] = set()
        self._preparing: set[asyncio.Task[None]] = set()
        self._prepared: set[int] = set()
        self._failed: BaseException | None = None
        self._counted = (0, 0)
        self._lost = 0
        self._wake = asyncio.Event()
        self._stopping = asyncio.Event()
        self._drained = asyncio.Event()
        self.stats = Stats(frontier.loaded_at, settings.budget)
        self._gauges = Gauges(self.stats, frontier.frontier)

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Stop soon: start nothing new, and write what comes back within seconds."""
        self._stopping.set()
        self._wake.set()

    def delay_of(self, host: str) -> float:
        """Return the seconds between two requests to a host."""
        return self._pacing.delay_of(host)

    def set_budget(self, budget: float) -> None:
        """Change the requests per day from now on."""
        self._frontier.frontier.set_budget(budget, days(self._clock.now()))
        self._waking.set_budget(budget)
        self.stats.set_budget(budget, self._clock.now())

    async def run(self, seconds: float | None = None) -> Stats:
        """Crawl until stopped, or for some seconds of the crawl's clock."""
        await self._memory.publish_budget(self.stats.budget)
        pages, budget = len(self._frontier), self.stats.budget
        fields = {"event": "started", "pages": pages, "budget": budget}
        LOGGER.info(
            "started: %d pages, %g requests per day", pages, budget, extra={"fields": fields}
        )
        loop, clock, memory = asyncio.get_running_loop(), self._clock, self._memory
        timer = None if seconds is None else loop.call_later(clock.real(seconds), self.stop)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._fetch())
                group.create_task(self._record())
                group.create_task(self._every(EDITS_EVERY, self._discovery.apply_edits))
                group.create_task(self._every(SITEMAPS_EVERY, self._discovery.read_sitemaps))
                group.create_task(self._every(WAKING_EVERY, self._waking.wake))
                group.create_task(self._every(clock.passing(TROUBLE_EVERY), self._count_trouble))
                group.create_task(self._every(clock.passing(KEEP_EVERY), memory.keep))
                group.create_task(self._every(clock.passing(PRICE_EVERY), memory.publish_price))
                group.create_task(self._show())
        except* RecrawlError as failed:
            raise failed.exceptions[0] from None
        finally:
            if timer is not None:
                timer.cancel()
            self._store.close()
        self.refresh_stats(is_last=True)
        visits, requests = self.stats.visits, self.stats.requests
        fields = {"event": "stopped", "visits": visits, "requests": requests}
        LOGGER.info("stopped: %d visits, %d requests", visits, requests, extra={"fields": fields})
        return self.stats

    # Fetching

    async def _fetch(self) -> None:
        filling: asyncio.Task[None] | None = None
        try:
            while not self.stopping:
                self._wake.clear()
                self._start_visits()
                # Connections that are free now have no page to fetch. The store may be busy
                # writing; pages that wait already are fetched meanwhile.
                if (filling is None or filling.done()) and (wanted := self._wanted()) > 0:
                    filling = asyncio.create_task(self._fill(wanted))
                    filling.add_done_callback(self._finish)
                with suppress(TimeoutError):
                    nap = self._polling.nap(self.stats.budget, self._queues.opens_at)
                    async with asyncio.timeout(nap):
                        await self._wake.wait()
                self._polling.end_nap(is_woken=self._wake.is_set())
            await self._end_visits()
        finally:
            for task in (*self._tasks, *self._preparing, *filter(None, [filling])):
                task.cancel()
            self._drained.set()
        if self._failed is not None:
            raise self._failed

    def _wanted(self) -> int:
        if self._recorder.has_backlog or self._polling.is_resting:
            return 0
        return self._queues.wanted(len(self._tasks))

    async def _fill(self, wanted: int) -> None:
        """Take pages that are due, and queue them."""
        now = self._clock.now()
        taken = self._frontier.take(now, wanted)
        self._polling.note_taken(len(taken))
        if not taken:
            return
        # Whatever was learned is on its way to the store before this, through the same thread.
        pages = await self._store.call(self._store.store.pages, taken)
        for number in taken:
            page = pages.get(number)
            if page is None or page.state in RESTING:
                self._frontier.remove([number])
                continue
            self._queues.add(page)
            if self._queues.is_full(page.host):
                self._frontier.defer(page.host, now, self._clock.wait(FULL_PAUSE))
        self._wake.set()

    def _start_visits(self) -> None:
        """Visit queued pages while there are connections."""
        while len(self._tasks) < self._settings.connections:
            page = self._next_page()
            if page is None:
                return
            self._start(self._visit(page), self._tasks)

    def _start(self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> None:
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(self._finish)

    def _next_page(self) -> Page | None:
        """Return the next page to visit now; others are prepared on the way. None if there is none.

        Nothing is visited while too much waits to be written.
        """
        while not self.stopping and not self._recorder.is_full:
            page = self._queues.next()
            if page is None:
                return None
            ahead = None if self._is_prepared(page) else self._ahead(page.url)
            if ahead is None:
                return page
            self._start(self._prepare(page, ahead), self._preparing)
        return None

    def _is_prepared(self, page: Page) -> bool:
        """Whether a page need not be prepared: it has been, or too many others are."""
        if page.number in self._prepared:
            self._prepared.discard(page.number)
            return True
        return len(self._preparing) >= PREPARING_PER_CONNECTION * self._settings.connections

    async def _prepare(self, page: Page, ahead: Callable[[], Awaitable[None]]) -> None:
        """Wait for what a visit would wait for, without a connection; then the page is next."""
        try:
            await ahead()
        finally:
            self._queues.done(page.host)
            self._wake.set()
        self._prepared.add(page.number)
        self._queues.add_first(page)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._preparing.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failed = self._failed or task.exception()
            self.stop()

    async def _visit(self, first: Page) -> None:
        """Visit a page, and then others, as long as there are some: a task for each costs more."""
        page: Page | None = first
        while page is not None:
            try:
                visit = await self._visitor.visit(page)
            finally:
                self._queues.done(page.host)
                # While all connections are in use and pages wait, nobody else has anything to do.
                if self._queues.wants_more or len(self._tasks) < self._settings.connections:
                    self._wake.set()
            self._recorder.add(visit)
            self._pace(page.host, visit)
            page = self._next_page()
        self._wake.set()

    def _pace(self, host: str, visit: Visit) -> None:
        """Pass on to the frontier when, and how fast, a host may be visited."""
        self._frontier.limit_host(host, self._pacing.delay_of(host))
        response = visit.response
        seconds = self._pacing.backoff(host, response)
        self._queues.release()
        if seconds > 0.0:
            LOGGER.info("back off from %s for %g s: %s", host, seconds, response.error)
            self.stats.closed[host] = self._frontier.defer(host, response.at, seconds)
            dropped = [page.number for page in self._queues.drop(host)]
            self._prepared.difference_update(dropped)
            self._frontier.release(dropped, response.at)

    async def _end_visits(self) -> None:
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=GRACE)
            self._lost = len(late)
            for task in late:
                task.cancel()

    # Recording

    async def _record(self) -> None:
        while not (self._drained.is_set() and not self._recorder):
            if len(self._recorder) < BATCH and not self._drained.is_set():
                await asyncio.sleep(BATCH_SECONDS)
            if self._recorder:
                await self._record_batch()
        # Requests for files, and for pages that did not come in time, are spent all the same.
        await self._recorder.write([], self._spent())
        await self._memory.keep(self._clock.now())
        await self._count_trouble(self._clock.now())

    async def _record_batch(self) -> None:
        batch = self._recorder.take_batch()
        known = [visit for visit in batch if not self._discovery.is_removed(visit.page.number)]
        written = await self._recorder.write(known, self._spent())
        for visit in written:
            self.stats.count(visit)
        self._waking.settle(written)
        if self._settings.neighbours:
            self._frontier.note_activity(written)
        await self._discovery.learn(written)
        self._recorder.release(batch)
        self._wake.set()

    def _spent(self) -> Spent:
        """Return the requests since the last call that no visit counts."""
        robots, files = self._other_requests()
        before, self._counted = self._counted, (robots, files)
        self.stats.robots, self.stats.files = robots, files
        lost, self._lost = self._lost, 0
        return Spent(self._clock.now(), robots - before[0], files - before[1], lost)

    # From time to time

    async def _every(self, seconds: float, task: Callable[[int], Awaitable[None]]) -> None:
        while not self.stopping:
            running = asyncio.ensure_future(task(self._clock.now()))
            stopping = asyncio.ensure_future(self._stopping.wait())
            await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not running.done():
                running.cancel()
                return
            running.result()
            await self._sleep(self._clock.wait(seconds))

    async def _count_trouble(self, now: int) -> None:
        """Count the pages that are not well, and the outages."""
        self.stats.trouble = await self._store.call(self._store.store.trouble)
        self.stats.outages = self._visitor.outages.current(now)

    async def _show(self) -> None:
        while self._watch is not None and not self._drained.is_set():
            self.refresh_stats()
            self._watch(self.stats)
            await self._sleep(self._clock.passing(WATCH_EVERY))

    async def _sleep(self, seconds: float) -> None:
        """Sleep for some seconds of the crawl's clock, or until the crawl stops."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._clock.real(seconds)):
                await self._stopping.wait()
        if self.stopping:
            await asyncio.sleep(MIN_NAP)

    def refresh_stats(self, *, is_last: bool = False) -> None:
        """Bring the present state in `stats` up to date; counts always are."""
        self.stats.under_way = len(self._tasks)
        self.stats.failing_sitemaps = dict(self._discovery.failing)
        self._gauges.refresh(self._clock.now(), is_last=is_last)
