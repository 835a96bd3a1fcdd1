"""One process: a store, its frontier, and an HTTP server, with or without a crawl."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import final

from recrawl.clock import Clock
from recrawl.config.access import site_access
from recrawl.config.readers import site_readers
from recrawl.config.reload import Reload
from recrawl.config.settings import Settings
from recrawl.crawler.build import (
    CATCH_UP,
    load,
    loop_factory,
    passing_on_changes,
    recorder_of,
    retention_of,
)
from recrawl.crawler.running import Beside, RunningCrawl
from recrawl.crawler.stopping import stop_on_signals
from recrawl.engine.crawl_delays import CrawlDelays
from recrawl.engine.discovery.discovery import Discovery
from recrawl.engine.engine import Engine
from recrawl.engine.frontier import CrawlFrontier, warm_up
from recrawl.engine.lending import Lending
from recrawl.engine.protocols import FileFetching
from recrawl.engine.templates import Templates
from recrawl.errors import SettingsError
from recrawl.fetching.client import RobotsWriter, fetcher_of, pacing_of, patience_of
from recrawl.fetching.visit import Visitor
from recrawl.hosts import host_of
from recrawl.http.access import Access as SiteAccess
from recrawl.http.memory_budget import MemoryBudget
from recrawl.inspect.text import CopyParser
from recrawl.parsing.pool import ParsePool
from recrawl.records import SECONDS_A_DAY, Response
from recrawl.service.auth.tokens import Access, Tokens, User, add_token
from recrawl.service.listening import Address, answering, bound, names_of
from recrawl.service.no_fetching import NoFetching
from recrawl.service.push.hubs import Hubs
from recrawl.service.push.incoming import Incoming
from recrawl.service.push.indexnow import MAX_KEY_BYTES, IndexNow
from recrawl.service.push.pushes import Pushes
from recrawl.service.push.websub import WebSub
from recrawl.service.service import Service
from recrawl.service.store_reader import StoreReader
from recrawl.store.sqlite import SqliteStore
from recrawl.store.thread import StoreThread

#: The name of the token that is created if there is none.
FIRST_TOKEN = "first"  # noqa: S105 - a name
#: Real seconds within which a file with a key must have been fetched, between leases of its host.
KEY_WITHIN = 300.0
#: Real seconds between two attempts.
KEY_AGAIN = 1.0
#: The visits that crawlers may have in flight, where others fetch.
ANY_NUMBER = 2**31


@final
@dataclass(frozen=True)
class Started:
    """What to tell the user who started a service.

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
    """Create and return a token if there is none and only this machine can reach the service.

    Raises:
        SettingsError: There is none, and others can reach the service.
    """
    address = Address.parse(settings.listen)
    with SqliteStore.open(settings.store) as store:
        if store.service.tokens():
            return None
        if not address.is_loopback:
            raise SettingsError(
                f"listen: other machines can reach {settings.listen}, and there is no token; "
                "`recrawl token add NAME` creates one"
            )
        return add_token(store.service, FIRST_TOKEN, Access.ADMIN, now)


def serve(
    settings: Settings,
    *,
    on_start: OnStart,
    clock: Clock | None = None,
    reload: Reload | None = None,
) -> None:
    """Serve until a signal: lease pages to other crawlers and fetch none.

    With ``reload``, SIGHUP reads the settings again, and if they can be used ends this so that it
    can start anew with them.

    Args:
        settings: The crawler's settings.
        on_start: Called once requests are served.
        clock: What budget and delays go by; by default the system's time.
        reload: Reads the settings again.

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
                open_engine(frontier, store, settings, clock, access) as parts,
                open_service(settings, clock, parts) as service,
                answering(service, listener, _names(settings)),
                parts.lending.running(),
            ):
                stop_on_signals(parts.engine, reload)
                service.index.warm_up()
                on_start(_started(service, listener.getsockname()[1], address, token))
                await parts.engine.run()

        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(run())


def serving_crawl(settings: Settings, *, on_start: OnStart, clock: Clock | None = None) -> Beside:
    """Return what `run_crawl` runs alongside a crawl to serve requests."""
    clock = clock or Clock()
    address = Address.parse(settings.listen)

    @asynccontextmanager
    async def beside(running: RunningCrawl) -> AsyncIterator[None]:
        with bound(address) as listener:
            token = first_token(settings, clock.now())
            async with (
                open_service(settings, clock, running) as service,
                answering(service, listener, _names(settings)),
            ):
                service.index.warm_up()
                on_start(_started(service, listener.getsockname()[1], address, token))
                yield

    return beside


@asynccontextmanager
async def open_engine(
    frontier: CrawlFrontier,
    store: SqliteStore,
    settings: Settings,
    clock: Clock,
    access: Callable[[str], SiteAccess],
    executor: Executor | None = None,
) -> AsyncIterator[RunningCrawl]:
    """Make an engine that only lends, with the leases of an earlier one.

    Args:
        frontier: The frontier of the store's pages.
        store: The store.
        settings: The crawler's settings.
        clock: The clock for budget and delays.
        access: Returns headers, credentials and proxy for a URL.
        executor: What runs the store's methods, if not a thread of its own.
    """
    thread, parse_pool = StoreThread(store, executor), ParsePool(settings.parse_processes)
    nowhere, crawl_delays = NoFetching(), CrawlDelays(thread)
    try:
        with SqliteStore.open(settings.store) as reading:
            reading.narrow_cache()
            pacing = pacing_of(
                settings,
                clock,
                reading,
                lambda host: max(settings.delay_of(host), crawl_delays.of(host)),
                ANY_NUMBER,
            )
            visitor = Visitor(
                nowhere,
                site_readers(settings),
                reading.body,
                settings.full_fetch_every,
                patience_of(settings),
                parse_pool,
                follow_depth=settings.max_depth if settings.follow else 0,
                templates=Templates(reading.template),
                copy_url=reading.copy_url,
            )
            discovery = Discovery(frontier, thread, nowhere, settings, parse_pool)
            recorder = recorder_of(
                settings, clock, frontier, thread, MemoryBudget(), visitor.templates
            )
            engine = Engine(
                frontier,
                recorder,
                thread,
                settings,
                pacing=pacing,
                discovery=discovery,
                clock=clock,
            )
            tables = store.service
            lending = Lending(engine, thread, tables, visitor, settings, clock, crawl_delays)
            lending.restore(
                tables.leases(), lambda row: tables.visited_since(row.pages, row.granted_at)
            )
            # For files with keys, which is all that such a process fetches.
            async with fetcher_of(
                settings, clock, RobotsWriter(thread), reading, access, pacing=pacing
            ) as fetcher:
                yield RunningCrawl(engine, lending, thread, store, fetcher, discovery, parse_pool)
    finally:
        thread.close()
        parse_pool.close()


@asynccontextmanager
async def open_service(
    settings: Settings, clock: Clock, parts: RunningCrawl, executor: Executor | None = None
) -> AsyncIterator[Service]:
    """Make the service of an engine.

    Args:
        settings: The crawler's settings.
        clock: The clock of the engine.
        parts: The engine and its parts.
        executor: What reads the store, if not a thread of its own.
    """
    engine, writer = parts.engine, parts.writer
    with (
        SqliteStore.open(settings.store) as reading,
        SqliteStore.open(settings.store) as reading_tokens,
    ):
        reading.narrow_cache()
        reader = StoreReader(reading, executor)
        pushes = Pushes(engine.frontier, reader, writer, settings)
        # Not the crawl's own processes: whoever reads copies must not hold up visits.
        copies = CopyParser(ParsePool(1))
        try:
            async with (
                _indexnow(settings, clock, pushes, parts.fetcher) as indexnow,
                _websub(settings, clock, pushes, reader, parts) as websub,
            ):
                incoming = Incoming(pushes, indexnow, websub)
                tokens = Tokens(reading_tokens.service.tokens)
                yield Service(settings, clock, parts, reader, incoming, tokens, copies)
        finally:
            copies.close()
            reader.close()


@asynccontextmanager
async def _indexnow(
    settings: Settings, clock: Clock, pushes: Pushes, fetcher: FileFetching
) -> AsyncIterator[IndexNow | None]:
    """Make the receiver of notifications, if the settings ask for it."""
    if not settings.indexnow:
        yield None
        return
    indexnow = IndexNow(pushes, partial(fetch_key_file, fetcher, clock), clock)
    try:
        yield indexnow
    finally:
        await indexnow.close()


@asynccontextmanager
async def _websub(
    settings: Settings,
    clock: Clock,
    pushes: Pushes,
    reader: StoreReader,
    feeds: RunningCrawl,
) -> AsyncIterator[WebSub | None]:
    """Make the subscriber to hubs, if the settings ask for it and feeds are read here."""
    if not settings.public_url or not feeds.engine.crawls:
        yield None
        return
    hubs = Hubs(settings)
    websub = WebSub(pushes, hubs, reader, feeds.parse_pool, clock, settings.public_url)
    async with websub.running():
        feeds.discovery.on_feed = websub.note_feed
        yield websub


async def fetch_key_file(fetcher: FileFetching, clock: Clock, url: str) -> Response:
    """Fetch a file with a key, as politely as a page, from its own site.

    Its host may be with another crawler; it is waited for.
    """
    try:
        async with asyncio.timeout(KEY_WITHIN):
            while True:
                found = await fetcher.fetch_file(url, MAX_KEY_BYTES, stay_on_site=True)
                if not found.postponed:
                    return found
                await asyncio.sleep(KEY_AGAIN)
    except TimeoutError:
        return Response(url, 0, clock.now(), error="its host is busy")


def _names(settings: Settings) -> tuple[str, ...]:
    public = [host_of(settings.public_url)] if settings.public_url else []
    return names_of(Address.parse(settings.listen), [*settings.server_names, *public])


def _started(service: Service, port: int, address: Address, token: str | None) -> Started:
    url = f"http://{address.in_url}:{port}"
    code = service.sessions.new_code(User("", Access.ADMIN))
    return Started(url, f"{url}/login?code={code}", token)
