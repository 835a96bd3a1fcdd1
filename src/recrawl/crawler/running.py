"""Run a crawl: load the store, assemble the parts, run the loop."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, final

from recrawl.clock import Clock
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
from recrawl.crawler.discovery import Discovery
from recrawl.crawler.fetch_processes import FetchProcesses
from recrawl.crawler.fetching import RobotsWriter, fetcher_of, visitor_of
from recrawl.crawler.load import CrawlFrontier, warm_up
from recrawl.crawler.loop import Crawl
from recrawl.crawler.parse_pool import ParsePool
from recrawl.crawler.protocols import FileFetching
from recrawl.crawler.record import LearnedTemplates
from recrawl.crawler.reloading import Reload
from recrawl.crawler.settings import Settings
from recrawl.crawler.site_access import site_access
from recrawl.crawler.site_readers import site_readers
from recrawl.crawler.stats import Stats
from recrawl.crawler.stopping import stop_on_signals
from recrawl.crawler.store_thread import StoreThread
from recrawl.crawler.visiting import Events, Visiting, Visits
from recrawl.http.access import Access
from recrawl.http.memory_budget import MemoryBudget
from recrawl.records import SECONDS_A_DAY
from recrawl.store.sqlite import SqliteStore

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
        crawl: The crawl.
        frontier: The frontier of the store's pages.
        writer: The thread that writes to the store.
        store: The store, which only that thread uses.
        fetcher: Fetches files that are not pages.
        discovery: Reads sitemaps and feeds.
        parse_pool: Where untrusted bytes are parsed.
    """

    crawl: Crawl
    frontier: CrawlFrontier
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
    on_start: Callable[[Crawl], object] = lambda _crawl: None,
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


class _Fetching(NamedTuple):
    """Where pages and files are fetched.

    Attributes:
        visits: Given the crawl's callbacks, returns what visits pages.
        files: Fetches files that are not pages.
        memory: Accounts for unwritten bodies.
        templates: Site templates learned from visits.
        other_requests: Returns how many requests were made for robots.txt and for files.
    """

    visits: Callable[[Events], Visits]
    files: FileFetching
    memory: MemoryBudget
    templates: LearnedTemplates
    other_requests: Callable[[], tuple[int, int]]


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
        on_start: Called with the crawl when it starts.
        beside: What runs alongside it.
        reload: Reads the settings again on SIGHUP.
    """

    settings: Settings
    clock: Clock
    access: Callable[[str], Access]
    readers: Callable[[str], Reader]
    seconds: float | None
    watch: Watch | None
    on_start: Callable[[Crawl], object]
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
        async with self._fetching(thread, reader, parse_pool) as fetching:
            files = fetching.files
            discovery = Discovery(frontier, thread, files, settings, parse_pool)
            crawl = Crawl(
                frontier,
                fetching.visits,
                recorder_of(settings, clock, frontier, thread, fetching.memory, fetching.templates),
                thread,
                settings,
                discovery=discovery,
                other_requests=fetching.other_requests,
                clock=clock,
                watch=self.watch,
            )
            stop_on_signals(crawl, self.reload)
            self.on_start(crawl)
            running = RunningCrawl(crawl, frontier, thread, store, files, discovery, parse_pool)
            try:
                async with passing_on_changes(settings, self.access), self.beside(running):
                    return await crawl.run(self.seconds)
            finally:
                parse_pool.close()

    @asynccontextmanager
    async def _fetching(
        self, thread: StoreThread, reader: SqliteStore, parse_pool: ParsePool
    ) -> AsyncIterator[_Fetching]:
        """Fetch in this process, or in several."""
        settings, clock = self.settings, self.clock
        remember = RobotsWriter(thread)
        if settings.processes > 1:
            async with FetchProcesses(settings, clock, remember) as others:
                yield _Fetching(
                    others.use, others, MemoryBudget(), others.templates, others.other_requests
                )
            return
        async with fetcher_of(settings, clock, remember, reader, self.access) as fetcher:
            visitor = visitor_of(settings, fetcher, self.readers, reader, parse_pool)
            visits = partial(Visiting, visitor, settings, fetcher.gate.pacing, clock, fetcher.ahead)
            yield _Fetching(
                visits,
                fetcher,
                fetcher.memory,
                visitor.templates,
                lambda: (fetcher.robots.requests, fetcher.files),
            )
