"""Leases in the store: written before they are granted, and remembered for a while after."""

from collections.abc import Collection
from typing import final

from recrawl.engine.leases import EndedLeases, Lease
from recrawl.store.access import LeaseRow, ServiceTables
from recrawl.store.thread import StoreThread

#: Microseconds after the end of a lease within which its pages may be reported, and how many of
#: such pages are remembered.
LATE_WITHIN, MAX_LATE = 86_400e6, 1_000_000


@final
class LeaseRows:
    """Writes what becomes of leases, and knows the pages of those that ended.

    A lease all of whose pages were reported is deleted. One that ended earlier is kept for some
    time, as its pages may be reported late.

    Args:
        store: The thread that writes.
        tables: Where leases are kept.
    """

    def __init__(self, store: StoreThread, tables: ServiceTables) -> None:
        self._store = store
        self._tables = tables
        self._ended = EndedLeases(LATE_WITHIN, MAX_LATE)
        #: As they are to be written, by id.
        self._changed: dict[str, LeaseRow] = {}

    def add(self, row: LeaseRow) -> None:
        """Note that a lease was granted."""
        self._changed[row.id] = row

    def restore(self, row: LeaseRow) -> None:
        """Remember a lease that ended during an earlier process."""
        self._ended.add(row.id, row.pages, row.deadline)

    def end(self, lease: Lease, now: int) -> None:
        """Note that a lease ended, and remember its pages."""
        pages = tuple(lease.granted_pages)
        self._ended.add(lease.id, pages, now)
        self._changed[lease.id] = LeaseRow(lease.id, None, round(lease.granted), now, pages)

    def drop(self, lease: str) -> None:
        """Note that a lease is of no use any more."""
        self._changed[lease] = LeaseRow(lease, None, 0, 0, ())

    def forget(self, now: int) -> None:
        """Drop leases that ended long ago."""
        for lease in self._ended.forget(now):
            self.drop(lease)

    def pages_of(self, lease: str) -> Collection[int] | None:
        """Return the pages of a lease that ended; None if nobody remembers."""
        return self._ended.pages_of(lease)

    async def write(self) -> None:
        """Write what was noted since the last time."""
        rows, self._changed = self._changed, {}
        if not rows:
            return
        try:
            await self._store.call(self._tables.keep_leases, list(rows.values()))
        except BaseException:
            # It is tried again, at the latest at the end.
            self._changed = rows | self._changed
            raise
