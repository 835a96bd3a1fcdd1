"""How fresh copies of the little web really were, and how fresh they could have been."""

from dataclasses import dataclass

import numpy as np

from recrawl.kernels.jit import Floats, Ints
from recrawl.simulation.policies import policy_named
from recrawl.simulation.replay import replay
from recrawl.simulation.world import World

#: Into how many slices a window is cut; as many as a replay's.
SLICES = 100
#: Change rates are compared for pages that were visited so often.
ENOUGH_VISITS = 10


@dataclass(frozen=True, eq=False)
class Curve:
    """Freshness over time.

    Attributes:
        seconds: How long it is.
        freshness: In each of equal slices of time, the share of copies that were current, weighted
            by importance.
    """

    seconds: float
    freshness: Floats

    def mean(self, first: float = 0.0, last: float | None = None) -> float:
        """Give the mean freshness from one time to another; to the end if not given.

        >>> curve = Curve(10.0, np.array([1.0, 0.5]))
        >>> curve.mean(), curve.mean(5.0), round(curve.mean(0.0, 7.5), 3)
        (0.75, 0.5, 0.833)
        """
        end = self.seconds if last is None else last
        edges = np.linspace(0.0, self.seconds, self.freshness.size + 1)
        total = np.concatenate([[0.0], np.cumsum(self.freshness * np.diff(edges))])
        return float(np.diff(np.interp([first, end], edges, total))[0] / (end - first))


def true_freshness(world: World, page: Ints, time: Floats, until: float | None = None) -> Curve:
    """Give how fresh the copies really were, from the beginning until a time.

    Args:
        world: What really happened, a second for each of its days.
        page: The page that each new copy is of.
        time: When it was fetched, in seconds since the beginning; before it, below 0. In any
            order. A visit that left the old copy in place does not count: it was right if nothing
            had changed, and if something had, the copy is stale still.
        until: The end; the world's unless given.

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
    """Give when pages change next after a time; infinity where they do not."""
    # A page's changes are in order, and moved by more than the window for each page they all are.
    apart = 2.0 * world.days
    number = np.repeat(np.arange(world.pages), np.diff(world.starts))
    since = np.clip(time, 0.0, world.days)
    place = np.searchsorted(world.change + apart * number, since + apart * page, side="right")
    change = np.append(world.change, np.inf)[place]
    return np.where(place < world.starts[page + 1], change, np.inf)


def replayed(world: World, policy: str, visits: float) -> Curve:
    """Give how fresh a policy would have kept copies, on the same history with so many visits.

    Like the crawl, it begins with a copy of every page.
    """
    score = replay(world, policy_named(policy), visits / world.days)
    return Curve(world.days, 1.0 - score.curve)


def needless_copies(world: World, page: Ints, time: Floats) -> Floats:
    """Give when copies were made of pages that had not changed since the copy before.

    Args:
        world: What really happened.
        page: The page that each copy is of.
        time: When it was fetched, in seconds since the beginning; in any order.
    """
    order = np.lexsort((time, page))
    page, time = page[order], time[order]
    changes = next_change(world, page[:-1], time[:-1])
    needless = (page[1:] == page[:-1]) & (changes > time[1:])
    again: Floats = time[1:][needless]
    return again


def rank_correlation(estimated: Floats, true: Floats, visits: Ints) -> float:
    """Give Spearman's correlation of change rates, for pages visited 10 times or more.

    It is NaN where there are fewer than three of them.
    """
    from scipy.stats import spearmanr

    often = visits >= ENOUGH_VISITS
    if np.count_nonzero(often) < 3:  # noqa: PLR2004
        return float("nan")
    return float(spearmanr(estimated[often], true[often]).statistic)
