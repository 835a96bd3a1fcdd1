"""Build the HTTP client and the visitor from the settings; persist robots.txt files."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import final

from recrawl.clock import Clock
from recrawl.config.settings import Settings, agent_of
from recrawl.content.absence import Patience
from recrawl.content.reader import Reader
from recrawl.engine.protocols import Parsing
from recrawl.engine.templates import Templates
from recrawl.fetching.visit import Visitor
from recrawl.http.access import Access
from recrawl.http.fetch import Elsewhere, Fetcher
from recrawl.http.gate import Gate
from recrawl.http.host_pacing import HostPacing
from recrawl.http.limits import Limits
from recrawl.http.memory_budget import MAX_BYTES, MEDIUM, MemoryBudget
from recrawl.records import MICROSECONDS_A_DAY, RobotsText
from recrawl.store.kept.host_memory import HOST_PAUSE, hosts_left_alone
from recrawl.store.sqlite import SqliteStore
from recrawl.store.thread import StoreThread


def fetcher_of(
    settings: Settings,
    clock: Clock,
    remember: Callable[[str, RobotsText], None],
    reader: SqliteStore,
    access: Callable[[str], Access],
    *,
    pacing: HostPacing | None = None,
    elsewhere: Elsewhere | None = None,
    max_memory: int = MAX_BYTES,
) -> Fetcher:
    """Build the HTTP client from the settings.

    Args:
        settings: The settings.
        clock: The clock for delays.
        remember: Called with each robots.txt found.
        reader: The store, for those that an earlier run found.
        access: Returns headers, credentials and proxy for a URL.
        pacing: Decides when a host may be sent a request; by default, by the settings alone.
        elsewhere: Makes the requests to hosts of other processes, if there are any.
        max_memory: Bytes that long bodies may take together.
    """
    started = clock.now()

    def recall(origin: str) -> RobotsText | None:
        # What an earlier run could not read is retried when a run starts.
        found = reader.robots(origin)
        if found is None or found.failing_since is None or found.fetched_at >= started:
            return found
        return replace(found, fetched_at=0)

    if pacing is None:
        pacing = HostPacing(
            settings.delay_of, settings.host_connections, connections=settings.connections
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
        remember=remember,
        elsewhere=elsewhere,
        memory=MemoryBudget(max_memory, MEDIUM),
    )


def pacing_of(
    settings: Settings,
    clock: Clock,
    reader: SqliteStore,
    delay: Callable[[str], float],
    connections: int,
) -> HostPacing:
    """Build what decides when a host may be sent a request, with the pauses of earlier runs.

    Args:
        settings: The settings.
        clock: The clock for delays.
        reader: The store, which knows the pauses.
        delay: Returns the seconds between two requests to a host.
        connections: How many visits to all hosts together may be in flight.
    """
    pacing = HostPacing(
        delay,
        settings.host_connections,
        connections=connections,
        asked_at=last_asked(settings, clock, reader),
    )
    for host, seconds in hosts_left_alone(reader.kept(HOST_PAUSE), clock.now()).items():
        pacing.close_host(host, 0, seconds, clock.seconds())
    return pacing


def visitor_of(
    settings: Settings,
    fetcher: Fetcher,
    readers: Callable[[str], Reader],
    reader: SqliteStore,
    parse_pool: Parsing,
) -> Visitor:
    """Build the visitor from the settings."""
    return Visitor(
        fetcher,
        readers,
        reader.body,
        settings.full_fetch_every,
        patience_of(settings),
        parse_pool,
        follow_depth=settings.max_depth if settings.follow else 0,
        memory=fetcher.memory,
        templates=Templates(reader.template),
        copy_url=reader.copy_url,
    )


def patience_of(settings: Settings) -> Patience:
    """Return when to give up on pages that are not found or refused."""
    return Patience(
        settings.gone_after,
        round(settings.gone_after_time * MICROSECONDS_A_DAY),
        round(settings.refused_retry * MICROSECONDS_A_DAY),
        drops_refused=settings.refused_copies == "drop",
    )


@final
class RobotsWriter:
    """Writes robots.txt files in batches, as each transaction waits for the disk.

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
        # Runs in the store's thread; files added meanwhile are written in another round.
        while files := self._waiting[:]:
            self._store.store.remember_robots(*files)
            del self._waiting[: len(files)]


def last_asked(settings: Settings, clock: Clock, reader: SqliteStore) -> float:
    """Return when an earlier run may have sent its last request: just now, if that could matter.

    A run that was killed may have made requests that the store does not know about.
    """
    newest = reader.newest_visit()
    delays = settings.host_delay, *settings.sites.values("delay")
    longest = max(settings.max_crawl_delay, *delays) * 1e6
    return -math.inf if newest is None or clock.now() - newest > longest else clock.seconds()
