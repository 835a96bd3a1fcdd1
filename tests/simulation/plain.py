"""Replays written plainly, one page and one visit at a time, and policies to drive them with."""

from dataclasses import dataclass, field

import numpy as np

from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.scheduling.clocks import PoissonClock, RegularClock
from recrawl.simulation.policy import PageSet, Run
from recrawl.simulation.world import World


def world_of(changes: list[list[float]], days: float, **columns: list[float] | list[int]) -> World:
    """Make a world from each page's changes."""
    pages = len(changes)
    starts = np.cumsum([0, *map(len, changes)])
    change = np.array([time for page in changes for time in sorted(page)], np.float64)
    return World(
        days,
        starts,
        change,
        np.array(columns.get("importance", [1.0] * pages), np.float64),
        np.diff(starts) / days,
        np.array(columns.get("host", [0] * pages), np.int64),
        np.array(columns.get("section", range(pages)), np.int64),
    )


@dataclass
class Found:
    """What the plain replay found."""

    stale: float = 0.0
    age: float = 0.0
    useless: int = 0
    spells: list[tuple[float, float, float]] = field(default_factory=list)


def scan(world: World, visits: list[tuple[float, int]]) -> Found:
    """Go through every page's visits in order and look at all its changes each time."""
    found = Found()
    for page in range(world.pages):
        changes = world.change[world.starts[page] : world.starts[page + 1]].tolist()
        weight = float(world.importance[page])
        times = [now for now, visited in visits if visited == page]
        last = 0.0
        for now in [*times, None]:
            end = world.days if now is None else now
            unseen = [time for time in changes if last < time <= end]
            if unseen:
                found.stale += weight * (end - unseen[0])
                found.age += weight * (end - unseen[0]) ** 2 / 2
                found.spells.append((unseen[0], end, weight))
            elif now is not None:
                found.useless += 1
            last = end
    return found


@dataclass
class Scripted:
    """Visits random pages, and keeps its limits and reports."""

    share: float = 0.5
    keeps_budget: bool = False
    knows_rates: bool = False
    name: str = "scripted"
    visits: list[tuple[float, int]] = field(default_factory=list)
    reported: list[bool] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)
    pages: PageSet | None = None

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        del budget, tick
        self.pages = pages
        self._rng = np.random.default_rng(seed)
        return self

    def take(self, now: float, limit: int) -> Ints:
        assert self.pages is not None
        self.limits.append(limit)
        chosen = np.flatnonzero(self._rng.random(self.pages.count) < self.share)
        self._rng.shuffle(chosen)
        if self.keeps_budget:
            chosen = chosen[:limit]
        self.visits += [(now, int(page)) for page in chosen]
        return chosen

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        assert [(now, int(number)) for number in page] == self.visits[
            len(self.visits) - page.size :
        ]
        self.reported += changed.tolist()


@dataclass(frozen=True, eq=False)
class AtRates:
    """Visits by a clock, at given crawl rates."""

    crawl_rate: Floats
    regular: bool
    name: str = "at rates"
    keeps_budget: bool = False
    knows_rates: bool = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        del pages, budget, tick
        rng = np.random.default_rng(seed)
        clock = (
            RegularClock(self.crawl_rate) if self.regular else PoissonClock(self.crawl_rate, rng)
        )
        return _ByClock(clock, self.crawl_rate)


class _ByClock:
    def __init__(self, clock: PoissonClock | RegularClock, crawl_rate: Floats) -> None:
        self._clock = clock
        self._crawl_rate = crawl_rate

    def take(self, now: float, limit: int) -> Ints:
        del limit
        return self._clock.due(now)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        del changed
        self._clock.visited(page, now, self._crawl_rate[page])
