"""How policies did in one world, best first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recrawl.cli.render.progress import Advance
from recrawl.cli.render.terminal import a_day, count
from recrawl.simulation.policies import policy_named
from recrawl.simulation.replay import Progress, replay
from recrawl.simulation.score import Score
from recrawl.simulation.world import World
from recrawl.units import format_duration

#: Who is further from the budget than this, as a share of it, and than one visit, does not keep it.
NEAR = 0.02
#: Steps of the progress bar for every policy.
STEPS = 1_000


@dataclass(frozen=True, eq=False)
class Ranking:
    """How policies did in one world.

    Attributes:
        world: What really happened.
        budget: Visits a day.
        scores: One a policy, least stale first.
        knowing: The policies that were told the true change rates.
    """

    world: World
    budget: float
    scores: tuple[Score, ...]
    knowing: frozenset[str]

    def in_words(self) -> str:
        """Say in one line what the policies were led through."""
        pages, changes = count(self.world.pages, "page"), count(self.world.change.size, "change")
        every = format_duration(self.world.pages / self.budget)
        return (
            f"{pages}, {changes} in {format_days(self.world.days)}; {a_day(self.budget)}, "
            f"each page every {every} on average"
        )

    def off_budget(self) -> dict[str, str]:
        """Give the policies that spend more or less than the budget, and what they spend."""
        paid = self.budget * self.world.days
        return {
            score.policy: f"{100 * score.budget_used:.0f} %"
            for score in self.scores
            if abs(score.visits - paid) > max(NEAR * paid, 1.0)
        }

    def notes(self) -> dict[str, str]:
        """Give what is to be said about policies that do not compete on equal terms."""
        spending = {name: f"{share} of budget" for name, share in self.off_budget().items()}
        return spending | dict.fromkeys(self.knowing, "knows the true rates")

    def columns(self) -> dict[str, list[Any]]:
        """Give the scores' numbers by name."""
        rows = [score.as_dict() for score in self.scores]
        return {name: [row[name] for row in rows] for name in rows[0]}


def format_days(days: float) -> str:
    """Say how long a window is: a whole number where there are many days.

    >>> format_days(1784.0), format_days(1.0), format_days(0.25)
    ('1,784 days', '1 day', '6 h')
    """
    return f"{days:,.0f} days" if days >= 10 else format_duration(days)  # noqa: PLR2004


def rank(
    world: World,
    policies: Sequence[str],
    budget: float,
    tick: float | None,
    seed: int,
    advance: Advance,
) -> Ranking:
    """Lead policies through a world, one after another, and sort them by staleness."""
    scores, knowing = [], set()
    for number, name in enumerate(policies):
        policy = policy_named(name)
        tell = _telling(advance, number, len(policies))
        scores.append(replay(world, policy, budget, tick=tick, seed=seed, progress=tell))
        if policy.knows_rates:
            knowing.add(name)
    scores.sort(key=lambda score: score.staleness)
    return Ranking(world, budget, tuple(scores), frozenset(knowing))


def _telling(advance: Advance, number: int, policies: int) -> Progress:
    """Give what tells of one policy's replay as a part of all; it never tells of less than before.

    A scaled policy is replayed several times, nobody knows how often.
    """
    furthest = number * STEPS

    def tell(done: int, total: int | None) -> None:
        nonlocal furthest
        furthest = max(furthest, number * STEPS + STEPS * done // (total or done or 1))
        advance(furthest, policies * STEPS)

    return tell
