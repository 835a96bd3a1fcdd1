"""Plain policies: every page alike, in proportion to change, or in proportion to importance."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.simulation.policies.greedy import Greedy
from recrawl.simulation.policies.learning import believing
from recrawl.simulation.policy import Pages, Run


@final
@dataclass(frozen=True)
class Uniform:
    """Visit all pages in turn: each of them every pages / budget days.

    It is what a fixed interval amounts to, the rule of most crawlers, with visits spread evenly.
    """

    name: ClassVar[str] = "uniform"
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = False

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin with the first page."""
        del budget, tick, seed
        return _RoundRobin(pages.count)


class _RoundRobin:
    def __init__(self, pages: int) -> None:
        self._pages = pages
        self._next = 0

    def take(self, now: float, limit: int) -> Ints:
        del now
        page = (self._next + np.arange(min(limit, self._pages))) % self._pages
        self._next = (self._next + page.size) % self._pages
        return page

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        pass


@final
@dataclass(frozen=True)
class Proportional:
    """Visit pages regularly, in proportion to how often they change.

    The intuitive policy that Cho and Garcia-Molina (2003) proved worse than uniform. Change rates
    are the Gamma filter's, refitted daily. The pages with the largest rate · time since the last
    visit come first, which at a steady budget are regular visits at rates in that proportion.
    """

    name: ClassVar[str] = "proportional"
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = False

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin with all rates alike."""
        del tick, seed
        learner = believing(pages.count, pages.count / budget)
        return Greedy(np.multiply, learner.rate(), learner)


@final
@dataclass(frozen=True)
class Age:
    """Visit the pages with the largest importance · time since the last visit.

    A common home-made score. At a steady budget it visits pages regularly, in proportion to their
    importance, however often they change.
    """

    name: ClassVar[str] = "age"
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = False

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin with the most important pages."""
        del budget, tick, seed

        def score(_: Floats, elapsed: Floats) -> Floats:
            return pages.importance * elapsed

        return Greedy(score, pages.importance)
