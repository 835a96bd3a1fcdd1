"""A custom policy, replayed against others on the same pages with the same number of visits."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recrawl import Policy, World, policy_named, replay
from recrawl.simulation.policy import PageSet

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class OldestFirst:
    """Visit the page whose copy is oldest, where time runs faster for important pages."""

    name: str = "oldest first"
    keeps_budget: bool = True
    knows_rates: bool = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> "OldestFirstRun":  # noqa: ARG002
        """Start a replay."""
        return OldestFirstRun(np.sqrt(pages.importance))


class OldestFirstRun:
    """The policy at work; every page was visited at time 0."""

    def __init__(self, pace: NDArray[np.float64]) -> None:
        self.pace = pace
        self.visited = np.zeros(pace.size)

    def take(self, now: float, limit: int) -> Ints:
        """Return the pages to visit now."""
        return np.argsort(-self.pace * (now - self.visited), kind="stable")[:limit]

    def report(self, page: Ints, now: float, changed: NDArray[np.bool_]) -> None:  # noqa: ARG002
        """Record the visits; this policy does not learn from what they found."""
        self.visited[page] = now


rng = np.random.default_rng(1)
world = World.poisson(
    rng.lognormal(-1.0, 1.5, 300), days=90.0, importance=rng.pareto(2.0, 300) + 1.0, seed=1
)
policies: list[Policy] = [OldestFirst(), policy_named("uniform"), policy_named("index")]
for policy in policies:
    score = replay(world, policy, budget=100.0)
    print(f"{score.policy:12}  stale {score.staleness:.1%} of the time  {score.visits} visits")
