"""The freshness index for change rates taken as known: the true ones, or point estimates."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from recrawl.kernels.jit import Floats, compiled, read_only
from recrawl.scheduling.value import value_of_rate
from recrawl.simulation.policies.clocked import LEAST
from recrawl.simulation.policies.greedy import Greedy, Urgency
from recrawl.simulation.policies.learning import MakeLearner
from recrawl.simulation.policy import Pages, Run


@final
@dataclass(frozen=True)
class IndexKnown:
    """Visit the pages where a visit is worth most, knowing the true mean change rates.

    The value of a visit t days after the last one is (w/Δ)[1 − e^(−Δt)(1 + Δt)]. Where pages change
    as Poisson processes no policy does better in the long run.
    """

    name: ClassVar[str] = "index-known"
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = True

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin with all pages just visited."""
        del budget, tick, seed
        return Greedy(_value_of(pages.importance, 0.0), pages.true_rate)


@final
@dataclass(frozen=True)
class PointIndex:
    """Visit the pages where a visit is worth most, with an estimate taken for the true rate.

    Estimates are refitted daily, and raised to 2 % of the mean crawl rate: a page that is
    estimated never to change would never be visited again.
    """

    name: str
    learner: MakeLearner
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = False

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin with the least change rate for every page."""
        del tick, seed
        learner = self.learner(pages.count, pages.count / budget)
        value = _value_of(pages.importance, LEAST * budget / pages.count)
        return Greedy(value, np.zeros(pages.count), learner)


def _value_of(importance: Floats, least: float) -> Urgency:
    def value(change_rate: Floats, elapsed: Floats) -> Floats:
        return _values(importance, read_only(change_rate), least, elapsed)

    return value


@compiled
def _values(importance: Floats, change_rate: Floats, least: float, elapsed: Floats) -> Floats:
    value = np.empty(elapsed.size)
    for page in range(elapsed.size):
        rate = max(change_rate[page], least)
        value[page] = importance[page] * value_of_rate(rate, elapsed[page])
    return value
