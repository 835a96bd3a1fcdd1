"""Explore and commit, of Upadhyay, Busa-Fekete, Kotłowski, Pál and Szörényi (2020)."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from recrawl.estimation import MomentMatching
from recrawl.kernels.jit import Bools, Ints
from recrawl.scheduling.clocks import PoissonClock
from recrawl.simulation.policies.clocked import optimum_for_all
from recrawl.simulation.policies.learning import Solved
from recrawl.simulation.policy import Pages, Run


@final
@dataclass(frozen=True)
class ExploreCommit:
    """Visit all pages alike for a time, then for ever at the rates best for what was seen.

    "Learning to crawl": visits are random and uniform while exploring, change rates are estimated
    by moment matching, and the crawl rates committed to are the Poisson optimum. Exploring for a
    time of the order of √T, of T in all, makes the regret grow as √T. The paper's constant depends
    on the rates, which nobody knows; here time is counted in rounds, in which every page is visited
    once on average: of n rounds √n explore. Change and crawl rates are at least 2 % of the mean
    crawl rate, as a page that was not seen to change would be given up.

    It keeps the budget on average only, as random clocks do.
    """

    name: ClassVar[str] = "explore-commit"
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = False

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin to explore."""
        del tick
        return _Exploring(pages, budget, np.random.default_rng(seed))


class _Exploring:
    def __init__(self, pages: Pages, budget: float, rng: np.random.Generator) -> None:
        self._pages = pages
        self._budget = budget
        self._rng = rng
        self._commit_at = math.sqrt(pages.days * pages.count / budget)
        self._crawl_rate = np.full(pages.count, budget / pages.count)
        self._clock = PoissonClock(self._crawl_rate, rng)
        self._last = np.zeros(pages.count)
        self._learner = Solved(MomentMatching(), pages.count)

    def take(self, now: float, limit: int) -> Ints:
        del limit
        if now >= self._commit_at:
            self._crawl_rate = optimum_for_all(
                self._learner.rate(), self._budget, self._pages.importance
            )
            self._clock = PoissonClock(self._crawl_rate, self._rng, now=now)
            self._commit_at = math.inf
        return self._clock.due(now)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        if self._commit_at < math.inf:
            rate = self._crawl_rate[page]
            self._learner.observe(page, now - self._last[page], changed, rate)
        self._last[page] = now
        self._clock.visited(page, now, self._crawl_rate[page])
