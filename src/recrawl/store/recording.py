"""Writing a batch of visits and everything they change, in one transaction."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha1
from typing import Any, NamedTuple

from recrawl.errors import ArgumentError
from recrawl.records import SIGNALS, Outcome, Response, Visit, digest_of
from recrawl.store.changes import add_change, drop_old_changes, feed_state_after
from recrawl.store.database import Database
from recrawl.store.encoding import (
    deflate,
    write_headers,
    write_keys,
    write_legible,
    write_verbatim,
)
from recrawl.store.rows import Retention, Spent
from recrawl.store.versions import drop_old_versions, keep_version

HOUR = 3_600_000_000
#: Index of the first outcome's count, after four of requests: for pages, lost, robots, sitemaps.
_OUTCOMES = 4


class _Prepared(NamedTuple):
    """A visit whose slow work is done beforehand, so that the write lock is held only briefly."""

    visit: Visit
    logged: tuple[Any, ...]
    deflated: bytes | None


def record(
    database: Database,
    visits: Sequence[Visit],
    spent: Spent | None,
    templates: Mapping[str, bytes],
    retention: Retention,
) -> None:
    """Write visits; see `SqliteStore.record`."""
    prepared = [_prepare(visit) for visit in visits]
    counts: defaultdict[int, list[int]] = defaultdict(lambda: [0] * (_OUTCOMES + len(Outcome)))
    if spent is not None:
        others = counts[spent.at // HOUR]
        others[1:4] = [spent.lost, spent.robots, spent.sitemaps]
    with database.transaction():
        for each in prepared:
            response = each.visit.response
            count = counts[response.at // HOUR]
            found = database.row("body_of_page", each.visit.page.number)
            if found is None:
                # The page was removed while it was visited: its requests count all the same.
                count[1] += response.requests
            elif each.visit.is_refusal:
                # What is refused is no visit; what was asked for in vain counts all the same.
                count[1] += response.requests
                _write(database, each, found, retention)
            elif database.execute("add_visit", *each.logged):
                count[0] += response.requests
                count[_OUTCOMES + each.visit.outcome] += 1
                _write(database, each, found, retention)
        database.execute_many(
            "add_spending", [(hour, *count) for hour, count in counts.items() if any(count)]
        )
        database.execute_many("set_template", templates.items())
        if visits:
            now = max(visit.response.at for visit in visits)
            drop_old_changes(database, retention, now)
            drop_old_versions(database, retention, now)


def _prepare(visit: Visit) -> _Prepared:
    page, response = visit.page, visit.response
    deflated = None
    if visit.content is not None:
        if digest_of(visit.content) != page.body:
            raise ArgumentError(f"visits: the body of page {page.number} does not match its digest")
        deflated = deflate(visit.content)
    mime = response.header("content-type")
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
        write_legible(mime and mime.partition(";")[0].strip().lower()),
        None if response.url == page.url else write_legible(response.url),
        write_legible(response.error),
        *((None, None) if visit.change is None else (visit.change.kind, visit.change.share)),
    )
    return _Prepared(visit, logged, deflated)


def _signal(visit: Visit) -> int | None:
    """Return how the outcome was determined; None where nothing was compared."""
    if visit.outcome not in {Outcome.CHANGED, Outcome.UNCHANGED}:
        return None
    if not visit.response.is_not_modified:
        return SIGNALS.index("digest")
    return SIGNALS.index("etag" if visit.page.validators.etag else "lastmod")


def _write(
    database: Database,
    prepared: _Prepared,
    found: tuple[bytes | None, int],
    retention: Retention,
) -> None:
    """Write what a visit changes about its page and its copy."""
    old, known = found
    visit = prepared.visit
    page = visit.page
    feed_state = feed_state_after(visit, known)
    if visit.content is not None:
        size, stored = len(visit.content), len(prepared.deflated or b"")
        database.execute("add_body", page.body, size, stored, prepared.deflated)
    database.execute("update_page", *_page_values(visit, feed_state))
    is_kept = False
    if visit.outcome is not Outcome.UNCHANGED or known != feed_state:
        kind = add_change(database, visit, old, known, feed_state)
        is_kept = keep_version(database, visit, old, kind, retention.versions)
    if page.body is None:
        database.execute("drop_copy", page.number)
    elif page.body != old or visit.content is not None:
        database.execute("set_copy", page.number, *_copy_values(visit.response))
    if old is not None and old != page.body and not is_kept:
        database.execute("drop_body", old)


def _page_values(visit: Visit, feed_state: int) -> tuple[Any, ...]:
    page = visit.page
    kind, digest = (
        (page.fingerprint.kind, page.fingerprint.digest) if page.fingerprint else (None, None)
    )
    return (
        page.state,
        page.last_visit,
        write_verbatim(page.validators.etag),
        write_verbatim(page.validators.last_modified),
        kind,
        digest,
        write_keys(page.ignored),
        page.suspects or None,
        page.body,
        page.visits,
        page.changes,
        page.streak,
        page.not_modified,
        page.failures,
        page.missing_since,
        page.retry_at,
        write_legible(page.reason),
        *(visit.belief or (None, None)),
        visit.octaves,
        feed_state,
        page.number,
    )


def _copy_values(response: Response) -> tuple[Any, ...]:
    headers = write_headers(response.headers)
    return (write_legible(response.url), response.status, response.at, headers, response.truncated)
