"""Clocks at the best crawl rates for the true change rates, which nobody knows in life."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from recrawl.allocation import allocate
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.scheduling.clocks import PoissonClock, RegularClock
from recrawl.simulation.policy import Pages, Run


@final
@dataclass(frozen=True)
class PoissonKnown:
    """Visit at random times, at the crawl rates that are best for the true change rates.

    What the paper's policy comes to when all is learned (Azar et al. 2018).
    """

    name: ClassVar[str] = "poisson-known"
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = True

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin with gaps drawn at these rates."""
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

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin with visits spread over each page's gap."""
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
