"""How fresh copies of the demo web really were, and how fresh they could have been."""

from dataclasses import dataclass

import numpy as np

from recrawl.kernels.jit import Floats, Ints
from recrawl.simulation.policies import policy_named
from recrawl.simulation.replay import replay
from recrawl.simulation.world import World

#: Slices per curve; as many as a replay has.
SLICES = 100
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


def needless_copies(world: World, page: Ints, time: Floats) -> Floats:
    """Return when copies were made of pages unchanged since the previous copy.

    Args:
        world: When pages changed.
        page: The page of each copy.
        time: When it was fetched, in seconds since the start; in any order.
    """
    order = np.lexsort((time, page))
    page, time = page[order], time[order]
    changes = next_change(world, page[:-1], time[:-1])
    needless = (page[1:] == page[:-1]) & (changes > time[1:])
    again: Floats = time[1:][needless]
    return again


def rank_correlation(estimated: Floats, true: Floats, visits: Ints) -> float:
    """Return Spearman's correlation of change rates, for pages visited 10 times or more.

    It is NaN if there are fewer than three of them.
    """
    from scipy.stats import spearmanr

    often = visits >= ENOUGH_VISITS
    if np.count_nonzero(often) < 3:  # noqa: PLR2004
        return float("nan")
    return float(spearmanr(estimated[often], true[often]).statistic)
