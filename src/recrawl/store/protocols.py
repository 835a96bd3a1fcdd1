"""What a service needs of a store, whatever database is behind it.

`recrawl.store.sqlite.SqliteStore` documents the methods, and `tests/store/test_contract.py` is what
every store has to pass: a new one is added to `tests/store/stores.py`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from recrawl.errors import StoreError
from recrawl.kernels.jit import Ints
from recrawl.records import Page, RobotsText, Visit
from recrawl.store.access import LeaseRow, Token
from recrawl.store.changes import Cursor, PageChange
from recrawl.store.listing import Answer, HostCounts, PageColumns, PageFilter
from recrawl.store.rows import (
    Added,
    Copy,
    Edits,
    LastVisit,
    LoggedVisit,
    NewPage,
    Observed,
    PageTable,
    Retention,
    SitemapFile,
    Spending,
    Spent,
    Totals,
    Trouble,
)
from recrawl.store.samples import KeptSample, Span
from recrawl.store.subscriptions import Subscription
from recrawl.store.webhooks import Message, MessageState, Progress, Webhook


class Feed(Protocol):
    """What became of copies, in order; `recrawl.store.changes.ChangeFeed` documents it."""

    def start(self) -> Cursor:
        """Return the cursor of a reader that knows nothing."""

    def oldest(self) -> Cursor:
        """Return the cursor before the first change that is kept."""

    def end(self) -> Cursor:
        """Return the cursor after all changes so far."""

    def since(self, at: int) -> Cursor:
        """Return the cursor before the first change found at a time or later."""

    def read(self, cursor: Cursor, limit: int) -> list[PageChange]:
        """Return what follows a cursor."""


class Outgoing(Protocol):
    """Who is sent what the feed has; `recrawl.store.webhooks.Webhooks` documents it."""

    def add(self, url: str, secret: str, cursor: Cursor, at: int, *, allow_private: bool) -> int:
        """Add a webhook; return its number."""

    def all(self) -> list[Webhook]:
        """Return all webhooks."""

    def find(self, number: int) -> Webhook | None:
        """Return a webhook."""

    def remove(self, number: int) -> None:
        """Remove a webhook with its messages."""

    def disable(self, number: int, reason: str) -> None:
        """Send nothing to a webhook."""

    def enable(self, number: int) -> None:
        """Send to a webhook again."""

    def pass_over_dropped(self, hook: Webhook) -> Webhook:
        """Count changes that were dropped before they were sent."""

    def clear_missed(self, hook: Webhook) -> None:
        """Forget how many changes were missed."""

    def due(self, number: int, now: int, limit: int) -> list[Message]:
        """Return messages to try again, at most one per page."""

    def waiting(self, number: int, urls: Iterable[str]) -> Mapping[str, MessageState]:
        """Return which pages have messages that were not delivered."""

    def note(self, number: int, progress: Progress) -> None:
        """Write what came of sending messages."""

    def failed(self, number: int, limit: int) -> list[Message]:
        """Return messages that failed for good."""

    def resend(self, number: int, url: str | None = None) -> int:
        """Have messages that failed for good sent again."""

    def drop_failed(self, hook: Webhook, retention: Retention, now: int) -> None:
        """Drop messages that failed for good and are too old or too many."""


class Samples(Protocol):
    """How the crawl went; `recrawl.store.samples.KeptSamples` documents it."""

    def add(self, sample: KeptSample) -> None:
        """Add what happened since the sample before."""

    def since(self, at: int, span: Span) -> list[KeptSample]:
        """Return the samples of spans that ended at a time or later."""


class Subscribed(Protocol):
    """Feeds with a hub; `recrawl.store.subscriptions.Subscriptions` documents it."""

    def all(self) -> list[Subscription]:
        """Return all subscriptions."""

    def keep(self, subscription: Subscription) -> None:
        """Write a subscription as it is now."""

    def drop_unread(self) -> None:
        """Forget subscriptions to feeds that are no longer read."""


class Access(Protocol):
    """Tokens and leases; `recrawl.store.access.ServiceTables` documents it."""

    def tokens(self) -> list[Token]:
        """Return all tokens."""

    def add_token(self, token: Token) -> bool:
        """Add a token; return False if the name is taken."""

    def revoke_token(self, name: str) -> bool:
        """Remove a token; return whether there was one."""

    def leases(self) -> list[LeaseRow]:
        """Return the leases of which pages are out."""

    def keep_leases(self, leases: Iterable[LeaseRow]) -> None:
        """Write leases as they are now."""

    def visited_since(self, pages: Sequence[int], at: int) -> set[int]:
        """Return those of the pages that were visited since a time."""


class Sitemaps(Protocol):
    """Sitemaps and feeds; `recrawl.store.sitemap_files.SitemapFiles` documents the methods."""

    def add(self, url: str) -> None:
        """Add a sitemap."""

    def name(
        self, by: SitemapFile, urls: Sequence[str], limit: int, *, is_all: bool = False
    ) -> int:
        """Add the sitemaps that an index or a robots.txt names."""

    def all(self) -> list[SitemapFile]:
        """Return all sitemaps."""

    def due(self, now: int, limit: int) -> list[SitemapFile]:
        """Return the sitemaps to read now."""

    def note(self, found: SitemapFile) -> None:
        """Note what reading a sitemap found."""

    def retry(self, scope: str) -> None:
        """Have sitemaps tried again."""

    def remove(self, urls: Iterable[str]) -> int:
        """Remove sitemaps."""

    def requests(self, since: int) -> list[tuple[int, int]]:
        """Return the requests for sitemaps by hour."""


class Store(Protocol):
    """Pages, copies, visits, the feed, webhooks, and what a service keeps."""

    @property
    def feed(self) -> Feed:
        """What became of copies."""

    @property
    def sitemaps(self) -> Sitemaps:
        """Sitemaps and feeds."""

    @property
    def webhooks(self) -> Outgoing:
        """Who is sent what the feed has."""

    @property
    def samples(self) -> Samples:
        """How the crawl went."""

    @property
    def service(self) -> Access:
        """Tokens and leases."""

    @property
    def subscriptions(self) -> Subscribed:
        """Feeds whose hub says when they change."""

    def close(self) -> None:
        """Release the store."""

    def lock(self) -> AbstractContextManager[None]:
        """Hold the lock of the only run."""

    def add(self, pages: Iterable[NewPage], at: int) -> Added:
        """Add pages, all or none."""

    def remove(self, urls: Iterable[str], at: int | None = None) -> list[int]:
        """Remove pages; return their numbers."""

    def matching(self, pattern: str) -> list[str]:
        """Return the URLs that match a pattern."""

    def wake(self, now: int, again: int, limit: int) -> list[Page]:
        """Return gone and refused pages to look at again."""

    def allow_private(self) -> int:
        """Let pages be visited again that were refused for their private address."""

    def changes_since(self, serial: int) -> Edits:
        """Return what was edited since."""

    def page(self, url: str) -> Page | None:
        """Return a page by URL."""

    def pages(self, numbers: Iterable[int]) -> dict[int, Page]:
        """Return pages by number."""

    def pages_at(self, urls: Iterable[str]) -> dict[str, Page]:
        """Return pages by URL."""

    def belief(self, number: int) -> tuple[float, float] | None:
        """Return the belief about a page's change rate."""

    def beliefs(self, numbers: Ints) -> dict[int, tuple[float, float]]:
        """Return the beliefs about some pages."""

    def has_host(self, name: str) -> bool:
        """Whether there is a page of a host."""

    def seed_hosts(self) -> list[str]:
        """Return the hosts of pages that somebody named."""

    def seed_pages(self, limit: int) -> list[str]:
        """Return a page of each of these hosts."""

    def newest_visit(self) -> int | None:
        """Return when any page was last found."""

    def observations(self, about: int) -> Observed:
        """Return about that many observations."""

    def fleet(self) -> PageTable:
        """Return all pages that are visited."""

    def page_columns(self, wanted: PageFilter = ...) -> PageColumns:
        """Return the numbers of pages, to filter and sort."""

    def first_pages(
        self, limit: int, *, by_url: bool = ..., reverse: bool = ...
    ) -> tuple[int, PageColumns]:
        """Return how many pages there are, and the numbers of the first, in order."""

    def numbers_by_url(self) -> Ints:
        """Return the numbers of all pages in order of URL."""

    def urls_after(self, number: int) -> Iterator[list[tuple[int, str]]]:
        """Yield number and URL of the pages after a number."""

    def host_counts(self) -> list[HostCounts]:
        """Return how many pages each host has."""

    def largest_hosts(self, limit: int) -> list[HostCounts]:
        """Return how many pages the hosts have that have the most to visit."""

    def count_hosts(self) -> int:
        """Return how many hosts have pages to visit."""

    def last_answers(self, numbers: Ints) -> Iterator[tuple[int, Answer]]:
        """Yield how the last visit to each page ended, or why it is refused."""

    def page_texts(self, numbers: Ints) -> Iterator[tuple[int, str, Answer]]:
        """Yield number, URL and last answer of some pages."""

    def record(
        self,
        visits: Sequence[Visit],
        spent: Spent | None = None,
        templates: Mapping[str, bytes] | None = None,
    ) -> None:
        """Write visits and everything they change, in one transaction."""

    def template(self, host: str) -> bytes | None:
        """Return what the pages of a host have in common."""

    def body(self, digest: bytes) -> bytes:
        """Return a body, verified."""

    def copy(self, url: str) -> Copy | None:
        """Return the current copy of a page."""

    def changed_at(self, page: Page) -> int | None:
        """Return when a page last changed."""

    def versions(self, page: Page) -> list[Copy]:
        """Return the copies of a page, the current one first."""

    def copies(self, skipped: Callable[[StoreError], None] | None = None) -> Iterator[Copy]:
        """Yield all current copies in order of number."""

    def last_visits(self, numbers: Ints) -> Iterator[tuple[int, LastVisit]]:
        """Yield the last visit to each of some pages."""

    def history(self, number: int, limit: int) -> list[LoggedVisit]:
        """Return a page's latest visits."""

    def visits(self, batch: int = 50_000) -> Iterator[Any]:
        """Yield the log as Arrow record batches."""

    def refused(self, batch: int = 50_000) -> Iterator[Any]:
        """Yield refused pages as Arrow record batches."""

    def spent(self, since: int) -> Spending:
        """Return requests and visits since an hour."""

    def totals(self) -> Totals:
        """Return how much the store holds."""

    def trouble(self) -> Trouble:
        """Return how many pages are not well."""

    def reasons(self, limit: int) -> list[tuple[str, int]]:
        """Return why pages are refused."""

    def remember_robots(self, *files: RobotsText) -> None:
        """Keep robots.txt files."""

    def robots(self, origin: str) -> RobotsText | None:
        """Return the robots.txt of an origin."""

    def meta(self, key: str) -> str | None:
        """Return a small value."""

    def set_meta(self, key: str, value: str) -> None:
        """Keep a small value."""

    def check_not_moved(self) -> None:
        """Raise `StoreError` if the file was removed or replaced since it was opened."""

    def keep(self, what: str, learned: Mapping[str, bytes]) -> None:
        """Keep what was learned about hosts or folders."""

    def kept(self, what: str) -> dict[str, bytes]:
        """Return what was learned about hosts or folders."""

    def back_up(self, target: str | os.PathLike[str], *, replace: bool = ...) -> int:
        """Write a copy of the store."""

    def compact(self) -> tuple[int, int]:
        """Write the store anew without unused space."""

    def unused(self) -> int:
        """Return how much space is not used."""

    def check(self) -> list[str]:
        """Return a sentence for each problem."""
