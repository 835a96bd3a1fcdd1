"""Policies replayed in one world and ranked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recrawl.progress import Progress, no_progress
from recrawl.simulation.policies import policy_named
from recrawl.simulation.replay import replay
from recrawl.simulation.score import Score
from recrawl.simulation.world import World

#: A policy keeps the budget if it is within this share of it, or within one visit.
NEAR = 0.02
#: Steps of progress per policy.
STEPS = 1_000


@dataclass(frozen=True, eq=False)
class Ranking:
    """How policies did in one world.

    Attributes:
        world: What really happened.
        budget: Visits per day.
        scores: One per policy, least stale first.
        knowing: The policies that were given the true change rates.
    """

    world: World
    budget: float
    scores: tuple[Score, ...]
    knowing: frozenset[str]

    def off_budget(self) -> dict[str, float]:
        """Return the policies that miss the budget, and what they use as a share of it."""
        paid = self.budget * self.world.days
        return {
            score.policy: score.budget_used
            for score in self.scores
            if abs(score.visits - paid) > max(NEAR * paid, 1.0)
        }

    def columns(self) -> dict[str, list[Any]]:
        """Return the scores as columns by name."""
        rows = [score.as_dict() for score in self.scores]
        return {name: [row[name] for row in rows] for name in rows[0]}


def rank(
    world: World,
    policies: Sequence[str],
    budget: float,
    *,
    tick: float | None = None,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Ranking:
    """Replay policies, one after another, and sort them by staleness."""
    scores, knowing = [], set()
    for index, name in enumerate(policies):
        policy = policy_named(name)
        part = _part(progress, index, len(policies))
        scores.append(replay(world, policy, budget, tick=tick, seed=seed, progress=part))
        if policy.knows_rates:
            knowing.add(name)
    scores.sort(key=lambda score: score.staleness)
    return Ranking(world, budget, tuple(scores), frozenset(knowing))


def _part(progress: Progress, index: int, policies: int) -> Progress:
    """Return a function that reports one policy's replay as a part of all; it never goes back.

    A scaled policy is replayed a number of times that is not known beforehand.
    """
    furthest = index * STEPS

    def report(done: int, total: int | None) -> None:
        nonlocal furthest
        furthest = max(furthest, index * STEPS + STEPS * done // (total or done or 1))
        progress(furthest, policies * STEPS)

    return report
