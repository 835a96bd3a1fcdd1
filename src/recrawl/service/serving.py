"""One process: a store, its frontier, and an HTTP server; with a crawl beside it, or without."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import final

from recrawl.clock import Clock
from recrawl.crawler.build import (
    CATCH_UP,
    Beside,
    load,
    loop_factory,
    passing_on_changes,
    patience_of,
    retention_of,
)
from recrawl.crawler.discovery import Discovery
from recrawl.crawler.fetching import last_asked
from recrawl.crawler.load import CrawlFrontier, warm_up
from recrawl.crawler.loop import Crawl
from recrawl.crawler.parse_pool import ParsePool
from recrawl.crawler.settings import Settings
from recrawl.crawler.site_access import site_access
from recrawl.crawler.site_readers import site_readers
from recrawl.crawler.stopping import stop_on_signals
from recrawl.crawler.store_thread import StoreThread
from recrawl.crawler.templates import Templates
from recrawl.crawler.visit import Visitor
from recrawl.errors import SettingsError
from recrawl.records import SECONDS_A_DAY
from recrawl.service.auth import Access, User, add_token
from recrawl.service.listening import Address, answering, bound, names_of
from recrawl.service.no_fetching import NoFetching
from recrawl.service.scheduler import Scheduler
from recrawl.service.service import Service
from recrawl.service.store_reader import StoreReader
from recrawl.store.sqlite import SqliteStore

#: The name of the token that is made when there is none.
FIRST_TOKEN = "first"  # noqa: S105 - a name


@final
@dataclass(frozen=True)
class Started:
    """What to tell whoever started a service.

    Attributes:
        url: Where it is.
        link: A link that logs a browser in, once.
        token: The first token, if it was made just now; it cannot be shown again.
    """

    url: str
    link: str
    token: str | None


OnStart = Callable[[Started], object]


def first_token(settings: Settings, now: int) -> str | None:
    """Make a token if there is none, and only this machine can reach the service; return it.

    Raises:
        SettingsError: There is none, and others can reach the service.
    """
    address = Address.parse(settings.listen)
    with SqliteStore.open(settings.store) as store:
        if store.service.tokens():
            return None
        if not address.is_loopback:
            raise SettingsError(
                f"listen: {settings.listen} can be reached by others, and there is no token; "
                "`recrawl token add NAME` makes one"
            )
        return add_token(store.service, FIRST_TOKEN, Access.ADMIN, now)


def serve(settings: Settings, *, on_start: OnStart, clock: Clock | None = None) -> None:
    """Serve until a signal: lease pages to other crawlers, and fetch none.

    Args:
        settings: The crawler's settings.
        on_start: Called when requests are answered.
        clock: What budget and delays go by; by default the system's time.

    Raises:
        StoreError: The store cannot be used, or another run uses it.
        SettingsError: Others can reach the service, and there is no token.
        RecrawlError: The address cannot be used.
    """
    clock = clock or Clock()
    access, address = site_access(settings), Address.parse(settings.listen)
    with (
        SqliteStore.open(settings.store, retention=retention_of(settings)) as store,
        store.lock(),
        bound(address) as listener,
    ):
        token = first_token(settings, clock.now())
        warm_up(settings)
        frontier = load(store, settings, clock.now(), clock.passing(CATCH_UP) / SECONDS_A_DAY)

        async def run() -> None:
            async with (
                passing_on_changes(settings, access),
                open_scheduler(frontier, store, settings, clock) as (scheduler, thread),
                open_service(settings, clock, frontier, thread, store, scheduler) as service,
                answering(service, listener, _names(settings)),
            ):
                stop_on_signals(scheduler)
                service.index.warm_up()
                on_start(_started(service, listener.getsockname()[1], address, token))
                await scheduler.run()

        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(run())


def serving_crawl(settings: Settings, *, on_start: OnStart, clock: Clock | None = None) -> Beside:
    """Return what `run_crawl` runs beside a crawl, so that it answers requests."""
    clock = clock or Clock()
    address = Address.parse(settings.listen)

    @asynccontextmanager
    async def beside(
        crawl: Crawl, frontier: CrawlFrontier, thread: StoreThread, store: SqliteStore
    ) -> AsyncIterator[None]:
        with bound(address) as listener:
            token = first_token(settings, clock.now())
            async with (
                open_service(settings, clock, frontier, thread, store, crawl) as service,
                answering(service, listener, _names(settings)),
            ):
                service.index.warm_up()
                on_start(_started(service, listener.getsockname()[1], address, token))
                yield

    return beside


@asynccontextmanager
async def open_scheduler(
    frontier: CrawlFrontier,
    store: SqliteStore,
    settings: Settings,
    clock: Clock,
    executor: Executor | None = None,
) -> AsyncIterator[tuple[Scheduler, StoreThread]]:
    """Make the scheduler that the settings describe, with the leases of an earlier one.

    Args:
        frontier: The frontier of the store's pages.
        store: The store.
        settings: The crawler's settings.
        clock: What budget and delays go by.
        executor: What runs the store's methods, if not a thread of its own.
    """
    thread, parse_pool = StoreThread(store, executor), ParsePool(settings.parse_processes)
    nowhere = NoFetching()
    try:
        with SqliteStore.open(settings.store) as reading:
            reading.narrow_cache()
            visitor = Visitor(
                nowhere,
                site_readers(settings),
                reading.body,
                settings.full_fetch_every,
                patience_of(settings),
                parse_pool,
                follow_depth=settings.max_depth if settings.follow else 0,
                templates=Templates(reading.template),
            )
            scheduler = Scheduler(
                frontier,
                thread,
                store.service,
                visitor,
                Discovery(frontier, thread, nowhere, settings, parse_pool),
                settings,
                clock,
                last_asked(settings, clock, reading),
            )
            tables = store.service
            scheduler.restore(
                tables.leases(), lambda row: tables.visited_since(row.pages, row.granted_at)
            )
            yield scheduler, thread
    finally:
        thread.close()
        parse_pool.close()


@asynccontextmanager
async def open_service(
    settings: Settings,
    clock: Clock,
    frontier: CrawlFrontier,
    writer: StoreThread,
    store: SqliteStore,
    work: Crawl | Scheduler,
    executor: Executor | None = None,
) -> AsyncIterator[Service]:
    """Make the service of a crawl, or of a scheduler."""
    with SqliteStore.open(settings.store) as reading:
        reading.narrow_cache()
        reader = StoreReader(reading, executor)
        try:
            yield Service(settings, clock, frontier, writer, store, reader, work)
        finally:
            reader.close()


def _names(settings: Settings) -> tuple[str, ...]:
    return names_of(Address.parse(settings.listen), settings.server_names)


def _started(service: Service, port: int, address: Address, token: str | None) -> Started:
    url = f"http://{address.in_url}:{port}"
    code = service.sessions.new_code(User("", Access.ADMIN))
    return Started(url, f"{url}/login?code={code}", token)
