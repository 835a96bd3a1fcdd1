"""Run a crawl: load the store, assemble the parts, run the loop."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import final

from recrawl.clock import Clock
from recrawl.config.access import site_access
from recrawl.config.readers import site_readers
from recrawl.config.reload import Reload
from recrawl.config.settings import Settings
from recrawl.content.reader import Reader
from recrawl.crawler.build import (
    CATCH_UP,
    load,
    loop_factory,
    passing_on_changes,
    recorder_of,
    retention_of,
    return_memory,
)
from recrawl.crawler.stopping import stop_on_signals
from recrawl.engine.crawl_delays import CrawlDelays
from recrawl.engine.discovery.discovery import Discovery
from recrawl.engine.engine import Engine
from recrawl.engine.frontier import CrawlFrontier, warm_up
from recrawl.engine.lending import Lending
from recrawl.engine.protocols import FileFetching
from recrawl.engine.stats import Stats
from recrawl.fetching.client import RobotsWriter, fetcher_of, pacing_of, visitor_of
from recrawl.fetching.visit import Visitor
from recrawl.fetching.worker import Worker
from recrawl.fetching.worker_processes import WorkerProcesses
from recrawl.http.access import Access
from recrawl.http.fetch import Fetcher
from recrawl.parsing.pool import ParsePool
from recrawl.records import SECONDS_A_DAY
from recrawl.store.sqlite import SqliteStore
from recrawl.store.thread import StoreThread

LOGGER = logging.getLogger("recrawl.crawler")

#: Allocations between garbage collections during a crawl. Visits leave little garbage: with
#: Python's default, collecting it takes 4 % of the time.
GARBAGE_AFTER = 2_000

Watch = Callable[[Stats], object]


@final
@dataclass(frozen=True)
class RunningCrawl:
    """A crawl and its parts, for what runs alongside it.

    Attributes:
        engine: The engine.
        lending: Lends its pages to other crawlers.
        writer: The thread that writes to the store.
        store: The store, which only that thread uses.
        fetcher: Fetches files that are not pages.
        discovery: Reads sitemaps and feeds.
        parse_pool: Where untrusted bytes are parsed.
    """

    engine: Engine
    lending: Lending
    writer: StoreThread
    store: SqliteStore
    fetcher: FileFetching
    discovery: Discovery
    parse_pool: ParsePool


#: What runs alongside a crawl.
Beside = Callable[[RunningCrawl], AbstractAsyncContextManager[None]]


def run_crawl(
    settings: Settings,
    *,
    clock: Clock | None = None,
    seconds: float | None = None,
    watch: Watch | None = None,
    on_start: Callable[[Engine], object] = lambda _engine: None,
    beside: Beside | None = None,
    reload: Reload | None = None,
) -> Stats:
    """Crawl the pages of an existing store; see `Crawler.run`.

    With ``reload``, SIGHUP reads the settings again and, if they are valid, ends the crawl so that
    it can restart with them.
    """
    run = _Run(
        settings,
        clock or Clock(),
        # Errors in the settings of sites are reported before anything is loaded.
        site_access(settings),
        site_readers(settings),
        seconds,
        watch,
        on_start,
        beside or (lambda _running: nullcontext()),
        reload,
    )
    return_memory()
    retention = retention_of(settings)
    with SqliteStore.open(settings.store, retention=retention) as store, store.lock():
        # A crawl that ended, as after a reload, is garbage that freezing would keep forever.
        gc.collect()
        frontier = run.load(store)
        # What is loaded stays: there is no garbage in it to find.
        gc.freeze()
        thresholds = gc.get_threshold()
        gc.set_threshold(GARBAGE_AFTER, *thresholds[1:])
        # The event loop reads through its own connection, as the store thread may be writing.
        try:
            with (
                SqliteStore.open(settings.store) as reader,
                asyncio.Runner(loop_factory=loop_factory()) as runner,
            ):
                reader.narrow_cache()
                return runner.run(run.crawl(frontier, store, reader))
        finally:
            gc.set_threshold(*thresholds)
            gc.unfreeze()


@final
@dataclass(frozen=True)
class _Run:
    """The parameters of one run.

    Attributes:
        settings: The settings.
        clock: The clock for budget, delays and periods.
        access: Returns headers, credentials and proxy for a URL.
        readers: Returns the reader of the page at a URL.
        seconds: How long it lasts, by the clock; None for no limit.
        watch: Called with the stats periodically.
        on_start: Called with the engine when it starts.
        beside: What runs alongside it.
        reload: Reads the settings again on SIGHUP.
    """

    settings: Settings
    clock: Clock
    access: Callable[[str], Access]
    readers: Callable[[str], Reader]
    seconds: float | None
    watch: Watch | None
    on_start: Callable[[Engine], object]
    beside: Beside
    reload: Reload | None

    def load(self, store: SqliteStore) -> CrawlFrontier:
        """Load the frontier of a store's pages."""
        settings, clock = self.settings, self.clock
        warm_up(settings)
        if settings.allow_private and (allowed := store.allow_private()):
            LOGGER.info("private addresses are allowed: %d refused pages are due again", allowed)
        frontier = load(store, settings, clock.now(), clock.passing(CATCH_UP) / SECONDS_A_DAY)
        store.narrow_cache()
        return frontier

    async def crawl(
        self, frontier: CrawlFrontier, store: SqliteStore, reader: SqliteStore
    ) -> Stats:
        """Assemble the parts, and crawl.

        Args:
            frontier: The frontier of the store's pages.
            store: The store, which only its own thread uses from now on.
            reader: The same store, for reading meanwhile.
        """
        settings, clock = self.settings, self.clock
        thread, parse_pool = StoreThread(store), ParsePool(settings.parse_processes)
        remember, crawl_delays = RobotsWriter(thread), CrawlDelays(thread)
        pacing = pacing_of(
            settings,
            clock,
            reader,
            lambda host: max(settings.delay_of(host), crawl_delays.of(host)),
            settings.connections,
        )
        try:
            async with fetcher_of(
                settings, clock, remember, reader, self.access, pacing=pacing
            ) as fetcher:
                visitor = visitor_of(settings, fetcher, self.readers, reader, parse_pool)
                discovery = Discovery(frontier, thread, fetcher, settings, parse_pool)
                recorder = recorder_of(
                    settings, clock, frontier, thread, fetcher.memory, visitor.templates
                )
                engine = Engine(
                    frontier,
                    recorder,
                    thread,
                    settings,
                    pacing=pacing,
                    discovery=discovery,
                    clock=clock,
                    watch=self.watch,
                )
                engine.count_requests(lambda: (fetcher.robots.requests, fetcher.files))
                lending = Lending(
                    engine, thread, store.service, visitor, settings, clock, crawl_delays
                )
                tables = store.service
                lending.restore(
                    tables.leases(), lambda row: tables.visited_since(row.pages, row.granted_at)
                )
                stop_on_signals(engine, self.reload)
                self.on_start(engine)
                running = RunningCrawl(
                    engine, lending, thread, store, fetcher, discovery, parse_pool
                )
                async with (
                    _lessee(settings, clock, engine, lending, fetcher, visitor, remember),
                    passing_on_changes(settings, self.access),
                    self.beside(running),
                    lending.running(),
                ):
                    return await engine.run(self.seconds)
        finally:
            thread.close()
            parse_pool.close()


@asynccontextmanager
async def _lessee(
    settings: Settings,
    clock: Clock,
    engine: Engine,
    lending: Lending,
    fetcher: Fetcher,
    visitor: Visitor,
    remember: RobotsWriter,
) -> AsyncIterator[None]:
    """Have pages visited in this process, or in several others."""
    if settings.processes == 1:
        engine.employ(
            lambda queue, events: Worker(
                visitor, queue, settings.connections, fetcher.ahead, events, clock.now
            )
        )
        yield
        return
    async with WorkerProcesses(
        settings, clock, engine, lending, fetcher, remember, visitor.templates
    ) as processes:
        engine.employ(lambda _queue, _events: processes)
        engine.count_requests(processes.other_requests)
        yield
