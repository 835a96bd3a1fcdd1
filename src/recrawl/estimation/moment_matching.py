"""The moment-matching estimator (Upadhyay et al. 2019)."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from recrawl.estimation.estimator import ANYTHING, normal_quantile
from recrawl.estimation.history import MAX_STEPS, PRECISION, History, HistoryEstimator
from recrawl.kernels.jit import Bools, Floats, Ints, compiled, step

#: Above this, a term e^(−Δτ) is summed by its difference from 1.
NEAR_ONE = 0.5


@final
@dataclass(frozen=True)
class MomentMatching(HistoryEstimator):
    """The rate at which the expected number of unchanged visits is right: Σ (1 − I) = Σ e^(−Δτ).

    It uses the gaps, so it is right for any spacing of visits, but weights them less well than
    `MLE`. Like `MLE` it keeps the whole history, which grows with every visit.

    **When it is wrong**: in two corner cases, where the equation has no finite positive solution.

    No data: 0. All unchanged: 0. All changed: half a visit of mean length that found no change is
    added to both sides, which for regular visits gives ln(2k + 1) / τ, as `BiasReduced` does.

    The interval is a confidence interval: Δ·e^(±z·s), s the standard deviation of ln Δ by the delta
    method; [0, z²/(2 Σ τ)] if all were unchanged, as for `MLE`. Measured at 95 % it covers 90 to
    96 % from 30 visits on.

    >>> from recrawl import Tracker
    >>> page = Tracker(MomentMatching())
    >>> for changed, elapsed in [(True, 1.0), (True, 3.0), (False, 0.5), (True, 1.0)]:
    ...     page.observe(changed, elapsed)
    >>> round(page.rate, 4)
    1.4061
    """

    def rate(self, state: History) -> Floats:
        """Solve the moment equation of every page."""
        return self._solve(state)[0]

    def interval(self, state: History, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return a confidence interval by the delta method."""
        z = normal_quantile(level)
        rate, deviation = self._solve(state)
        days = np.bincount(state.page, state.elapsed, minlength=rate.size)
        none_changed = 0.5 * z * z / np.where(days > 0, days, 1.0)
        reach = np.exp(np.minimum(z * deviation, 300.0))
        high = np.where(rate > 0, rate * reach, none_changed)
        return rate / reach, np.where(days > 0, high, ANYTHING)

    @staticmethod
    def _solve(state: History) -> tuple[Floats, Floats]:
        rate, deviation = np.zeros(state.visits.size), np.zeros(state.visits.size)
        state.for_all_pages(_solve_pages, rate, deviation)
        return rate, deviation


@compiled
def _solve_pages(
    starts: Ints,
    elapsed: Floats,
    changed: Bools,
    first: int,
    last: int,
    rate: Floats,
    deviation: Floats,
) -> None:
    for page in range(first, last):
        rows = slice(starts[page], starts[page + 1])
        visits = rows.stop - rows.start
        still = np.float64(visits - changed[rows].sum())
        if still < visits:
            extra = 0.5 if still == 0.0 else 0.0
            rate[page], deviation[page] = _solve(elapsed[rows], still + extra, extra)


@step
def _solve(elapsed: Floats, still: float, extra: float) -> tuple[float, float]:
    """Solve for Δ by Newton's method on the logarithms; return Δ and the deviation of ln Δ.

    ln Σ e^(−Δτ) is convex and decreasing in Δ, so steps from the left never overshoot; and Jensen's
    inequality gives a start on the left. ``extra`` visits of mean length that found no change are
    added. Terms near 1 are counted, and only their differences from 1 are summed: if gaps differ by
    many decades, Δ depends on the last digits of these terms.
    """
    mean = elapsed.mean()
    rate = math.log((elapsed.size + extra) / still) / mean
    deviation = 0.0
    for _ in range(MAX_STEPS):
        lost, kept = math.expm1(-rate * mean), math.exp(-rate * mean)
        near_one = extra if kept > NEAR_ONE else 0.0
        excess = extra * (lost if kept > NEAR_ONE else kept)
        slope = extra * kept * mean
        noise = -extra * kept * lost
        for row in range(elapsed.size):
            lost, kept = math.expm1(-rate * elapsed[row]), math.exp(-rate * elapsed[row])
            if kept > NEAR_ONE:
                near_one += 1.0
                excess += lost
            else:
                excess += kept
            slope += kept * elapsed[row]
            noise -= kept * lost
        excess += near_one - still
        deviation = math.sqrt(noise) / (slope * rate)
        step = math.log1p(excess / still) * (still + excess) / slope
        rate += step
        if abs(step) <= PRECISION * rate:
            break
    return rate, deviation
