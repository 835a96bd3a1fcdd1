"""Everything a crawl needs, put together: the one place where parts meet."""

import asyncio
import gc
import math
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import cast

from recrawl.content.reader import Mode, Reader
from recrawl.crawler.discovery import Discovery
from recrawl.crawler.load import Loaded, load_frontier, warm_up
from recrawl.crawler.loop import Crawl, system_clock
from recrawl.crawler.parse_pool import ParsePool
from recrawl.crawler.settings import Settings, agent_of
from recrawl.crawler.stats import Stats
from recrawl.crawler.store_thread import StoreThread
from recrawl.crawler.visit import Visitor
from recrawl.http.fetch import Fetcher
from recrawl.http.gate import Gate
from recrawl.http.limits import Limits
from recrawl.records import MICROSECONDS_A_DAY, RobotsText
from recrawl.store.sqlite import SqliteStore

Watch = Callable[[Stats], object]


def run_crawl(
    settings: Settings, *, seconds: float | None = None, watch: Watch | None = None
) -> Stats:
    """Crawl the store's pages until a signal ends it, or for so many seconds.

    The first SIGINT or SIGTERM ends it cleanly, the second at once.

    Raises:
        StoreError: The store cannot be used, or another run uses it.
    """
    with SqliteStore.open(settings.store) as store, store.lock():
        warm_up(settings)
        loaded = load_frontier(store, settings, system_clock())
        start_credit(loaded, store, settings)
        # What is loaded stays: looking through it for garbage again and again would find none.
        gc.freeze()
        # The loop reads with a connection of its own, as the store's thread may be writing.
        with (
            SqliteStore.open(settings.store) as reader,
            asyncio.Runner(loop_factory=_loop_factory()) as runner,
        ):
            return runner.run(_crawl(loaded, store, reader, settings, seconds, watch))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop


async def _crawl(
    loaded: Loaded,
    store: SqliteStore,
    reader: SqliteStore,
    settings: Settings,
    seconds: float | None,
    watch: Watch | None,
) -> Stats:
    shelf, reading = StoreThread(store), ParsePool()
    async with make_fetcher(settings, shelf, reader) as fetcher:
        crawl = Crawl(
            loaded,
            make_visitor(fetcher, settings, reader, reading),
            shelf,
            settings,
            grower=Discovery(loaded, shelf, fetcher, settings, reading),
            host_delay=fetcher.gate.delay_of,
            files=lambda: (fetcher.robots.requests, fetcher.files),
            room=fetcher.memory,
            watch=watch,
        )
        _end_on_signals(crawl)
        try:
            return await crawl.run(seconds)
        finally:
            reading.close()


def start_credit(loaded: Loaded, store: SqliteStore, settings: Settings) -> None:
    """Let the first page be fetched at once, unless one was just before the start.

    Budget that was not spent while nobody crawled is not made up for; so a crawl that is killed
    and started again and again stays within its budget.
    """
    newest = store.newest_visit()
    waited = MICROSECONDS_A_DAY if newest is None else system_clock() - newest
    if waited / MICROSECONDS_A_DAY * settings.budget >= 1.0:
        loaded.frontier.spend(-1)


def make_fetcher(settings: Settings, shelf: StoreThread, reader: SqliteStore) -> Fetcher:
    """Make who asks servers, as the settings say."""

    def remember(_origin: str, found: RobotsText) -> None:
        shelf.later(shelf.store.remember_robots, found)

    return Fetcher(
        agent_of(settings),
        Gate(
            settings.host_delay,
            settings.host_connections,
            asked_at=_last_asked(settings, reader),
        ),
        limits=Limits(
            connections=settings.connections,
            connect_timeout=settings.connect_timeout,
            idle_timeout=settings.idle_timeout,
            total_timeout=settings.total_timeout,
            max_bytes=settings.max_bytes,
            max_redirects=settings.max_redirects,
        ),
        allow_private=settings.allow_private,
        max_delay=settings.max_crawl_delay,
        recall=reader.robots,
        remember=remember,
    )


def _last_asked(settings: Settings, reader: SqliteStore) -> float:
    """Say when an earlier run may have asked any host; if it could matter, it is taken as just now.

    A run that was killed had asked hosts that the store does not know of.
    """
    newest = reader.newest_visit()
    longest = max(settings.max_crawl_delay, settings.host_delay) * 1e6
    return -math.inf if newest is None or system_clock() - newest > longest else time.monotonic()


def make_visitor(
    fetcher: Fetcher, settings: Settings, reader: SqliteStore, reading: ParsePool
) -> Visitor:
    """Make who visits pages, as the settings say."""
    return Visitor(
        fetcher,
        Reader(cast("Mode", settings.fingerprint), settings.selector or None),
        reader.body,
        settings.full_fetch_every,
        settings.gone_after,
        reading,
    )


def _end_on_signals(crawl: Crawl) -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def end() -> None:
        if crawl.stopping and task is not None:
            task.cancel()
        crawl.stop()

    in_main_thread = threading.current_thread() is threading.main_thread()
    if sys.platform != "win32" and in_main_thread:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end)
