"""The demo's pages and when each of them will change, drawn before it starts."""

from dataclasses import dataclass

import numpy as np

from recrawl.demo.pages import DemoPage, draw_pages
from recrawl.kernels.jit import Floats
from recrawl.simulation.world import World


@dataclass(frozen=True, eq=False)
class Scenario:
    """The pages of the demo web and their changes.

    Attributes:
        seed: The seed of everything.
        pages: The pages.
        world: When they change; a day of the world is a second of the demo.
        age: Seconds from each page's latest change to the start.
    """

    seed: int
    pages: tuple[DemoPage, ...]
    world: World
    age: Floats

    @property
    def seconds(self) -> float:
        """The duration."""
        return self.world.days

    def changes(self) -> list[list[float]]:
        """Return the seconds at which each page changes."""
        return [times.tolist() for times in np.split(self.world.change, self.world.starts[1:-1])]


def draw_scenario(pages: int, seconds: float, seed: int) -> Scenario:
    """Draw pages, and their changes as Poisson processes.

    >>> scenario = draw_scenario(300, 60.0, seed=1)
    >>> [len(times) for times in scenario.changes()[:5]]
    [30, 3, 3, 9, 19]
    """
    drawn = draw_pages(pages, seed)
    gap = np.array([page.gap for page in drawn])
    world = World.poisson(
        1.0 / gap,
        days=seconds,
        importance=[page.importance for page in drawn],
        host=[page.site for page in drawn],
        seed=seed,
    )
    age = np.random.default_rng((seed, pages)).exponential(gap)
    return Scenario(seed, drawn, world, age)
