"""Visits at random times, at crawl rates that follow what is learned."""

from collections.abc import Callable
from typing import final

import numpy as np

from recrawl.allocation import allocate
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.scheduling.clocks import PoissonClock
from recrawl.simulation.policies.learning import Learner

#: The least rate of a page, as a share of the mean crawl rate.
LEAST = 0.02

#: Gives crawl rates for change rates.
Plan = Callable[[Floats], Floats]


def optimum_for_all(change_rate: Floats, budget: float, importance: Floats) -> Floats:
    """Give the best crawl rates for visits at random times, with no page given up.

    A page that was not seen to change is estimated never to, and the optimum would never visit it
    again to learn better. So change rates are raised to 2 % of the mean crawl rate; and crawl rates
    are raised to as much, and scaled back to the budget.

    >>> optimum_for_all(np.array([0.0, 2.0]), 2.0, np.ones(2)).round(2)
    array([0.35, 1.65])
    """
    least = LEAST * budget / change_rate.size
    best = allocate(np.maximum(change_rate, least), budget, importance=importance).crawl_rate
    raised = np.maximum(best, least)
    return raised * (budget / float(raised.sum()))


@final
class Clocked:
    """Random clocks whose crawl rates follow a learner.

    Crawl rates are refitted at every tick, with what its visits found, and apply to the gaps that
    begin then: a gap's crawl rate is fixed when the gap begins and holds until its visit, as the
    estimators of the paper need it.

    Args:
        learner: Who estimates change rates.
        plan: What turns them into crawl rates.
        crawl_rate: The crawl rates of the first gaps.
        rng: Where gaps are drawn from.
    """

    def __init__(
        self,
        learner: Learner,
        plan: Plan,
        crawl_rate: Floats,
        rng: np.random.Generator,
    ) -> None:
        self._learner = learner
        self._plan = plan
        self._in_force = crawl_rate.copy()
        self._last = np.zeros(crawl_rate.size)
        self._clock = PoissonClock(crawl_rate, rng)

    def take(self, now: float, limit: int) -> Ints:
        """Give the pages that are due."""
        del limit
        return self._clock.due(now)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        """Learn, and begin new gaps."""
        if not page.size:
            return
        elapsed = now - self._last[page]
        self._learner.observe(page, elapsed, changed, self._in_force[page])
        crawl_rate = self._plan(self._learner.rate())[page]
        self._clock.visited(page, now, crawl_rate)
        self._in_force[page] = crawl_rate
        self._last[page] = now
