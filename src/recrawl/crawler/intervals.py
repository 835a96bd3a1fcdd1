"""Apply the minimum and maximum interval between two visits to a page, as set."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from recrawl.crawler.settings import Settings
from recrawl.kernels.jit import Floats, Ints
from recrawl.store.sqlite import SqliteStore

#: A visit further away than this many days is never made: no calendar has a date for it.
NEVER = 2_500_000.0


@final
@dataclass(frozen=True)
class Intervals:
    """The minimum and maximum days between two visits: the same for all pages, or per page.

    Attributes:
        low: The minimum.
        high: The maximum; infinity for none.
    """

    low: Floats | float = 0.0
    high: Floats | float = math.inf

    @classmethod
    def of(cls, settings: Settings, urls: Sequence[str]) -> "Intervals":
        """Return the limits for the pages with these URLs."""
        if not _by_site(settings):
            return cls(settings.min_interval, settings.max_interval or math.inf)
        limits = np.array([settings.site_of(url).limits for url in urls]).reshape(-1, 2)
        return cls(limits[:, 0], limits[:, 1])

    def applied(self, after: Floats | float, importance: Floats | float) -> Floats:
        """Return how many days after the last visit the next one comes; infinity for never.

        Args:
            after: When it would come without limits.
            importance: A page without importance is not visited, and has no limits.

        >>> Intervals(1.0, 30.0).applied(np.array([0.1, 7.0, np.inf]), 1.0)
        array([ 1.,  7., 30.])
        """
        limited: Floats = np.clip(after, self.low, self.high)
        days = np.where(np.greater(importance, 0.0), limited, after)
        return np.where(days > NEVER, math.inf, days)

    def at(self, rows: Ints) -> "Intervals":
        """Return the limits of some of the pages."""
        if isinstance(self.low, np.ndarray) and isinstance(self.high, np.ndarray):
            return Intervals(self.low[rows], self.high[rows])
        return self


#: Returns the limits for the pages of a store with these numbers.
IntervalsOf = Callable[[SqliteStore, Ints], Intervals]


def unlimited(_store: SqliteStore, _numbers: Ints) -> Intervals:
    """Return no limits."""
    return Intervals()


def stored_intervals(settings: Settings, store: SqliteStore, numbers: Ints) -> Intervals:
    """Return the limits for stored pages; URLs are read only if sites have their own limits."""
    if not _by_site(settings):
        return Intervals.of(settings, ())
    urls = {number: url for number, url, _ in store.page_texts(numbers)}
    # A page that was removed in the meantime gets the general limits; it is not visited anyway.
    return Intervals.of(settings, [urls.get(number, "") for number in numbers.tolist()])


def _by_site(settings: Settings) -> bool:
    return settings.sites.sets("min_interval", "max_interval")
