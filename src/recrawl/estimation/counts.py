"""The state of the estimators that only count: visits, changes, and the time they took."""

from typing import NamedTuple

import numpy as np
from scipy import special

from recrawl.compiled import Bools, Floats, Ints, compiled, cut, in_parallel
from recrawl.estimation.estimator import checked_level, checked_pages
from recrawl.estimation.observations import Observations


class Shares(NamedTuple):
    """The ends of an interval of a probability q, and of 1 − q."""

    low: Floats
    high: Floats
    low_rest: Floats
    high_rest: Floats


class Counts(NamedTuple):
    """What a page's visits added up to.

    Attributes:
        visits: Observations, k.
        changes: Those that found a change, Î.
        elapsed: Their gaps' sum in days.
        rated: Those of the changes whose crawl rate was given.
        earned: The sum of these crawl rates, Σ p·I.
    """

    visits: Ints
    changes: Ints
    elapsed: Floats
    rated: Ints
    earned: Floats

    @classmethod
    def none(cls, pages: int) -> "Counts":
        """Give the counts of pages without visits."""
        ints, floats = np.zeros(checked_pages(pages), np.int64), np.zeros(pages)
        return cls(ints, ints, floats, ints, floats)

    def plus(self, observations: Observations) -> "Counts":
        """Give the counts after these observations."""
        sums = _add_up(observations)
        visits = self.visits + sums[:, 0].astype(np.int64)
        changes = self.changes + sums[:, 1].astype(np.int64)
        elapsed = self.elapsed + sums[:, 2]
        if observations.crawl_rate is None:
            return Counts(visits, changes, elapsed, self.rated, self.earned)
        known = np.flatnonzero(~np.isnan(observations.crawl_rate) & observations.changed)
        page = observations.page[known]
        earned = np.bincount(page, observations.crawl_rate[known], self.visits.size)
        rated = np.bincount(page, minlength=self.visits.size)
        return Counts(visits, changes, elapsed, self.rated + rated, self.earned + earned)

    @property
    def mean_rate(self) -> Floats:
        """Visits a day, k / Σ elapsed; 0 for a page without visits."""
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
        """Give an interval of the probability q that a visit finds a change, and of 1 − q.

        Jeffreys' interval, the quantiles of Beta(Î + ½, k − Î + ½). Unlike most intervals of a
        share it never ends at exactly 1, which would be an infinite rate; and 1 − q is computed for
        itself, since it is tiny where q is nearly 1.
        """
        tail = 0.5 - 0.5 * checked_level(level)
        yes, no = self.changes + 0.5, self.visits - self.changes + 0.5
        return Shares(
            low=np.asarray(special.betaincinv(yes, no, tail), np.float64),
            high=np.asarray(special.betaincinv(yes, no, 1.0 - tail), np.float64),
            low_rest=np.asarray(special.betaincinv(no, yes, 1.0 - tail), np.float64),
            high_rest=np.asarray(special.betaincinv(no, yes, tail), np.float64),
        )


def _add_up(observations: Observations) -> Floats:
    """Add up visits, changes and gaps a page; a table a core, so that no two write to one place."""
    spans = cut(observations.rows, observations.rows)
    if observations.pages > observations.rows:
        spans = [(0, observations.rows)]

    def add_up(first: int, last: int) -> Floats:
        sums = np.zeros((observations.pages, 3))
        _add_rows(sums, observations.page, observations.elapsed, observations.changed, first, last)
        return sums

    tables = in_parallel(add_up, spans)
    for table in tables[1:]:
        tables[0] += table
    return tables[0]


@compiled
def _add_rows(
    sums: Floats, page: Ints, elapsed: Floats, changed: Bools, first: int, last: int
) -> None:
    for row in range(first, last):
        here = page[row]
        sums[here, 0] += 1.0
        sums[here, 1] += changed[row]
        sums[here, 2] += elapsed[row]
