"""The freshness index on Gamma beliefs, for comparison with the frontier's."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from recrawl.estimation.gamma import after_visit, forget
from recrawl.kernels.jit import Bools, Floats, Ints, compiled
from recrawl.scheduling.value import value_of_belief
from recrawl.simulation.policies.ranked import largest
from recrawl.simulation.policy import PageSet, Run

#: Days in which half of what was learned is forgotten.
HALF_LIFE = 365.0


@final
@dataclass(frozen=True)
class GammaIndex:
    """Visit the pages where a visit is worth most, if each page has a Gamma belief of its own.

    The prior is one change in the mean time between two visits. All pages are valued at every tick.
    """

    name: ClassVar[str] = "index-gamma"
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start with all pages just visited."""
        del tick, seed
        return _GammaRun(pages.importance, pages.count / budget)


class _GammaRun:
    def __init__(self, importance: Floats, gap: float) -> None:
        self._importance = np.array(importance)
        self._gap = gap
        self._shape, self._time = np.ones(importance.size), np.full(importance.size, gap)
        self._last = np.zeros(importance.size)

    def take(self, now: float, limit: int) -> Ints:
        if limit <= 0:
            return np.empty(0, np.int64)
        values = _values(self._importance, self._shape, self._time, self._last, now)
        return largest(values, limit)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        _learn(self._shape, self._time, self._last, page, now, changed, self._gap)


@compiled
def _values(importance: Floats, shape: Floats, time: Floats, last: Floats, now: float) -> Floats:
    value = np.empty(last.size)
    for page in range(last.size):
        days = now - last[page]
        value[page] = importance[page] * value_of_belief(shape[page], time[page], days)
    return value


@compiled
def _learn(
    shape: Floats, time: Floats, last: Floats, page: Ints, now: float, changed: Bools, gap: float
) -> None:
    for row in range(page.size):
        here = page[row]
        days = now - last[here]
        if days > 0.0:
            a, b = forget(shape[here], time[here], 1.0, gap, days, HALF_LIFE)
            shape[here], time[here] = after_visit(a, b, days, changed[row], math.nan, days, 1.0)
            last[here] = now
