"""Pages and evidence that come in while the crawl runs: edits, sitemaps, links."""

import logging
from collections.abc import Iterable, Sequence
from typing import final

from recrawl.content.links import links
from recrawl.content.sitemaps import Sitemap, read_sitemap
from recrawl.crawler.load import CrawlFrontier, days
from recrawl.crawler.parse_pool import ParsePool
from recrawl.crawler.protocols import Fetching
from recrawl.crawler.settings import Settings
from recrawl.crawler.sitemap_trust import Trust
from recrawl.crawler.store_thread import StoreThread
from recrawl.hosts import host_of
from recrawl.records import MICROSECONDS_A_DAY, Outcome, Page, State, Validators, Visit
from recrawl.store.rows import NewPage, SitemapFile

LOGGER = logging.getLogger("recrawl.crawler")

#: How much of a sitemap is read; the protocol allows 50 MB.
MAX_SITEMAP_BYTES = 50_000_000
#: A sitemap that cannot be read is retried after this share of the usual interval.
RETRY_SHARE = 0.1


@final
class Discovery:
    """Brings in pages and evidence that visits alone do not.

    Args:
        frontier: Where pages are scheduled.
        store: Where pages are added.
        fetcher: The HTTP client, for sitemaps.
        settings: Whether and how far to follow links, how often to read sitemaps.
        parse_pool: Where long pages and sitemaps are parsed.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        store: StoreThread,
        fetcher: Fetching,
        settings: Settings,
        parse_pool: ParsePool,
    ) -> None:
        self._frontier = frontier
        self._thread = store
        self._store = store.store
        self._fetcher = fetcher
        self._settings = settings
        self._parse_pool = parse_pool
        self._serial = frontier.serial
        self._removed: set[int] = set()
        self._trust = Trust()
        self._hosts = frozenset(settings.follow_hosts) or frozenset(store.store.seed_hosts())

    def is_removed(self, page: int) -> bool:
        """Whether somebody removed a page since the crawl began; it may still be in flight."""
        return page in self._removed

    async def apply_edits(self, now: int) -> None:
        """Take over what other processes changed in the store."""
        edits = await self._thread.call(self._store.changes_since, self._serial)
        self._serial = edits.serial
        self._frontier.remove(edits.removed)
        self._removed.update(edits.removed)
        pages = (*edits.added, *edits.revived)
        new = [page for page in pages if page.number not in self._frontier]
        if new:
            self._frontier.add(new, now)
        for number, importance in edits.importance:
            if number in self._frontier:
                self._frontier.frontier.set_importance([number], importance)

    async def read_sitemaps(self, now: int) -> None:
        """Read the sitemaps that are due, for new pages and for dates of known ones."""
        every = round(self._settings.sitemap_interval * MICROSECONDS_A_DAY)
        for known in await self._thread.call(self._store.sitemaps, now - every):
            await self._read_sitemap(known, now, every)

    async def _read_sitemap(self, known: SitemapFile, now: int, every: int) -> None:
        response = await self._fetcher.fetch_file(known.url, MAX_SITEMAP_BYTES, known.validators)
        read_at, validators, pages = now, known.validators, known.pages
        if response.error is not None:
            LOGGER.warning("cannot read the sitemap %s: %s", known.url, response.error)
            read_at = now - round(every * (1.0 - RETRY_SHARE))
        elif response.body is not None:
            sitemap = await self._parse_pool.run(response.body, read_sitemap, response.body)
            await self._use(sitemap, now)
            validators = Validators(response.header("ETag"), response.header("Last-Modified"))
            pages = len(sitemap.entries)
        await self._thread.call(self._store.note_sitemap, known.url, read_at, validators, pages)

    async def _use(self, sitemap: Sitemap, now: int) -> None:
        """Add what a sitemap names, and use its dates as evidence."""
        for url, _ in sitemap.sitemaps:
            await self._thread.call(self._store.add_sitemap, url)
        urls = [url for url, _ in sitemap.entries]
        known = await self._thread.call(self._store.pages_at, urls)
        wanted = [
            NewPage(url, host_of(url), source="sitemap")
            for url, modified in sitemap.entries
            if _is_unvisited(known.get(url), modified)
        ]
        await self._thread.call(self._store.add, wanted, now)
        dated = {url: at for url, at in sitemap.entries if at is not None}
        self.signal([(known[url], at) for url, at in dated.items() if url in known], now)

    def signal(self, modified: Iterable[tuple[Page, int]], now: int) -> None:
        """Use the dates on which pages are said to have changed, as far as the host is trusted.

        A sitemap that is read again before the page was visited is not evidence twice.
        """
        for page, at in modified:
            is_newer = page.last_visit is not None and page.last_visit < min(at, now)
            is_scheduled = is_newer and page.number in self._frontier
            if is_scheduled and self._trust.expect(page.number, page.host):
                keep = self._trust.keep(page.host)
                self._frontier.frontier.signal([page.number], days(now), keep)

    async def learn(self, visits: Sequence[Visit]) -> None:
        """Learn whether sitemaps were right, and add what changed pages link to."""
        new: list[NewPage] = []
        for visit in visits:
            if visit.outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
                self._trust.found(visit.page.number, changed=visit.outcome is Outcome.CHANGED)
            if self._settings.follow:
                new += await self._parse_pool.run(visit.content, self._linked, visit)
        if new:
            await self._add_linked(new, visits[-1].response.at)

    async def _add_linked(self, pages: Sequence[NewPage], at: int) -> None:
        """Add linked pages that are new; known ones keep their importance and depth."""
        known = await self._thread.call(self._store.pages_at, [page.url for page in pages])
        limit = max(self._settings.max_pages - len(self._frontier), 0)
        new = {page.url: page for page in pages if page.url not in known}
        await self._thread.call(self._store.add, list(new.values())[:limit], at)

    def _linked(self, visit: Visit) -> list[NewPage]:
        """Return the pages that a page links to, with a share of its importance."""
        page, body = visit.page, visit.content
        if body is None or page.depth >= self._settings.max_depth:
            return []
        kind = visit.response.header("Content-Type") or ""
        importance = page.importance * self._settings.link_importance
        return [
            NewPage(url, host_of(url), importance, page.depth + 1, "link")
            for url in links(body, kind, visit.response.url, visit.response.headers)
            if host_of(url) in self._hosts
        ]


def _is_unvisited(page: Page | None, modified: int | None) -> bool:
    """Whether a sitemap names a page that is not visited: a new one, or one that came back."""
    if page is None:
        return True
    seen = page.last_visit or 0
    return page.state is State.GONE and modified is not None and modified > seen
