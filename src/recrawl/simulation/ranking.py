"""Replay policies in one world, and rank them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from recrawl.progress import Progress, no_progress
from recrawl.simulation.policies import policy_named
from recrawl.simulation.replay import replay
from recrawl.simulation.score import Score
from recrawl.simulation.world import World

#: A policy keeps the budget if it is within this share of it, or within one visit.
NEAR = 0.02
#: Numbers of a score that are averaged over several replays.
MEAN_FIELDS = ("staleness", "mean_age", "budget_used", "wasted", "busiest_day", "quietest_day")
#: Steps of progress per replay.
STEPS = 1_000


@dataclass(frozen=True, eq=False)
class Ranking:
    """How policies did in one world.

    Attributes:
        world: What really happened.
        budget: Visits per day.
        scores: One per policy, least stale first; means if there were several replays.
        knowing: The policies that were given the true change rates.
        errors: The standard errors of mean staleness, by policy, if there were several replays.
    """

    world: World
    budget: float
    scores: tuple[Score, ...]
    knowing: frozenset[str]
    errors: Mapping[str, float] = field(default_factory=dict)

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
        rows: list[dict[str, Any]] = [score.as_dict() for score in self.scores]
        for row in rows if self.errors else ():
            row["staleness_error"] = self.errors[row["policy"]]
        return {name: [row[name] for row in rows] for name in rows[0]}


def rank(
    world: World,
    policies: Sequence[str],
    budget: float,
    *,
    tick: float | None = None,
    seed: int = 0,
    seeds: int = 1,
    progress: Progress = no_progress,
) -> Ranking:
    """Replay policies, and sort them by staleness.

    Args:
        world: What really happens.
        policies: Their names.
        budget: Visits per day.
        tick: Days between two decisions; see `replay`.
        seed: For policies that use randomness.
        seeds: The number of replays per policy, with this seed and the next ones. All but the first
            have the pages in random order, so that ties are broken differently.
        progress: Called periodically with the progress of all replays.
    """
    worlds = [world, *(shuffled(world, seed + number) for number in range(1, seeds))]
    scores, errors = [], {}
    for index, name in enumerate(policies):
        found = []
        for number, here in enumerate(worlds):
            part = _part(progress, index * seeds + number, len(policies) * seeds)
            policy, now = policy_named(name), seed + number
            found.append(replay(here, policy, budget, tick=tick, seed=now, progress=part))
        scores.append(mean_score(found))
        if seeds > 1:
            stale = [score.staleness for score in found]
            errors[name] = float(np.std(stale, ddof=1) / np.sqrt(seeds))
    scores.sort(key=lambda score: score.staleness)
    knowing = frozenset(name for name in policies if policy_named(name).knows_rates)
    return Ranking(world, budget, tuple(scores), knowing, errors)


def shuffled(world: World, seed: int) -> World:
    """Return a world with its pages in random order."""
    return world.reordered(np.random.default_rng((seed, world.pages)).permutation(world.pages))


def mean_score(scores: Sequence[Score]) -> Score:
    """Return the means of one policy's scores; visits to hosts are those of the first replay."""
    means: dict[str, Any] = {
        name: float(np.mean([getattr(score, name) for score in scores])) for name in MEAN_FIELDS
    }
    visits = round(float(np.mean([score.visits for score in scores])))
    curve = np.mean([score.curve for score in scores], axis=0)
    return replace(scores[0], visits=visits, curve=curve, **means)


def _part(progress: Progress, index: int, replays: int) -> Progress:
    """Return a function that reports one replay as a part of all; it never goes back.

    A scaled policy is replayed a number of times that is not known beforehand.
    """
    furthest = index * STEPS

    def report(done: int, total: int | None) -> None:
        nonlocal furthest
        furthest = max(furthest, index * STEPS + STEPS * done // (total or done or 1))
        progress(furthest, replays * STEPS)

    return report
