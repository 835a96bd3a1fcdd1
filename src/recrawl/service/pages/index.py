"""The columns that lists of pages are filtered and sorted by, kept in memory for a while.

Reading the numbers of a million pages takes seconds. They are read again in the background when
they have become old by that measure; meanwhile lists are filtered and sorted by what they were. The
pages that are listed are read anew each time, so that what is shown of them is current.
"""

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import final

import numpy as np

from recrawl.config.intervals import IntervalsOf, unlimited
from recrawl.errors import StoreError
from recrawl.inspect.explain import Price
from recrawl.inspect.pages import ListedPage, Wanted, listed_rows, next_visits
from recrawl.kernels.jit import Ints
from recrawl.records import NO_TIME
from recrawl.service.pages.snapshot import Snapshot
from recrawl.store.listing import PageColumns
from recrawl.store.sqlite import SqliteStore

#: Seconds for which the columns are used at least, and how many times as long as reading them took.
MIN_AGE, AGE_PER_COST = 2.0, 20.0
#: Seconds that reading them may take for somebody to wait for it.
CHEAP = 0.05


@dataclass(frozen=True)
class PageSlice:
    """A part of a list of pages.

    Attributes:
        found: How many pages match.
        rows: The pages of this part.
    """

    found: int
    rows: list[ListedPage]


@final
class PageIndex:
    """Lists pages from columns that are cached for a while.

    Args:
        path: The store's file, which is read in a thread of its own.
        intervals: Limits on the time between two visits to a page.
        now: Returns seconds that never go back.
    """

    def __init__(
        self,
        path: str,
        intervals: IntervalsOf = unlimited,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._intervals = intervals
        self._now = now
        self._snapshot: Snapshot | None = None
        self._until = self._read_at = -math.inf
        self._cost = 0.0
        self._price: Price | None = None
        self._reading: threading.Thread | None = None

    def warm_up(self) -> None:
        """Read the pages in the background, so that the first list need not wait for them."""
        self._start_reading(None)

    @property
    def age(self) -> float:
        """Seconds since the columns were read; infinity if they never were."""
        return self._now() - self._read_at

    def columns(self, store: SqliteStore) -> PageColumns:
        """Return the columns of all pages, as lists are made of."""
        return self._known(store, self._price).columns

    def known_columns(self) -> PageColumns | None:
        """Return the columns as they were a while ago, without waiting; None if never read."""
        known = self._snapshot
        self._refresh(self._price)
        return None if known is None else known.columns

    def list(
        self,
        store: SqliteStore,
        wanted: Wanted,
        price: Price | None,
        now: int,
        *,
        text: str = "",
        offset: int = 0,
    ) -> PageSlice:
        """Return a part of the pages that were asked for, in order.

        Args:
            store: Where pages are read; used by this thread only.
            wanted: Which pages; the limit is how many from the offset on.
            price: What a visit must be worth; None if not known.
            now: The present, in microseconds.
            text: Only pages whose URL contains this; empty for all.
            offset: How many pages to leave out at the beginning.
        """
        known = self._known(store, price)
        found, rows = known.select(wanted, text, offset, now)
        current = _current(store, known.columns, rows)
        every = np.arange(current.number.size)
        due = next_visits(current, price, self._intervals(store, current.number))
        return PageSlice(found, list(listed_rows(store, current, due, every)))

    def _known(self, store: SqliteStore, price: Price | None) -> Snapshot:
        """Return what is known; old, it is read again, in the background if that is slow."""
        self._price = price
        reading = self._reading
        if self._snapshot is None and reading is not None:
            reading.join()
        known = self._snapshot
        is_old = self._now() >= self._until
        if known is None or (is_old and self._cost <= CHEAP):
            known = self._read(store, price)
        elif known.price is None and price is not None:
            self._snapshot = known = known.at_price(price)
        self._refresh(price)
        return known

    def _refresh(self, price: Price | None) -> None:
        """Have the pages read in the background if what is known of them is old."""
        if self._reading is None and self._now() >= self._until:
            self._start_reading(price)

    def _start_reading(self, price: Price | None) -> None:
        self._reading = threading.Thread(target=self._read_beside, args=(price,), daemon=True)
        self._reading.start()

    def _read(self, store: SqliteStore, price: Price | None) -> Snapshot:
        began = self._now()
        self._snapshot = known = Snapshot.read(store, price, self._intervals, self._snapshot)
        self._read_at, self._cost = began, self._now() - began
        self._until = began + self._cost + max(MIN_AGE, AGE_PER_COST * self._cost)
        return known

    def _read_beside(self, price: Price | None) -> None:
        try:
            # If it cannot be read, whoever asks for a list is told why.
            with suppress(StoreError), SqliteStore.open(self._path) as store:
                store.narrow_cache()
                self._read(store, price)
        finally:
            self._reading = None


def _current(store: SqliteStore, pages: PageColumns, rows: Ints) -> PageColumns:
    """Return some rows as they are now, without pages that are no longer there."""
    known = store.pages(pages.number[rows].tolist())
    rows = rows[[number in known for number in pages.number[rows].tolist()]]
    numbers = pages.number[rows]
    found = [known[number] for number in numbers.tolist()]
    believed = store.beliefs(numbers)
    beliefs = [believed.get(page.number, (math.nan, math.nan)) for page in found]
    last = [NO_TIME if page.last_visit is None else page.last_visit for page in found]
    again = [NO_TIME if page.retry_at is None else page.retry_at for page in found]
    return PageColumns(
        number=numbers,
        host=pages.host[rows],
        state=np.array([page.state for page in found], np.int64),
        last_visit=np.array(last, np.int64),
        failures=np.array([page.failures for page in found], np.int64),
        visits=np.array([page.visits for page in found], np.int64),
        changes=np.array([page.changes for page in found], np.int64),
        retry_at=np.array(again, np.int64),
        importance=np.array([page.importance for page in found], np.float64),
        shape=np.array([shape for shape, _ in beliefs], np.float64),
        time=np.array([days for _, days in beliefs], np.float64),
        hosts=pages.hosts,
        rates=store.rates(numbers),
    )
