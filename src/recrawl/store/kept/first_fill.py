"""Account for first visits that are made outside the budget."""

from collections import Counter
from typing import Protocol, final

#: First visits outside the budget in 24 hours, as a multiple of the requests that the budget pays
#: for in that time.
FILL_LIMIT = 10
#: The key of the hourly counts in the store.
FILLED = "first_fill"
#: Microseconds of an hour, and the hours for which counts are kept.
HOUR, HOURS = 3_600_000_000, 24


class Noting(Protocol):
    """Keeps small values; a store does."""

    def meta(self, key: str) -> str | None:
        """Return a small value."""


@final
class FirstFill:
    """Counts requests outside the budget, by the hour, for limits and for those who read status.

    Args:
        noted: The counts of earlier runs, as `text` returned them.

    >>> fill = FirstFill("1:5 2:7")
    >>> fill.count(2 * HOUR, 1)
    >>> fill.text, fill.last_day(2 * HOUR), fill.last_day(25 * HOUR)
    ('1:5 2:8', 13, 8)
    """

    def __init__(self, noted: str | None = None) -> None:
        pairs = (pair.split(":") for pair in (noted or "").split())
        self._hours = Counter({int(hour): int(requests) for hour, requests in pairs})
        self.total = 0

    @classmethod
    def of(cls, store: Noting) -> "FirstFill":
        """Return what a store knows."""
        return cls(store.meta(FILLED))

    def count(self, at: int, requests: int) -> None:
        """Count requests at a time in microseconds."""
        self.total += requests
        self._hours[at // HOUR] += requests
        for hour in [hour for hour in self._hours if hour <= at // HOUR - HOURS]:
            del self._hours[hour]

    def last_day(self, now: int) -> int:
        """Return the requests of the last 24 hours, in whole hours."""
        return sum(requests for hour, requests in self._hours.items() if hour > now // HOUR - HOURS)

    @property
    def text(self) -> str:
        """The counts as text."""
        return " ".join(f"{hour}:{requests}" for hour, requests in sorted(self._hours.items()))
