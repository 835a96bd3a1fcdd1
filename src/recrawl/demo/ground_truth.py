"""How fresh copies of the demo web really were, and how fresh they could have been."""

from dataclasses import dataclass

import numpy as np

from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.records import Outcome
from recrawl.simulation.policies import policy_named
from recrawl.simulation.replay import replay
from recrawl.simulation.world import World

#: Slices per curve; as many as a replay has.
SLICES = 100
#: A change within this many seconds before a response may have been too late for it.
TOO_LATE = 0.5
#: Minimum visits for a page's change rate to be compared.
ENOUGH_VISITS = 10


@dataclass(frozen=True, eq=False)
class Curve:
    """Freshness over time.

    Attributes:
        seconds: Its duration.
        freshness: The share of copies that were current in each of equal slices of time, weighted
            by importance.
    """

    seconds: float
    freshness: Floats

    def mean(self, first: float = 0.0, last: float | None = None) -> float:
        """Return the mean freshness between two times, by default over all of it.

        >>> curve = Curve(10.0, np.array([1.0, 0.5]))
        >>> curve.mean(), curve.mean(5.0), round(curve.mean(0.0, 7.5), 3)
        (0.75, 0.5, 0.833)
        """
        end = self.seconds if last is None else last
        edges = np.linspace(0.0, self.seconds, self.freshness.size + 1)
        total = np.concatenate([[0.0], np.cumsum(self.freshness * np.diff(edges))])
        return float(np.diff(np.interp([first, end], edges, total))[0] / (end - first))


def true_freshness(world: World, page: Ints, time: Floats, until: float | None = None) -> Curve:
    """Return how fresh the copies really were, from the start until a time.

    Args:
        world: When pages changed; its days are seconds of the demo.
        page: The page of each new copy.
        time: When it was fetched, in seconds since the start, negative before it; in any order.
            Visits that kept the old copy are left out: either nothing had changed, or the copy
            is still stale.
        until: The end; by default the world's.

    A copy is current until its page changes. A page without a copy is not fresh.
    """
    end = world.days if until is None else min(until, world.days)
    order = np.lexsort((time, page))
    page, time = page[order], time[order]
    expires = next_change(world, page, time)
    replaced = np.full(page.size, np.inf)
    same = page[1:] == page[:-1]
    replaced[:-1][same] = time[1:][same]
    stop = np.minimum(expires, replaced)
    edges = np.linspace(0.0, end, SLICES + 1)[:, None]
    fresh = np.clip(edges, time, np.maximum(stop, time)) - time
    weight = world.importance / world.importance.sum()
    return Curve(end, np.diff(fresh @ weight[page]) * (SLICES / end))


def next_change(world: World, page: Ints, time: Floats) -> Floats:
    """Return when pages change next after a time; infinity if they do not."""
    # Each page's changes are sorted; shifted by more than the window per page, all of them are.
    shift = 2.0 * world.days
    number = np.repeat(np.arange(world.pages), np.diff(world.starts))
    since = np.clip(time, 0.0, world.days)
    index = np.searchsorted(world.change + shift * number, since + shift * page, side="right")
    change = np.append(world.change, np.inf)[index]
    return np.where(index < world.starts[page + 1], change, np.inf)


def replayed(world: World, policy: str, visits: float) -> Curve:
    """Return how fresh a policy would have kept the copies, given the same number of visits.

    Like the crawl, it starts with a copy of every page.
    """
    score = replay(world, policy_named(policy), visits / world.days)
    return Curve(world.days, 1.0 - score.curve)


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What visits reported, compared with the truth.

    Attributes:
        time: When each visit was, in seconds.
        number: How many visits the page had had before.
        is_unchanged: Whether the page was the same as the copy.
        is_changed: Whether it was not.
        is_false: Whether a change was reported although there had been none.
        is_missed: Whether no change was reported although there had been one.
    """

    time: Floats
    number: Ints
    is_unchanged: Bools
    is_changed: Bools
    is_false: Bools
    is_missed: Bools

    @property
    def false_share(self) -> float:
        """The share of visits to unchanged pages that reported a change."""
        return float(self.is_false.sum() / max(self.is_unchanged.sum(), 1))

    def after(self, visits: int) -> "Verdicts":
        """Return the verdicts without the first visits to each page."""
        kept = self.number >= visits
        return Verdicts(
            self.time[kept],
            self.number[kept],
            self.is_unchanged[kept],
            self.is_changed[kept],
            self.is_false[kept],
            self.is_missed[kept],
        )


def judge(world: World, page: Ints, time: Floats, outcome: Ints) -> Verdicts:
    """Compare what visits reported with the changes there had been since the copy was made.

    A change just before a response arrived may have been too late for it. If that matters, a visit
    is neither right nor wrong.

    Args:
        world: When pages changed.
        page: The page of each visit.
        time: When its response arrived, in seconds since the start; in any order.
        outcome: Its `Outcome`; failures are left out.
    """
    found = np.isin(outcome, (Outcome.FIRST, Outcome.CHANGED, Outcome.UNCHANGED))
    order = np.lexsort((time[found], page[found]))
    page, time, outcome = page[found][order], time[found][order], outcome[found][order]
    is_copy = outcome != Outcome.UNCHANGED
    starts = np.flatnonzero(np.r_[True, page[1:] != page[:-1]])
    number = np.arange(page.size) - np.repeat(starts, np.diff(np.r_[starts, page.size]))
    # The copy that a visit found: the last one before it.
    last = np.maximum.accumulate(np.where(is_copy, np.arange(page.size), 0))
    copied = time[np.r_[0, last][: page.size]]
    again = number > 0
    unchanged = again & (next_change(world, page, copied - TOO_LATE) > time)
    changed = again & (next_change(world, page, copied) <= time - TOO_LATE)
    is_change = outcome == Outcome.CHANGED
    false, missed = unchanged & is_change, changed & ~is_change
    return Verdicts(time, number, unchanged, changed, false, missed)


def rank_correlation(estimated: Floats, true: Floats, visits: Ints) -> float:
    """Return Spearman's correlation of change rates, for pages visited 10 times or more.

    It is NaN if there are fewer than three of them.
    """
    from scipy.stats import spearmanr

    often = visits >= ENOUGH_VISITS
    if np.count_nonzero(often) < 3:  # noqa: PLR2004
        return float("nan")
    return float(spearmanr(estimated[often], true[often]).statistic)
