"""The naive estimator: changes found per day."""

from dataclasses import dataclass
from typing import final

import numpy as np

from recrawl.estimation.counts import CountEstimator, Counts
from recrawl.estimation.estimator import ANYTHING
from recrawl.kernels.jit import Floats


@final
@dataclass(frozen=True)
class Naive(CountEstimator):
    """Counts the changes found, as if no visit ever missed one: p·Î / k.

    With p the crawl rate, k the visits and Î the visits that found a change. If no crawl rate is
    given, p = k / Σ elapsed, and the estimate is Î / Σ elapsed.

    **When it is wrong**: always. Two changes in one gap are seen as one, so it converges to
    pΔ/(p + Δ) for visits at random times and to p(1 − e^(−Δ/p)) for regular ones. It is the
    baseline for the others.

    No data: 0. All unchanged: 0. All changed: p, whatever the rate is.

    The interval is Jeffreys' for the share of visits that find a change, times p: a confidence
    interval for the limit above, *not* for Δ.

    >>> from recrawl import Tracker
    >>> page = Tracker(Naive())
    >>> for changed in [True, True, False, True]:
    ...     page.observe(changed, elapsed=0.5)
    >>> page.rate
    1.5
    """

    def rate(self, state: Counts) -> Floats:
        """Return p·Î / k, as Σ p·I / k where crawl rates were given."""
        return state.changes_at_rate / np.maximum(state.visits, 1)

    def interval(self, state: Counts, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return a confidence interval for the estimator's limit."""
        share = state.changed_share(level)
        known = state.visits > 0
        return np.where(known, state.crawl_rate * share.low, 0.0), np.where(
            known, state.crawl_rate * share.high, ANYTHING
        )
