"""Sitemaps and feeds in the store: which are due, when they were read, and who lists them."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, final

from recrawl.hosts import host_of
from recrawl.records import Validators
from recrawl.store.database import Database
from recrawl.store.encoding import read_verbatim, write_legible, write_verbatim
from recrawl.store.recording import HOUR
from recrawl.store.rows import SitemapFile

#: The kind of the "index" that a robots.txt is.
ROBOTS = "robots"
#: The key of the URL patterns with which sitemaps were last read.
SCOPE = "sitemap_scope"


@final
class SitemapFiles:
    """The sitemaps and feeds of a store.

    Args:
        database: The store's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, url: str) -> None:
        """Add a sitemap or feed to be read at regular intervals; a known one is read at once."""
        self._database.execute("add_sitemap", url, host_of(url))

    def has(self, url: str) -> bool:
        """Whether a sitemap or feed is known, and not removed."""
        return self._database.row("has_sitemap", url) is not None

    def name(
        self, by: SitemapFile, urls: Sequence[str], limit: int, *, is_all: bool = False
    ) -> int:
        """Add sitemaps that an index or a robots.txt names, unless a user removed them.

        Args:
            by: The index, or a robots.txt, whose kind is `ROBOTS`.
            urls: Their URLs.
            limit: The maximum number of sitemaps per index, and per host.
            is_all: Whether the index names no others, so that those it used to name are dropped.

        Returns:
            How many were left out because of the limit.
        """
        database = self._database
        root, depth = by.root or by.url, by.depth + 1
        left_out = 0
        with database.transaction():
            if by.kind != ROBOTS and not self.has(by.url):
                return 0
            if is_all:
                database.execute("drop_unnamed_sitemaps", by.url, json.dumps(list(urls)))
            hosts, roots = self._counts()
            for url in urls:
                host = host_of(url)
                is_full = max(hosts[host], roots[root]) >= limit
                if is_full and not self.has(url):
                    left_out += 1
                elif not is_full:
                    added = database.execute("name_sitemap", url, host, by.url, root, depth)
                    hosts[host] += added
                    roots[root] += added
        return left_out

    def _counts(self) -> tuple[Counter[str], Counter[str]]:
        """Count sitemaps by host and by root."""
        hosts: Counter[str] = Counter()
        roots: Counter[str] = Counter()
        for host, root, count in self._database.rows("sitemap_counts"):
            hosts[host] += count
            roots[root or ""] += count
        return hosts, roots

    def all(self) -> list[SitemapFile]:
        """Return all sitemaps and feeds, those that cannot be read first."""
        return [_read_row(row) for row in self._database.rows("sitemaps")]

    def due(self, now: int, limit: int) -> list[SitemapFile]:
        """Return the sitemaps to read now, those that a user added first."""
        return [_read_row(row) for row in self._database.rows("sitemaps_due", now, limit)]

    def note(self, found: SitemapFile) -> None:
        """Save what reading a sitemap found, unless it was removed meanwhile."""
        self._database.execute(
            "note_sitemap",
            found.read_at,
            write_verbatim(found.validators.etag),
            write_verbatim(found.validators.last_modified),
            found.pages,
            found.tried_at,
            found.next_at,
            found.failures,
            write_legible(found.error),
            found.kind,
            found.skipped,
            found.url,
        )

    def retry(self, scope: str) -> None:
        """Schedule sitemaps that could not be read to be retried at once.

        Args:
            scope: The URL patterns to include and exclude, as text. If they have changed since
                the last time, all sitemaps are read again.
        """
        database = self._database
        with database.transaction():
            row = database.row("meta", SCOPE)
            if ("" if row is None else row[0]) == scope:
                database.execute("retry_sitemaps")
            else:
                database.execute("reread_sitemaps")
                database.execute("set_meta", SCOPE, scope)

    def remove(self, urls: Iterable[str]) -> int:
        """Remove sitemaps, with those that they list; return how many of the given ones existed.

        An index or a robots.txt does not bring them back; `add` does. Pages stay.
        """
        removed = 0
        with self._database.transaction():
            for url in urls:
                removed += self._database.execute("remove_sitemap", url)
                self._database.execute("remove_sitemaps_of", url)
        return removed

    def requests(self, since: int) -> list[tuple[int, int]]:
        """Return the requests for sitemaps by hour: its beginning in microseconds, and how many."""
        rows = self._database.rows("sitemap_requests", since // HOUR)
        return [(hour * HOUR, requests) for hour, requests in rows]


def _read_row(row: Sequence[Any]) -> SitemapFile:
    url, read_at, etag, last_modified, *rest = row
    return SitemapFile(
        url, read_at, Validators(read_verbatim(etag), read_verbatim(last_modified)), *rest
    )
