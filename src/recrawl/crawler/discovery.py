"""Pages and evidence that come in while the crawl runs: edits, sitemaps, links."""

from collections.abc import Iterable, Sequence
from typing import Protocol, final

from recrawl.content.links import links
from recrawl.content.sitemaps import Sitemap, read_sitemap
from recrawl.crawler.load import Loaded, add_pages, days
from recrawl.crawler.parse_pool import ParsePool
from recrawl.crawler.settings import Settings
from recrawl.crawler.sitemap_trust import Trust
from recrawl.crawler.store_thread import StoreThread
from recrawl.records import MICROSECONDS_A_DAY, Outcome, Page, Response, State, Validators, Visit
from recrawl.store.rows import NewPage, SitemapFile
from recrawl.urls import host_of

#: How much of a sitemap is read; the protocol allows 50 MB.
MAX_SITEMAP_BYTES = 50_000_000
#: A sitemap that cannot be read is tried again after this share of the usual time.
AGAIN = 0.1


class FileFetching(Protocol):
    """Who asks servers for files that are not pages."""

    async def fetch_file(
        self, url: str, max_bytes: int, validators: Validators | None = None
    ) -> Response:
        """Ask for a file; what servers do wrong is a response, never an exception."""
        ...


@final
class Discovery:
    """Brings the frontier what it does not find out by visiting.

    Args:
        loaded: The frontier, and the numbers by which it knows hosts.
        shelf: Where pages are added.
        fetcher: Who reads sitemaps.
        settings: Whether and how far to follow links, how often to read sitemaps.
        room: Where pages are read.
    """

    def __init__(
        self,
        loaded: Loaded,
        shelf: StoreThread,
        fetcher: FileFetching,
        settings: Settings,
        room: ParsePool,
    ) -> None:
        self._loaded = loaded
        self._shelf = shelf
        self._fetcher = fetcher
        self._settings = settings
        self._room = room
        self._serial = loaded.serial
        self._removed: set[int] = set()
        self._trust = Trust()
        self._hosts = frozenset(settings.follow_hosts) or frozenset(shelf.store.seed_hosts())

    def removed(self, number: int) -> bool:
        """Whether somebody removed a page while it was under way."""
        return number in self._removed

    async def look(self, now: int) -> None:
        """Take over what others changed in the store."""
        edits = await self._shelf.use(self._shelf.store.changes_since, self._serial)
        self._serial = edits.serial
        frontier = self._loaded.frontier
        present = [number for number in edits.removed if number in frontier]
        if present:
            frontier.remove(present)
        self._removed.update(edits.removed)
        new = [page for page in (*edits.added, *edits.revived) if page.number not in frontier]
        if new:
            add_pages(self._loaded, new, now)
        for number, importance in edits.importance:
            if number in frontier:
                frontier.set_importance([number], importance)

    async def read_sitemaps(self, now: int) -> None:
        """Read the sitemaps that are due, for new pages and for dates of known ones."""
        age = round(self._settings.sitemap_every * MICROSECONDS_A_DAY)
        for known in await self._shelf.use(self._shelf.store.sitemaps, now - age):
            await self._read_sitemap(known, now, age)

    async def _read_sitemap(self, known: SitemapFile, now: int, age: int) -> None:
        response = await self._fetcher.fetch_file(known.url, MAX_SITEMAP_BYTES, known.validators)
        note = self._shelf.store.note_sitemap
        if response.error is not None:
            read_at = now - round(age * (1.0 - AGAIN))
            await self._shelf.use(note, known.url, read_at, known.validators, known.pages)
        elif response.body is None:
            await self._shelf.use(note, known.url, now, known.validators, known.pages)
        else:
            sitemap = await self._room.read(response.body, read_sitemap, response.body)
            await self._take_over(sitemap, now)
            validators = Validators(response.header("ETag"), response.header("Last-Modified"))
            await self._shelf.use(note, known.url, now, validators, len(sitemap.entries))

    async def _take_over(self, sitemap: Sitemap, now: int) -> None:
        for url, _ in sitemap.sitemaps:
            await self._shelf.use(self._shelf.store.add_sitemap, url)
        known = await self._shelf.use(
            self._shelf.store.pages_at, [url for url, _ in sitemap.entries]
        )
        wanted = [
            NewPage(url, host_of(url), source="sitemap")
            for url, modified in sitemap.entries
            if _is_news(known.get(url), modified)
        ]
        await self._shelf.use(self._shelf.store.add, wanted, now)
        dated = {url: at for url, at in sitemap.entries if at is not None}
        self.signal([(known[url], at) for url, at in dated.items() if url in known], now)

    def signal(self, told: Iterable[tuple[Page, int]], now: int) -> None:
        """Hear that pages changed at given times; it counts as much as it has proved right.

        A sitemap that is read again before the page was visited says the same thing once more.
        """
        frontier = self._loaded.frontier
        for page, modified in told:
            older = page.last_visit is not None and page.last_visit < min(modified, now)
            known = older and page.number in frontier
            if known and self._trust.expect(page.number, page.host):
                frontier.signal([page.number], days(now), self._trust.keep(page.host))

    async def found(self, visits: Sequence[Visit]) -> None:
        """Learn whether sitemaps were right, and take in what changed pages link to."""
        new: list[NewPage] = []
        for visit in visits:
            if visit.outcome in (Outcome.CHANGED, Outcome.UNCHANGED):
                self._trust.found(visit.page.number, changed=visit.outcome is Outcome.CHANGED)
            if self._settings.follow:
                new += await self._room.read(visit.content, self._linked, visit)
        if new:
            await self._add_linked(new, visits[-1].response.at)

    async def _add_linked(self, pages: Sequence[NewPage], at: int) -> None:
        """Take in linked pages that nobody knows; those known keep what was said of them."""
        store = self._shelf.store
        known = await self._shelf.use(store.pages_at, [page.url for page in pages])
        room = max(self._settings.max_pages - len(self._loaded.frontier), 0)
        new = {page.url: page for page in pages if page.url not in known}
        await self._shelf.use(store.add, list(new.values())[:room], at)

    def _linked(self, visit: Visit) -> list[NewPage]:
        """Give the pages that a page links to, with a share of its importance."""
        page, body = visit.page, visit.content
        if body is None or page.depth >= self._settings.max_depth:
            return []
        kind = visit.response.header("Content-Type") or ""
        importance = page.importance * self._settings.link_share
        return [
            NewPage(url, host_of(url), importance, page.depth + 1, "link")
            for url in links(body, kind, visit.response.url, visit.response.headers)
            if host_of(url) in self._hosts
        ]


def _is_news(page: Page | None, modified: int | None) -> bool:
    """Whether a sitemap names a page that is not visited: a new one, or one that came back."""
    if page is None:
        return True
    seen = page.last_visit or 0
    return page.state is State.GONE and modified is not None and modified > seen
