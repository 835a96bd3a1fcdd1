"""What will happen to the pages of the little web, drawn before it starts."""

from dataclasses import dataclass

import numpy as np

from recrawl.demo.pages import LittlePage, little_pages
from recrawl.kernels.jit import Floats
from recrawl.simulation.world import World


@dataclass(frozen=True, eq=False)
class History:
    """What will happen.

    Attributes:
        seed: What it was drawn from.
        pages: The pages.
        world: When they change, one second for each of the world's days.
        age: How many seconds before the beginning each page changed last.
    """

    seed: int
    pages: tuple[LittlePage, ...]
    world: World
    age: Floats

    @property
    def seconds(self) -> float:
        """How long it is."""
        return self.world.days

    def changes(self) -> list[list[float]]:
        """Give the seconds at which each page changes."""
        return [times.tolist() for times in np.split(self.world.change, self.world.starts[1:-1])]


def draw_history(pages: int, seconds: float, seed: int) -> History:
    """Draw pages, and their changes as Poisson processes.

    >>> history = draw_history(300, 60.0, seed=1)
    >>> [len(times) for times in history.changes()[:5]]
    [30, 3, 3, 9, 19]
    """
    drawn = little_pages(pages, seed)
    gap = np.array([page.gap for page in drawn])
    world = World.poisson(
        1.0 / gap,
        days=seconds,
        importance=[page.importance for page in drawn],
        host=[page.site for page in drawn],
        seed=seed,
    )
    age = np.random.default_rng((seed, pages)).exponential(gap)
    return History(seed, drawn, world, age)
