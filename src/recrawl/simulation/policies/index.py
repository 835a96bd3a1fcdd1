"""The freshness index on Gamma beliefs: the crawler's own `Frontier`, in a simulated world."""

from dataclasses import dataclass
from typing import final

import numpy as np

from recrawl.estimation.gamma import hazard
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.scheduling.frontier import HALF_LIFE, SLACK, Frontier
from recrawl.simulation.policy import PageSet

#: Unspent budget is kept for a quarter of a day, or for this many ticks if they are longer.
TICKS_KEPT = 2.0


@final
@dataclass(frozen=True)
class Index:
    """Visit the pages whose visit is worth most, as `Frontier` does.

    Attributes:
        name: Its name in tables.
        pooling: Whether priors are learned from other pages.
        rhythm: Whether visits follow the rhythm of the week.
        slack: Days of budget that may be saved; see `Frontier`.
        half_life: Days in which half of what was learned is forgotten.
        neighbours: Whether a change found on one page is evidence about its neighbours.
        host_delay: Minimum days between two visits to a host.
        host_budget: Maximum visits per day to a host.
    """

    name: str = "index"
    pooling: bool = True
    neighbours: bool = True
    rhythm: bool = True
    slack: float = SLACK
    half_life: float | None = HALF_LIFE
    host_delay: float = 0.0
    host_budget: float | None = None
    keeps_budget = True
    knows_rates = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> "FrontierRun":
        """Start with all pages just visited."""
        del seed
        frontier = Frontier(
            budget,
            host_delay=self.host_delay,
            host_budget=self.host_budget,
            pooling=self.pooling,
            neighbours=self.neighbours,
            rhythm=self.rhythm,
            slack=self.slack,
            half_life=self.half_life,
            catch_up=max(0.25, TICKS_KEPT * tick),
        )
        frontier.add(
            np.arange(pages.count),
            now=0.0,
            importance=pages.importance,
            host=pages.host,
            section=pages.section,
            last_visit=0.0,
        )
        return FrontierRun(frontier, pages.count)


@final
class FrontierRun:
    """A `Frontier` with the interface of a `Run`."""

    def __init__(self, frontier: Frontier, pages: int) -> None:
        self.frontier = frontier
        self._last = np.zeros(pages)

    def take(self, now: float, limit: int) -> Ints:
        """Return the most valuable pages."""
        return self.frontier.take(now, limit)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        """Learn from what the visits found."""
        self.frontier.report(page, now, changed)
        self._last[page] = now

    def chance(self, page: Ints, now: float) -> Floats:
        """Return the chances that pages have changed, by the beliefs about them alone."""
        belief = self.frontier.belief(page)
        shape, time = belief.columns(page.size)
        return -np.expm1(-hazard(shape, time, now - self._last[page]))
