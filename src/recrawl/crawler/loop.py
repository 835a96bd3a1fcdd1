"""The crawl loop: it brings clock, network and store together, and decides nothing."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import final

from recrawl.clock import Clock
from recrawl.crawler.discovery import Discovery
from recrawl.crawler.frontier_memory import FrontierMemory
from recrawl.crawler.gauges import Gauges
from recrawl.crawler.host_queues import FULL_PAUSE
from recrawl.crawler.load import CrawlFrontier, days
from recrawl.crawler.polling import MIN_NAP, Polling
from recrawl.crawler.record import BATCH, BATCH_SECONDS, Recorder
from recrawl.crawler.settings import Settings
from recrawl.crawler.stats import Stats
from recrawl.crawler.store_thread import StoreThread
from recrawl.crawler.upkeep import Upkeep
from recrawl.crawler.visiting import Events, PacedVisit, Visits
from recrawl.crawler.waking import Waking
from recrawl.errors import RecrawlError
from recrawl.records import RESTING
from recrawl.store.rows import Spent

LOGGER = logging.getLogger("recrawl.crawler")

#: Seconds of the crawl's clock between two checks for sitemaps that are due.
SITEMAPS_EVERY = 5.0
#: Real seconds between two calls of ``watch``.
WATCH_EVERY = 0.5


@final
class Crawl:
    """Keep the copies fresh until stopped.

    ::

        step                     what it does                                     where it runs
        CrawlFrontier.take       pages due now, within the budget                 event loop
        Storing.pages            what the store knows about them                  store thread
        HostQueues.add, next     hosts take turns; HostPacing limits each         event loop
        Fetcher.ahead            robots.txt of a new host, fetched ahead          event loop
        Visitor.visit            one of many concurrent visits:
          Fetching.fetch           through the gate, at the pace of HostPacing    event loop
          read_response            compared with the copy, searched for links;    parse pool, unless
                                   a second fetch if needed                       it is cheap
        HostPacing.backoff       when the host may be visited again               event loop
        CrawlFrontier.close      no page of the host before that                  event loop
        Templates.learn          what the pages of a host have in common          event loop
        Recorder.learn           visits update the frontier -> beliefs            event loop
        Storing.record           log, beliefs, copies and templates in one        store thread
                                 transaction
        Discovery.learn          links on changed pages                           store thread

        and periodically (Upkeep)
        Discovery.apply_edits    edits of the store by other processes            store thread
        Discovery.read_sitemaps  new pages, and dates as evidence                 event loop, parse
                                                                                  pool, store thread
        Waking.wake              gone and refused pages, to be checked again      store thread
        FrontierMemory.keep      trust in signals, activity of neighbours         store thread
        FrontierMemory           the price of a visit, and the prior of change    store thread
          .publish                 rates, for `recrawl status`

    Visits run concurrently; one thread writes their results, in order. A crawl that is killed loses
    what was in flight, and nothing that was written. With ``processes`` above 1, the steps from
    `HostQueues` to `HostPacing.backoff`, and `Templates.learn`, run in other processes
    (`FetchProcesses`).

    Args:
        frontier: The frontier of the store's pages.
        visits: Given the crawl's callbacks, returns what visits pages.
        recorder: Updates the frontier with visits, and writes them.
        store: Where everything is recorded.
        settings: The crawler's settings.
        discovery: Brings in pages and evidence.
        other_requests: Returns how many requests were made so far for robots.txt and for sitemaps.
        clock: The clock for budget, delays and periods.
        watch: Called with the stats periodically.

    Attributes:
        stats: Counts of this run.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        visits: Callable[[Events], Visits],
        recorder: Recorder,
        store: StoreThread,
        settings: Settings,
        *,
        discovery: Discovery,
        other_requests: Callable[[], tuple[int, int]],
        clock: Clock | None = None,
        watch: Callable[[Stats], object] | None = None,
    ) -> None:
        self._frontier = frontier
        self._recorder = recorder
        self._store = store
        self._settings = settings
        self._discovery = discovery
        self._other_requests = other_requests
        self._clock = clock = clock or Clock()
        self._watch = watch
        self._waking = Waking(frontier, store, settings.budget)
        self._memory = FrontierMemory(frontier, store)
        self._polling = Polling(clock)
        self._failed: BaseException | None = None
        self._counted = (0, 0)
        self._lost = 0
        self._wake = asyncio.Event()
        self._stopping = asyncio.Event()
        self._drained = asyncio.Event()
        self._has_news = asyncio.Event()
        self._upkeep = Upkeep(clock, self._stopping)
        self.stats = Stats(frontier.loaded_at, settings.budget, closed={**frontier.left_alone})
        self._gauges = Gauges(self.stats, frontier)
        events = Events(self._note, self._wake.set, lambda: recorder.is_full, self._release)
        self._visits = visits(events)

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Stop soon: start nothing new, and write what arrives within seconds."""
        self._stopping.set()
        self._wake.set()

    def delay_of(self, host: str) -> float:
        """Return the seconds between two requests to a host."""
        return self._visits.delay_of(host)

    def set_budget(self, budget: float) -> None:
        """Change the requests per day from now on."""
        self._frontier.frontier.set_budget(budget, days(self._clock.now()))
        self._waking.set_budget(budget)
        self.stats.set_budget(budget, self._clock.now())

    async def run(self, seconds: float | None = None) -> Stats:
        """Crawl until stopped, or for some seconds by the crawl's clock."""
        await self._memory.publish_settings(self.stats.budget, self._settings)
        pages, budget = len(self._frontier), self.stats.budget
        fields = {"event": "started", "pages": pages, "budget": budget}
        LOGGER.info(
            "started: %d pages, %g requests per day", pages, budget, extra={"fields": fields}
        )
        loop, upkeep, discovery = asyncio.get_running_loop(), self._upkeep, self._discovery
        timer = None if seconds is None else loop.call_later(self._clock.real(seconds), self.stop)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._fetch())
                group.create_task(self._record())
                group.create_task(upkeep.every(SITEMAPS_EVERY, discovery.read_sitemaps))
                upkeep.start(group, discovery, self._waking, self._memory, self._count_trouble)
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
                self._visits.start()
                # Free connections have no page to fetch. The store may be busy writing; pages
                # that are already queued are fetched meanwhile.
                if (filling is None or filling.done()) and (wanted := self._wanted()) > 0:
                    filling = asyncio.create_task(self._fill(wanted))
                    filling.add_done_callback(self._note_failure)
                with suppress(TimeoutError):
                    # Nothing but its host holds up a first visit that costs no budget.
                    has_free = self._frontier.frontier.has_free
                    budget = math.inf if has_free else self.stats.budget
                    nap = self._polling.nap(budget, self._visits.opens_at)
                    async with asyncio.timeout(nap):
                        await self._wake.wait()
                self._polling.end_nap(is_woken=self._wake.is_set())
                if self._visits.failed is not None:
                    self.stop()
            self._lost = await self._visits.end()
        finally:
            self._visits.cancel()
            if filling is not None:
                filling.cancel()
            self._drained.set()
            self._has_news.set()
        if self._failed is not None:
            raise self._failed

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._failed = self._failed or task.exception()
            self.stop()

    def _wanted(self) -> int:
        if self._recorder.has_backlog or self._polling.is_resting:
            return 0
        return self._visits.wanted()

    async def _fill(self, wanted: int) -> None:
        """Take pages that are due, and queue them."""
        now, began = self._clock.now(), time.thread_time()
        taken = self._frontier.take(now, wanted)
        self._polling.note_taken(len(taken), time.thread_time() - began)
        if not taken:
            return
        # Everything learned so far goes to the store before this, through the same thread.
        pages = await self._store.call(self._store.store.pages, taken)
        for number in taken:
            page = pages.get(number)
            if page is None or page.state in RESTING:
                self._frontier.drop(number, now)
            elif self._visits.add(page):
                self._frontier.defer(page.host, now, self._clock.wait(FULL_PAUSE))
        self._wake.set()

    def _note(self, paced: PacedVisit) -> None:
        """Queue a visit to be recorded, and update the frontier with the pace of its host."""
        self._recorder.add(paced.visit)
        self._has_news.set()
        host, response = paced.visit.page.host, paced.visit.response
        self._frontier.limit_host(host, paced.delay)
        if paced.pause:
            granted = "its page was long" if response.retry_after is None else "it asked for that"
            reason = response.error or granted
            LOGGER.info("backing off from %s for %g s: %s", host, paced.pause, reason)
            self.stats.closed[host] = self._frontier.close(host, response, paced.pause)
            self._frontier.release(paced.dropped, response.at)

    def _release(self, pages: Sequence[int]) -> None:
        """Put back into the frontier pages that were not visited."""
        self._frontier.release(pages, self._clock.now())

    # Recording

    async def _record(self) -> None:
        while not (self._drained.is_set() and not self._recorder):
            await self._has_news.wait()
            if len(self._recorder) < BATCH and not self._drained.is_set():
                await asyncio.sleep(BATCH_SECONDS)
            self._has_news.clear()
            if self._recorder:
                await self._record_batch()
        # Requests for files, and for pages that did not arrive in time, count as spent too.
        await self._recorder.write([], self._spent())
        await self._memory.keep(self._clock.now())
        await self._memory.publish(self._clock.now())
        await self._count_trouble(self._clock.now())

    async def _record_batch(self) -> None:
        batch = self._recorder.take_batch()
        written = await self._recorder.write(batch, self._spent())
        for visit in written:
            self.stats.count(visit)
        self.stats.filled = self._frontier.first_fill.total
        self._waking.settle(written)
        if self._settings.neighbours:
            self._frontier.note_activity(written)
        await self._discovery.learn(written)
        self._recorder.release(batch)
        self._wake.set()

    def _spent(self) -> Spent:
        """Return the requests since the last call that are not part of a visit."""
        robots, files = self._other_requests()
        before, self._counted = self._counted, (robots, files)
        self.stats.robots, self.stats.files = robots, files
        lost, self._lost = self._lost, 0
        return Spent(self._clock.now(), robots - before[0], files - before[1], lost)

    # Periodic tasks

    async def _count_trouble(self, now: int) -> None:
        """Count the pages in trouble, and the outages."""
        self.stats.trouble = await self._store.call(self._store.store.trouble)
        self.stats.outages = dict(self._visits.outages(now))

    async def _show(self) -> None:
        while self._watch is not None and not self._drained.is_set():
            self.refresh_stats()
            self._watch(self.stats)
            await self._upkeep.sleep(self._clock.passing(WATCH_EVERY))
            if self.stopping:
                await asyncio.sleep(MIN_NAP)

    def refresh_stats(self, *, is_last: bool = False) -> None:
        """Refresh the gauges in `stats`; counters are always current."""
        self.stats.in_flight = self._visits.in_flight
        self.stats.failing_sitemaps = dict(self._discovery.failing)
        self._gauges.refresh(self._clock.now(), is_last=is_last)
