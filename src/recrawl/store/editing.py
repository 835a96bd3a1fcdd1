"""Adding, finding and removing pages, and the feed of edits that a run follows."""

import json
import math
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any

from recrawl.errors import ArgumentError
from recrawl.records import DISALLOWED, PRIVATE, Page, State
from recrawl.store.changes import add_removals
from recrawl.store.database import Database
from recrawl.store.encoding import read_page
from recrawl.store.rows import Added, Edits, NewPage
from recrawl.store.versions import drop_versions_of
from recrawl.urls import matches

#: Edits read in one go, so that a million new pages do not stall a run.
EDITS_PER_BATCH = 10_000


#: Which states become which when a page is visited again: one that was gone was not found at its
#: last visit, which is what MISSING means.
_WOKEN = {
    "gone": State.GONE,
    "missing": State.MISSING,
    "refused": State.REFUSED,
    "alive": State.ALIVE,
}


class Edit(IntEnum):
    """What was done to a page, as stored in the table ``edits``."""

    ADDED = 0
    REMOVED = 1
    IMPORTANCE = 2
    REVIVED = 3


def add(database: Database, pages: Iterable[NewPage], at: int) -> Added:
    """Add pages; see `SqliteStore.add`."""
    database.execute("widen_temporary_cache")
    database.execute("create_incoming")
    # Pages may come from a slow file: read them all before taking the write lock.
    with database.transaction("begin_read"):
        database.execute("clear_incoming")
        named = _Counted(pages)
        database.execute_many("stage_page", named)
    with database.transaction():
        database.execute("forget_removed")
        skipped = database.execute("skip_removed")
        database.execute("add_hosts")
        database.execute(
            "log_revived", revived=Edit.REVIVED, gone=State.GONE, refused=State.REFUSED
        )
        revived = database.execute("revive", **_WOKEN)
        database.execute("log_importance", importance=Edit.IMPORTANCE)
        changed = database.execute("change_importance")
        database.execute("lower_depth")
        new = database.execute("add_pages", at=at)
        database.execute("log_added", added=Edit.ADDED)
        database.execute("advance_next_page", new)
        database.execute("clear_incoming")
    known = named.count - skipped - new - revived
    return Added(new=new, known=known, revived=revived, importance=changed)


class _Counted:
    """Rows of pages, checked and counted while they are consumed."""

    def __init__(self, pages: Iterable[NewPage]) -> None:
        self.count = 0
        self._pages = pages

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for page in self._pages:
            for given in (page.importance, page.initial_importance):
                if given is not None and not 0 <= given < math.inf:
                    problem = f"the importance of {page.url} is {given}, not a number from 0 up"
                    raise ArgumentError(f"pages: {problem}")
            self.count += 1
            initial = 1.0 if page.initial_importance is None else page.initial_importance
            yield (page.url, page.host, page.importance, initial, page.depth, page.source)


def remove(database: Database, urls: Iterable[str], at: int) -> list[int]:
    """Remove pages; see `SqliteStore.remove`."""
    wanted = json.dumps(list(urls))
    with database.transaction():
        found = database.rows("numbers_of", wanted)
        numbers = [number for number, _ in found]
        written = json.dumps(numbers)
        database.execute("note_removed", written)
        add_removals(database, written, at)
        drop_versions_of(database, written)
        for name in ("count_removed_visits", "remove_visits", "remove_copies", "remove_pages"):
            database.execute(name, written)
        database.execute_many("drop_body", [(body,) for _, body in found if body is not None])
        database.execute_many("log_removed", [(number, Edit.REMOVED) for number in numbers])
    return numbers


def matching(database: Database, pattern: str) -> list[str]:
    """Find the URLs that match a pattern; see `SqliteStore.matching`."""
    start = pattern.partition("*")[0]
    # The highest character ends every URL that begins like this: canonical URLs are ASCII.
    rows = database.rows("urls_from", start, start + chr(0x10FFFF))
    return [url for (url,) in rows if matches(pattern, url)]


def wake(database: Database, now: int, again: int, limit: int) -> list[Page]:
    """Return pages that are to be looked at again; see `SqliteStore.wake`."""
    with database.transaction():
        numbers = [number for (number,) in database.rows("resting_until", now, limit)]
        database.execute("wake", pages=json.dumps(numbers), again=again, **_WOKEN)
        return list(find_pages(database, numbers).values())


def allow(database: Database, origin: str) -> None:
    """Let pages of an origin be visited again that its last robots.txt refused."""
    # A slash follows the origin in every URL, and a 0 follows the slash in ASCII.
    named: dict[str, Any] = {"first": f"{origin}/", "end": f"{origin}0"}
    named |= {"reason": DISALLOWED, "refused": State.REFUSED}
    database.execute("log_allowed", revived=Edit.REVIVED, **named)
    database.execute("allow", alive=State.ALIVE, **named)


def allow_private(database: Database) -> int:
    """Let pages be visited again whose address was private; see `SqliteStore.allow_private`."""
    named = {"alive": State.ALIVE, "refused": State.REFUSED, "reason": PRIVATE}
    return database.execute("allow_private", **named)


def find_pages(database: Database, numbers: Iterable[int]) -> dict[int, Page]:
    """Find pages by number."""
    rows = database.rows("pages_numbered", json.dumps(list(numbers)))
    return {row[0]: read_page(row) for row in rows}


def find_pages_at(database: Database, urls: Iterable[str]) -> dict[str, Page]:
    """Find pages by URL."""
    rows = database.rows("pages_at", json.dumps(list(urls)))
    return {page.url: page for page in map(read_page, rows)}


def last_serial(database: Database) -> int:
    """Return the serial of the latest edit, or 0."""
    row = database.row("last_serial")
    return row[0] if row else 0


def changes_since(database: Database, serial: int) -> Edits:
    """Summarise edits; see `SqliteStore.changes_since`."""
    with database.transaction("begin_read"):
        rows = database.rows("edits_since", serial, EDITS_PER_BATCH)
        kinds: dict[int, set[int]] = {}
        for _, page, kind in rows:
            kinds.setdefault(page, set()).add(kind)
        # Some of these pages may have been removed by edits after this batch.
        there = find_pages(
            database, [page for page, done in kinds.items() if Edit.REMOVED not in done]
        )
    edits = Edits(rows[-1][0] if rows else serial, [], [], [], [])
    for number, done in kinds.items():
        if Edit.REMOVED in done and Edit.ADDED not in done:
            edits.removed.append(number)
        page = there.get(number)
        if page is None:
            continue
        if Edit.ADDED in done:
            edits.added.append(page)
        elif Edit.REVIVED in done:
            edits.revived.append(page)
        if Edit.IMPORTANCE in done and Edit.ADDED not in done:
            edits.importance.append((number, page.importance))
    return edits
