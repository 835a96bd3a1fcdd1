"""Add, find and remove pages, and read the edits that a run follows."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import IntEnum
from itertools import chain, count, islice, repeat
from operator import attrgetter
from typing import Any, NamedTuple

from recrawl.errors import ArgumentError
from recrawl.records import DISALLOWED, PRIVATE, Page, State
from recrawl.store.changes import add_removals
from recrawl.store.database import Database
from recrawl.store.encoding import read_page
from recrawl.store.rows import Added, Edits, NewPage
from recrawl.store.versions import drop_versions_of
from recrawl.urls import matches

#: Edits read at a time, so that a million new pages do not stall a run.
EDITS_PER_BATCH = 10_000
#: URLs looked up at a time.
TEXTS_PER_BATCH = 10_000
#: From this many new pages on, if they are at least as many as the existing ones, the index of URLs
#: is rebuilt, which is faster than inserting each.
MANY = 100_000
#: The source of pages that users add.
USER = "user"

#: How many columns a new page has. They are taken from a million records without a Python loop.
_COLUMNS = 7
#: How many pages `add_ten_pages` adds.
_TEN = 10
_URL, _HOST, _DEPTH, _SOURCE = map(attrgetter, ("url", "host", "depth", "source"))


#: The new state of a page that is to be visited again: a page that was gone was not found at its
#: last visit, which is what MISSING means.
_WOKEN = {
    "gone": State.GONE,
    "missing": State.MISSING,
    "refused": State.REFUSED,
    "alive": State.ALIVE,
}


class Edit(IntEnum):
    """The kind of an edit to a page, as stored in the table ``edits``."""

    ADDED = 0
    REMOVED = 1
    IMPORTANCE = 2
    REVIVED = 3


def add(database: Database, pages: Iterable[NewPage], at: int) -> Added:
    """Add pages; see `SqliteStore.add`."""
    # Pages may come from a slow file: read them all before taking the write lock.
    given, wanted = _merged(pages)
    with database.transaction():
        skipped = _leave_out_removed(database, wanted)
        known = _known(database, wanted)
        revived, changed = _edit_known(database, wanted, known)
        for url in known:
            del wanted[url]
        new = list(wanted.values())
        _add_new(database, new, at)
    others = given - skipped - len(new) - revived
    return Added(new=len(new), known=others, revived=revived, importance=changed)


def _merged(pages: Iterable[NewPage]) -> tuple[int, dict[str, NewPage]]:
    """Count the pages, and merge duplicates: the last importance, the smallest depth."""
    given = list(pages)
    for page in given:
        if page.importance is not None or page.initial_importance is not None:
            _check_importance(page)
    merged = {page.url: page for page in given}
    if len(merged) < len(given):
        merged = dict[str, NewPage]()
        for page in given:
            first = merged.setdefault(page.url, page)
            if first is not page:
                merged[page.url] = _merge(first, page)
    return len(given), merged


def _check_importance(page: NewPage) -> None:
    for given in (page.importance, page.initial_importance):
        if given is not None and not 0 <= given < math.inf:
            problem = f"the importance of {page.url} is {given}, which is not a number, 0 or above"
            raise ArgumentError(f"pages: {problem}")


def _merge(first: NewPage, again: NewPage) -> NewPage:
    importance = first.importance if again.importance is None else again.importance
    return first._replace(importance=importance, depth=min(first.depth, again.depth))


def _leave_out_removed(database: Database, wanted: dict[str, NewPage]) -> int:
    """Leave out removed pages, unless a user adds them again; return how many were left out."""
    if not database.rows("any_removed")[0][0]:
        return 0
    named = [url for url, page in wanted.items() if page.source == USER]
    for some in _in_batches(named):
        database.execute("forget_removed", some)
    found = [url for url, page in wanted.items() if page.source != USER]
    removed = [
        url for some in _in_batches(found) for (url,) in database.rows("removed_among", some)
    ]
    for url in removed:
        del wanted[url]
    return len(removed)


class _KnownPage(NamedTuple):
    """What adding a page again may change."""

    number: int
    state: int
    importance: float
    depth: int


def _known(database: Database, wanted: dict[str, NewPage]) -> dict[str, _KnownPage]:
    """Find the pages that exist already."""
    if not database.rows("any_pages")[0][0]:
        return {}
    return {
        url: _KnownPage(*found)
        for some in _in_batches(list(wanted))
        for url, *found in database.rows("known_among", some)
    }


def _edit_known(
    database: Database, wanted: dict[str, NewPage], known: dict[str, _KnownPage]
) -> tuple[int, int]:
    """Revive and update known pages; return how many got a new state, and a new importance."""
    both = [(page, known[url]) for url, page in wanted.items() if url in known]
    revived = [
        (State.MISSING if old.state == State.GONE else State.ALIVE, old.number)
        for _, old in both
        if old.state in (State.GONE, State.REFUSED)
    ]
    changed = [
        (page.importance, old.number)
        for page, old in both
        if page.importance is not None and page.importance != old.importance
    ]
    lower = [(page.depth, old.number) for page, old in both if page.depth < old.depth]
    database.execute_many("log_edit", [(number, Edit.REVIVED) for _, number in revived])
    database.execute_many("revive", revived)
    database.execute_many("log_edit", [(number, Edit.IMPORTANCE) for _, number in changed])
    database.execute_many("set_importance", changed)
    database.execute_many("lower_depth", lower)
    return len(revived), len(changed)


def _add_new(database: Database, new: list[NewPage], at: int) -> None:
    """Number and add pages in the order given."""
    counts = Counter(map(_HOST, new))
    hosts = _host_numbers(database, list(counts))
    (first,) = database.rows("next_page")[0]
    # They are known to be new, so the index is not needed to check that.
    rebuild = len(new) >= MANY and len(new) >= first
    if rebuild:
        database.execute("drop_url_index")
    rows = zip(
        count(first),
        map(_URL, new),
        map(hosts.__getitem__, map(_HOST, new)),
        map(_first_importance, new),
        map(_DEPTH, new),
        map(_SOURCE, new),
        repeat(at),
        strict=False,
    )
    tens = chain.from_iterable(islice(rows, len(new) // _TEN * _TEN))
    database.execute_many("add_ten_pages", zip(*[tens] * (_TEN * _COLUMNS), strict=True))
    database.execute_many("add_page", rows)
    if rebuild:
        database.execute("build_url_index")
    database.execute_many("count_added", [(hosts[name], pages) for name, pages in counts.items()])
    database.execute("log_added", added=Edit.ADDED)
    database.execute("advance_next_page", len(new))


def _first_importance(page: NewPage) -> float:
    if page.importance is not None:
        return page.importance
    return 1.0 if page.initial_importance is None else page.initial_importance


def _host_numbers(database: Database, names: list[str]) -> dict[str, int]:
    """Return the numbers of hosts, new ones included."""
    found = _hosts_among(database, names)
    missing = [name for name in names if name not in found]
    database.execute_many("add_host", [(name,) for name in missing])
    return found | _hosts_among(database, missing)


def _hosts_among(database: Database, names: list[str]) -> dict[str, int]:
    return {
        name: number
        for some in _in_batches(names)
        for name, number in database.rows("hosts_among", some)
    }


def _in_batches(texts: list[str]) -> Iterator[str]:
    """Yield batches of texts as JSON."""
    for start in range(0, len(texts), TEXTS_PER_BATCH):
        yield json.dumps(texts[start : start + TEXTS_PER_BATCH])


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
        database.execute_many("log_edit", [(number, Edit.REMOVED) for number in numbers])
    return numbers


def matching(database: Database, pattern: str) -> list[str]:
    """Find the URLs that match a pattern; see `SqliteStore.matching`."""
    start = pattern.partition("*")[0]
    # The highest character follows every URL with this prefix: canonical URLs are ASCII.
    rows = database.rows("urls_from", start, start + chr(0x10FFFF))
    return [url for (url,) in rows if matches(pattern, url)]


def wake(database: Database, now: int, again: int, limit: int) -> list[Page]:
    """Return pages to check again; see `SqliteStore.wake`."""
    with database.transaction():
        numbers = [number for (number,) in database.rows("resting_until", now, limit)]
        database.execute("wake", pages=json.dumps(numbers), again=again, **_WOKEN)
        return list(find_pages(database, numbers).values())


def allow(database: Database, origin: str) -> None:
    """Allow visits to pages of an origin that its previous robots.txt forbade."""
    # A slash follows the origin in every URL, and a 0 follows the slash in ASCII.
    named: dict[str, Any] = {"first": f"{origin}/", "end": f"{origin}0"}
    named |= {"reason": DISALLOWED, "refused": State.REFUSED}
    database.execute("log_allowed", revived=Edit.REVIVED, **named)
    database.execute("allow", alive=State.ALIVE, **named)


def allow_private(database: Database) -> int:
    """Allow visits to pages with a private address; see `SqliteStore.allow_private`."""
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
        asked = database.rows("asked_among", json.dumps(list(there)))
    serial = rows[-1][0] if rows else serial
    edits = Edits(serial, [], [], [], [], frozenset(number for (number,) in asked))
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
