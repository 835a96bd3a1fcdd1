"""The maximum-likelihood estimator (Cho and Garcia-Molina 2003)."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from recrawl.estimation.estimator import ANYTHING, normal_quantile
from recrawl.estimation.history import MAX_STEPS, PRECISION, History, HistoryEstimator
from recrawl.kernels.jit import Bools, Floats, Ints, compiled, compiled_sum, step
from recrawl.kernels.simd_math import exp_minus

#: The longest step in ln Δ in the search for the ends of an interval.
MAX_STEP = 5.0


@final
@dataclass(frozen=True)
class MLE(HistoryEstimator):
    """The rate that makes the bits likeliest: Σ I τ / (e^(Δτ) − 1) = Σ (1 − I) τ.

    It uses every gap, so it is right for visits at random, regular or any other times. It is solved
    from the whole history, which it keeps: both the state and the time per estimate grow with every
    visit. `GammaFilter` is as accurate with two numbers per page.

    **When it is wrong**: in two corner cases, where the equation has no finite positive solution.

    No data: 0. All unchanged: 0, where the likelihood is largest. All changed: the likelihood has
    no maximum; half a visit of mean length that found no change is added, which for regular visits
    gives ln(2k + 1) / τ, as `BiasReduced` does.

    The interval is a confidence interval: the rates whose likelihood is at least e^(−z²/2) of the
    largest; [0, z²/(2 Σ τ)] if all were unchanged. Measured at 95 % it covers 92 to 95 % from 30
    visits on.

    >>> from recrawl import Tracker
    >>> page = Tracker(MLE())
    >>> for changed, elapsed in [(True, 1.0), (True, 3.0), (False, 0.5), (True, 1.0)]:
    ...     page.observe(changed, elapsed)
    >>> round(page.rate, 4)
    1.6451
    """

    def rate(self, state: History) -> Floats:
        """Solve the likelihood equation of every page."""
        rate = np.zeros(state.visits.size)
        state.for_all_pages(_solve_pages, rate)
        return rate

    def interval(self, state: History, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return a likelihood-ratio confidence interval."""
        drop = 0.5 * normal_quantile(level) ** 2
        rate = self.rate(state)
        low, high = np.zeros(rate.size), np.full(rate.size, ANYTHING)
        state.for_all_pages(_find_intervals, rate, drop, low, high)
        return low, high


@step
def _keep_changes(elapsed: Floats, changed: Bools, gaps: Floats) -> tuple[int, float]:
    """Write the gaps that end in a change to ``gaps``; return their number, and Σ (1 − I) τ.

    If all do, half a mean gap without a change is added. There is no branch on ``changed``, which
    no processor could predict.
    """
    still = 0.0
    changes = 0
    for row in range(elapsed.size):
        gaps[changes] = elapsed[row]
        changes += changed[row]
        still += elapsed[row] * (1.0 - changed[row])
    if changes == elapsed.size:
        still = 0.5 * elapsed.mean()
    return changes, still


@step
def _longest(starts: Ints, first: int, last: int) -> int:
    """Return the largest number of rows of a page."""
    most = 0
    for page in range(first, last):
        most = max(most, starts[page + 1] - starts[page])
    return most


@compiled
def _solve_pages(
    starts: Ints, elapsed: Floats, changed: Bools, first: int, last: int, rate: Floats
) -> None:
    gaps = np.empty(_longest(starts, first, last) + 1)
    for page in range(first, last):
        rows = slice(starts[page], starts[page + 1])
        if rows.stop > rows.start:
            changes, still = _keep_changes(elapsed[rows], changed[rows], gaps)
            rate[page] = _solve(gaps[:changes], still)


@step
def _term(rate: float, gap: float) -> float:
    """Return τ / (e^(Δτ) − 1)."""
    same, changed = exp_minus(rate * gap)
    return gap * same / changed


@compiled_sum
def _solve(gaps: Floats, still: float) -> float:
    """Solve for Δ on the logarithm of both sides.

    ln Σ τ/(e^(Δτ) − 1) is convex and decreasing in Δ, so Newton's steps from the left never
    overshoot; and x/(e^x − 1) ≥ 1 − x/2 gives a start on the left. Halley's method lengthens these
    steps by the curvature, here to at most twice their length, and needs half as many.
    """
    if gaps.size == 0:
        return 0.0
    rate = float(gaps.size / (still + 0.5 * gaps.sum()))
    for _ in range(MAX_STEPS):
        total = slope = bend = 0.0
        for row in range(gaps.size):
            term = _term(rate, gaps[row])
            fall = term * (gaps[row] + term)
            total += term
            slope += fall
            bend += fall * (gaps[row] + 2.0 * term)
        excess = math.log(total / still)
        falling = slope / total
        bending = 0.5 * excess * (bend / total - falling * falling) / (falling * falling)
        step = excess / falling / (1.0 - min(bending, 0.5))
        rate += step
        if abs(step) <= PRECISION * rate:
            break
    return rate


@compiled
def _find_intervals(
    starts: Ints,
    elapsed: Floats,
    changed: Bools,
    first: int,
    last: int,
    rate: Floats,
    drop: float,
    low: Floats,
    high: Floats,
) -> None:
    scratch = np.empty(_longest(starts, first, last) + 1)
    for page in range(first, last):
        rows = slice(starts[page], starts[page + 1])
        if rows.stop == rows.start:
            continue
        changes, still = _keep_changes(elapsed[rows], changed[rows], scratch)
        gaps = scratch[:changes]
        if changes == 0:
            high[page] = drop / still
        else:
            low[page] = _where_likelihood_drops(gaps, still, rate[page], drop, -1.0)
            high[page] = _where_likelihood_drops(gaps, still, rate[page], drop, 1.0)


@step
def _where_likelihood_drops(
    gaps: Floats, still: float, peak: float, drop: float, side: float
) -> float:
    """Find where the log-likelihood is ``drop`` below its peak, to the left (−1) or right (+1).

    In s = ln Δ it is concave, so Newton's method is outside after a step or two and converges from
    there. It starts where a normal distribution of the same curvature would end. Steps are limited,
    as a flat peak would make e^s overflow.
    """
    top, _, curvature = _log_likelihood(gaps, still, peak)
    s = math.log(peak) + side * min(math.sqrt(2.0 * drop / curvature), MAX_STEP)
    for _ in range(MAX_STEPS):
        value, slope, _ = _log_likelihood(gaps, still, math.exp(s))
        step = min(max((value - top + drop) / slope, -MAX_STEP), MAX_STEP)
        s -= step
        if abs(step) <= PRECISION * max(abs(s), 1.0):
            break
    return math.exp(s)


@step
def _log_likelihood(gaps: Floats, still: float, rate: float) -> tuple[float, float, float]:
    """Return Σ I ln(1 − e^(−Δτ)) − Δ Σ (1 − I) τ, its slope in ln Δ, and minus its curvature."""
    value = -rate * still
    slope = value
    curvature = rate * still
    for row in range(gaps.size):
        x = rate * gaps[row]
        term = x / math.expm1(x)
        value += math.log(-math.expm1(-x))
        slope += term
        curvature += term * (x + term - 1.0)
    return value, slope, curvature
