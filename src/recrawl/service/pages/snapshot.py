"""A snapshot of all pages, ready to be filtered and sorted without delay, even millions."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from recrawl.config.intervals import Intervals, IntervalsOf
from recrawl.inspect.explain import Price
from recrawl.inspect.pages import (
    ORDERS,
    Wanted,
    last_errors,
    matching,
    next_visits,
    sort_keys,
)
from recrawl.kernels.jit import Floats, Ints
from recrawl.service.pages.url_text import UrlText
from recrawl.store.listing import PageColumns
from recrawl.store.sqlite import SqliteStore


@final
@dataclass(frozen=True)
class Snapshot:
    """All pages at some time.

    Attributes:
        columns: Their numbers.
        urls: Their URLs.
        errors: Why the last visit failed, by page number.
        by_url: Their numbers in order of URL.
        price: What a visit had to be worth; None if that was not known.
        limits: On the time between two visits.
        due: When they are worth a visit, as `next_visits` has it.
        orders: The rows in each order.
    """

    columns: PageColumns
    urls: UrlText
    errors: dict[int, str]
    by_url: Ints
    price: Price | None
    limits: Intervals
    due: Floats
    orders: dict[str, Ints] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        store: SqliteStore,
        price: Price | None,
        intervals: IntervalsOf,
        before: "Snapshot | None",
    ) -> "Snapshot":
        """Read all pages, and sort them in every way.

        Args:
            store: Where they are read.
            price: What a visit must be worth; None if not known.
            intervals: Limits on the time between two visits.
            before: An earlier one, whose URLs need not be read again; None if there was none.
        """
        columns = store.page_columns()
        urls = (UrlText() if before is None else before.urls).of(store, columns.number)
        errors, by_url = last_errors(store, columns), store.numbers_by_url()
        limits = intervals(store, columns.number)
        due = next_visits(columns, price, limits)
        made = cls(columns, urls, errors, by_url, price, limits, due)
        made._sort(ORDERS)
        return made

    def at_price(self, price: Price | None) -> "Snapshot":
        """Return the same pages with the visits that are due at another price."""
        orders = {name: rows for name, rows in self.orders.items() if name != "next-visit"}
        due = next_visits(self.columns, price, self.limits)
        made: Snapshot = replace(self, price=price, due=due, orders=orders)
        made._sort(["next-visit"])
        return made

    def _sort(self, orders: Iterable[str]) -> None:
        for order in orders:
            keys = sort_keys(self.columns, order, self.due, self.errors, self.by_url)
            if keys is not None:
                known = np.where(np.isnan(keys), math.inf, keys)
                self.orders[order] = np.argsort(known, kind="stable").astype(np.int32)

    def select(self, wanted: Wanted, text: str, offset: int, now: int) -> tuple[int, Ints]:
        """Return how many pages match, and the rows of those that were requested, in order.

        Args:
            wanted: Which pages; the limit is how many from the offset on.
            text: Only pages whose URL contains this; empty for all.
            offset: How many pages to leave out at the beginning.
            now: The present, in microseconds.
        """
        matches = matching(self.columns, wanted, self.due, self.errors, now)
        if text:
            contained = self.urls.contain(text, self.columns.number)
            matches = contained if matches is None else matches & contained
        rows = self.orders.get(wanted.order)
        if rows is None:
            rows = np.arange(self.columns.number.size, dtype=np.int32)
        if matches is not None:
            rows = rows[matches[rows]]
        found = rows.size
        if wanted.reverse:
            rows = rows[::-1]
        end = found if wanted.limit is None else offset + wanted.limit
        return found, rows[offset:end].astype(np.int64)
