"""Observations as columns: each row says whether a page had changed since its previous visit."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recrawl.errors import ArgumentError
from recrawl.kernels.grouping import group_rows, starts_if_grouped
from recrawl.kernels.jit import Bools, Floats, Ints, extremes, read_only
from recrawl.quantities import LARGEST, SMALLEST, as_array, durations, is_missing, rates
from recrawl.records import MICROSECONDS_A_DAY, NO_TIME, CrawlLog

#: Visits that are turned into observations at a time.
PART_ROWS = 1 << 22


class Grouped(NamedTuple):
    """Rows grouped by page: page i has rows ``starts[i]`` to ``starts[i + 1]``."""

    starts: Ints
    elapsed: Floats
    changed: Bools
    crawl_rate: Floats | None
    age: Floats | None


@dataclass(frozen=True)
class Observations:
    """Rows in any order of pages, with the rows of each page in order of time.

    Create them with `Observations.of`, which checks them.

    Attributes:
        pages: The number of pages; some may have no row.
        page: The row's page, from 0.
        elapsed: Days since the page's previous visit.
        changed: Whether the page had changed since then.
        crawl_rate: Visits per day in force during the gap; None, or NaN, if unknown.
        age: Days since the page last changed, by its server's date; None, or NaN, if unknown.
    """

    pages: int
    page: Ints
    elapsed: Floats
    changed: Bools
    crawl_rate: Floats | None = None
    age: Floats | None = None

    def __post_init__(self) -> None:
        for name in ("page", "elapsed", "changed", "crawl_rate", "age"):
            column = getattr(self, name)
            if column is not None:
                object.__setattr__(self, name, read_only(column))

    def __repr__(self) -> str:
        """Return how much there is.

        >>> Observations.of([2.0, 1.0], [True, False])
        Observations(2 pages, 2 visits, 1 of them found a change)
        """
        pages = f"{self.pages:,} {'page' if self.pages == 1 else 'pages'}"
        visits = f"{self.rows:,} {'visit' if self.rows == 1 else 'visits'}"
        changes = int(np.count_nonzero(self.changed))
        return f"Observations({pages}, {visits}, {changes:,} of them found a change)"

    @classmethod
    def of(
        cls,
        elapsed: ArrayLike,
        changed: ArrayLike,
        *,
        page: ArrayLike | None = None,
        pages: int | None = None,
        crawl_rate: ArrayLike | None = None,
        age: ArrayLike | None = None,
    ) -> "Observations":
        """Check the columns and combine them; without ``page``, row i is of page i.

        >>> Observations.of([0.5, 2.0], [True, False]).rows
        2
        >>> Observations.of([0.5, -2.0], [True, False])
        Traceback (most recent call last):
        recrawl.errors.ArgumentError: elapsed: row 1 is -2.0; a gap is a positive number of days
        """
        gaps = durations("elapsed", elapsed)
        numbers, count = _page_numbers(page, gaps.size, pages)
        return assemble(numbers, count, gaps, changed, crawl_rate, age)

    @property
    def rows(self) -> int:
        """The number of observations."""
        return self.elapsed.size

    @cached_property
    def grouped(self) -> Grouped:
        """The rows grouped by page; not copied if they are grouped already."""
        starts = starts_if_grouped(self.page, self.pages)
        if starts is not None:
            return Grouped(starts, self.elapsed, self.changed, self.crawl_rate, self.age)
        starts, elapsed, changed = group_rows(self.page, self.pages, self.elapsed, self.changed)
        rate, age = self._regrouped(self.crawl_rate), self._regrouped(self.age)
        return Grouped(starts, read_only(elapsed), read_only(changed), rate, age)

    def of_pages(self, chosen: Bools) -> "Observations":
        """Return the observations of some pages, renumbered in the same order.

        >>> seen = Observations.of([1.0, 2.0, 3.0], [True, False, True], page=[2, 0, 2])
        >>> seen.of_pages(np.array([False, False, True])).elapsed
        array([1., 3.])
        """
        rows = chosen[self.page]
        number = np.cumsum(chosen) - 1
        return Observations(
            int(chosen.sum()),
            number[self.page[rows]],
            self.elapsed[rows],
            self.changed[rows],
            None if self.crawl_rate is None else self.crawl_rate[rows],
            None if self.age is None else self.age[rows],
        )

    def _regrouped(self, column: Floats | None) -> Floats | None:
        if column is None:
            return None
        return read_only(group_rows(self.page, self.pages, column, self.changed)[1])


def assemble(
    page: Ints,
    pages: int,
    elapsed: ArrayLike,
    changed: ArrayLike,
    crawl_rate: ArrayLike | None,
    age: ArrayLike | None,
) -> Observations:
    """Combine columns whose page numbers have been checked, and check the others."""
    gaps = _column("elapsed", durations("elapsed", elapsed))
    if gaps.size != page.size:
        raise ArgumentError(f"elapsed: has {gaps.size} rows; page has {page.size}")
    _check_gaps(gaps)
    crawl_rates = ages = None
    if crawl_rate is not None:
        crawl_rates = _column("crawl_rate", rates("crawl_rate", crawl_rate), gaps.size)
        bad = (crawl_rates < SMALLEST) | (crawl_rates > LARGEST)
        _refuse("crawl_rate", crawl_rates, bad, "a rate is positive")
    if age is not None:
        ages = np.maximum(_column("age", durations("age", age), gaps.size), 0.0)
        _refuse("age", ages, ages > LARGEST, "an age is a number of days")
    return Observations(pages, page, gaps, flags(changed, gaps.size), crawl_rates, ages)


def observe(log: CrawlLog) -> Observations:
    """Return the observations in a crawl log: the visits that have a `CrawlLog.elapsed`.

    A visit that found the page changed or unchanged is an observation of the gap since the page's
    last successful visit.
    """
    # In parts, as the steps from visits to gaps take many times the memory of both.
    parts = [_observed(part) for part in _parts(log)]
    found = {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])}
    return Observations.of(found.pop("elapsed"), found.pop("changed"), pages=log.pages, **found)


def _parts(log: CrawlLog) -> Iterator[CrawlLog]:
    """Yield the visits in parts of whole pages, at least one part."""
    first, last = 0, -1
    while last < log.page.size:
        last = min(first + PART_ROWS, log.page.size)
        if first < last < log.page.size:
            # To the end of the page.
            last = int(np.searchsorted(log.page, log.page[last - 1], "right"))
        columns: dict[str, Any] = {
            name: None if getattr(log, name) is None else getattr(log, name)[first:last]
            for name in ("page", "time", "outcome", "crawl_rate", "last_modified")
        }
        yield replace(log, **columns)
        first = last


def _observed(log: CrawlLog) -> dict[str, NDArray[Any]]:
    """Return the columns of the observations in a log."""
    elapsed = log.elapsed
    rows = np.flatnonzero(~np.isnan(elapsed))
    found = {"elapsed": elapsed[rows], "changed": log.changed[rows], "page": log.page[rows]}
    if log.crawl_rate is not None:
        found["crawl_rate"] = log.crawl_rate[rows]
    if log.last_modified is not None:
        dated = log.last_modified[rows]
        age = (log.time[rows] - dated) / MICROSECONDS_A_DAY
        found["age"] = np.where(dated == NO_TIME, np.nan, age)
    return found


def _column(name: str, column: Floats, rows: int | None = None) -> Floats:
    if column.ndim == 0 and rows is not None:
        column = np.full(rows, column)
    column = np.ascontiguousarray(column)
    if column.ndim != 1 or (rows is not None and column.size != rows):
        expected = "one dimension" if rows is None else f"{rows} rows, as elapsed has"
        raise ArgumentError(f"{name}: has shape {column.shape}; expected {expected}")
    return column


def _page_numbers(page: ArrayLike | None, rows: int, pages: int | None) -> tuple[Ints, int]:
    """Return the column of page numbers and the number of pages."""
    if page is None:
        if pages is not None and pages != rows:
            raise ArgumentError(f"elapsed: has {rows} rows for {pages} pages; say which with page")
        return np.arange(rows), rows
    raw = np.atleast_1d(as_array("page", page))
    if raw.dtype.kind not in "iu" and raw.size:
        raise ArgumentError("page: page numbers are integers from 0")
    numbers = np.ascontiguousarray(raw, np.int64)
    if numbers.shape != (rows,):
        raise ArgumentError(f"page: has shape {numbers.shape}; expected {rows} rows")
    low, high = (int(end) for end in extremes(numbers)) if rows else (0, -1)
    if low < 0 or (pages is not None and high >= pages):
        expected = "0 and up" if pages is None else f"0 to {pages - 1}"
        raise ArgumentError(f"page: numbers run from {low} to {high}; expected {expected}")
    return numbers, high + 1 if pages is None else pages


def flags(changed: ArrayLike, rows: int, known: Bools | None = None) -> Bools:
    """Return a column of booleans; False for missing values in rows that ``known`` excludes."""
    raw = np.atleast_1d(as_array("changed", changed))
    if raw.shape != (rows,):
        raise ArgumentError(f"changed: has shape {raw.shape}; expected {rows} rows, as elapsed has")
    if raw.dtype.kind == "O":
        raw = _unboxed(raw, known)
    if raw.dtype != np.bool_:
        if raw.dtype.kind not in "iuf" and raw.size:
            raise ArgumentError("changed: not a column of yes or no")
        bad = (raw != 0) & (raw != 1)
        _refuse("changed", raw, bad if known is None else bad & known, "it is 0 or 1")
        raw = raw == 1
    return np.ascontiguousarray(raw, np.bool_)


def _unboxed(raw: NDArray[Any], known: Bools | None) -> NDArray[Any]:
    """Return a column of objects with missing values as numbers; NaN for missing ones."""
    values = [math.nan if is_missing(value) else value for value in raw]
    if not all(isinstance(value, bool | int | float | np.generic) for value in values):
        raise ArgumentError("changed: not a column of yes or no")
    try:
        found = np.array(values, np.float64)
    except OverflowError:
        raise ArgumentError("changed: not a column of yes or no") from None
    empty = np.isnan(found) if known is None else np.isnan(found) & known
    if empty.any():
        row = int(np.argmax(empty))
        raise ArgumentError(
            f"changed: row {row} has no value; leave out the row, or leave its elapsed empty "
            "if it is a first visit"
        )
    return found


def _refuse(name: str, column: NDArray[Any], bad: Bools, rule: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        is_extreme = 0.0 < column[row] < np.inf and column.dtype == np.float64
        limits = f", {SMALLEST:g} to {LARGEST:g}" if is_extreme else ""
        raise ArgumentError(f"{name}: row {row} is {column[row]}; {rule}{limits}")


def _check_gaps(elapsed: Floats) -> None:
    low, high = extremes(elapsed)
    if elapsed.size and not (low >= SMALLEST and high <= LARGEST):
        bad = ~((elapsed >= SMALLEST) & (elapsed <= LARGEST))
        _refuse("elapsed", elapsed, bad, "a gap is a positive number of days")
