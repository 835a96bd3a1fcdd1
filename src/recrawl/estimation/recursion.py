"""The recursion behind SA and SAM: one small correction per visit.

    y ← y + η_k [ I(y + p) − y ] + ζ_k (y − y_previous)

With the value it tracks the value's variance, by the linearised recursion: near Δ the correction
pulls back with slope h = p/(y + p) and adds noise of variance Δp.
"""

from typing import NamedTuple

import numpy as np

from recrawl.errors import ArgumentError
from recrawl.estimation.estimator import ANYTHING, checked_pages, copied, normal_quantile
from recrawl.estimation.observations import Observations
from recrawl.kernels.jit import Bools, Floats, Ints, compiled, cut, in_parallel, read_only
from recrawl.quantities import LARGEST, rate


class Iterate(NamedTuple):
    """The state of each page's recursion.

    Attributes:
        visits: Observations, k.
        elapsed: The sum of their gaps, in days.
        value: y.
        motion: y minus the previous y.
        average: The mean of every y since the start.
        value_variance: Of y.
        motion_variance: Of the motion.
        covariance: Of y and the motion.
    """

    visits: Ints
    elapsed: Floats
    value: Floats
    motion: Floats
    average: Floats
    value_variance: Floats
    motion_variance: Floats
    covariance: Floats


def start(pages: int, value: float) -> Iterate:
    """Return the state of pages without visits."""
    per_day = rate("start_value", value)
    if not 0.0 <= per_day <= LARGEST:
        raise ArgumentError(f"start_value: {per_day} is not a rate")
    zeros = np.zeros(checked_pages(pages))
    at = np.full(pages, per_day)
    return Iterate(np.zeros(pages, np.int64), zeros, at, zeros, at, zeros, zeros, zeros)


def coming_visits(state: Iterate, observations: Observations) -> Floats:
    """Return the range of the numbers k of the observed visits.

    Earlier numbers are left out, so an update costs the same after a million visits as at first.
    """
    added = np.diff(observations.grouped.starts)
    before = state.visits[added > 0]
    low, high = before.min(initial=np.iinfo(np.int64).max), (state.visits + added).max(initial=0)
    return np.arange(min(low, high), high, dtype=np.float64)


def update(
    state: Iterate, observations: Observations, k: Floats, step: Floats, momentum: Floats
) -> Iterate:
    """Fold observations; ``step`` and ``momentum`` are η_k and ζ_k for the numbers ``k``."""
    new = copied(state)
    rows = observations.grouped
    rates = read_only(np.empty(0)) if rows.crawl_rate is None else rows.crawl_rate
    start = int(k[0]) if k.size else 0
    in_parallel(
        lambda first, last: _iterate(
            *new, rows.starts, first, last, rows.elapsed, rows.changed, rates, start, step, momentum
        ),
        cut(new.visits.size, observations.rows, rows.starts),
    )
    return new


def interval(
    state: Iterate, level: float, centre: Floats, variance: Floats
) -> tuple[Floats, Floats]:
    """Return centre ± z standard deviations, not below 0."""
    reach = normal_quantile(level) * np.sqrt(variance)
    known = state.visits > 0
    return np.where(known, np.maximum(centre - reach, 0.0), 0.0), np.where(
        known, centre + reach, ANYTHING
    )


@compiled
def _iterate(
    visits: Ints,
    total: Floats,
    value: Floats,
    motion: Floats,
    average: Floats,
    value_variance: Floats,
    motion_variance: Floats,
    covariance: Floats,
    starts: Ints,
    first: int,
    last: int,
    elapsed: Floats,
    changed: Bools,
    crawl_rate: Floats,
    first_k: int,
    step: Floats,
    momentum: Floats,
) -> None:
    for page in range(first, last):
        k, days, y, d = visits[page], total[page], value[page], motion[page]
        yy, dd, yd = value_variance[page], motion_variance[page], covariance[page]
        mean = average[page]
        for row in range(starts[page], starts[page + 1]):
            eta, zeta = step[k - first_k], momentum[k - first_k]
            k += 1
            days += elapsed[row]
            p = k / days
            if crawl_rate.size and not np.isnan(crawl_rate[row]):
                p = crawl_rate[row]
            pull = eta * p / (y + p)
            # A page never seen to change has y = 0, but its rate may be positive: add p/k.
            noise = eta * eta * p * (y + p / k)
            dd = pull * pull * yy - 2.0 * pull * zeta * yd + zeta * zeta * dd + noise
            yd = zeta * yd - pull * yy
            yy = max(yy + 2.0 * yd + dd, 0.0)
            yd = yd + dd
            moved = max(y + eta * ((y + p) * changed[row] - y) + zeta * d, 0.0)
            d = moved - y
            y = moved
            mean += (y - mean) / k
        visits[page], total[page], value[page], motion[page] = k, days, y, d
        value_variance[page], motion_variance[page], covariance[page] = yy, dd, yd
        average[page] = mean
