"""How policies do where theory predicts the result: pages that change as Poisson processes."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.report import Figure, markdown, write_section
from benchmarks.sizes import sized
from recrawl import Frontier, Prior, World, allocate, policy_named, replay
from recrawl.simulation.policies.index import FrontierRun
from recrawl.simulation.policy import PageSet

PAGE = "explanation/policies.md"
#: The shape of a belief that is practically certain.
CERTAIN = 1e9
PAGES, DAYS = sized((2_000, 400.0), (20, 10.0))
TICK, SECTION = 0.02, 5
DRAWS, DRAW_DAYS = sized((50, 40.0), (1, 5.0))
#: The freshness in Expt 2 of the paper: its optimum, a fixed interval, and the best possible.
EXPERIMENT_2 = {"poisson-known": 0.659, "uniform": 0.758, "index-known": 0.773}


@dataclass(frozen=True)
class Certain:
    """The frontier, given the true rates and certain of them."""

    name: ClassVar[str] = "index, certain of the true rates"
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = True

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> FrontierRun:
        """Start with all pages just visited."""
        del tick, seed
        prior = Prior(CERTAIN, CERTAIN / pages.true_rate)
        frontier = Frontier(budget, prior=prior, half_life=None, neighbours=False)
        frontier.add(np.arange(pages.count), now=0.0, importance=pages.importance, last_visit=0.0)
        return FrontierRun(frontier)


class Expected(NamedTuple):
    """A freshness predicted by theory, and the one measured."""

    what: str
    predicted: float
    measured: float
    tolerance: float

    def figure(self) -> Figure:
        """Return the distance between them."""
        return Figure(f"{self.what}: distance", abs(self.measured - self.predicted), self.tolerance)

    def cells(self) -> list[str]:
        """Return the row of a table."""
        return [
            self.what,
            f"{self.predicted:.4f}",
            f"{self.measured:.4f}",
            f"± {self.tolerance:.2g}",
        ]


def run() -> list[Figure]:
    """Measure, and write the table."""
    with Console(stderr=True).status("replaying policies on models"):
        rows = [*optimum_rows(), *experiment_rows()]
        cost = neighbours_figure()
    headings = ["freshness of", "theory", "measured", "tolerance"]
    table = markdown(headings, [row.cells() for row in rows])
    note = f"{cost.name}: {cost.measured:.3f}."
    write_section(PAGE, "policies-model", f"{table}\n\n{note}")
    return [*(row.figure() for row in rows), cost]


def skewed_world(days: float = DAYS) -> World:
    """Draw pages with skewed rates and importances, in arbitrary sections."""
    rng = np.random.default_rng(3)
    rate, importance = rng.lognormal(-0.5, 1.2, PAGES), rng.pareto(1.5, PAGES) + 0.1
    section = np.arange(PAGES) // SECTION
    return World.poisson(rate, days=days, importance=importance, section=section, seed=4)


def optimum_rows() -> list[Expected]:
    """Compare replays at the true rates with the optimum, at one visit per page and day."""
    world, budget = skewed_world(), float(PAGES)
    rate, importance = world.change_rate, world.importance
    regular = allocate(rate, budget, importance=importance, visits="periodic").freshness
    random = allocate(rate, budget, importance=importance, visits="poisson").freshness
    certain = replay(world, Certain(), budget, tick=TICK).freshness
    clocks = replay(world, policy_named("poisson-known"), budget, tick=TICK).freshness
    return [
        Expected(
            f"{Certain.name}; the optimum of regular visits", regular, certain, 0.005 * regular
        ),
        Expected("`poisson-known`; the optimum of random visits", random, clocks, 0.005 * random),
    ]


def experiment_rows() -> list[Expected]:
    """Repeat Expt 2: 100 pages, Δ ~ U[0, 1], 80 visits per day; means of many draws."""
    fresh: dict[str, list[float]] = {name: [] for name in EXPERIMENT_2}
    for draw in range(DRAWS):
        rate = np.random.default_rng(draw).random(100)
        world = World.poisson(rate, days=DRAW_DAYS, seed=draw)
        for name, found in fresh.items():
            found.append(replay(world, policy_named(name), 80.0, seed=draw).freshness)
    return [
        Expected(f"Expt 2: `{name}`", predicted, float(np.mean(fresh[name])), 0.01)
        for name, predicted in EXPERIMENT_2.items()
    ]


def neighbours_figure() -> Figure:
    """Measure the cost of neighbours as evidence when pages change independently."""
    world = skewed_world()
    stale = {
        name: replay(world, policy_named(name), float(PAGES)).staleness
        for name in ("index", "index-gamma")
    }
    name = "Staleness of `index` / `index-gamma` where pages change independently"
    return Figure(name, stale["index"] / stale["index-gamma"], 1.02)
