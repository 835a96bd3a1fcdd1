"""Discover pages, and evidence of changes, during a crawl: edits, sitemaps, feeds, links."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import final

from recrawl.config.settings import Settings
from recrawl.content.sitemaps.packed import read_packed
from recrawl.content.sitemaps.sitemaps import Sitemap
from recrawl.engine.discovery.scope import Scope
from recrawl.engine.discovery.sitemap_hosts import Vetted, canonical_urls, vet
from recrawl.engine.discovery.sitemap_limits import (
    MAX_DEPTH,
    MAX_SITEMAPS,
    POSTPONED,
    SitemapLimits,
    next_read,
)
from recrawl.engine.frontier import CrawlFrontier, days
from recrawl.engine.protocols import FileFetching, Parsing
from recrawl.errors import RecrawlError
from recrawl.hosts import host_of
from recrawl.parsing.pool import TooExpensiveError, log_parse_error
from recrawl.records import (
    MICROSECONDS_A_DAY,
    Outcome,
    Page,
    Response,
    State,
    Validators,
    Visit,
)
from recrawl.store.recording import HOUR
from recrawl.store.rows import NewPage, SitemapFile
from recrawl.store.sitemap_files import ROBOTS
from recrawl.store.thread import StoreThread
from recrawl.urls import origin_of

LOGGER = logging.getLogger("recrawl.crawler")

#: Sitemaps considered per round, read per host and round, and read concurrently.
MAX_DUE, PER_ROUND, SIDE_BY_SIDE = 10_000, 5, 4
#: Entries of a sitemap processed at a time, so that a long one does not block the event loop.
PIECE = 1_000
#: Sitemaps used from one robots.txt.
MAX_NAMED = 100
#: The kinds of signals that dates in sitemaps and in feeds are.
SITEMAP, FEED = "sitemap", "feed"
#: The kind of a sitemap that names others.
INDEX = "index"


@final
class Discovery:
    """Brings in pages and evidence that visits alone would not.

    Args:
        frontier: Where pages are scheduled.
        store: Where pages are added.
        fetcher: The HTTP client, for sitemaps.
        settings: Whether and how far to follow links, how often to read sitemaps.
        parse_pool: Where sitemaps are parsed.

    Attributes:
        failing: Sitemaps and feeds that could not be read, or not completely, and why.
        on_feed: Called with the URL of each feed that was read, and the response.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        store: StoreThread,
        fetcher: FileFetching,
        settings: Settings,
        parse_pool: Parsing,
    ) -> None:
        self._frontier = frontier
        self._thread = store
        self._store = store.store
        self._fetcher = fetcher
        self._settings = settings
        self._parse_pool = parse_pool
        self._serial = frontier.serial
        self._signalled: dict[int, int] = {}
        self._scope = Scope(settings.include, settings.exclude)
        self._interval = round(settings.sitemap_interval * MICROSECONDS_A_DAY)
        self._limits: SitemapLimits | None = None
        self._is_spent = False
        self._slots = asyncio.Semaphore(SIDE_BY_SIDE)
        self._origins: set[str] = set()
        self._visited_origins: list[str] = []
        self.failing: dict[str, str] = {}
        self.on_feed: Callable[[str, Response], object] = lambda _url, _response: None
        self._hosts = frozenset(settings.follow_hosts) or frozenset(store.store.seed_hosts())

    async def apply_edits(self, now: int) -> None:
        """Apply changes that other processes have made to the store."""
        edits = await self._thread.call(self._store.changes_since, self._serial)
        self._serial = edits.serial
        self._frontier.remove(edits.removed)
        found = {page.number for page in edits.added} - edits.asked
        pages = (*edits.added, *edits.revived)
        self._frontier.add(pages, now, asked=edits.asked, discovered=found)
        for number, importance in edits.importance:
            self._frontier.set_importance(number, importance)

    async def read_sitemaps(self, now: int) -> None:
        """Read the sitemaps that are due, for new pages and for the dates of known ones."""
        await self._start_sitemaps(now)
        await self._read_robots_sitemaps()
        due = await self._thread.call(self._store.sitemaps.due, now, MAX_DUE)
        by_host: dict[str, list[SitemapFile]] = {}
        for known in due:
            by_host.setdefault(host_of(known.url), []).append(known)
        # Hosts do not wait for each other, and none can hold up the round.
        rounds = [self._read_host(files[:PER_ROUND], now) for files in by_host.values()]
        await asyncio.gather(*rounds)
        if self.failing:
            known_now = await self._thread.call(self._store.sitemaps.all)
            still = {one.url for one in known_now if one.error is not None}
            self.failing = {url: why for url, why in self.failing.items() if url in still}

    async def _start_sitemaps(self, now: int) -> None:
        """Retry what an earlier run could not read, and count what it spent."""
        if self._limits is not None:
            return
        await self._thread.call(self._store.sitemaps.retry, str(self._scope))
        since = round(now - MICROSECONDS_A_DAY)
        spent = await self._thread.call(self._store.sitemaps.requests, since)
        # Hours are counted from their end, so that the limit is never exceeded.
        spent = [(min(hour + HOUR, now), requests) for hour, requests in spent]
        self._limits = SitemapLimits(self._settings.sitemap_budget, spent)

    async def _read_robots_sitemaps(self) -> None:
        """Add the sitemaps that the robots.txt of newly visited hosts names."""
        while self._visited_origins:
            origin = self._visited_origins.pop()
            named = await self._fetcher.named_sitemaps(f"{origin}/")
            if named is None:
                # It cannot be read now; the next visit to the host triggers another attempt.
                self._origins.discard(origin)
                continue
            urls = canonical_urls(named)[:MAX_NAMED]
            robots = SitemapFile(f"{origin}/robots.txt", kind=ROBOTS)
            await self._thread.call(
                self._store.sitemaps.name, robots, urls, MAX_SITEMAPS, is_all=True
            )

    async def _read_host(self, sitemaps: Sequence[SitemapFile], now: int) -> None:
        for known in sitemaps:
            async with self._slots:
                found = await self._read_sitemap(known, now)
            if found is None:
                return
            await self._thread.call(self._store.sitemaps.note, found)
            self.failing.pop(known.url, None)
            if found.error is not None:
                what = "cannot read" if found.failures else "cannot use all of"
                LOGGER.warning("%s the sitemap %s: %s", what, known.url, found.error)
                self.failing[known.url] = found.error

    async def _read_sitemap(self, known: SitemapFile, now: int) -> SitemapFile | None:
        """Read a sitemap and return its new record; None if the budget is used up."""
        limits = self._limits
        if limits is None or not self._is_affordable(limits, now):
            return None
        max_bytes = limits.max_bytes(known, now)
        if not max_bytes:
            problem = "its host or index has reached today's limit for sitemaps"
            return self._failed(known, now, problem, None)
        # Spent beforehand, as others are read at the same time.
        limits.spend(known, now, 1, 0)
        response = await self._fetcher.fetch_file(
            known.url, max_bytes, known.validators, stay_on_site=known.depth > 0
        )
        limits.spend(known, now, response.requests - 1, response.transferred)
        return await self._found(known, response, now)

    async def _found(self, known: SitemapFile, response: Response, now: int) -> SitemapFile:
        """Process the response to a request for a sitemap, and return its new record."""
        if response.postponed:
            wait = max(POSTPONED, round((response.retry_after or 0.0) * 1e6))
            return replace(known, next_at=now + wait)
        if response.error is not None or (response.body is None and not response.is_not_modified):
            error = response.error or f"the server answered {response.status}"
            return self._failed(known, now, error, response.retry_after)
        if response.body is None:
            return self._succeeded(known, now)
        sitemap = await self._parsed(known.url, response.body)
        if sitemap.problem is not None:
            return self._failed(known, now, sitemap.problem, None)
        if sitemap.kind == FEED:
            self.on_feed(known.url, response)
        return await self._use(known, response, sitemap, now)

    async def _parsed(self, url: str, body: bytes) -> Sitemap:
        """Parse a sitemap; one that cannot be parsed has a problem."""
        try:
            packed = await self._parse_pool.run(read_packed, body)
        except TooExpensiveError as error:
            problem = f"it is {error}"
        except RecrawlError:
            raise
        except Exception as error:  # noqa: BLE001 - no sitemap may end the crawl
            problem = f"it {log_parse_error(url, error)}"
        else:
            return packed.unpacked()
        return Sitemap(problem=problem)

    def _is_affordable(self, limits: SitemapLimits, now: int) -> bool:
        is_affordable = limits.may_request(now)
        if not is_affordable and not self._is_spent:
            LOGGER.warning(
                "sitemaps are not read for now: sitemap_budget is used up for the last 24 hours"
            )
        self._is_spent = not is_affordable
        return is_affordable

    def _failed(
        self, known: SitemapFile, now: int, error: str, retry_after: float | None
    ) -> SitemapFile:
        failures = known.failures + 1
        at = next_read(now, self._interval, failures, retry_after)
        return replace(known, tried_at=now, next_at=at, failures=failures, error=error)

    def _succeeded(self, known: SitemapFile, now: int) -> SitemapFile:
        at = next_read(now, self._interval, 0)
        return replace(known, read_at=now, tried_at=now, next_at=at, failures=0, error=None)

    async def _use(
        self, known: SitemapFile, response: Response, sitemap: Sitemap, now: int
    ) -> SitemapFile:
        """Add what a sitemap lists, use its dates as evidence, and return its new record."""
        children = await vet(
            self._fetcher, known, response.url, [url for url, _ in sitemap.sitemaps]
        )
        pages = await vet(self._fetcher, known, response.url, [url for url, _ in sitemap.entries])
        problems = [
            *await self._name_children(
                known, children, is_all=sitemap.is_whole and children.unread is None
            ),
            *await self._add_listed(known, pages.urls, sitemap, now),
        ]
        skipped = children.skipped + pages.skipped
        unread = children.unread or pages.unread
        if skipped:
            problems.append(f"{skipped:,} of its URLs are on other hosts, which do not name it")
        if not sitemap.is_whole or response.truncated:
            problems.append("only its beginning could be read")
        found = replace(
            self._succeeded(known, now),
            pages=len(sitemap.entries) + len(sitemap.sitemaps),
            kind=sitemap.kind,
            skipped=skipped,
            error="; ".join(problems) or None,
        )
        if unread is not None:
            error = f"robots.txt of {unread}, whose URLs it lists, cannot be read yet"
            return self._failed(replace(found, failures=known.failures), now, error, None)
        if found.error is not None:
            # Next time it may be used in full, even if it has not changed.
            return replace(found, validators=Validators())
        validators = Validators(response.header("ETag"), response.header("Last-Modified"))
        return replace(found, validators=validators)

    async def _name_children(
        self, known: SitemapFile, children: Vetted, *, is_all: bool
    ) -> list[str]:
        """Add the sitemaps that an index lists; return the problems."""
        if not children.urls and known.kind != INDEX:
            return []
        if children.urls and known.depth >= MAX_DEPTH:
            return [f"it is an index nested too deep, after a chain of {MAX_DEPTH} indexes"]
        left_out = max(len(children.urls) - MAX_SITEMAPS, 0)
        left_out += await self._thread.call(
            self._store.sitemaps.name,
            known,
            children.urls[:MAX_SITEMAPS],
            MAX_SITEMAPS,
            is_all=is_all,
        )
        return [f"{left_out:,} sitemaps too many in this index were left out"] if left_out else []

    async def _add_listed(
        self, listing: SitemapFile, urls: Sequence[str], sitemap: Sitemap, now: int
    ) -> list[str]:
        """Add the pages that a sitemap lists, and use their dates; return the problems."""
        dates: Mapping[str, int | None] = dict(sitemap.entries)
        limit, left_out = max(self._settings.max_sitemap_pages - len(self._frontier), 0), 0
        for start in range(0, len(urls), PIECE):
            piece = urls[start : start + PIECE]
            known = await self._thread.call(self._store.pages_at, piece)
            wanted = [
                NewPage(
                    url,
                    host_of(url),
                    source=source_of(listing),
                    initial_importance=self._settings.site_of(url).importance,
                )
                for url in piece
                if is_unvisited(known.get(url), dates[url]) and url in self._scope
            ]
            if wanted[:limit]:
                await self._thread.call(self._store.add, wanted[:limit], now)
            left_out += len(wanted[limit:])
            limit -= len(wanted[:limit])
            dated = [(known[url], dates[url]) for url in piece if url in known]
            self.signal([(page, at) for page, at in dated if at is not None], sitemap.kind, now)
        return [f"{left_out:,} pages above max_sitemap_pages were left out"] if left_out else []

    def signal(self, modified: Iterable[tuple[Page, int]], kind: str, now: int) -> None:
        """Signal pages that a sitemap or a feed says have changed since their last visit.

        A date that is read again before the page has been visited is no new signal.
        """
        news = []
        for page, at in modified:
            is_newer = page.last_visit is not None and page.last_visit < min(at, now)
            is_news = is_newer and self._signalled.get(page.number, at - 1) < at
            if is_news and page.number in self._frontier:
                self._signalled[page.number] = at
                news.append(page.number)
        if news:
            named = FEED if kind == FEED else SITEMAP
            self._frontier.frontier.signal(news, days(now), named)

    async def learn(self, visits: Sequence[Visit]) -> None:
        """Add the pages that changed pages link to."""
        new: list[NewPage] = []
        for visit in visits:
            if visit.outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
                self._signalled.pop(visit.page.number, None)
            if self._settings.robots_sitemaps:
                self._note_origin(visit.page.url)
            if self._settings.follow:
                new += self._linked(visit)
        if new:
            await self._add_linked(new, visits[-1].response.at)

    def _note_origin(self, url: str) -> None:
        origin = origin_of(url)
        if origin not in self._origins:
            self._origins.add(origin)
            self._visited_origins.append(origin)

    async def _add_linked(self, pages: Sequence[NewPage], at: int) -> None:
        """Add linked pages that are new; known ones keep their importance and depth."""
        known = await self._thread.call(self._store.pages_at, [page.url for page in pages])
        limit = max(self._settings.max_pages - len(self._frontier), 0)
        new = {
            page.url: page for page in pages if page.url not in known and page.url in self._scope
        }
        await self._thread.call(self._store.add, list(new.values())[:limit], at)

    def _linked(self, visit: Visit) -> list[NewPage]:
        """Return the pages that a page links to, with a share of its importance."""
        page = visit.page
        importance = page.importance * self._settings.link_importance
        return [
            NewPage(
                url,
                host_of(url),
                importance if (own := self._settings.site_of(url).importance) is None else own,
                page.depth + 1,
                "link",
            )
            for url in visit.links
            if host_of(url) in self._hosts
        ]


def source_of(listing: SitemapFile) -> str:
    """Return the source of the pages that a sitemap lists.

    What a sitemap that a user named lists when it is first read is what the user asked for. What it
    lists later, or what a sitemap lists that only robots.txt names, is what the site asks for.

    >>> source_of(SitemapFile("https://example.org/sitemap.xml"))
    'sitemap'
    >>> source_of(SitemapFile("https://example.org/sitemap.xml", read_at=1))
    'listed'
    """
    root = listing.root or listing.url
    is_asked = listing.read_at is None and not root.endswith("/robots.txt")
    return "sitemap" if is_asked else "listed"


def is_unvisited(page: Page | None, modified: int | None) -> bool:
    """Whether a page that a site lists is not being visited: it is new, or it has come back."""
    if page is None:
        return True
    seen = page.last_visit or 0
    return page.state is State.GONE and modified is not None and modified > seen
