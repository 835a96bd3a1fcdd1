"""How fresh copies could be with another budget: the best freshness for each, as believed now."""

import math
from dataclasses import dataclass

import numpy as np

from recrawl.allocation import allocate
from recrawl.crawler.page_list import VISITED
from recrawl.kernels.jit import Floats
from recrawl.store.listing import PageColumns

#: Pages that the curve is computed for; of more, a sample stands for all.
MAX_PAGES = 50_000
#: The curve spans a hundredth to thirty times the budget, with eight budgets per decade.
BELOW, ABOVE, PER_DECADE = -2.0, 1.5, 8
SEED = 1


@dataclass(frozen=True, eq=False)
class WhatIf:
    """The best freshness for each budget, in the long run, if pages change as believed.

    Attributes:
        budgets: Visits per day, rising.
        freshness: The best freshness for each.
        asked: For budgets that were asked for: visits per day, and the best freshness.
        pages: Pages that are visited.
        sampled: How many of them the curve was computed for.
    """

    budgets: Floats
    freshness: Floats
    asked: dict[float, float]
    pages: int
    sampled: int


def what_if(columns: PageColumns, budget: float, *asked: float) -> WhatIf | None:
    """Return what budgets around one would bring; None if nothing is believed of any page.

    Args:
        columns: All pages.
        budget: Visits per day.
        asked: More budgets.
    """
    known = np.isin(columns.state, VISITED) & ~np.isnan(columns.shape) & (columns.importance > 0.0)
    rows = np.flatnonzero(known)
    if not rows.size:
        return None
    pages = rows.size
    if pages > MAX_PAGES:
        rows = np.random.default_rng(SEED).choice(rows, MAX_PAGES, replace=False)
    rate = columns.shape[rows] / columns.time[rows]
    importance = columns.importance[rows]
    share = rows.size / pages

    def best(visits: float) -> float:
        found = allocate(rate, visits * share, importance=importance, visits="periodic")
        return float(found.freshness)

    steps = np.arange(round(BELOW * PER_DECADE), round(ABOVE * PER_DECADE) + 1)
    budgets = budget * 10.0 ** (steps / PER_DECADE)
    return WhatIf(
        budgets=budgets,
        freshness=np.array([best(one) for one in budgets.tolist()]),
        asked={one: best(one) for one in asked if 0.0 < one < math.inf},
        pages=pages,
        sampled=rows.size,
    )
