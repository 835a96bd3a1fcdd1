"""The crawler: every part of a crawl, put together from the settings."""

import asyncio
import gc
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self, final

from recrawl.clock import Clock
from recrawl.content.plain_text import as_text
from recrawl.content.reader import Reader
from recrawl.crawler.change_hook import ChangeHook
from recrawl.crawler.discovery import Discovery
from recrawl.crawler.fetch_processes import FetchProcesses
from recrawl.crawler.fetching import RobotsWriter, fetcher_of, patience_of, visitor_of
from recrawl.crawler.intervals import stored_intervals
from recrawl.crawler.load import CrawlFrontier, load_frontier, warm_up
from recrawl.crawler.loop import Crawl
from recrawl.crawler.page_text import TextReader
from recrawl.crawler.parse_pool import ParsePool
from recrawl.crawler.protocols import FileFetching, Storing
from recrawl.crawler.record import LearnedTemplates, Recorder
from recrawl.crawler.reloading import Reload
from recrawl.crawler.seeds import checked_importance, named_page, with_initial_importance
from recrawl.crawler.setting_sources import load_settings
from recrawl.crawler.settings import FIELDS, Settings, agent_of
from recrawl.crawler.site_access import site_access
from recrawl.crawler.site_readers import site_readers
from recrawl.crawler.site_tables import TABLES, read_sites
from recrawl.crawler.stats import Stats
from recrawl.crawler.status import Status, read_status
from recrawl.crawler.stopping import stop_on_signals
from recrawl.crawler.store_thread import StoreThread
from recrawl.crawler.visiting import Events, Visiting, Visits
from recrawl.crawler.webhook_receiver import SendLimits
from recrawl.crawler.webhook_sender import WebhookSender
from recrawl.errors import ArgumentError, SettingsError
from recrawl.http.access import Access
from recrawl.http.memory_budget import MemoryBudget
from recrawl.records import MICROSECONDS_A_DAY, SECONDS_A_DAY
from recrawl.store.rows import Added, Retention
from recrawl.store.sqlite import SqliteStore
from recrawl.urls import canonical

LOGGER = logging.getLogger("recrawl.crawler")

#: Options of glibc: M_MMAP_THRESHOLD and M_TRIM_THRESHOLD in bytes, M_ARENA_MAX.
_MALLOC = (-3, 131_072), (-1, 1_048_576), (-8, 2)

#: Unspent budget is kept for this many real seconds at least, for a clock that runs fast: this
#: machine may be busy for so long.
CATCH_UP = 1.0

Watch = Callable[[Stats], object]


@final
@dataclass(frozen=True)
class RunningCrawl:
    """A crawl and its parts, for what runs beside it.

    Attributes:
        crawl: The crawl.
        frontier: The frontier of the store's pages.
        writer: The thread that writes to the store.
        store: The store, which only that thread uses.
        fetcher: Fetches files that are not pages.
        discovery: Reads sitemaps and feeds.
        parse_pool: Where foreign bytes are read.
    """

    crawl: Crawl
    frontier: CrawlFrontier
    writer: StoreThread
    store: SqliteStore
    fetcher: FileFetching
    discovery: Discovery
    parse_pool: ParsePool


#: What runs beside a crawl.
Beside = Callable[[RunningCrawl], AbstractAsyncContextManager[None]]


@final
class Crawler:
    """Keep the copies of the pages in a store fresh: what ``recrawl run`` runs.

    Args:
        store: The store's file, which is created if there is none.
        clock: What the crawl goes by; by default the system's time. A `recrawl.Clock` that runs
            fast crawls the months of a recorded or simulated site in minutes.
        settings: Any of the crawler's settings, as people type them: ``budget="2000/day"``,
            ``host_delay="2s"``. ``host`` and ``url`` are dictionaries of settings for sites, as
            the tables in a settings file: ``host={"example.org": {"delay": "5s"}}``. Environment
            and settings file are not read.

    Raises:
        SettingsError: A setting cannot be used.
        StoreError: On entering: the store cannot be used.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] = "recrawl.db",
        *,
        clock: Clock | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> None:
        unknown = settings.keys() - {*FIELDS, *TABLES}
        if unknown:
            raise SettingsError(f"there is no setting '{min(unknown)}'")
        named = {name: value for name, value in settings.items() if name not in TABLES}
        given = {**named, "store": os.fspath(store)}
        for_all = load_settings(given, environ={}, file=os.devnull)
        self.settings = replace(for_all, sites=read_sites(settings))
        self.clock = clock or Clock()
        self._store: SqliteStore | None = None
        self._crawl: Crawl | None = None

    def __enter__(self) -> Self:
        self._store = SqliteStore.open(self.settings.store, create=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()
        self._store = None

    @property
    def store(self) -> SqliteStore:
        """The open store: copies, history, visits."""
        if self._store is None:
            raise ArgumentError("the crawler is closed; open it: `with Crawler(...) as crawler:`")
        return self._store

    def add(self, urls: Iterable[str], *, importance: float | None = None) -> Added:
        """Add pages to keep fresh; pages that are there already stay, with a new importance if any.

        Raises:
            AddressError: A URL cannot be crawled; no page is added.
        """
        weight = None if importance is None else checked_importance(importance)
        pages = [named_page(url, weight) for url in urls]
        return self.store.add(with_initial_importance(pages, self.settings), self.clock.now())

    def text(self, url: str) -> str:
        """Return a page's own text in its current copy, a line per block; empty without a copy.

        What its site puts around the text, and noise, are left out, as when pages are compared.
        """
        copy = self.store.copy(canonical(url))
        reader = TextReader(self.store, self.settings)
        return "" if copy is None else as_text(reader.lines(copy))

    def run(self, seconds: float | None = None, *, watch: Watch | None = None) -> Stats:
        """Crawl for some seconds, or until `stop` or a signal; a second signal ends it hard.

        The signals are SIGINT, SIGTERM, and SIGHUP unless it is ignored, as under nohup.

        Args:
            seconds: How long to crawl, by the crawler's clock; None for no limit.
            watch: Called with the stats about twice per real second.

        Raises:
            StoreError: The store cannot be used, or another run uses it.
        """
        return run_crawl(
            self.settings,
            clock=self.clock,
            seconds=seconds,
            watch=watch,
            on_start=self._keep,
        )

    def _keep(self, crawl: Crawl) -> None:
        self._crawl = crawl

    def stop(self) -> None:
        """Stop a run soon and cleanly; to be called by ``watch``."""
        if self._crawl is not None:
            self._crawl.stop()

    def status(self) -> Status:
        """Return pages, visits, spending and what is due next."""
        settings = self.settings
        limits = partial(stored_intervals, settings)
        return read_status(self.store, settings.store, settings.budget, self.clock.now(), limits)


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
    """Crawl the pages of a store that is there already; see `Crawler.run`.

    With ``reload``, SIGHUP reads the settings again, and if they can be used ends the crawl so that
    it can start anew with them.
    """
    # Whatever is wrong with the settings of sites is said before anything is loaded.
    access, readers = site_access(settings), site_readers(settings)
    clock = clock or Clock()
    _return_memory()
    retention = retention_of(settings)
    with SqliteStore.open(settings.store, retention=retention) as store, store.lock():
        # A crawl that ended, as after a reload, is garbage that freezing would keep for ever.
        gc.collect()
        warm_up(settings)
        if settings.allow_private and (allowed := store.allow_private()):
            LOGGER.info("private addresses are allowed: %d refused pages are due again", allowed)
        frontier = load(store, settings, clock.now(), clock.passing(CATCH_UP) / SECONDS_A_DAY)
        store.narrow_cache()
        # What is loaded stays: there is no garbage in it to look for.
        gc.freeze()
        # The event loop reads with a connection of its own, as the store thread may be writing.
        try:
            with (
                SqliteStore.open(settings.store) as reader,
                asyncio.Runner(loop_factory=loop_factory()) as runner,
            ):
                reader.narrow_cache()
                return runner.run(
                    _crawl(
                        frontier,
                        store,
                        reader,
                        settings,
                        clock,
                        seconds,
                        watch,
                        on_start,
                        beside or (lambda _running: nullcontext()),
                        access,
                        readers,
                        reload,
                    )
                )
        finally:
            gc.unfreeze()


async def _crawl(
    frontier: CrawlFrontier,
    store: SqliteStore,
    reader: SqliteStore,
    settings: Settings,
    clock: Clock,
    seconds: float | None,
    watch: Watch | None,
    on_start: Callable[[Crawl], object],
    beside: Beside,
    access: Callable[[str], Access],
    readers: Callable[[str], Reader],
    reload: Reload | None,
) -> Stats:
    thread, parse_pool = StoreThread(store), ParsePool(settings.parse_processes)
    async with _fetching(settings, clock, thread, reader, access, readers, parse_pool) as fetching:
        discovery = Discovery(frontier, thread, fetching.files, settings, parse_pool)
        crawl = Crawl(
            frontier,
            fetching.visits,
            recorder_of(settings, clock, frontier, thread, fetching.memory, fetching.templates),
            thread,
            settings,
            discovery=discovery,
            other_requests=fetching.other_requests,
            clock=clock,
            watch=watch,
        )
        stop_on_signals(crawl, reload)
        on_start(crawl)
        files = fetching.files
        running = RunningCrawl(crawl, frontier, thread, store, files, discovery, parse_pool)
        try:
            async with passing_on_changes(settings, access), beside(running):
                return await crawl.run(seconds)
        finally:
            parse_pool.close()


class _Fetching(NamedTuple):
    """Where pages and files are fetched.

    Attributes:
        visits: Returns where pages are visited.
        files: Fetches files that are not pages.
        memory: Accounts for the bodies that wait to be written.
        templates: What visits teach about sites.
        other_requests: Returns how many requests were made for robots.txt and for files.
    """

    visits: Callable[[Events], Visits]
    files: FileFetching
    memory: MemoryBudget
    templates: LearnedTemplates
    other_requests: Callable[[], tuple[int, int]]


@asynccontextmanager
async def _fetching(
    settings: Settings,
    clock: Clock,
    thread: StoreThread,
    reader: SqliteStore,
    access: Callable[[str], Access],
    readers: Callable[[str], Reader],
    parse_pool: ParsePool,
) -> AsyncIterator[_Fetching]:
    """Fetch in this process, or in several."""
    remember = RobotsWriter(thread)
    if settings.processes > 1:
        async with FetchProcesses(settings, clock, remember) as others:
            yield _Fetching(
                others.use, others, MemoryBudget(), others.templates, others.other_requests
            )
        return
    async with fetcher_of(settings, clock, remember, reader, access) as fetcher:
        visitor = visitor_of(settings, fetcher, readers, reader, parse_pool)
        visits = partial(Visiting, visitor, settings, fetcher.gate.pacing, clock, fetcher.ahead)
        yield _Fetching(
            visits,
            fetcher,
            fetcher.memory,
            visitor.templates,
            lambda: (fetcher.robots.requests, fetcher.files),
        )


@asynccontextmanager
async def passing_on_changes(
    settings: Settings, access: Callable[[str], Access]
) -> AsyncIterator[None]:
    """Run the command for changes and send them to webhooks while the block runs."""
    async with _change_hook(settings), _webhooks(settings, access):
        yield


@asynccontextmanager
async def _change_hook(settings: Settings) -> AsyncIterator[None]:
    """Run the command for changes, if there is one, while the block runs."""
    if not settings.on_change.strip():
        yield
        return
    with SqliteStore.open(settings.store) as store:
        store.narrow_cache()
        async with ChangeHook(settings.on_change, store).running():
            yield


@asynccontextmanager
async def _webhooks(settings: Settings, access: Callable[[str], Access]) -> AsyncIterator[None]:
    """Send changes to webhooks while the block runs."""
    with SqliteStore.open(settings.store) as store:
        store.narrow_cache()
        sender = WebhookSender(
            store,
            agent_of(settings),
            send_limits_of(settings),
            retention=retention_of(settings),
            proxy=lambda url: access(url).proxy,
        )
        async with sender.running():
            yield


def load(store: Storing, settings: Settings, now: int, catch_up: float = 0.0) -> CrawlFrontier:
    """Load the frontier, and let the first page be fetched at once unless one just was.

    Budget that was not spent while nothing ran is not made up for, so a crawl that is killed and
    restarted many times stays within its budget.

    Args:
        store: Knows the pages.
        settings: The crawler's settings.
        now: The present, in microseconds.
        catch_up: Days for which unspent budget is kept at least.
    """
    frontier = load_frontier(store, settings, now, catch_up)
    newest = store.newest_visit()
    days = 1.0 if newest is None else (now - newest) / MICROSECONDS_A_DAY
    if days * settings.budget >= 1.0:
        frontier.frontier.spend(-1)
    return frontier


def recorder_of(
    settings: Settings,
    clock: Clock,
    frontier: CrawlFrontier,
    store: StoreThread,
    memory: MemoryBudget,
    templates: LearnedTemplates,
) -> Recorder:
    """Return what teaches the frontier and writes to the store what visits found."""
    gone_time = patience_of(settings).gone_time
    return Recorder(frontier, store, memory, gone_time, clock.passing, templates)


def retention_of(settings: Settings) -> Retention:
    """Return how much of the past is kept."""
    return Retention(
        settings.keep_changes,
        round(settings.keep_for * MICROSECONDS_A_DAY) or None,
        settings.keep_versions,
    )


def send_limits_of(settings: Settings) -> SendLimits:
    """Return the limits on sending to webhooks."""
    return SendLimits(
        settings.webhook_connections, settings.webhook_timeout, settings.webhook_attempts
    )


def _return_memory() -> None:
    """Have glibc return the memory of long bodies to the system as soon as they are released.

    By itself it keeps whatever has the size of something that was released before, and keeps it for
    each thread; that would be several times as much as all bodies take together.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError, OSError):
            for option, value in _MALLOC:
                ctypes.CDLL(None).mallopt(option, value)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the event loop; None for Python's own."""
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop
