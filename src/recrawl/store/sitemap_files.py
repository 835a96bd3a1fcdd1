"""The sitemaps and feeds of a store: which are due, what reading them found, and who named them."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from recrawl.hosts import host_of
from recrawl.records import Validators
from recrawl.store.database import Database
from recrawl.store.encoding import read_verbatim, write_legible, write_verbatim
from recrawl.store.rows import SitemapFile

#: The kind of the "index" that a robots.txt is.
ROBOTS = "robots"
#: What sitemaps were last read for: the patterns of pages that are taken in.
SCOPE = "sitemap_scope"


def read_row(row: Sequence[Any]) -> SitemapFile:
    """Return a row of the queries as a record."""
    url, read_at, etag, last_modified, *rest = row
    return SitemapFile(
        url, read_at, Validators(read_verbatim(etag), read_verbatim(last_modified)), *rest
    )


def note(database: Database, found: SitemapFile) -> None:
    """Save what reading a sitemap found; see `SqliteStore.note_sitemap`."""
    database.execute(
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


def name(
    database: Database, by: SitemapFile, urls: Sequence[str], limit: int, *, is_all: bool
) -> int:
    """Add what an index or a robots.txt names; see `SqliteStore.name_sitemaps`."""
    root, depth = by.root or by.url, by.depth + 1
    left_out = 0
    with database.transaction():
        if by.kind != ROBOTS and database.row("has_sitemap", by.url) is None:
            return 0
        if is_all:
            database.execute("drop_unnamed_sitemaps", by.url, json.dumps(list(urls)))
        hosts, roots = _counts(database)
        for url in urls:
            host = host_of(url)
            is_full = max(hosts[host], roots[root]) >= limit
            if is_full and database.row("has_sitemap", url) is None:
                left_out += 1
            elif not is_full:
                added = database.execute("name_sitemap", url, host, by.url, root, depth)
                hosts[host] += added
                roots[root] += added
    return left_out


def _counts(database: Database) -> tuple[Counter[str], Counter[str]]:
    """Count sitemaps by host and by root."""
    hosts: Counter[str] = Counter()
    roots: Counter[str] = Counter()
    for host, root, count in database.rows("sitemap_counts"):
        hosts[host] += count
        roots[root or ""] += count
    return hosts, roots


def remove(database: Database, urls: Iterable[str]) -> int:
    """Remove sitemaps; see `SqliteStore.remove_sitemaps`."""
    removed = 0
    with database.transaction():
        for url in urls:
            removed += database.execute("remove_sitemap", url)
            database.execute("remove_sitemaps_of", url)
    return removed


def retry(database: Database, scope: str) -> None:
    """Have failed sitemaps tried again; see `SqliteStore.retry_sitemaps`."""
    with database.transaction():
        row = database.row("meta", SCOPE)
        if ("" if row is None else row[0]) == scope:
            database.execute("retry_sitemaps")
        else:
            database.execute("reread_sitemaps")
            database.execute("set_meta", SCOPE, scope)
