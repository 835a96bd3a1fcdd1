"""Policies that rank all pages at every tick and visit the first of them."""

import math
from collections.abc import Callable
from typing import final

import numpy as np

from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.simulation.policies.learning import Learner

#: Gives how urgent each page is, from its change rate and the time since its last visit.
Urgency = Callable[[Floats, Floats], Floats]


def largest(value: Floats, count: int) -> Ints:
    """Give the pages with the largest values, in order of number; so are ties broken.

    >>> largest(np.array([1.0, 3.0, 2.0, 2.0, 2.0]), 3)
    array([1, 2, 3])
    """
    if count >= value.size:
        return np.arange(value.size)
    if count <= 0:
        return np.empty(0, np.int64)
    edge = np.partition(value, value.size - count)[value.size - count]
    chosen = value > edge
    chosen[np.flatnonzero(value == edge)[: count - np.count_nonzero(chosen)]] = True
    return np.flatnonzero(chosen)


@final
class Greedy:
    """Visits the most urgent pages, as many as the budget allows.

    Args:
        urgency: How urgent each page is.
        change_rate: The change rates to go by at first, or for ever if there is no learner.
        learner: Who gives new ones every day.
    """

    def __init__(
        self, urgency: Urgency, change_rate: Floats, learner: Learner | None = None
    ) -> None:
        self._urgency = urgency
        self._rate = change_rate
        self._learner = learner
        self._last = np.zeros(change_rate.size)
        self._next_fit = 1.0

    def take(self, now: float, limit: int) -> Ints:
        """Rank the pages, and give the first."""
        if self._learner is not None and now >= self._next_fit:
            self._rate = self._learner.rate()
            self._next_fit = math.floor(now) + 1.0
        if limit <= 0:
            return np.empty(0, np.int64)
        return largest(self._urgency(self._rate, now - self._last), limit)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        """Learn, and begin new gaps."""
        if self._learner is not None:
            no_rate = np.full(page.size, np.nan)
            self._learner.observe(page, now - self._last[page], changed, no_rate)
        self._last[page] = now
