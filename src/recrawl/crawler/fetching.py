"""The fetcher of a crawl, made from its settings; the store keeps its robots.txt files."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import final

from recrawl.clock import Clock
from recrawl.crawler.settings import Settings, agent_of
from recrawl.crawler.store_thread import StoreThread
from recrawl.http.access import Access
from recrawl.http.fetch import Fetcher
from recrawl.http.gate import Gate
from recrawl.http.host_pacing import HostPacing
from recrawl.http.limits import Limits
from recrawl.records import RobotsText
from recrawl.store.sqlite import SqliteStore


def fetcher_of(
    settings: Settings,
    clock: Clock,
    store: StoreThread,
    reader: SqliteStore,
    access: Callable[[str], Access],
) -> Fetcher:
    """Make the HTTP client that the settings describe."""
    started = clock.now()

    def recall(origin: str) -> RobotsText | None:
        # What an earlier run could not read is tried again when a run starts.
        found = reader.robots(origin)
        if found is None or found.failing_since is None or found.fetched_at >= started:
            return found
        return replace(found, fetched_at=0)

    pacing = HostPacing(
        settings.delay_of,
        settings.host_connections,
        connections=settings.connections,
        asked_at=last_asked(settings, clock, reader),
    )
    return Fetcher(
        agent_of(settings),
        Gate(pacing, clock=clock),
        limits=Limits(
            connections=settings.connections,
            connect_timeout=settings.connect_timeout,
            read_timeout=settings.read_timeout,
            total_timeout=settings.total_timeout,
            max_bytes=settings.max_bytes,
            max_redirects=settings.max_redirects,
        ),
        allow_private=settings.allow_private,
        access=access,
        max_delay=settings.max_crawl_delay,
        recall=recall,
        remember=RobotsWriter(store),
    )


@final
class RobotsWriter:
    """Writes robots.txt files together, as each transaction waits for the disk.

    Args:
        store: Where they are written.
    """

    def __init__(self, store: StoreThread) -> None:
        self._store = store
        self._waiting: list[RobotsText] = []

    def __call__(self, _origin: str, found: RobotsText) -> None:
        """Have a file written soon."""
        self._waiting.append(found)
        if len(self._waiting) == 1:
            self._store.call_later(self._write)

    def _write(self) -> None:
        # In the store's thread. What is added when nothing is left calls for another round.
        while files := self._waiting[:]:
            self._store.store.remember_robots(*files)
            del self._waiting[: len(files)]


def last_asked(settings: Settings, clock: Clock, reader: SqliteStore) -> float:
    """Return when an earlier run may have asked any host: just now, if that could matter.

    A run that was killed had asked hosts that the store does not know about.
    """
    newest = reader.newest_visit()
    delays = settings.host_delay, *settings.sites.values("delay")
    longest = max(settings.max_crawl_delay, *delays) * 1e6
    return -math.inf if newest is None or clock.now() - newest > longest else clock.seconds()
