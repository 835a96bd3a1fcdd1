"""Freshness over budget: what a budget buys, and what a freshness costs."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from recrawl.allocation.allocate import Allocation, allocate
from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Floats

#: The budget is found to this share of itself.
PRECISION = 1e-13
#: Beyond this much budget a freshness of all but 1 is a limit, not a plan.
MAX_BUDGET = 1e100


def freshness_curve(change_rate: ArrayLike, budgets: ArrayLike, **limits: Any) -> Floats:  # noqa: ANN401
    """Give the best freshness for each of several budgets; keywords as in `allocate`.

    >>> freshness_curve([1.0, 4.0], [0.0, 1.0, 10.0]).round(3)
    array([0.  , 0.25, 0.7 ])
    """
    each = np.asarray(budgets, np.float64)
    found = [allocate(change_rate, float(budget), **limits).freshness for budget in each.ravel()]
    return np.array(found).reshape(each.shape)


def budget_for(freshness: float, change_rate: ArrayLike, **limits: Any) -> float:  # noqa: ANN401
    """Give the least budget that reaches a freshness; keywords as in `allocate`.

    Raises:
        ArgumentError: No budget reaches it.

    >>> round(budget_for(0.7, [1.0, 4.0]), 2)
    10.0
    """
    if not 0.0 <= freshness <= 1.0:
        raise ArgumentError(f"freshness: {freshness} is not a share between 0 and 1")

    least = _least_budget(limits, np.size(change_rate))

    def reached(budget: float) -> Allocation:
        return allocate(change_rate, budget, **limits)

    if reached(least).freshness >= freshness:
        return least
    low, high = _bracket(freshness, reached, least, float(np.sum(change_rate)))
    root = optimize.brentq(
        lambda budget: freshness - reached(budget).freshness,
        low,
        high,
        xtol=PRECISION * high,
        rtol=PRECISION,
    )
    return float(root)


def _least_budget(limits: dict[str, Any], pages: int) -> float:
    """Give what the lowest rates allowed cost."""
    rate, cost = limits.get("min_rate", 0.0), limits.get("cost")
    least = np.multiply(rate, 1.0 if cost is None else cost)
    return float(np.broadcast_to(least, pages).sum())


def _bracket(
    freshness: float, reached: Callable[[float], Allocation], least: float, scale: float
) -> tuple[float, float]:
    """Give two budgets between which the freshness is reached."""
    low, high = least, least + scale
    while (plan := reached(high)).freshness < freshness or freshness == 1.0:
        if plan.multiplier == 0.0 or high > MAX_BUDGET or freshness == 1.0:
            raise ArgumentError(
                f"freshness: {freshness:g} cannot be reached; {plan.budget_used:.4g} a day "
                f"gives {plan.freshness:.6g}"
            )
        low, high = high, least + 8.0 * (high - least)
    # What a plan leaves over is not needed.
    high = min(high, plan.budget_used)
    while low == least and reached(least + (high - least) / 8.0).freshness >= freshness:
        high = least + (high - least) / 8.0
    return low, high
