"""On the driver: search for the price at which all pages spend the budget, in a few passes.

The search is that of `recrawl.allocation.price_search`. A pass over the pages costs much more than
a price, so each pass tries many: the next price of the search, prices close to it, and those at
which a sample of the pages would spend its share of the budget.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from recrawl.allocation import hosts, one_budget
from recrawl.allocation.price_search import (
    HIGH,
    LOW,
    STEPS,
    PricePair,
    narrow,
    new_bracket,
    price_pair,
)
from recrawl.kernels.jit import Floats
from recrawl.spark.pricing import Pages

#: The distances from a price at which others are tried, as shares of it.
SPREAD = 10.0 ** -np.arange(0.5, 10.0, 1.5)
#: Returns what all pages demand at some prices, and how it falls, after one pass over them.
Demand = Callable[[tuple[float, ...]], tuple[Floats, Floats]]


@dataclass(frozen=True)
class Model:
    """A sample of the pages, from which prices are estimated.

    Attributes:
        pages: The sample.
        share: The share of all pages that it holds.
    """

    pages: Pages
    share: float

    def prices(self, budget: float) -> list[float]:
        """Return prices at which all pages would spend a budget if they were like the sample."""
        problem, of_hosts = self.pages
        if not (problem.change_rate * problem.importance > 0.0).any():
            return [1.0]
        if of_hosts is None:
            return list(one_budget.meet_budget(problem, budget * self.share)[:2])
        found = hosts.meet_budget(problem, of_hosts, budget * self.share)[:2]
        return [price for price in found if price > 0.0] or [
            one_budget.first_price(problem, budget * self.share)
        ]

    def demand(self, price: float) -> float:
        """Return what all pages would demand at a price if they were like the sample."""
        return self.pages.demand(price)[0] / self.share


def find_prices(demand: Demand, model: Model, budget: float) -> PricePair:
    """Find the price, as a mix of two, at which the pages spend the budget.

    If hosts cannot use up the budget, it is 0.
    """
    bracket = new_bracket()
    guesses = model.prices(budget)
    with_hosts = model.pages.hosts is not None
    price, steps = guesses[-1], 0
    while price > 0.0:
        tried = _around(price, guesses, bracket)
        found, fall = demand((0.0, *tried) if with_hosts and not steps else tuple(tried))
        if with_hosts and not steps:
            if found[0] <= budget:
                return PricePair(0.0, 0.0, 1.0)
            found, fall = found[1:], fall[1:]
        steps += 1
        price = _narrowed(bracket, steps, tried, found, fall, budget)
        if price > 0.0:
            guesses = model.prices(budget * _ratio(model, bracket))
    return price_pair(bracket, budget)


def _around(price: float, guesses: Sequence[float], bracket: Floats) -> list[float]:
    """Return the prices to try, within the bracket, ascending."""
    centre = np.array([price, *guesses])
    factor = np.concatenate([[1.0], 1.0 + SPREAD, 1.0 / (1.0 + SPREAD)])
    tried = np.unique(np.concatenate([centre, price * factor, guesses[-1] * factor]))
    inside: list[float] = tried[(tried > bracket[LOW]) & (tried < bracket[HIGH])].tolist()
    return inside or [price]


def _narrowed(
    bracket: Floats,
    steps: int,
    tried: Sequence[float],
    demand: Floats,
    fall: Floats,
    budget: float,
) -> float:
    """Narrow the bracket by the demands of a pass; return the next price, 0 once over."""
    enough = [item for item in range(len(tried)) if demand[item] >= budget]
    less = [item for item in reversed(range(len(tried))) if demand[item] < budget]
    price = 0.0
    # From both ends inwards, so that the bracket only narrows.
    for item in (*enough, *less):
        bracket[STEPS] = steps
        price = narrow(bracket, tried[item], float(demand[item]), float(fall[item]), budget)
    return price


def _ratio(model: Model, bracket: Floats) -> float:
    """Return how much more the sample would demand than all pages do, at an end of the bracket."""
    at = LOW if bracket[LOW] > 0.0 else HIGH
    # The demand at a price follows it in the bracket.
    found = model.demand(float(bracket[at])) / float(bracket[at + 1] or np.nan)
    return found if 0.0 < found < np.inf else 1.0
