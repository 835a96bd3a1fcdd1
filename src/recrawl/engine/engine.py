"""The engine: a page leaves by a lease and comes back by a report, and nothing else moves it."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import final

from recrawl.clock import Clock
from recrawl.config.settings import Settings
from recrawl.engine.discovery.discovery import Discovery
from recrawl.engine.frontier import CrawlFrontier, days
from recrawl.engine.gauges import Gauges
from recrawl.engine.host_queue import HostQueue
from recrawl.engine.lessee import Events, Lessee
from recrawl.engine.memory import FrontierMemory
from recrawl.engine.page_queue import PageQueue
from recrawl.engine.polling import MIN_NAP, Polling
from recrawl.engine.recheck import Waking
from recrawl.engine.record import BATCH, BATCH_SECONDS, Recorder
from recrawl.engine.stats import Stats
from recrawl.engine.upkeep import Upkeep
from recrawl.errors import RecrawlError, StoreError
from recrawl.http.host_pacing import HostPacing
from recrawl.records import Response, Visit
from recrawl.store.rows import Spent
from recrawl.store.thread import StoreThread

LOGGER = logging.getLogger("recrawl.crawler")

#: Seconds of the crawl's clock between two checks for sitemaps that are due.
SITEMAPS_EVERY = 5.0
#: Real seconds between two calls of ``watch``.
WATCH_EVERY = 0.5


@final
class Engine:
    """Keeps the copies fresh until stopped: the one owner of the queue and of politeness.

    ::

        step                     what it does                                     where it runs
        CrawlFrontier.take       pages due now, within the budget                 event loop
        PageQueue.add            what the store knows about them                  store thread
        HostQueue.next           hosts take turns; HostPacing limits each         event loop
        a lessee's visit         a worker in this process, one in another, or     elsewhere, or
                                 somebody else's crawler (`Lending`)              event loop
        HostPacing.backoff       when the host may be asked again                 event loop
        CrawlFrontier.close      no page of the host before that                  event loop
        Recorder.write           visits update the frontier -> beliefs; log,      event loop,
                                 beliefs, copies and templates in one             store thread
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
    what was in flight, and nothing that was written.

    Args:
        frontier: The frontier of the store's pages.
        recorder: Updates the frontier with visits, and writes them.
        store: Where everything is recorded.
        settings: The crawler's settings.
        pacing: Decides when a host may be asked.
        discovery: Brings in pages and evidence.
        clock: The clock for budget, delays and periods.
        watch: Called with the stats periodically.

    Attributes:
        frontier: As given.
        queue: The pages that are out of the frontier.
        pacing: As given.
        stats: Counts of this run.
        lent: Returns how many pages are with other crawlers.
        upkeep: Runs periodic tasks while the engine does.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        recorder: Recorder,
        store: StoreThread,
        settings: Settings,
        *,
        pacing: HostPacing,
        discovery: Discovery,
        clock: Clock | None = None,
        watch: Callable[[Stats], object] | None = None,
    ) -> None:
        self.frontier = frontier
        self._recorder = recorder
        self._store = store
        self._settings = settings
        self.pacing = pacing
        self._discovery = discovery
        self._other_requests: list[Callable[[], tuple[int, int]]] = []
        self._clock = clock = clock or Clock()
        self._watch = watch
        self._waking = Waking(frontier, store, settings.budget)
        self._memory = FrontierMemory(frontier, store)
        self._polling = Polling(clock)
        self._failed: BaseException | None = None
        self._counted = (0, 0)
        self._lost = 0
        self._writing = asyncio.Lock()
        self._wake = asyncio.Event()
        self._stopping = asyncio.Event()
        self._drained = asyncio.Event()
        self._has_news = asyncio.Event()
        self.upkeep = Upkeep(clock, self._stopping)
        self.stats = Stats(frontier.loaded_at, settings.budget, closed={**frontier.left_alone})
        self._gauges = Gauges(self.stats, frontier)
        self.queue = PageQueue(frontier, store, settings, clock, pacing)
        self._lessee: Lessee | None = None
        self.lent: Callable[[], int] = lambda: 0

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    @property
    def crawls(self) -> bool:
        """Whether pages are visited by this program, and not only by other crawlers."""
        return self._lessee is not None

    @property
    def is_full(self) -> bool:
        """Whether so much is unwritten that nothing should be visited."""
        return self._recorder.is_full or self._recorder.has_backlog

    def stop(self) -> None:
        """Stop soon: start nothing new, and write what arrives within seconds."""
        self._stopping.set()
        self._wake.set()

    def fail(self, error: BaseException) -> None:
        """Stop soon, and end with an error."""
        self._failed = self._failed or error
        self.stop()

    def wake(self) -> None:
        """Look for something to do."""
        self._wake.set()

    def set_budget(self, budget: float) -> None:
        """Change the requests per day from now on."""
        self.frontier.frontier.set_budget(budget, days(self._clock.now()))
        self._waking.set_budget(budget)
        self.stats.set_budget(budget, self._clock.now())

    def employ(self, lessee: Callable[[HostQueue, Events], Lessee]) -> None:
        """Have pages visited by a lessee of our own, while the engine runs."""
        events = Events(self.note, self.wake, lambda: self._recorder.is_full)
        self._lessee = lessee(self.queue.hosts, events)

    def count_requests(self, other: Callable[[], tuple[int, int]]) -> None:
        """Count requests that are not for pages.

        Args:
            other: Returns how many were made so far for robots.txt, and for sitemaps and feeds.
        """
        self._other_requests.append(other)

    async def run(self, seconds: float | None = None) -> Stats:
        """Run until stopped, or for some seconds by the crawl's clock."""
        await self._memory.publish_settings(self.stats.budget, self._settings)
        pages, budget = len(self.frontier), self.stats.budget
        fields = {"event": "started", "pages": pages, "budget": budget}
        LOGGER.info(
            "started: %d pages, %g requests per day", pages, budget, extra={"fields": fields}
        )
        loop, upkeep, discovery = asyncio.get_running_loop(), self.upkeep, self._discovery
        timer = None if seconds is None else loop.call_later(self._clock.real(seconds), self.stop)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._visit())
                group.create_task(self._record())
                if self._lessee is not None:
                    group.create_task(upkeep.every(SITEMAPS_EVERY, discovery.read_sitemaps))
                upkeep.start(group, discovery, self._waking, self._memory, self._count_trouble)
                group.create_task(self._show())
        except* RecrawlError as failed:
            raise failed.exceptions[0] from None
        finally:
            if timer is not None:
                timer.cancel()
        self.refresh_stats(is_last=True)
        visits, requests = self.stats.visits, self.stats.requests
        fields = {"event": "stopped", "visits": visits, "requests": requests}
        LOGGER.info("stopped: %d visits, %d requests", visits, requests, extra={"fields": fields})
        return self.stats

    # Visits by our own lessee

    async def _visit(self) -> None:
        lessee = self._lessee
        if lessee is None:
            await self._stopping.wait()
            self._drain()
            return
        filling: asyncio.Task[None] | None = None
        try:
            while not self.stopping:
                self._wake.clear()
                lessee.start()
                # Free connections have no page to fetch. The store may be busy writing; pages
                # that are already queued are fetched meanwhile.
                if (filling is None or filling.done()) and (wanted := self._wanted(lessee)) > 0:
                    filling = asyncio.create_task(self._fill(wanted))
                    filling.add_done_callback(self._note_failure)
                with suppress(TimeoutError):
                    # Nothing but its host holds up a first visit that costs no budget.
                    has_free = self.frontier.frontier.has_free
                    budget = math.inf if has_free else self.stats.budget
                    nap = self._polling.nap(budget, lessee.opens_at)
                    async with asyncio.timeout(nap):
                        await self._wake.wait()
                self._polling.end_nap(is_woken=self._wake.is_set())
                if lessee.failed is not None:
                    self.stop()
            self._lost += await lessee.end()
        finally:
            lessee.cancel()
            if filling is not None:
                filling.cancel()
            self._drain()

    def _drain(self) -> None:
        """Note that nothing more will be reported."""
        self._drained.set()
        self._has_news.set()

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.fail(error)

    def _wanted(self, lessee: Lessee) -> int:
        if self._recorder.has_backlog or self._polling.is_resting:
            return 0
        return lessee.wanted()

    async def _fill(self, wanted: int) -> None:
        """Take pages that are due, and queue them."""
        now, began = self._clock.now(), time.thread_time()
        taken = self.frontier.take(now, wanted)
        self._polling.note_taken(len(taken), time.thread_time() - began)
        if taken:
            await self.queue.add(taken, now)
            self._wake.set()

    # Reports, whoever made the visit

    def note(self, visit: Visit) -> list[int]:
        """Queue a visit to be recorded, and pace its host by it.

        Returns:
            The pages that waited for the host, which is left alone, and are back in the frontier.
        """
        self._recorder.add(visit)
        self._has_news.set()
        return self.pace(visit.page.host, visit.response)

    def pace(self, host: str, response: Response) -> list[int]:
        """Learn from a response how fast, and when, its host may be asked.

        Returns:
            The pages that waited for the host, if it is left alone.
        """
        pause = self.pacing.backoff(host, response)
        self.queue.hosts.release()
        self.frontier.limit_host(host, self.pacing.delay_of(host))
        if not pause:
            return []
        granted = "its page was long" if response.retry_after is None else "it asked for that"
        LOGGER.info("backing off from %s for %g s: %s", host, pause, response.error or granted)
        self.stats.closed[host] = self.frontier.close(host, response, pause)
        dropped = self.queue.drop(host)
        self.frontier.release(dropped, response.at)
        return dropped

    def lose(self, requests: int) -> None:
        """Count requests whose visits were lost."""
        self._lost += requests

    # Recording

    async def record(self, visits: Sequence[Visit]) -> None:
        """Write visits now, together with others that wait."""
        for visit in visits:
            self._recorder.add(visit)
        await self._record_batch()

    async def _record(self) -> None:
        while not (self._drained.is_set() and not self._recorder):
            await self._has_news.wait()
            if len(self._recorder) < BATCH and not self._drained.is_set():
                await asyncio.sleep(BATCH_SECONDS)
            self._has_news.clear()
            await self._record_batch()
        # Requests for files, and for pages that did not arrive in time, count as spent too.
        await self._recorder.write([], self._spent())
        await self._memory.keep(self._clock.now())
        await self._memory.publish(self._clock.now())
        await self._count_trouble(self._clock.now())
        if self._failed is not None:
            raise self._failed

    async def _record_batch(self) -> None:
        async with self._writing:
            batch = self._recorder.take_batch()
            if not batch:
                return
            # From here on the pages can be taken again.
            self.queue.let_go(visit.page.number for visit in batch)
            try:
                written = await self._recorder.write(batch, self._spent())
            except StoreError as error:
                self.fail(error)
                raise
            for visit in written:
                self.stats.count(visit)
            self.stats.filled = self.frontier.first_fill.total
            self._waking.settle(written)
            if self._settings.neighbours:
                self.frontier.note_activity(written)
            await self._discovery.learn(written)
            self._recorder.release(batch)
            self._wake.set()

    def _spent(self) -> Spent:
        """Return the requests since the last call that are not part of a visit."""
        counts = [other() for other in self._other_requests]
        robots, files = sum(count[0] for count in counts), sum(count[1] for count in counts)
        before, self._counted = self._counted, (robots, files)
        self.stats.robots, self.stats.files = robots, files
        lost, self._lost = self._lost, 0
        return Spent(self._clock.now(), robots - before[0], files - before[1], lost)

    # Periodic tasks

    async def _count_trouble(self, now: int) -> None:
        """Count the pages in trouble, and the outages."""
        self.stats.trouble = await self._store.call(self._store.store.trouble)
        if self._lessee is not None:
            self.stats.outages = dict(self._lessee.outages(now))

    async def _show(self) -> None:
        while self._watch is not None and not self._drained.is_set():
            self.refresh_stats()
            self._watch(self.stats)
            await self.upkeep.sleep(self._clock.passing(WATCH_EVERY))
            if self.stopping:
                await asyncio.sleep(MIN_NAP)

    def refresh_stats(self, *, is_last: bool = False) -> None:
        """Refresh the gauges in `stats`; counters are always current."""
        visiting = 0 if self._lessee is None else self._lessee.in_flight
        self.stats.in_flight = visiting + self.lent()
        self.stats.failing_sitemaps = dict(self._discovery.failing)
        self._gauges.refresh(self._clock.now(), is_last=is_last)
