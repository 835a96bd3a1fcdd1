"""The store in one SQLite file."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, final

import numpy as np

from recrawl.errors import StoreError
from recrawl.estimation.shown.rates import RatePrior, ShownRates
from recrawl.kernels.jit import Ints
from recrawl.records import Outcome, Page, RobotsText, Visit
from recrawl.store import checking, editing, listing, reading, robots_files
from recrawl.store.access import ServiceTables
from recrawl.store.backing_up import back_up
from recrawl.store.changes import ChangeFeed
from recrawl.store.database import MEMORY, Database
from recrawl.store.encoding import read_page
from recrawl.store.locking import only_run
from recrawl.store.recording import HOUR, record
from recrawl.store.rows import (
    Added,
    Belief,
    Copy,
    Edits,
    LastVisit,
    LoggedVisit,
    NewPage,
    Observed,
    Outlook,
    PageTable,
    Retention,
    Spending,
    Spent,
    Totals,
    Trouble,
)
from recrawl.store.samples import KeptSamples
from recrawl.store.sitemap_files import SitemapFiles
from recrawl.store.subscriptions import Subscriptions
from recrawl.store.webhooks import Webhooks


@final
class SqliteStore:
    """Pages, current copies and the log of visits in one SQLite file with a write-ahead log.

    Every method that changes something does so in one transaction, which is durable when the method
    returns: it survives a killed process and a power cut. Several processes may use a store at the
    same time; a method that has to wait more than five seconds for another writer fails. Methods
    may be called from any thread, but from only one at a time. Times are microseconds since 1970.

    Each method raises `StoreError` if the store cannot be read or written; then nothing has
    changed.

    Attributes:
        feed: The feed of changes.
        samples: Time series of the crawl, for charts.
        service: Access tokens and page leases of a service.
        sitemaps: Sitemaps and feeds.
        subscriptions: WebSub subscriptions to feeds.
        webhooks: Webhooks, which are sent every change.

    >>> with SqliteStore.open(":memory:") as store:
    ...     store.add([NewPage("https://example.org/", "example.org")], at=0)
    ...     store.page("https://example.org/").number
    Added(new=1, known=0, revived=0, importance=0)
    0
    """

    def __init__(self, database: Database, retention: Retention = Retention()) -> None:  # noqa: B008
        self._database = database
        self._retention = retention
        self.feed = ChangeFeed(database)
        self.samples = KeptSamples(database)
        self.service = ServiceTables(database)
        self.sitemaps = SitemapFiles(database)
        self.subscriptions = Subscriptions(database)
        self.webhooks = Webhooks(database, self.feed)
        self._running = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        create: bool = False,
        retention: Retention = Retention(),  # noqa: B008 - frozen
    ) -> Self:
        """Open a store, migrating it if it is from an older version.

        Args:
            path: The file, or ``":memory:"`` for a store that lives as long as the process.
            create: Create the store if there is none.
            retention: How much of the past `record` keeps.

        Raises:
            StoreError: There is no store, or the file is damaged, newer, or not a store.
        """
        return cls(Database.open(os.fspath(path), create=create), retention)

    def close(self) -> None:
        """Checkpoint the write-ahead log, and close the file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock of the only run on this store; other processes may still use the store.

        Raises:
            StoreError: Another run holds the lock.
        """
        path = self._database.path
        if path != MEMORY:
            with only_run(Path(path)):
                self._database.execute("wait_longer")
                self._database.execute("forget_edits")
                yield
        elif self._running.acquire(blocking=False):
            try:
                self._database.execute("forget_edits")
                yield
            finally:
                self._running.release()
        else:
            raise StoreError(f"{path}: another recrawl is using this store")

    def add(self, pages: Iterable[NewPage], at: int) -> Added:
        """Add pages, all or none.

        A known page takes the new importance, if one is given, and the depth, if it is smaller. A
        page that is gone becomes `State.MISSING`, keeps its copy and is visited again; if it is
        found, it has changed. A page that was removed comes back, with a new number, only if its
        source is ``user``.
        """
        return editing.add(self._database, pages, at)

    def remove(self, urls: Iterable[str], at: int | None = None) -> list[int]:
        """Remove pages with their visits and copies; return their numbers, which are never reused.

        Sitemaps and links do not bring them back; only a user can.

        Args:
            urls: Their canonical URLs.
            at: When, for the feed of changes, in microseconds; by default the system's time.
        """
        return editing.remove(self._database, urls, time.time_ns() // 1_000 if at is None else at)

    def matching(self, pattern: str) -> list[str]:
        """Return the URLs of the pages that match a pattern, as in `recrawl.urls.matches`."""
        return editing.matching(self._database, pattern)

    def wake(self, now: int, again: int, limit: int) -> list[Page]:
        """Return gone and refused pages that should be checked again now.

        Gone pages become `State.MISSING`, refused ones `State.ALIVE`, until a visit says otherwise.

        Args:
            now: The present, in microseconds.
            again: When they are returned again if no visit is recorded before that.
            limit: How many to return at most, the longest overdue first.
        """
        return editing.wake(self._database, now, again, limit)

    def allow_private(self) -> int:
        """Allow visits to pages that were refused for their private address; return how many.

        Call it at the start of a run that allows such addresses: an active run does not notice.
        """
        return editing.allow_private(self._database)

    def changes_since(self, serial: int) -> Edits:
        """Summarise the edits to pages since a `PageTable` or `Edits` with this serial.

        At most 10,000 edits are read at a time: call again until the serial stays the same. Pages
        are in their current state. ``removed`` may contain pages that were never reported.
        """
        return editing.changes_since(self._database, serial)

    def page(self, url: str) -> Page | None:
        """Return the page with a canonical URL, or None."""
        row = self._database.row("page_of", url)
        return None if row is None else read_page(row)

    def pages(self, numbers: Iterable[int]) -> dict[int, Page]:
        """Return pages by number, leaving out those that do not exist."""
        return editing.find_pages(self._database, numbers)

    def belief(self, number: int) -> Belief | None:
        """Return the belief about a page's change rate, or None."""
        row = self._database.row("belief", number)
        if row is None or row[0] is None:
            return None
        return Belief(row[0], row[1], self.rates(np.array([number])))

    def rates(self, numbers: Ints) -> ShownRates:
        """Return the change rates of some pages, in that order, as they are shown."""
        return reading.rates(self._database, numbers)

    def rate_prior(self) -> RatePrior:
        """Return what a run last believed about change rates before a page's own visits."""
        return reading.rate_prior(self._database)

    def beliefs(self, numbers: Ints) -> dict[int, tuple[float, float]]:
        """Return shape and time of the beliefs about some pages, without those that have none."""
        return listing.beliefs(self._database, numbers)

    def pages_at(self, urls: Iterable[str]) -> dict[str, Page]:
        """Return pages by canonical URL, leaving out those that do not exist."""
        return editing.find_pages_at(self._database, urls)

    def has_host(self, name: str) -> bool:
        """Whether there is a page of a host."""
        return self._database.row("has_host", name) is not None

    def seed_hosts(self) -> list[str]:
        """Return the hosts of pages that were added, not found by following links."""
        return [name for (name,) in self._database.rows("seed_hosts")]

    def seed_pages(self, limit: int) -> list[str]:
        """Return one added page per host, up to a number of hosts."""
        return [url for (url,) in self._database.rows("seed_pages", limit)]

    def newest_visit(self) -> int | None:
        """Return when any page was last found, or None."""
        row = self._database.row("newest_visit")
        return None if row is None else row[0]

    def observations(self, about: int) -> Observed:
        """Return the observations of a sample of pages that has about this many visits."""
        return reading.observations(self._database, about)

    def fleet(self) -> PageTable:
        """Return every page that is neither `State.GONE` nor `State.REFUSED`, as columns."""
        return reading.fleet(self._database)

    def outlook(self, sample: int | None = None) -> Outlook:
        """Return the freshness of every page that `fleet` returns, without its other columns.

        Args:
            sample: Return about this many pages instead, evenly spread.
        """
        return reading.outlook(self._database, sample)

    def page_columns(
        self,
        wanted: listing.PageFilter = listing.PageFilter(),  # noqa: B008 - never changed
    ) -> listing.PageColumns:
        """Return numeric columns of pages, including those that are gone, to filter and sort.

        Args:
            wanted: Which pages; by default all.
        """
        return listing.page_columns(self._database, wanted)

    def first_pages(
        self, limit: int, *, by_url: bool = False, reverse: bool = False
    ) -> tuple[int, listing.PageColumns]:
        """Return how many pages there are, and the first of them, in order.

        Args:
            limit: How many.
            by_url: Whether to order by URL, rather than as they were added.
            reverse: Whether to reverse the order.
        """
        return listing.first_pages(self._database, limit, by_url=by_url, reverse=reverse)

    def numbers_by_url(self) -> Ints:
        """Return the numbers of all pages in order of URL."""
        return listing.numbers_by_url(self._database)

    def urls_after(self, number: int) -> Iterator[list[tuple[int, str]]]:
        """Yield batches of number and URL of the pages after a number, in order."""
        return listing.urls_after(self._database, number)

    def host_counts(self) -> list[listing.HostCounts]:
        """Return how many pages each host has, those with the most pages first."""
        return listing.host_counts(self._database)

    def largest_hosts(self, limit: int) -> list[listing.HostCounts]:
        """Return the page counts of the hosts with the most pages to visit, in that order.

        Args:
            limit: The number of hosts.
        """
        return listing.largest_hosts(self._database, limit)

    def count_hosts(self) -> int:
        """Return how many hosts have pages to visit."""
        (count,) = self._database.rows("count_hosts")[0]
        return int(count)

    def last_answers(self, numbers: Ints) -> Iterator[tuple[int, listing.Answer]]:
        """Yield page number, and how the last visit ended, or why the page is refused."""
        return listing.last_answers(self._database, numbers)

    def page_texts(self, numbers: Ints) -> Iterator[listing.PageText]:
        """Yield the texts of some pages, in this order."""
        return listing.page_texts(self._database, numbers)

    def narrow_cache(self) -> None:
        """Use a smaller page cache from now on."""
        self._database.execute("narrow_cache")

    def record(
        self,
        visits: Sequence[Visit],
        spent: Spent | None = None,
        templates: Mapping[str, bytes] | None = None,
    ) -> None:
        """Write visits and everything they change, in one transaction.

        A visit that is already in the log, by page and time, changes nothing. A visit to a page
        that has been removed is not logged, but its requests are counted. A body that no page uses
        any more is deleted. Importance and depth, which others may edit, are not written. Changes
        are added to the feed, and those that are too old are dropped from it.

        Args:
            visits: The visits; their responses count the requests they took. The caller makes sure
                that each body matches its digest, which is checked only when it is read.
            spent: Requests in addition to those.
            templates: The templates of sites that the visits have updated, by host.
        """
        record(self._database, visits, spent, templates or {}, self._retention)

    def template(self, host: str) -> bytes | None:
        """Return the template of a host's pages, as recorded, or None."""
        row = self._database.row("template", host)
        return None if row is None else bytes(row[0])

    def body(self, digest: bytes) -> bytes:
        """Return the body with a digest, verified against it."""
        return reading.body(self._database, digest)

    def copy(self, url: str) -> Copy | None:
        """Return the current copy of a page; None if there is no page or no copy."""
        page = self.page(url)
        return None if page is None else reading.current_copy(self._database, page.number)

    def copy_url(self, number: int) -> str | None:
        """Return where the copy of a page came from, after redirects; None if there is none."""
        row = self._database.row("copy_of", number)
        return None if row is None else row[0]

    def has_no_text(self, number: int) -> bool:
        """Whether a page has a copy with next to no text."""
        row = self._database.row("no_text_of", number)
        return row is not None and bool(row[0])

    def changed_at(self, page: Page) -> int | None:
        """Return when a page was last found to have changed, or first found; None if never."""
        row = self._database.row("changed_at", page.number, Outcome.FIRST, Outcome.CHANGED)
        return None if row is None else row[0]

    def versions(self, page: Page) -> list[Copy]:
        """Return the copies of a page: the current one, then those that changes replaced.

        A copy that was replaced without a change that counts is not kept.
        """
        return reading.versions_of(self._database, page)

    def back_up(self, target: str | os.PathLike[str], *, replace: bool = False) -> int:
        """Write a consistent copy of the store; return its size in bytes.

        Others may go on writing meanwhile.

        Args:
            target: The file to write, which appears once the copy is complete.
            replace: Whether to replace an existing file.

        Raises:
            StoreError: It cannot be written, or exists already, or is a store in use.
        """
        return back_up(self._database, target, replace=replace)

    def compact(self) -> tuple[int, int]:
        """Rewrite the file without unused space; return its bytes before and after.

        Meanwhile it takes as much space again, and no other process can write.
        """
        database = self._database
        before = database.size()
        database.execute("vacuum")
        database.rows("truncate_wal")
        return before, database.size()

    def unused(self) -> int:
        """Return how many bytes of the file are unused."""
        (pages,), (size,) = (self._database.rows(name)[0] for name in ("free_pages", "page_bytes"))
        return int(pages * size)

    def copies(self, skipped: Callable[[StoreError], None] | None = None) -> Iterator[Copy]:
        """Yield all current copies in order of page number.

        Args:
            skipped: Called for each damaged copy, which is left out; without it, that is an error.

        Raises:
            StoreError: A copy is damaged.
        """
        return reading.copies(self._database, skipped)

    def last_visits(self, numbers: Ints) -> Iterator[tuple[int, LastVisit]]:
        """Yield the last visit to each of some pages, of those that were visited."""
        return listing.last_visits(self._database, numbers)

    def history(self, number: int, limit: int) -> list[LoggedVisit]:
        """Return a page's latest visits, newest first."""
        return reading.history(self._database, number, limit)

    def visits(self, batch: int = 50_000) -> Iterator[Any]:
        """Yield the log by page and time, as Arrow record batches with the schema `LOG`."""
        return reading.visits(self._database, batch)

    def refused(self, batch: int = 50_000) -> Iterator[Any]:
        """Yield refused pages and why, as Arrow record batches with the schema `REFUSED`."""
        return reading.refused(self._database, batch)

    def spent(self, since: int) -> Spending:
        """Return the requests and visits since the beginning of the hour that a time is in."""
        requests, robots, sitemaps, *outcomes = self._database.rows("spent_since", since // HOUR)[0]
        return Spending(requests, robots, sitemaps, dict(zip(Outcome, outcomes, strict=True)))

    def totals(self) -> Totals:
        """Return how much the store holds."""
        pages, with_copy, unvisited = self._database.rows("count_pages")[0]
        bad = self.trouble()
        alive = pages - bad.missing - bad.gone - bad.refused
        (visits,) = self._database.rows("count_visits")[0]
        bodies = self._database.rows("count_bodies")[0]
        states = (alive, bad.missing, bad.gone, bad.refused)
        return Totals(pages, *states, with_copy, unvisited, visits, *bodies)

    def trouble(self) -> Trouble:
        """Return how many pages are in trouble, without reading the others."""
        return Trouble(*self._database.rows("count_trouble")[0])

    def reasons(self, limit: int) -> list[tuple[str, int]]:
        """Return why pages are refused, and how many for each reason, the most frequent first."""
        return [(reason, pages) for reason, pages in self._database.rows("count_reasons", limit)]

    def remember_robots(self, *files: RobotsText) -> None:
        """Save robots.txt files, replacing older ones.

        If one has changed, the pages that the older one refused are visited again.
        """
        robots_files.remember(self._database, files)

    def robots(self, origin: str) -> RobotsText | None:
        """Return the saved robots.txt of an origin, however old; None without a readable one."""
        return robots_files.recall(self._database, origin)

    def meta(self, key: str) -> str | None:
        """Return the value saved under a key, or None."""
        row = self._database.row("meta", key)
        return None if row is None else str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        """Save a small value under a key."""
        self._database.execute("set_meta", key, value)

    def check_not_moved(self) -> None:
        """Raise `StoreError` if the file was removed or replaced since it was opened."""
        self._database.check_not_moved()

    def keep(self, what: str, learned: Mapping[str, bytes]) -> None:
        """Save what was learned about hosts or folders, by name."""
        if learned:
            with self._database.transaction():
                rows = [(what, name, value) for name, value in learned.items()]
                self._database.execute_many("keep_learned", rows)

    def kept(self, what: str) -> dict[str, bytes]:
        """Return what was learned about hosts or folders, by name."""
        return dict(self._database.rows("learned", what))

    def check(self) -> list[str]:
        """Return a sentence for each problem; an empty list means that the store is intact.

        Checks the file's structure, every body against its digest, that every page's body exists
        and every body is used by a page, and the counters against the log.
        """
        return checking.check(self._database)
