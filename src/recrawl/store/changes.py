"""The feed of changes: what became of pages, in order, read with a cursor."""

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, final

from recrawl.errors import ArgumentError, StoreError
from recrawl.records import PRIVATE, Outcome, Page, State, Visit
from recrawl.store.database import Database, Row
from recrawl.store.encoding import write_legible
from recrawl.store.rows import Retention
from recrawl.units import format_time, quoted

#: Changes dropped at a time, so that no visit waits for long.
DROPPED_PER_BATCH = 1_000
#: A cursor as text: a serial, and within a listing of all pages, the number of the next one.
_CURSOR = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,18}))?", re.ASCII)


class FeedState(IntEnum):
    """What the feed has said about a page, as stored in the column ``feed_state``."""

    UNKNOWN = 0
    THERE = 1
    GONE = 2
    REFUSED = 3


#: As plain integers, which are faster to compare, at every visit.
_THERE, _GONE, _REFUSED = FeedState.THERE.value, FeedState.GONE.value, FeedState.REFUSED.value


class FeedKind(IntEnum):
    """The kind of a change, as stored in the table ``changes``."""

    NEW = 0
    CHANGED = 1
    GONE = 2
    BACK = 3
    REMOVED = 4
    REFUSED = 5


#: Kinds of changes after which readers have nothing to show of a page.
_WITHOUT_COPY = frozenset({FeedKind.GONE, FeedKind.REFUSED})


class Cursor(NamedTuple):
    """A reader's position in the feed, which the reader keeps as text.

    Attributes:
        serial: The last change that has been read.
        page: During the initial listing of all pages, the number of the next one; else None.
    """

    serial: int
    page: int | None = None

    def __str__(self) -> str:
        """Return the cursor as text."""
        return f"{self.serial}" if self.page is None else f"{self.serial}.{self.page}"

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Parse a cursor.

        Raises:
            ArgumentError: This is not a cursor.

        >>> Cursor.parse("17"), str(Cursor.parse("17.3"))
        (Cursor(serial=17, page=None), '17.3')
        """
        found = _CURSOR.fullmatch(text.strip())
        if found is None:
            raise ArgumentError(f"{quoted(text)} is not a cursor")
        return cls(int(found[1]), None if found[2] is None else int(found[2]))


@dataclass(frozen=True, slots=True)
class PageChange:
    """A change of a page.

    Attributes:
        cursor: Where to continue reading after this change.
        page: The page's number.
        url: Its URL.
        kind: What happened.
        at: When it was found, in microseconds.
        previous: When the page was last found before; it changed in between. None if never.
        before: The digest of the copy before; None if there was none.
        after: The digest of the copy since; None if the page is gone, refused or removed.
        share: The share of the page's own text that differs; None if nothing was compared.
        reason: Why the page is refused; None for other kinds.
    """

    cursor: Cursor
    page: int
    url: str
    kind: FeedKind
    at: int
    previous: int | None = None
    before: bytes | None = None
    after: bytes | None = None
    share: float | None = None
    reason: str | None = None


def change_object(change: PageChange) -> dict[str, Any]:
    """Return a change as a JSON object."""
    return {
        "cursor": str(change.cursor),
        "url": change.url,
        "kind": change.kind.name.lower(),
        "at": format_time(change.at),
        "previous": None if change.previous is None else format_time(change.previous),
        "digest_before": None if change.before is None else change.before.hex(),
        "digest": None if change.after is None else change.after.hex(),
        "share": change.share,
        "reason": change.reason,
    }


def feed_state_after(visit: Visit, known: int) -> int:
    """Return the `FeedState` of a page after a visit."""
    page = visit.page
    if page.state is State.ALIVE:
        is_found = visit.outcome is not Outcome.FAILED and visit.outcome is not Outcome.GONE
        return _THERE if is_found else known
    if page.state is State.GONE:
        return known if known == FeedState.UNKNOWN else _GONE
    return _REFUSED if known == _THERE and _is_denied(page) else known


def _is_denied(page: Page) -> bool:
    """Whether robots.txt or the server refuses a page.

    An address that the settings of a run do not allow says nothing about the page.
    """
    return page.state is State.REFUSED and PRIVATE not in (page.reason or "")


def kind_of(visit: Visit, before: bytes | None, known: int, after: int) -> FeedKind | None:
    """Return the kind of change that a visit found; None if none that belongs in the feed.

    Args:
        visit: The visit.
        before: The digest of the copy before it.
        known: The `FeedState` before it.
        after: The `FeedState` after it.
    """
    if known != after:
        if after == FeedState.GONE:
            return FeedKind.GONE
        if after == FeedState.REFUSED:
            return FeedKind.REFUSED
        return FeedKind.NEW if known == FeedState.UNKNOWN else FeedKind.BACK
    # A page that was missing for a while counts as changed too, even if it is as it was.
    is_change = visit.outcome is Outcome.CHANGED or visit.outcome is Outcome.FIRST
    if visit.page.body is None:
        # Another crawler has the copy, and reports only whether it changed.
        is_new_copy = visit.outcome is Outcome.CHANGED and after == _THERE
    else:
        is_new_copy = is_change and after == _THERE and visit.page.body != before
    return FeedKind.CHANGED if is_new_copy else None


def change_values(visit: Visit, before: bytes | None, kind: FeedKind) -> Row:
    """Return the row of the feed for the change that a visit found."""
    page = visit.page
    return (
        page.number,
        page.url,
        kind,
        visit.response.at,
        visit.previous,
        before,
        None if kind in _WITHOUT_COPY else page.body,
        None if visit.change is None else visit.change.share,
        write_legible(page.reason) if kind is FeedKind.REFUSED else None,
    )


def add_removals(database: Database, numbers: str, at: int) -> None:
    """Add removals of pages to the feed, in the transaction that removes them.

    Args:
        database: The store's database.
        numbers: The numbers of the pages, as JSON.
        at: When, in microseconds.
    """
    database.execute("add_removals", pages=numbers, removed=FeedKind.REMOVED, at=at)


def drop_old_changes(database: Database, retention: Retention, now: int) -> None:
    """Drop some of the changes that are too many or too old, the oldest first."""
    first, last = _bounds(database)
    if first > last:
        return
    end = min(first + DROPPED_PER_BATCH, last + 1)
    keep = last - retention.changes + 1
    if retention.time is not None:
        (young,) = database.rows("first_change_to_keep", end - 1, now - retention.time)[0]
        keep = max(keep, end if young is None else young)
    if keep > first:
        database.execute("drop_changes", min(keep, end))


@final
class ChangeFeed:
    """Changes of pages, in the order in which they were found.

    A reader keeps a cursor, reads what follows it, and saves the cursor of the last change that it
    has processed; if it is killed in between, it reads some changes again. The changes of a page
    are in order, and end with its current state.

    Args:
        database: The store's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def start(self) -> Cursor:
        """Return the cursor of a new reader, which reads all existing pages, then changes.

        The existing pages are listed as `FeedKind.NEW`, in order of number.
        """
        return Cursor(self.end().serial, 0)

    @staticmethod
    def cursor(text: str) -> Cursor:
        """Parse a cursor.

        Raises:
            ArgumentError: This is not a cursor.
        """
        return Cursor.parse(text)

    def oldest(self) -> Cursor:
        """Return the cursor before the oldest change that is kept."""
        first, _ = _bounds(self._database)
        return Cursor(first - 1)

    def end(self) -> Cursor:
        """Return the cursor after all changes so far."""
        _, last = _bounds(self._database)
        return Cursor(last)

    def since(self, at: int) -> Cursor:
        """Return the cursor before the first change, among those kept, found at a time or later."""
        row = self._database.row("feed_before", at)
        return self.end() if row is None else Cursor(row[0])

    def read(self, cursor: Cursor, limit: int) -> list[PageChange]:
        """Return what follows a cursor; nothing if there is nothing new.

        Raises:
            StoreError: Changes after the cursor have been dropped, or it is from another store.
        """
        with self._database.transaction("begin_read"):
            first, last = _bounds(self._database)
            _check(self._database.path, cursor, first, last)
            pages = self._pages(cursor, limit)
            rows = self._database.rows("feed_after", cursor.serial, limit - len(pages))
        changes = [
            PageChange(Cursor(serial), page, url, FeedKind(kind), *rest)
            for serial, page, url, kind, *rest in rows
        ]
        return [*pages, *changes]

    def count_after(self, cursor: Cursor) -> int:
        """Return how much follows a cursor, as far as it is kept: pages to be listed, and changes.

        A page that changes before it is listed counts twice, as it is read twice.
        """
        first, last = _bounds(self._database)
        changes = max(last - max(cursor.serial, first - 1), 0)
        if cursor.page is None:
            return changes
        (pages,) = self._database.rows("count_feed_pages", cursor.page, FeedState.THERE)[0]
        return changes + int(pages)

    def _pages(self, cursor: Cursor, limit: int) -> list[PageChange]:
        """Return existing pages, for a cursor within the initial listing."""
        if cursor.page is None:
            return []
        rows = self._database.rows("feed_pages", cursor.page, FeedState.THERE, limit)
        return [
            PageChange(Cursor(cursor.serial, number + 1), number, url, FeedKind.NEW, at, after=body)
            for number, url, at, body in rows
        ]


def _bounds(database: Database) -> tuple[int, int]:
    """Return the first and the last serial that are kept; none are if first > last."""
    first, last = database.rows("feed_bounds")[0]
    return last + 1 if first is None else first, last


def _check(path: str, cursor: Cursor, first: int, last: int) -> None:
    if cursor.serial < first - 1:
        raise StoreError(
            f"{path}: the cursor {cursor} is older than the changes that are kept, which start "
            f"after {first - 1}; rebuild the index from `recrawl changes --since start`"
        )
    if cursor.serial > last:
        raise StoreError(
            f"{path}: the cursor {cursor} is not from this store, whose last change is {last}; "
            "rebuild the index from `recrawl changes --since start`"
        )
