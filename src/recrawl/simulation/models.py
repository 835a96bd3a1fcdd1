"""The models of change that worlds are drawn from."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Floats, Ints
from recrawl.quantities import duration, rates

#: The mean time between two changes of a burst, as a share of the page's mean gap.
GAP_IN_BURST = 0.05
#: A burst that started this many mean lengths ago is over, but for a chance of e^(−40).
BURSTS_BEFORE = 40.0
#: How long a drifting rate stays constant, as a share of its half-life.
HELD = 0.1


class Changes(NamedTuple):
    """When pages change: page i at ``change[starts[i] : starts[i + 1]]``, in order."""

    starts: Ints
    change: Floats


def checked_rates(change_rate: ArrayLike) -> Floats:
    """Return an array of change rates, or raise `ArgumentError`."""
    rate = np.array(rates("change_rate", change_rate))
    if rate.ndim != 1 or not rate.size:
        raise ArgumentError(f"change_rate: has shape {rate.shape}; expected one number per page")
    bad = ~((rate >= 0.0) & (rate < np.inf))
    if bad.any():
        page = int(np.argmax(bad))
        raise ArgumentError(f"change_rate: page {page} has {rate[page]}; a rate is 0 or more")
    return rate


def checked_days(days: float) -> float:
    """Return the length of a window, or raise `ArgumentError`."""
    length = duration("days", days)
    if not 0.0 < length < np.inf:
        raise ArgumentError(f"days: {length} is not a positive number of days")
    return length


def poisson(change_rate: Floats, days: float, rng: np.random.Generator) -> Changes:
    """Draw changes at constant rates."""
    page = np.repeat(np.arange(change_rate.size), rng.poisson(change_rate * days))
    # random() may be 0 but never 1; subtracted from 1 it gives times in (0, days].
    return in_order(page, days * (1.0 - rng.random(page.size)), change_rate.size)


def bursty(change_rate: Floats, days: float, burst: float, rng: np.random.Generator) -> Changes:
    """Draw changes in bursts, including bursts that started before the window."""
    gap = np.divide(
        GAP_IN_BURST, change_rate, out=np.zeros(change_rate.size), where=change_rate > 0
    )
    before = BURSTS_BEFORE * burst * gap if burst > 1.0 else np.zeros(change_rate.size)
    bursts = rng.poisson(change_rate / burst * (days + before))
    page = np.repeat(np.arange(change_rate.size), bursts)
    begin = days - (days + before[page]) * rng.random(page.size)
    size = rng.geometric(1.0 / burst, page.size)
    inside = rng.exponential(np.repeat(gap[page], size))
    # Gaps add up from the first change of a burst on, which is at its beginning.
    first = np.cumsum(size) - size
    since = np.cumsum(inside)
    change = np.repeat(begin - since[first], size) + since
    page = np.repeat(page, size)
    kept = (change > 0.0) & (change <= days)
    return in_order(page[kept], change[kept], change_rate.size)


def drifting(
    change_rate: Floats, days: float, half_life: float, rng: np.random.Generator
) -> Changes:
    """Draw changes at rates whose logarithm drifts, constant for a while at a time."""
    cells = math.ceil(days / (HELD * half_life))
    length = days / cells
    kept = 2.0 ** (-length / half_life)
    fresh = math.sqrt(1.0 - kept * kept)
    away = rng.standard_normal(change_rate.size)
    pages, times = [], []
    for cell in range(cells):
        # e^(x − ½) has mean 1 when x is standard normal.
        count = rng.poisson(change_rate * np.exp(away - 0.5) * length)
        page = np.repeat(np.arange(change_rate.size), count)
        pages.append(page)
        times.append(length * (cell + 1.0 - rng.random(page.size)))
        away = kept * away + fresh * rng.standard_normal(change_rate.size)
    change = np.minimum(np.concatenate(times), days)
    return in_order(np.concatenate(pages), change, change_rate.size)


def in_order(page: Ints, change: Floats, pages: int) -> Changes:
    """Sort changes by page and time.

    >>> in_order(np.array([1, 0, 1]), np.array([3.0, 2.0, 1.0]), 2)
    Changes(starts=array([0, 1, 3]), change=array([2., 1., 3.]))
    """
    starts = np.zeros(pages + 1, np.int64)
    np.cumsum(np.bincount(page, minlength=pages), out=starts[1:])
    return Changes(starts, change[np.lexsort((change, page))])
