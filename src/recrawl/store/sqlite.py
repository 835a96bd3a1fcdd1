"""The store in one SQLite file."""

import os
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, final

from recrawl.errors import StoreError
from recrawl.formats.common_crawl import SIGNALS
from recrawl.records import Outcome, Page, RobotsText, Validators, Visit
from recrawl.store import checking, editing, reading
from recrawl.store.database import MEMORY, Database
from recrawl.store.encoding import deflate, read_page, read_verbatim, write_legible, write_verbatim
from recrawl.store.locking import only_run
from recrawl.store.recording import HOUR, record
from recrawl.store.rows import (
    Added,
    Copy,
    Edits,
    Fleet,
    LoggedVisit,
    NewPage,
    Observed,
    SitemapFile,
    Spending,
    Spent,
    Totals,
)


@final
class SqliteStore:
    """Pages, current copies and the log of visits in one file, as SQLite's write-ahead log has it.

    Every method that changes something does so in one transaction, and has done it for good when
    it returns: neither a killed process nor a power cut takes it back. Several processes may use a
    store at once; one that writes keeps others waiting for at most five seconds before they fail.
    Methods may be called from any thread, but from one at a time. Times are microseconds since
    1970.

    Each method raises `StoreError` where the store cannot be read or written; what was to be
    changed is then as it was before.

    >>> with SqliteStore.open(":memory:") as store:
    ...     store.add([NewPage("https://example.org/", "example.org")], at=0)
    ...     store.page("https://example.org/").number
    Added(new=1, known=0, revived=0)
    0
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._running = threading.Lock()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, create: bool = False) -> Self:
        """Open a store; one of an older version is brought up to date.

        Args:
            path: The file, or ``":memory:"`` for a store that ends with the process.
            create: Make the store if there is none.

        Raises:
            StoreError: There is no store, or it is damaged, newer, or something else.
        """
        return cls(Database.open(os.fspath(path), create=create))

    def close(self) -> None:
        """Move what is in the write-ahead log into the file, and let go of it."""
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
        """Be the one run on this store; everything else may go on beside it.

        Raises:
            StoreError: Another run is going on.
        """
        place = self._database.place
        if place != MEMORY:
            with only_run(Path(place)):
                self._database.do("wait_longer")
                self._database.do("forget_edits")
                yield
        elif self._running.acquire(blocking=False):
            try:
                self._database.do("forget_edits")
                yield
            finally:
                self._running.release()
        else:
            raise StoreError(f"{place}: another recrawl run uses this store")

    def add(self, pages: Iterable[NewPage], at: int) -> Added:
        """Add pages, all or none.

        A known page takes the importance, if one is said, and the depth, if it is smaller. One that
        was given up is visited again as a page that is `State.MISSING`: what its copy was stays
        known, and when it answers it has changed. One that was removed gets a new number.
        """
        return editing.add(self._database, pages, at)

    def remove(self, urls: Iterable[str]) -> list[int]:
        """Remove pages with their visits and copies; give the numbers, which never come again."""
        return editing.remove(self._database, urls)

    def changes_since(self, serial: int) -> Edits:
        """Sum up what was done to pages since a `Fleet` or `Edits` with this serial.

        At most 10,000 edits are told at once: ask again until the serial stays the same. Pages are
        as they are now. A number in ``removed`` may be one that was never told.
        """
        return editing.changes_since(self._database, serial)

    def page(self, url: str) -> Page | None:
        """Find a page by its canonical address."""
        row = self._database.row("page_of", url)
        return None if row is None else read_page(row)

    def pages(self, numbers: Iterable[int]) -> dict[int, Page]:
        """Find pages by their numbers; those that are not there are left out."""
        return editing.find_pages(self._database, numbers)

    def belief(self, number: int) -> tuple[float, float] | None:
        """Give shape and time of what is believed of a page's change rate; None if nothing is."""
        row = self._database.row("belief", number)
        return None if row is None or row[0] is None else (row[0], row[1])

    def pages_at(self, urls: Iterable[str]) -> dict[str, Page]:
        """Find pages by their canonical addresses; those that are not there are left out."""
        return editing.find_pages_at(self._database, urls)

    def seed_hosts(self) -> list[str]:
        """Give the hosts of pages that were asked for, not found through links."""
        return [name for (name,) in self._database.rows("seed_hosts")]

    def newest_visit(self) -> int | None:
        """Say when any page was last found; None if never."""
        row = self._database.row("newest_visit")
        return None if row is None else row[0]

    def observations(self, about: int) -> Observed:
        """Give what visits taught, of so many pages that there are about so many visits."""
        return reading.observations(self._database, about)

    def fleet(self) -> Fleet:
        """Read every page that is not `State.GONE`, as columns."""
        return reading.fleet(self._database)

    def record(self, visits: Sequence[Visit], spent: Spent | None = None) -> None:
        """Keep visits and all that they change, in one transaction.

        A visit that is in the log already, by page and time, changes nothing. One of a page that
        was removed meanwhile is not kept, but its requests count as spent. A content that no page
        has any more is deleted. What others edit, importance and depth, is not written.

        Args:
            visits: What was found; the responses say how many requests it took.
            spent: Requests made beside those.
        """
        record(self._database, visits, spent)

    def body(self, digest: bytes) -> bytes:
        """Find a content by its digest, and see that it is whole."""
        return reading.body(self._database, digest)

    def copy(self, url: str) -> Copy | None:
        """Find the current copy of a page; None where there is no page or no copy."""
        page = self.page(url)
        return None if page is None else reading.copy_of(self._database, page)

    def copies(self) -> Iterator[Copy]:
        """Walk through all current copies, in order of the pages' numbers."""
        return reading.copies(self._database)

    def history(self, number: int, limit: int) -> list[LoggedVisit]:
        """Give a page's last visits, newest first."""
        return [
            LoggedVisit(
                at=at,
                outcome=Outcome(outcome),
                previous=previous,
                status=status,
                signal=None if signal is None else SIGNALS[signal],
                last_modified=last_modified,
                bytes=size,
                ms=ms,
                requests=requests,
                truncated=bool(truncated),
                mime=mime,
                redirect=redirect,
                error=error,
            )
            for (
                at,
                outcome,
                previous,
                status,
                signal,
                last_modified,
                size,
                ms,
                requests,
                truncated,
                mime,
                redirect,
                error,
            ) in self._database.rows("history", number, limit)
        ]

    def visits(self, batch: int = 50_000) -> Iterator[Any]:
        """Walk through the log by page and time, as Arrow record batches of the schema `LOG`."""
        return reading.visits(self._database, batch)

    def spent(self, since: int) -> Spending:
        """Add up what was spent from the beginning of an hour on."""
        requests, robots, sitemaps, *outcomes = self._database.rows("spent_since", since // HOUR)[0]
        return Spending(requests, robots, sitemaps, dict(zip(Outcome, outcomes, strict=True)))

    def totals(self) -> Totals:
        """Count what there is."""
        counts = [
            count
            for query in ("count_pages", "count_visits", "count_bodies")
            for count in self._database.rows(query)[0]
        ]
        return Totals(*counts)

    def remember_robots(self, robots: RobotsText) -> None:
        """Keep a robots.txt, in the place of an older one."""
        deflated = deflate(robots.text.encode("utf-8", "surrogatepass"))
        self._database.do(
            "remember_robots",
            robots.origin,
            robots.status,
            deflated,
            robots.fetched_at,
            robots.failing_since,
            write_legible(robots.problem),
            robots.permanent,
        )

    def robots(self, origin: str) -> RobotsText | None:
        """Find the robots.txt of an origin; whether it is too old is the caller's to say."""
        row = self._database.row("recall_robots", origin)
        if row is None:
            return None
        status, deflated, fetched_at, failing_since, problem, permanent = row
        text = zlib.decompress(deflated).decode("utf-8", "surrogatepass")
        return RobotsText(origin, status, text, fetched_at, failing_since, problem, bool(permanent))

    def add_sitemap(self, url: str) -> None:
        """Have a sitemap read, from now on."""
        self._database.do("add_sitemap", url)

    def sitemaps(self, before: int) -> list[SitemapFile]:
        """Give sitemaps that were not read since that time, those never read first."""
        return [
            SitemapFile(
                url, read_at, Validators(read_verbatim(etag), read_verbatim(last_modified)), pages
            )
            for url, read_at, etag, last_modified, pages in self._database.rows(
                "sitemaps_due", before
            )
        ]

    def note_sitemap(self, url: str, at: int, validators: Validators, pages: int) -> None:
        """Remember that a sitemap was read, what to ask it with next, and how many pages it has."""
        etag = write_verbatim(validators.etag)
        last_modified = write_verbatim(validators.last_modified)
        self._database.do("note_sitemap", at, etag, last_modified, pages, url)

    def meta(self, key: str) -> str | None:
        """Give what was remembered under a key."""
        row = self._database.row("meta", key)
        return None if row is None else str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        """Remember a small thing under a key."""
        self._database.do("set_meta", key, value)

    def check(self) -> list[str]:
        """Find what is wrong, a sentence each; an empty list means that the store is whole.

        The file's structure, every content against its digest, that every page's content is there
        and every content is a page's, and what is counted against the log.
        """
        return checking.check(self._database)
