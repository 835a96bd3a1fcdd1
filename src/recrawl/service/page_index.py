"""The columns that lists of pages are filtered and sorted by, kept in memory for a while.

Reading the numbers of a million pages takes seconds. They are read again in the background when
they have become old by that measure; meanwhile lists are filtered and sorted by what they were. The
pages that are listed are read anew each time, so that what is shown of them is current.
"""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from recrawl.crawler.explain import Price
from recrawl.crawler.page_list import ListedPage, Wanted, listed_rows, next_visits, select_rows
from recrawl.kernels.jit import Ints
from recrawl.records import NO_TIME
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
    """Lists pages from columns that are kept for a while.

    Args:
        path: The store's file, which is read in a thread of its own.
        now: Returns seconds that never go back.
    """

    def __init__(self, path: str, now: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._now = now
        self._columns: PageColumns | None = None
        self._until = self._read_at = -math.inf
        self._cost = 0.0
        self._reading: threading.Thread | None = None

    def warm_up(self) -> None:
        """Read the columns in the background, unless they are read already or still new."""
        if self._reading is None and self._now() >= self._until:
            self._reading = threading.Thread(target=self._read_beside, daemon=True)
            self._reading.start()

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
        columns = self.columns(store)
        among = store.numbers_with(text) if text else None
        due = next_visits(columns, price)
        found, rows = select_rows(store, columns, wanted, due, now, among=among, offset=offset)
        current = _current(store, columns, rows)
        every = np.arange(current.number.size)
        return PageSlice(
            found, list(listed_rows(store, current, next_visits(current, price), every))
        )

    def known_columns(self) -> PageColumns | None:
        """Return the columns as they were a while ago; None, and not for long, if never read."""
        self.warm_up()
        return self._columns

    def columns(self, store: SqliteStore) -> PageColumns:
        """Return the columns, not older than some seconds if that is cheap.

        Where it is not, they are as they were a while ago, and read anew in the background; only
        the first time are they waited for.
        """
        columns = self._columns
        is_old = self._now() >= self._until
        if columns is None or (is_old and self._cost <= CHEAP):
            columns = self._read(store)
        self.warm_up()
        return columns

    @property
    def age(self) -> float:
        """Seconds since the columns were read; infinity if they never were."""
        return self._now() - self._read_at

    def _read(self, store: SqliteStore) -> PageColumns:
        began = self._now()
        self._columns = columns = store.page_columns()
        self._read_at, self._cost = began, self._now() - began
        self._until = began + self._cost + max(MIN_AGE, AGE_PER_COST * self._cost)
        return columns

    def _read_beside(self) -> None:
        try:
            with SqliteStore.open(self._path) as store:
                store.narrow_cache()
                self._read(store)
        finally:
            self._reading = None


def _current(store: SqliteStore, pages: PageColumns, rows: Ints) -> PageColumns:
    """Return some rows as they are now, without pages that are no longer there."""
    known = store.pages(pages.number[rows].tolist())
    rows = rows[[number in known for number in pages.number[rows].tolist()]]
    numbers = pages.number[rows]
    found = [known[number] for number in numbers.tolist()]
    beliefs = [store.belief(page.number) or (math.nan, math.nan) for page in found]
    last = [NO_TIME if page.last_visit is None else page.last_visit for page in found]
    return PageColumns(
        number=numbers,
        host=pages.host[rows],
        state=np.array([page.state for page in found], np.int64),
        last_visit=np.array(last, np.int64),
        failures=np.array([page.failures for page in found], np.int64),
        visits=np.array([page.visits for page in found], np.int64),
        changes=np.array([page.changes for page in found], np.int64),
        importance=np.array([page.importance for page in found], np.float64),
        shape=np.array([shape for shape, _ in beliefs], np.float64),
        time=np.array([days for _, days in beliefs], np.float64),
        hosts=pages.hosts,
    )
