"""Policies that compute crawl rates and let every page's clock run at its rate.

They keep the budget only on average, as the clocks run independently.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from recrawl.allocation import allocate
from recrawl.estimation import MLE, MomentMatching
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.scheduling.clocks import PoissonClock, RegularClock
from recrawl.simulation.policies.learning import MIN_RATE_SHARE, Learner, MakeLearner, Solved
from recrawl.simulation.policy import PageSet, Run

#: The pseudo-gap of the authors' LambdaCrawl code: half a day.
PSEUDO_GAP = 0.5

#: Maps change rates to crawl rates.
Plan = Callable[[Floats], Floats]


@final
@dataclass(frozen=True)
class Paper:
    """Estimate change rates, and visit at random times at the crawl rates best for them.

    Avrachenkov, Patil and Thoppe (2020), with the optimum of Azar et al. (2018). Every page's first
    gap has the mean crawl rate, later ones follow the estimates. Estimates and crawl rates are at
    least 2 % of the mean crawl rate, as the optimum gives up pages not yet seen to change.
    """

    name: str
    learner: MakeLearner
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start at uniform rates."""
        del tick

        def optimum(change_rate: Floats) -> Floats:
            return optimum_for_all(change_rate, budget, pages.importance)

        return Clocked(
            self.learner(pages.count, pages.count / budget),
            optimum,
            np.full(pages.count, budget / pages.count),
            np.random.default_rng(seed),
        )


@final
@dataclass(frozen=True)
class LambdaCrawl:
    """LambdaCrawl of Kolobov, Peres, Lu and Horvitz (2019): the harmonic staleness penalty.

    "Staying up to date with online content changes using reinforcement learning for scheduling",
    for pages whose changes are only observed at visits: −Σ w ln(p / (p + Δ)) is minimised, which
    starves no page. Change rates are the maximum-likelihood estimates (their equation 10), smoothed
    as in the authors' code by two pseudo-gaps of half a day, one with a change and one without. The
    bounds that code sets for its bisection are not needed here. Crawl rates are refitted at every
    tick.
    """

    name: ClassVar[str] = "lambdacrawl"
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start at the rates that the pseudo-gaps suggest."""
        del tick

        def optimum(change_rate: Floats) -> Floats:
            return allocate(
                change_rate, budget, importance=pages.importance, objective="harmonic"
            ).crawl_rate

        learner = Solved(MLE(), pages.count, pseudo_gap=PSEUDO_GAP)
        rng = np.random.default_rng(seed)
        return Clocked(learner, optimum, optimum(learner.rate()), rng)


@final
class Clocked:
    """Random clocks whose crawl rates follow a learner.

    Crawl rates are refitted at every tick with what its visits found, and apply to the gaps that
    start then: a gap's crawl rate is fixed when the gap starts and holds until its visit, as the
    paper's estimators require.

    Args:
        learner: Estimates change rates.
        plan: Turns them into crawl rates.
        crawl_rate: The crawl rates of the first gaps.
        rng: The source of randomness for the gaps.
    """

    def __init__(
        self, learner: Learner, plan: Plan, crawl_rate: Floats, rng: np.random.Generator
    ) -> None:
        self._learner = learner
        self._plan = plan
        self._in_force = crawl_rate.copy()
        self._last = np.zeros(crawl_rate.size)
        self._clock = PoissonClock(crawl_rate, rng)

    def take(self, now: float, limit: int) -> Ints:
        """Return the pages that are due."""
        del limit
        return self._clock.due(now)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        """Learn, and start new gaps."""
        if not page.size:
            return
        elapsed = now - self._last[page]
        self._learner.observe(page, elapsed, changed, self._in_force[page])
        crawl_rate = self._plan(self._learner.rate())[page]
        self._clock.visited(page, now, crawl_rate)
        self._in_force[page] = crawl_rate
        self._last[page] = now


@final
@dataclass(frozen=True)
class ExploreCommit:
    """Visit all pages equally for a while, then for good at the rates best for what was found.

    "Learning to crawl" of Upadhyay, Busa-Fekete, Kotłowski, Pál and Szörényi (2020): visits are
    random and uniform while exploring, change rates are estimated by moment matching, and the crawl
    rates committed to are the Poisson optimum. Exploring for a time of the order of √T, out of T,
    makes the regret grow as √T. The paper's constant depends on the unknown rates; here time is
    counted in rounds, in which every page is visited once on average, and √n of n rounds explore.
    Change and crawl rates are at least 2 % of the mean crawl rate, as a page not seen to change
    would be given up.
    """

    name: ClassVar[str] = "explore-commit"
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start exploring."""
        del tick
        return _Exploring(pages, budget, np.random.default_rng(seed))


class _Exploring:
    def __init__(self, pages: PageSet, budget: float, rng: np.random.Generator) -> None:
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


@final
@dataclass(frozen=True)
class PoissonKnown:
    """Visit at random times, at the crawl rates that are best for the true change rates.

    The limit of the paper's policy once everything is learned (Azar et al. 2018).
    """

    name: ClassVar[str] = "poisson-known"
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = True

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start with gaps drawn at these rates."""
        del tick
        best = allocate(pages.true_rate, budget, importance=pages.importance)
        clock = PoissonClock(best.crawl_rate, np.random.default_rng(seed))
        return _Steady(clock, best.crawl_rate)


@final
@dataclass(frozen=True)
class RegularKnown:
    """Visit at regular times, at the crawl rates that are best for the true change rates.

    The optimum of Cho and Garcia-Molina (2003), weighted by importance.
    """

    name: ClassVar[str] = "regular-known"
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = True

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start with visits spread over each page's gap."""
        del tick, seed
        best = allocate(pages.true_rate, budget, importance=pages.importance, visits="periodic")
        return _Steady(RegularClock(best.crawl_rate), best.crawl_rate)


class _Steady:
    def __init__(self, clock: PoissonClock | RegularClock, crawl_rate: Floats) -> None:
        self._clock = clock
        self._crawl_rate = crawl_rate

    def take(self, now: float, limit: int) -> Ints:
        del limit
        return self._clock.due(now)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        del changed
        self._clock.visited(page, now, self._crawl_rate[page])


def optimum_for_all(change_rate: Floats, budget: float, importance: Floats) -> Floats:
    """Return the best crawl rates for visits at random times, with no page given up.

    A page not seen to change is estimated never to, and the optimum would never visit it again to
    learn otherwise. So change rates are raised to 2 % of the mean crawl rate, and so are crawl
    rates, which are then scaled back to the budget.

    >>> optimum_for_all(np.array([0.0, 2.0]), 2.0, np.ones(2)).round(2)
    array([0.35, 1.65])
    """
    lowest = MIN_RATE_SHARE * budget / change_rate.size
    best = allocate(np.maximum(change_rate, lowest), budget, importance=importance).crawl_rate
    raised = np.maximum(best, lowest)
    return raised * (budget / float(raised.sum()))
