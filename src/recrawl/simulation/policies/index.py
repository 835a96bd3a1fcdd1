"""The freshness index on Gamma beliefs: the frontier that crawls, led through a world."""

from dataclasses import dataclass
from typing import final

import numpy as np

from recrawl.kernels.jit import Bools, Ints
from recrawl.scheduling.frontier import Frontier
from recrawl.simulation.policy import Pages

#: Budget that is not spent is kept for a day, or for so many ticks where these are longer.
TICKS_KEPT = 2.0


@final
@dataclass(frozen=True)
class Index:
    """Visit the pages whose visit is worth most, as `Frontier` does.

    Attributes:
        name: What it is called in tables.
        neighbours: Whether a change found on one page is evidence about those around it.
        host_delay: Days between two visits to a host.
        host_budget: Visits a day to a host at most.
    """

    name: str = "index"
    neighbours: bool = True
    host_delay: float = 0.0
    host_budget: float | None = None
    keeps_budget = True
    knows_rates = False

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> "FrontierRun":
        """Begin with all pages just visited."""
        del seed
        frontier = Frontier(
            budget,
            host_delay=self.host_delay,
            host_budget=self.host_budget,
            neighbours=self.neighbours,
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
        return FrontierRun(frontier)


@final
class FrontierRun:
    """A frontier at work in a world."""

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier

    def take(self, now: float, limit: int) -> Ints:
        """Give the most valuable pages."""
        return self.frontier.take(now, limit)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        """Learn from what the visits found."""
        self.frontier.report(page, now, changed)
