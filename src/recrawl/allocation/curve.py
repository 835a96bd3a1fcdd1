"""The freshness that a budget buys, and the budget that a freshness costs."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recrawl.allocation.allocate import Allocation, allocate
from recrawl.allocation.inputs import as_column, as_rates
from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Floats
from recrawl.quantities import number, rates

#: The relative precision of a budget.
PRECISION = 1e-13
#: A freshness that takes more than this is a limit, not a plan.
MAX_BUDGET = 1e100


def freshness_curve(change_rate: ArrayLike, budgets: ArrayLike, **limits: Any) -> Floats:  # noqa: ANN401
    """Return the best freshness for each of several budgets; keywords as in `allocate`.

    >>> freshness_curve([1.0, 4.0], [0.0, 1.0, 10.0]).round(3)
    array([0.  , 0.25, 0.7 ])
    """
    column = rates("budgets", budgets)
    found = [allocate(change_rate, float(budget), **limits).freshness for budget in column.ravel()]
    return np.array(found).reshape(column.shape)


def budget_for(freshness: float, change_rate: ArrayLike, **limits: Any) -> float:  # noqa: ANN401
    """Return the smallest budget that reaches a freshness; keywords as in `allocate`.

    Raises:
        ArgumentError: No budget reaches it.

    >>> round(budget_for(0.7, [1.0, 4.0]), 2)
    10.0
    """
    freshness = number("freshness", freshness)
    if not 0.0 <= freshness <= 1.0:
        raise ArgumentError(f"freshness: {freshness} is not a share between 0 and 1")
    change_rate = as_rates("change_rate", change_rate)
    min_budget = _min_budget(limits, change_rate.size)

    def plan_for(budget: float) -> Allocation:
        return allocate(change_rate, budget, **limits)

    if plan_for(min_budget).freshness >= freshness:
        return min_budget
    low, high = _bracket(freshness, plan_for, min_budget, float(np.sum(change_rate)))
    # It takes much memory for one function, and a crawl does not need it.
    from scipy import optimize

    root = optimize.brentq(
        lambda budget: freshness - plan_for(budget).freshness,
        low,
        high,
        xtol=PRECISION * high,
        rtol=PRECISION,
    )
    return float(root)


def _min_budget(limits: dict[str, Any], pages: int) -> float:
    """Return the cost of the lowest rates allowed."""
    rate, cost = limits.get("min_rate", 0.0), limits.get("cost")
    costs = as_column("min_rate", rate, pages) * as_column(
        "cost", 1.0 if cost is None else cost, pages, positive=True
    )
    return float(np.broadcast_to(costs, pages).sum())


def _bracket(
    freshness: float, plan_for: Callable[[float], Allocation], min_budget: float, scale: float
) -> tuple[float, float]:
    """Return a budget that is too small for the freshness, and one that reaches it."""
    # A small step added to a large budget would be lost to rounding.
    more = max(scale, PRECISION * min_budget)
    low, high = min_budget, min_budget + more
    while (plan := plan_for(high)).freshness < freshness or freshness == 1.0:
        if plan.price == 0.0 or high > MAX_BUDGET or freshness == 1.0:
            raise ArgumentError(
                f"freshness: {freshness:g} cannot be reached; {plan.budget_used:.4g} per day "
                f"gives {plan.freshness:.6g}"
            )
        more *= 8.0
        low, high = high, min_budget + more
    # Budget that the plan does not use is not needed.
    high = min(high, plan.budget_used)
    while low == min_budget and plan_for(low + (high - low) / 8.0).freshness >= freshness:
        high = low + (high - low) / 8.0
    return low, high
