"""The state of the estimators that only count: visits, changes, and total time."""

from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from recrawl.estimation.estimator import checked_level, checked_pages
from recrawl.estimation.observations import Observations
from recrawl.kernels.jit import (
    AHEAD,
    Bools,
    Floats,
    Floats2D,
    Ints,
    compiled,
    cut,
    in_parallel,
    prefetch,
)

#: Up to this many rows a float holds visits + A_CHANGE · changes exactly.
MAX_ROWS = 1 << 26
A_CHANGE = float(MAX_ROWS)


class Shares(NamedTuple):
    """The ends of an interval of a probability q, and of 1 − q."""

    low: Floats
    high: Floats
    low_rest: Floats
    high_rest: Floats


class Counts(NamedTuple):
    """Totals of each page's visits.

    Attributes:
        visits: Observations, k.
        changes: Observations that found a change, Î.
        elapsed: The sum of their gaps, in days.
        rated: Changes whose crawl rate was given.
        earned: The sum of these crawl rates, Σ p·I.
    """

    visits: Ints
    changes: Ints
    elapsed: Floats
    rated: Ints
    earned: Floats

    @classmethod
    def none(cls, pages: int) -> "Counts":
        """Return the counts of pages without visits."""
        ints, floats = np.zeros(checked_pages(pages), np.int64), np.zeros(pages)
        return cls(ints, ints, floats, ints, floats)

    def plus(self, observations: Observations) -> "Counts":
        """Return the counts after these observations."""
        visits, changes, elapsed = self.visits.copy(), self.changes.copy(), self.elapsed.copy()
        _add_up(observations, visits, changes, elapsed)
        if observations.crawl_rate is None:
            return Counts(visits, changes, elapsed, self.rated, self.earned)
        known = np.flatnonzero(~np.isnan(observations.crawl_rate) & observations.changed)
        page = observations.page[known]
        earned = np.bincount(page, observations.crawl_rate[known], self.visits.size)
        rated = np.bincount(page, minlength=self.visits.size)
        return Counts(visits, changes, elapsed, self.rated + rated, self.earned + earned)

    @property
    def mean_rate(self) -> Floats:
        """Visits per day, k / Σ elapsed; 0 for a page without visits."""
        return np.divide(
            self.visits, self.elapsed, out=np.zeros(self.elapsed.size), where=self.visits > 0
        )

    @property
    def changes_at_rate(self) -> Floats:
        """Σ p·I, with k / Σ elapsed for p where no crawl rate was given."""
        return self.earned + self.mean_rate * (self.changes - self.rated)

    @property
    def crawl_rate(self) -> Floats:
        """The mean crawl rate of the visits that found a change, or of all if none did."""
        return np.divide(
            self.changes_at_rate, self.changes, out=self.mean_rate, where=self.changes > 0
        )

    def changed_share(self, level: float) -> Shares:
        """Return an interval of the probability q that a visit finds a change, and of 1 − q.

        Jeffreys' interval, the quantiles of Beta(Î + ½, k − Î + ½). Unlike most intervals of a
        share it never ends at exactly 1, which would be an infinite rate. 1 − q is computed
        separately, because it is tiny where q is nearly 1.
        """
        from scipy import special

        tail = 0.5 - 0.5 * checked_level(level)
        yes, no = self.changes + 0.5, self.visits - self.changes + 0.5
        return Shares(
            low=np.asarray(special.betaincinv(yes, no, tail), np.float64),
            high=np.asarray(special.betaincinv(yes, no, 1.0 - tail), np.float64),
            low_rest=np.asarray(special.betaincinv(no, yes, 1.0 - tail), np.float64),
            high_rest=np.asarray(special.betaincinv(no, yes, tail), np.float64),
        )


def _add_up(observations: Observations, visits: Ints, changes: Ints, elapsed: Floats) -> None:
    """Add observations to the totals, in one table per core so that no two cores share memory."""
    spans = cut(observations.rows, observations.rows)
    if observations.pages > observations.rows:
        spans = [(0, observations.rows)]
    cuts = [low for first, last in spans for low in range(first, max(last, 1), MAX_ROWS)]
    # Consecutive rows of a page are summed together, so that the result does not depend on the
    # other rows: floats round differently in another order.
    starts = [_page_start(observations.page, low) for low in cuts]
    spans = list(pairwise([*starts, observations.rows]))

    def add_up(first: int, last: int) -> Floats:
        table = np.zeros((observations.pages, 2))
        _add_rows(table, observations.page, observations.elapsed, observations.changed, first, last)
        return table

    tables = in_parallel(add_up, spans)
    for table in tables:
        _unpack(table, visits, changes, elapsed)


def _page_start(page: Ints, row: int) -> int:
    """Return the first row, from the given one on, whose page differs from the row before."""
    while 0 < row < page.size and page[row] == page[row - 1]:
        row += 1
    return row


@compiled
def _unpack(table: Floats2D, visits: Ints, changes: Ints, elapsed: Floats) -> None:
    for page in range(table.shape[0]):
        changed = np.floor(table[page, 0] * (1.0 / A_CHANGE))
        changes[page] += np.int64(changed)
        visits[page] += np.int64(table[page, 0] - changed * A_CHANGE)
        elapsed[page] += table[page, 1]


@compiled
def _add_rows(
    table: Floats2D, page: Ints, elapsed: Floats, changed: Bools, first: int, last: int
) -> None:
    if first >= last:
        # An empty table cannot be made flat.
        return
    # Bound by memory: visits and changes share one number, which is prefetched.
    flat = table.reshape(-1)
    for row in range(first, last):
        prefetch(flat, 2 * page[min(row + AHEAD, last - 1)])
        table[page[row], 0] += 1.0 + changed[row] * A_CHANGE
        table[page[row], 1] += elapsed[row]


class CountEstimator:
    """The fold that estimators from counts share."""

    state_version: ClassVar[int] = 1

    def start(self, pages: int) -> Counts:
        """Return the counts of pages without visits."""
        return Counts.none(pages)

    def update(self, state: Counts, observations: Observations) -> Counts:
        """Count the observations."""
        return state.plus(observations)
