"""The freshness index: the crawler's own `Frontier`, in a simulated world."""

from dataclasses import dataclass
from typing import final

import numpy as np

from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.scheduling.budget import SLACK
from recrawl.scheduling.frontier import HALF_LIFE, Frontier
from recrawl.simulation.policy import PageSet, Run

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
        uses_signals: Whether it receives signals.
    """

    name: str = "index"
    pooling: bool = True
    neighbours: bool = True
    rhythm: bool = True
    slack: float = SLACK
    half_life: float | None = HALF_LIFE
    host_delay: float = 0.0
    host_budget: float | None = None
    uses_signals: bool = True
    keeps_budget = True
    knows_rates = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
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
        run = FrontierRun(frontier)
        return run if self.uses_signals else _WithoutSignals(run)


@final
class FrontierRun:
    """A `Frontier` with the interface of a `Run`."""

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier

    def signal(self, page: Ints, now: float, kind: str) -> None:
        """Note signals."""
        self.frontier.signal(page, now, kind)

    def take(self, now: float, limit: int) -> Ints:
        """Return the most valuable pages."""
        return self.frontier.take(now, limit)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        """Learn from what the visits found."""
        self.frontier.report(page, now, changed)

    def chance(self, page: Ints, now: float) -> Floats:
        """Return the chances that pages have changed."""
        return 1.0 - self.frontier.chance_fresh(page, now)


class _WithoutSignals:
    """A run that does not receive signals."""

    def __init__(self, run: FrontierRun) -> None:
        self._run = run
        self.take, self.report, self.chance = run.take, run.report, run.chance
