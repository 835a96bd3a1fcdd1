"""Pages that sites announce as new or changed."""

import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import final

from recrawl.config.settings import Settings
from recrawl.engine.discovery.discovery import is_unvisited
from recrawl.engine.discovery.scope import Scope
from recrawl.engine.discovery.seeds import with_initial_importance
from recrawl.engine.frontier import CrawlFrontier, days
from recrawl.hosts import host_of
from recrawl.records import Page
from recrawl.service.store_reader import StoreReader
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore
from recrawl.store.thread import StoreThread

#: What the frontier calls such signals.
KIND = "push"
#: Where pages come from that nobody else knew.
SOURCE = "push"
#: URLs that are looked up at a time, so that a long list does not block the event loop.
PIECE = 1_000
#: Pages that are remembered as pushed; the oldest are forgotten first.
MAX_PUSHED = 100_000
#: Seconds for which it is remembered whether a host has pages, and of how many hosts.
CRAWLED_FOR, MAX_CRAWLED = 60.0, 10_000


@final
class Pushes:
    """Passes announcements of sites to the frontier and adds new pages.

    How far a host is believed is for the frontier to learn: one whose pages are found unchanged
    loses its influence. Pages come in as sitemaps bring them in: within the scope, and up to
    ``max_sitemap_pages``.

    Args:
        frontier: Where pages are scheduled.
        reader: Where pages are looked up.
        writer: Where pages are added.
        settings: Which pages are wanted.

    Attributes:
        signalled: How many pages the frontier was told about.
        added: How many pages were added.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        reader: StoreReader,
        writer: StoreThread,
        settings: Settings,
    ) -> None:
        self._frontier = frontier
        self._reader = reader
        self._writer = writer
        self._settings = settings
        self._scope = Scope(settings.include, settings.exclude)
        #: Pages that were pushed, and when, in microseconds.
        self._pushed: OrderedDict[int, int] = OrderedDict()
        #: Hosts, whether they have pages, and until when that counts.
        self._crawled: OrderedDict[str, tuple[bool, float]] = OrderedDict()
        self.signalled = 0
        self.added = 0

    async def crawls(self, host: str) -> bool:
        """Whether pages of a host are kept fresh; other hosts are ignored."""
        known, until = self._crawled.get(host, (False, 0.0))
        if time.monotonic() < until:
            return known
        known = await self._reader.call(SqliteStore.has_host, host)
        # The store may have to scan all its pages, which strangers must not be able to cause.
        self._crawled[host] = known, time.monotonic() + CRAWLED_FOR
        self._crawled.move_to_end(host)
        while len(self._crawled) > MAX_CRAWLED:
            self._crawled.popitem(last=False)
        return known

    async def take(self, modified: Mapping[str, int | None], now: int, *, add: bool = True) -> None:
        """Use what a site announces about its own pages, once it is certain that the site did so.

        Args:
            modified: Canonical URLs, each with when it changed, in microseconds; None if that is
                not said, which is no news about a page that is known.
            now: The present, in microseconds.
            add: Whether to add pages that are not known.
        """
        urls = iter(modified)
        while piece := list(islice(urls, PIECE)):
            known = await self._reader.call(SqliteStore.pages_at, piece)
            self._signal([(page, modified[url]) for url, page in known.items()], now)
            if add:
                new = [url for url in piece if is_unvisited(known.get(url), modified[url])]
                await self._add(new, now)

    def _signal(self, modified: Iterable[tuple[Page, int | None]], now: int) -> None:
        """Tell the frontier of pages that changed since their last visit, once until the next."""
        news = [page.number for page, at in modified if self._is_news(page, at, now)]
        for number in news:
            self._pushed[number] = now
            self._pushed.move_to_end(number)
        while len(self._pushed) > MAX_PUSHED:
            self._pushed.popitem(last=False)
        if news:
            self._frontier.frontier.signal(news, days(now), KIND)
            self.signalled += len(news)

    def _is_news(self, page: Page, at: int | None, now: int) -> bool:
        if at is None or page.last_visit is None or page.number not in self._frontier:
            return False
        return self._pushed.get(page.number, -1) < page.last_visit < min(at, now)

    async def _add(self, urls: Iterable[str], now: int) -> None:
        limit = max(self._settings.max_sitemap_pages - len(self._frontier), 0)
        wanted = [NewPage(url, host_of(url), source=SOURCE) for url in urls if url in self._scope]
        new = list(with_initial_importance(wanted[:limit], self._settings))
        if new:
            added = await self._writer.call(self._writer.store.add, new, now)
            self.added += added.new + added.revived
