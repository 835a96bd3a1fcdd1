"""Clocks: when each page's next visit is due, at random or at regular times.

A clock knows only crawl rates. A late visit does not delay the next one, whose gap starts when this
one was due: so the crawl rate holds on average even if visits are made only at certain times. But a
visit that was due before the previous one was made is skipped.
"""

from typing import final

import numpy as np

from recrawl.kernels.jit import Floats, Ints

#: Multiples of the golden ratio modulo 1 are spread evenly, however many there are.
GOLDEN = 0.6180339887498949


@final
class PoissonClock:
    """Visits at random times: gaps are exponential, each drawn when it begins.

    Args:
        crawl_rate: Visits per day, one element per page; at 0 a page is never due.
        rng: The source of the gaps.
        now: When the gaps begin, in days.

    >>> clock = PoissonClock(np.array([2.0, 0.0, 1.0]), np.random.default_rng(3))
    >>> clock.due(0.5)
    array([0])
    >>> clock.visited(np.array([0]), 0.5, np.array([2.0]))
    >>> clock.due(0.5), clock.due(1.5)
    (array([], dtype=int64), array([0, 2]))
    """

    def __init__(self, crawl_rate: Floats, rng: np.random.Generator, *, now: float = 0.0) -> None:
        self._rng = rng
        self._times = _Times(crawl_rate.size, now)
        self.visited(np.arange(crawl_rate.size), now, crawl_rate)

    def due(self, now: float) -> Ints:
        """Return the pages that are due, in ascending order."""
        return self._times.due(now)

    def visited(self, page: Ints, now: float, crawl_rate: Floats) -> None:
        """Start a new gap for pages visited now, each at its own crawl rate."""
        drawn = self._rng.standard_exponential(page.size)
        self._times.begin(page, now, drawn * _mean_gap(crawl_rate))


@final
class RegularClock:
    """Visits at regular times; first visits are spread over each page's gap.

    Args:
        crawl_rate: Visits per day, one element per page; at 0 a page is never due.
        now: When the first gaps begin, in days.

    >>> clock = RegularClock(np.array([2.0, 0.0, 1.0]))
    >>> clock.due(0.5)
    array([0])
    >>> clock.visited(np.array([0]), 0.5, np.array([2.0]))
    >>> clock.due(0.5), clock.due(1.0)
    (array([], dtype=int64), array([0, 2]))
    """

    def __init__(self, crawl_rate: Floats, *, now: float = 0.0) -> None:
        page = np.arange(crawl_rate.size)
        self._times = _Times(page.size, now)
        self._times.begin(page, now, ((page + 1) * GOLDEN) % 1.0 * _mean_gap(crawl_rate))

    def due(self, now: float) -> Ints:
        """Return the pages that are due, in ascending order."""
        return self._times.due(now)

    def visited(self, page: Ints, now: float, crawl_rate: Floats) -> None:
        """Start a new gap for pages visited now, each at its own crawl rate."""
        self._times.begin(page, now, _mean_gap(crawl_rate))


class _Times:
    """When each page is due, and when it was last visited."""

    def __init__(self, pages: int, now: float) -> None:
        self._due = np.full(pages, now)
        self._last = np.full(pages, now)

    def due(self, now: float) -> Ints:
        return np.flatnonzero(self._due <= now)

    def begin(self, page: Ints, now: float, gap: Floats) -> None:
        from_ = np.minimum(np.maximum(self._due[page], self._last[page]), now)
        self._due[page] = from_ + gap
        self._last[page] = now


def _mean_gap(crawl_rate: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return 1.0 / crawl_rate
