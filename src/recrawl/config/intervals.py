"""Apply the minimum and maximum interval between two visits to a page, as set."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from recrawl.config.settings import Settings
from recrawl.kernels.jit import Floats, Ints
from recrawl.store.sqlite import SqliteStore

#: The store's name for the limits of the present or the last run, in days.
OF_RUN = "intervals"
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
        """Return the limits for some of the pages."""
        low, high = (
            limit[rows] if isinstance(limit, np.ndarray) else limit
            for limit in (self.low, self.high)
        )
        return Intervals(low, high)


#: Returns the limits for the pages of a store with these numbers.
IntervalsOf = Callable[[SqliteStore, Ints], Intervals]


def unlimited(_store: SqliteStore, _numbers: Ints) -> Intervals:
    """Return no limits."""
    return Intervals()


def stored_intervals(settings: Settings, store: SqliteStore, numbers: Ints) -> Intervals:
    """Return the limits for stored pages; URLs are read only if sites have their own limits."""
    if not _by_site(settings):
        return Intervals.of(settings, ())
    urls = {text.number: text.url for text in store.page_texts(numbers)}
    # A page that was removed in the meantime gets the general limits; it is not visited anyway.
    return Intervals.of(settings, [urls.get(number, "") for number in numbers.tolist()])


def with_intervals_of_run(settings: Settings, store: SqliteStore, *, is_now: bool) -> Settings:
    """Return settings with the limits of the present run, which may have options of its own.

    Args:
        settings: The settings; those of sites stay.
        store: Where the run says what it goes by.
        is_now: Whether a run is going on.
    """
    found = store.meta(OF_RUN) if is_now else None
    if found is None:
        return settings
    low, high = map(float, found.split())
    return replace(settings, min_interval=low, max_interval=high)


def _by_site(settings: Settings) -> bool:
    return settings.sites.sets("min_interval", "max_interval")
