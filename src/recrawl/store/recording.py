"""Write a batch of visits and everything they change, in one transaction."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from typing import NamedTuple

from recrawl.records import SIGNALS, Outcome, Response, State, Visit
from recrawl.store.changes import (
    FeedKind,
    change_values,
    drop_old_changes,
    feed_state_after,
    kind_of,
)
from recrawl.store.database import Database, Row
from recrawl.store.encoding import (
    deflate,
    write_fingerprint,
    write_headers,
    write_keys,
    write_legible,
    write_verbatim,
)
from recrawl.store.rows import Retention, Spent
from recrawl.store.versions import drop_old_versions, drop_versions_of, keep_version

HOUR = 3_600_000_000
_ETAG, _LAST_MODIFIED, _DIGEST = map(SIGNALS.index, ("etag", "lastmod", "digest"))
_NO_BELIEF = None, None


@dataclass(slots=True)
class _Spending:
    """Requests and visits in an hour.

    Attributes:
        pages: Requests for pages.
        lost: Requests for pages that did not result in a visit.
        robots: Requests for robots.txt.
        sitemaps: Requests for sitemaps and feeds.
        outcomes: Visits, by outcome.
    """

    pages: int = 0
    lost: int = 0
    robots: int = 0
    sitemaps: int = 0
    outcomes: list[int] = field(default_factory=lambda: [0] * len(Outcome))

    def values(self) -> tuple[int, ...]:
        """Return the values in the order of the columns."""
        return (self.pages, self.lost, self.robots, self.sitemaps, *self.outcomes)


_ByHour = defaultdict[int, _Spending]


class _Prepared(NamedTuple):
    """A visit whose slow work has been done, so that the write lock is held only briefly."""

    visit: Visit
    logged: Row
    deflated: bytes | None


class _Before(NamedTuple):
    """What the store knows about a page before a visit is written.

    Attributes:
        body: The digest of its copy.
        feed_state: Its `FeedState`.
        is_well: Whether it is alive, did not fail, and has no retry pending.
        is_logged: Whether the visit is in the log already.
    """

    body: bytes | None
    feed_state: int
    is_well: bool
    is_logged: bool


def record(
    database: Database,
    visits: Sequence[Visit],
    spent: Spent | None,
    templates: Mapping[str, bytes],
    retention: Retention,
) -> None:
    """Write visits; see `SqliteStore.record`."""
    prepared = [_prepare(visit) for visit in visits]
    hours: _ByHour = defaultdict(_Spending)
    if spent is not None:
        hours[spent.at // HOUR] = _Spending(0, spent.lost, spent.robots, spent.sitemaps)
    with database.transaction():
        for part in _distinct(prepared):
            _record_part(database, part, hours, retention.versions)
        spending = ((hour, *spending.values()) for hour, spending in hours.items())
        database.execute_many("add_spending", [row for row in spending if any(row[1:])])
        database.execute_many("set_template", templates.items())
        if visits:
            now = max(visit.response.at for visit in visits)
            drop_old_changes(database, retention, now)
            drop_old_versions(database, retention, now)


def _distinct(prepared: Sequence[_Prepared]) -> Iterator[list[_Prepared]]:
    """Yield visits in order, in groups of visits to different pages."""
    part, seen = list[_Prepared](), set[int]()
    for each in prepared:
        number = each.visit.page.number
        if number in seen:
            yield part
            part, seen = [], set()
        part.append(each)
        seen.add(number)
    if part:
        yield part


def _record_part(
    database: Database, part: Sequence[_Prepared], hours: _ByHour, versions: int
) -> None:
    """Write visits to different pages."""
    given = json.dumps({each.visit.page.number: each.visit.response.at for each in part})
    found = {number: _Before(*rest) for number, *rest in database.rows("pages_before", given)}
    writes = _Writes(database, versions)
    for each in part:
        visit = each.visit
        spending = hours[visit.response.at // HOUR]
        before = found.get(visit.page.number)
        if before is None:
            # The page was removed while it was visited; its requests still count.
            spending.lost += visit.response.requests
        elif visit.is_refusal:
            # A refused page is not a visit; its requests still count.
            spending.lost += visit.response.requests
            writes.add(each, before)
        elif not before.is_logged:
            spending.pages += visit.response.requests
            spending.outcomes[visit.outcome] += 1
            writes.logged.append(each.logged)
            writes.add(each, before)
    writes.flush()


class _Writes:
    """Rows to write, by statement, as writing many rows at once is faster."""

    def __init__(self, database: Database, versions: int) -> None:
        self._database = database
        self._versions = versions
        self.logged: list[Row] = []
        self._bodies: list[Row] = []
        self._pages: list[Row] = []
        self._steady_pages: list[Row] = []
        self._changes: list[Row] = []
        self._replaced: list[tuple[Visit, bytes, FeedKind | None]] = []
        self._copies: list[Row] = []
        self._dropped_copies: list[Row] = []
        self._denied: list[int] = []

    def add(self, prepared: _Prepared, before: _Before) -> None:
        """Add what a visit changes about its page and its copy."""
        visit, old = prepared.visit, before.body
        page = visit.page
        feed_state = feed_state_after(visit, before.feed_state)
        if (
            visit.outcome is Outcome.UNCHANGED
            and before.is_well
            and page.state is State.ALIVE
            and not page.failures
            and page.retry_at is None
            and visit.content is None
            and page.body == old
            and feed_state == before.feed_state
        ):
            # No indexed column changes, as at most visits.
            self._steady_pages.append(_steady_values(visit))
            return
        if visit.content is not None:
            stored = prepared.deflated or b""
            self._bodies.append((page.body, len(visit.content), len(stored), stored))
        self._pages.append(_page_values(visit, feed_state))
        kind = kind_of(visit, old, before.feed_state, feed_state)
        if kind is not None:
            self._changes.append(change_values(visit, old, kind))
        if page.body is None:
            self._dropped_copies.append((page.number,))
        elif page.body != old or visit.content is not None:
            self._copies.append((page.number, *_copy_values(visit.response), visit.no_text))
        if old is not None and old != page.body:
            self._replaced.append((visit, old, kind))
            if visit.is_refusal and page.body is None:
                # Old versions of a refused page are copies, too.
                self._denied.append(page.number)

    def flush(self) -> None:
        """Write all rows, each after those that it refers to."""
        database = self._database
        database.execute_many("add_body", self._bodies)
        database.execute_many("add_visit", self.logged)
        database.execute_many("update_page", self._pages)
        database.execute_many("update_steady_page", self._steady_pages)
        database.execute_many("add_change", self._changes)
        # Versions are made from copies before these are replaced.
        dropped = [
            (old,)
            for visit, old, kind in self._replaced
            if not keep_version(database, visit, old, kind, self._versions)
        ]
        database.execute_many("set_copy", self._copies)
        database.execute_many("drop_copy", self._dropped_copies)
        database.execute_many("drop_body", dropped)
        if self._denied:
            drop_versions_of(database, json.dumps(self._denied))


def _prepare(visit: Visit) -> _Prepared:
    page, response = visit.page, visit.response
    mime = response.header("content-type")
    change = visit.change
    logged = (
        page.number,
        response.at,
        visit.outcome,
        visit.previous,
        response.status,
        _signal(visit),
        visit.last_modified,
        response.transferred,
        round(response.seconds * 1_000),
        response.requests,
        response.truncated,
        None if response.body is None else sha1(response.body, usedforsecurity=False).digest(),
        None if mime is None else write_legible(mime.partition(";")[0].strip().lower()),
        None if response.url == page.url else write_legible(response.url),
        write_legible(response.error),
        None if change is None else change.kind,
        None if change is None else change.share,
    )
    return _Prepared(visit, logged, None if visit.content is None else deflate(visit.content))


def _signal(visit: Visit) -> int | None:
    """Return how the outcome was determined; None if nothing was compared."""
    if visit.outcome is not Outcome.CHANGED and visit.outcome is not Outcome.UNCHANGED:
        return None
    if not visit.response.is_not_modified:
        return _DIGEST
    return _ETAG if visit.page.validators.etag else _LAST_MODIFIED


def _page_values(visit: Visit, feed_state: int) -> Row:
    page = visit.page
    return (
        page.state,
        page.body,
        page.failures,
        page.retry_at,
        feed_state,
        *_steady_values(visit),
    )


def _steady_values(visit: Visit) -> Row:
    """Return what a visit changes that is not indexed."""
    page, known = visit.page, visit.page.fingerprint
    shape, time = visit.belief or _NO_BELIEF
    return (
        page.last_visit,
        write_verbatim(page.validators.etag),
        write_verbatim(page.validators.last_modified),
        None if known is None else known.kind,
        None if known is None else write_fingerprint(known),
        write_keys(page.ignored),
        page.suspects or None,
        page.visits,
        page.changes,
        page.streak,
        page.not_modified,
        page.missing_since,
        write_legible(page.reason),
        shape,
        time,
        visit.octaves,
        page.number,
    )


def _copy_values(response: Response) -> Row:
    headers = write_headers(response.headers)
    return (write_legible(response.url), response.status, response.at, headers, response.truncated)
