"""Simple allocations to compare with."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from recrawl.allocation.allocate import Allocation
from recrawl.allocation.freshness import mean_freshness
from recrawl.allocation.inputs import as_budget, as_column, as_rates, kind_of
from recrawl.kernels.jit import Floats


def uniform(
    change_rate: ArrayLike,
    budget: float,
    *,
    importance: ArrayLike | None = None,
    visits: Literal["poisson", "periodic"] = "poisson",
) -> Allocation:
    """Visit every page equally often.

    >>> uniform([1.0, 3.0], budget=4.0).crawl_rate
    array([2., 2.])
    """
    rates = as_rates("change_rate", change_rate)
    return _spread(np.ones(rates.size), rates, budget, importance, visits)


def proportional(
    change_rate: ArrayLike,
    budget: float,
    *,
    importance: ArrayLike | None = None,
    visits: Literal["poisson", "periodic"] = "poisson",
) -> Allocation:
    """Visit pages in proportion to how often they change; surprisingly, worse than uniform.

    >>> proportional([1.0, 3.0], budget=4.0).crawl_rate
    array([1., 3.])
    """
    rates = as_rates("change_rate", change_rate)
    return _spread(rates, rates, budget, importance, visits)


def _spread(
    shares: Floats, change_rate: Floats, budget: float, importance: ArrayLike | None, visits: str
) -> Allocation:
    kind = kind_of(visits, "freshness")
    weight = as_column("importance", 1.0 if importance is None else importance, shares.size)
    total, whole = as_budget("budget", budget), float(shares.sum())
    crawl = shares * (total / whole) if whole > 0.0 else np.zeros(shares.size)
    fresh = mean_freshness(kind, crawl, change_rate, weight)
    return Allocation(crawl, 0.0, fresh, float(crawl.sum()))
