"""The protocol of a store, whatever database is behind it.

`recrawl.store.sqlite.SqliteStore` documents the methods, and every store has to pass
`tests/store/test_contract.py`: add a new one to `tests/store/stores.py`.
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
from recrawl.store.listing import Answer, HostCounts, PageColumns, PageFilter, PageText
from recrawl.store.rows import (
    Added,
    Belief,
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
    """The feed of changes; `recrawl.store.changes.ChangeFeed` documents it."""

    def start(self) -> Cursor:
        """Return the cursor of a new reader."""

    def oldest(self) -> Cursor:
        """Return the cursor before the oldest change that is kept."""

    def end(self) -> Cursor:
        """Return the cursor after all changes so far."""

    def since(self, at: int) -> Cursor:
        """Return the cursor before the first change found at a time or later."""

    def read(self, cursor: Cursor, limit: int) -> list[PageChange]:
        """Return what follows a cursor."""


class Outgoing(Protocol):
    """Webhooks, which are sent the feed; `recrawl.store.webhooks.Webhooks` documents it."""

    def add(self, url: str, secret: str, cursor: Cursor, at: int, *, allow_private: bool) -> int:
        """Add a webhook; return its number."""

    def all(self) -> list[Webhook]:
        """Return all webhooks."""

    def find(self, number: int) -> Webhook | None:
        """Return a webhook."""

    def remove(self, number: int) -> None:
        """Remove a webhook with its messages."""

    def disable(self, number: int, reason: str) -> None:
        """Stop sending to a webhook."""

    def enable(self, number: int) -> None:
        """Resume sending to a webhook."""

    def pass_over_dropped(self, hook: Webhook) -> Webhook:
        """Skip and count changes that were dropped before they were sent."""

    def clear_missed(self, hook: Webhook) -> None:
        """Reset the count of missed changes."""

    def due(self, number: int, now: int, limit: int) -> list[Message]:
        """Return messages to retry, at most one per page."""

    def waiting(self, number: int, urls: Iterable[str]) -> Mapping[str, MessageState]:
        """Return which pages have undelivered messages."""

    def note(self, number: int, progress: Progress) -> None:
        """Write the results of sending messages."""

    def failed(self, number: int, limit: int) -> list[Message]:
        """Return messages that failed for good."""

    def resend(self, number: int, url: str | None = None) -> int:
        """Schedule messages that failed for good to be sent again."""

    def drop_failed(self, hook: Webhook, retention: Retention, now: int) -> None:
        """Drop messages that failed for good and are too old or too many."""


class Samples(Protocol):
    """Time series of the crawl; `recrawl.store.samples.KeptSamples` documents it."""

    def add(self, sample: KeptSample) -> None:
        """Add what happened since the previous sample."""

    def since(self, at: int, span: Span) -> list[KeptSample]:
        """Return the samples of spans that ended at a time or later."""


class Subscribed(Protocol):
    """Feeds with a hub; `recrawl.store.subscriptions.Subscriptions` documents it."""

    def all(self) -> list[Subscription]:
        """Return all subscriptions."""

    def keep(self, subscription: Subscription) -> None:
        """Write a subscription in its current state."""

    def drop_unread(self) -> None:
        """Delete subscriptions to feeds that are no longer read."""


class Access(Protocol):
    """Tokens and leases; `recrawl.store.access.ServiceTables` documents it."""

    def tokens(self) -> list[Token]:
        """Return all tokens."""

    def add_token(self, token: Token) -> bool:
        """Add a token; return False if the name is taken."""

    def revoke_token(self, name: str) -> bool:
        """Remove a token; return whether there was one."""

    def leases(self) -> list[LeaseRow]:
        """Return the leases."""

    def keep_leases(self, leases: Iterable[LeaseRow]) -> None:
        """Write leases in their current state."""

    def visited_since(self, pages: Sequence[int], at: int) -> set[int]:
        """Return which of the pages were visited since a time."""


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
        """Save what reading a sitemap found."""

    def retry(self, scope: str) -> None:
        """Schedule sitemaps that could not be read to be retried."""

    def remove(self, urls: Iterable[str]) -> int:
        """Remove sitemaps."""

    def requests(self, since: int) -> list[tuple[int, int]]:
        """Return the requests for sitemaps by hour."""


class Store(Protocol):
    """Pages, copies, visits, the feed, webhooks, and the tables of a service."""

    @property
    def feed(self) -> Feed:
        """The feed of changes."""

    @property
    def sitemaps(self) -> Sitemaps:
        """Sitemaps and feeds."""

    @property
    def webhooks(self) -> Outgoing:
        """Webhooks, which are sent the feed."""

    @property
    def samples(self) -> Samples:
        """Time series of the crawl."""

    @property
    def service(self) -> Access:
        """Tokens and leases."""

    @property
    def subscriptions(self) -> Subscribed:
        """WebSub subscriptions to feeds."""

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
        """Return gone and refused pages to check again."""

    def allow_private(self) -> int:
        """Allow visits to pages that were refused for their private address."""

    def changes_since(self, serial: int) -> Edits:
        """Return the edits since a serial."""

    def page(self, url: str) -> Page | None:
        """Return a page by URL."""

    def pages(self, numbers: Iterable[int]) -> dict[int, Page]:
        """Return pages by number."""

    def pages_at(self, urls: Iterable[str]) -> dict[str, Page]:
        """Return pages by URL."""

    def belief(self, number: int) -> Belief | None:
        """Return the belief about a page's change rate."""

    def beliefs(self, numbers: Ints) -> dict[int, tuple[float, float]]:
        """Return the beliefs about some pages."""

    def has_host(self, name: str) -> bool:
        """Whether there is a page of a host."""

    def seed_hosts(self) -> list[str]:
        """Return the hosts of pages that a user added."""

    def seed_pages(self, limit: int) -> list[str]:
        """Return a page of each of these hosts."""

    def newest_visit(self) -> int | None:
        """Return when any page was last found."""

    def observations(self, about: int) -> Observed:
        """Return about so many observations."""

    def fleet(self) -> PageTable:
        """Return all pages that are visited."""

    def page_columns(self, wanted: PageFilter = ...) -> PageColumns:
        """Return numeric columns of pages, to filter and sort."""

    def first_pages(
        self, limit: int, *, by_url: bool = ..., reverse: bool = ...
    ) -> tuple[int, PageColumns]:
        """Return how many pages there are, and the first of them, in order."""

    def numbers_by_url(self) -> Ints:
        """Return the numbers of all pages in order of URL."""

    def urls_after(self, number: int) -> Iterator[list[tuple[int, str]]]:
        """Yield batches of number and URL of the pages after a number."""

    def host_counts(self) -> list[HostCounts]:
        """Return how many pages each host has."""

    def largest_hosts(self, limit: int) -> list[HostCounts]:
        """Return the page counts of the hosts with the most pages to visit."""

    def count_hosts(self) -> int:
        """Return how many hosts have pages to visit."""

    def last_answers(self, numbers: Ints) -> Iterator[tuple[int, Answer]]:
        """Yield how the last visit to each page ended, or why it is refused."""

    def page_texts(self, numbers: Ints) -> Iterator[PageText]:
        """Yield the texts of some pages."""

    def record(
        self,
        visits: Sequence[Visit],
        spent: Spent | None = None,
        templates: Mapping[str, bytes] | None = None,
    ) -> None:
        """Write visits and everything they change, in one transaction."""

    def template(self, host: str) -> bytes | None:
        """Return the template of a host's pages."""

    def body(self, digest: bytes) -> bytes:
        """Return a body, verified."""

    def copy(self, url: str) -> Copy | None:
        """Return the current copy of a page."""

    def copy_url(self, number: int) -> str | None:
        """Return where the copy of a page came from, after redirects."""

    def has_no_text(self, number: int) -> bool:
        """Whether a page has a copy with next to no text."""

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
        """Return how many pages are in trouble."""

    def reasons(self, limit: int) -> list[tuple[str, int]]:
        """Return why pages are refused."""

    def remember_robots(self, *files: RobotsText) -> None:
        """Save robots.txt files."""

    def robots(self, origin: str) -> RobotsText | None:
        """Return the robots.txt of an origin."""

    def meta(self, key: str) -> str | None:
        """Return a small value."""

    def set_meta(self, key: str, value: str) -> None:
        """Save a small value."""

    def check_not_moved(self) -> None:
        """Raise `StoreError` if the file was removed or replaced since it was opened."""

    def keep(self, what: str, learned: Mapping[str, bytes]) -> None:
        """Save what was learned about hosts or folders."""

    def kept(self, what: str) -> dict[str, bytes]:
        """Return what was learned about hosts or folders."""

    def back_up(self, target: str | os.PathLike[str], *, replace: bool = ...) -> int:
        """Write a copy of the store."""

    def compact(self) -> tuple[int, int]:
        """Rewrite the store without unused space."""

    def unused(self) -> int:
        """Return how much space is unused."""

    def check(self) -> list[str]:
        """Return a sentence for each problem."""
