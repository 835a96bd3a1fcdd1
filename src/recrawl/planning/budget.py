"""What a freshness costs, and what other budgets buy."""

from dataclasses import dataclass

import numpy as np

from recrawl.allocation import allocate, budget_for, freshness_curve
from recrawl.kernels.jit import Floats
from recrawl.planning.fleet import Fleet
from recrawl.planning.plan import Spacing, Spending, spending_now

#: Budgets on the curve are from a hundredth of the one asked about to ten times it, five a decade.
DECADES_BELOW, DECADES_ABOVE, A_DECADE = 2, 1, 5


@dataclass(frozen=True, eq=False)
class Cost:
    """What a freshness costs.

    Attributes:
        fleet: The pages.
        asked: The freshness that was asked for, and the least visits a day that bring it.
        now: What the visits in the log bring.
        planned: The most that as many visits could bring.
        budgets: Visits a day, rising.
        shares: The best freshness for each of them.
    """

    fleet: Fleet
    asked: Spending
    now: Spending
    planned: Spending
    budgets: Floats
    shares: Floats


def find_cost(fleet: Fleet, freshness: float, spacing: Spacing) -> Cost:
    """Find the least budget for a freshness, and the curve around it.

    Args:
        fleet: The pages.
        freshness: The share wanted.
        spacing: Whether visits to a page are regular.
    """
    rate, importance = fleet.change_rate, fleet.importance
    least = budget_for(freshness, rate, importance=importance, visits=spacing)
    budgets = around(least or float(rate.sum()) or 1.0)
    shares = freshness_curve(rate, budgets, importance=importance, visits=spacing)
    now = spending_now(fleet, spacing)
    planned = allocate(rate, now.visits, importance=importance, visits=spacing)
    return Cost(
        fleet,
        Spending(least, freshness),
        now,
        Spending(planned.budget_used, planned.freshness),
        budgets,
        shares,
    )


def around(budget: float) -> Floats:
    """Give budgets below and above one, which is among them.

    >>> around(100.0)[[0, 5, 10, 15]]
    array([   1.,   10.,  100., 1000.])
    """
    steps = np.arange(-DECADES_BELOW * A_DECADE, DECADES_ABOVE * A_DECADE + 1)
    return budget * 10.0 ** (steps / A_DECADE)
