"""The freshness that crawl rates achieve, and what one more visit would gain."""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from recrawl.allocation.formulas import (
    HARMONIC,
    PERIODIC,
    POISSON,
    harmonic_marginal,
    periodic_freshness,
    periodic_marginal,
    poisson_freshness,
    poisson_marginal,
)
from recrawl.allocation.inputs import as_column, as_rates, kind_of
from recrawl.kernels.jit import Floats, compiled, cut, in_parallel, read_only


def freshness(
    crawl_rate: ArrayLike,
    change_rate: ArrayLike,
    *,
    importance: ArrayLike | None = None,
    visits: Literal["poisson", "periodic"] = "poisson",
) -> float:
    """Return the share of the copy that is fresh, weighted by importance: Σ w F(p) / Σ w.

    A page that never changes is always fresh. Without pages, or with none that matter, it is 1.

    Args:
        crawl_rate: p, visits per day.
        change_rate: Δ, changes per day.
        importance: w; 1 by default.
        visits: At random times, F = p/(p + Δ), or at regular ones, F = (p/Δ)(1 − e^(−Δ/p)).

    >>> freshness([1.0, 3.0], [1.0, 1.0])
    0.625
    >>> round(freshness([1.0, 3.0], [1.0, 1.0], visits="periodic"), 4)
    0.7413
    """
    change = as_rates("change_rate", change_rate)
    crawl = as_column("crawl_rate", crawl_rate, change.size)
    weight = as_column("importance", 1.0 if importance is None else importance, change.size)
    return mean_freshness(kind_of(visits, "freshness"), crawl, change, weight)


def mean_freshness(kind: int, crawl_rate: Floats, change_rate: Floats, importance: Floats) -> float:
    """Return Σ w F(p) / Σ w for checked columns; p and w may be a single number for all pages."""
    size = change_rate.size
    crawl, change, weights = map(read_only, (crawl_rate, change_rate, importance))
    sums = in_parallel(
        lambda first, last: _add_up(kind, crawl, change, weights, first, last),
        cut(size, size),
    )
    total = math.fsum(weight for _, weight in sums)
    return math.fsum(fresh for fresh, _ in sums) / total if total > 0.0 else 1.0


def marginal(kind: int, crawl_rate: Floats, change_rate: Floats) -> Floats:
    """Return what a higher crawl rate gains per unit of importance: dF/dp."""
    out = np.empty(change_rate.size)
    _marginals(kind, read_only(crawl_rate), read_only(change_rate), out)
    return out


@compiled
def _add_up(
    kind: int,
    crawl_rate: Floats,
    change_rate: Floats,
    importance: Floats,
    first: int,
    last: int,
) -> tuple[float, float]:
    fresh = weight = 0.0
    for page in range(first, last):
        w = importance[page] if importance.size > 1 else importance[0]
        p = crawl_rate[page] if crawl_rate.size > 1 else crawl_rate[0]
        if kind == PERIODIC:
            fresh += w * periodic_freshness(p, change_rate[page])
        else:
            fresh += w * poisson_freshness(p, change_rate[page])
        weight += w
    return fresh, weight


@compiled
def _marginals(kind: int, crawl_rate: Floats, change_rate: Floats, out: Floats) -> None:
    for page in range(change_rate.size):
        p = crawl_rate[page] if crawl_rate.size > 1 else crawl_rate[0]
        if kind == POISSON:
            out[page] = poisson_marginal(p, change_rate[page])
        elif kind == HARMONIC:
            out[page] = harmonic_marginal(p, change_rate[page])
        else:
            out[page] = periodic_marginal(p, change_rate[page])
