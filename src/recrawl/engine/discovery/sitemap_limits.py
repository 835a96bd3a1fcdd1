"""Limits on requests for sitemaps and feeds, and when to read them. Pure: no I/O."""

from collections import deque
from collections.abc import Iterable
from typing import final

from recrawl.records import MICROSECONDS_A_DAY
from recrawl.store.rows import SitemapFile

#: Bytes of a sitemap that are read; the protocol allows 50 MB.
MAX_BYTES = 50_000_000
#: Bytes per day for all sitemaps of one host, and for all of one index.
MAX_BYTES_A_DAY = 1_000_000_000
#: Indexes in a chain. The protocol allows one; some sites have indexes of indexes.
MAX_DEPTH = 3
#: Sitemaps that one index, or one host, may add.
MAX_SITEMAPS = 1_000
#: Other hosts in a sitemap whose robots.txt is checked for its name.
MAX_OTHER_HOSTS = 10
#: Microseconds before a sitemap that cannot be read is retried; they double with each failure.
FIRST_RETRY = 120_000_000
MAX_DOUBLINGS = 20
#: Microseconds before a postponed request for a sitemap is retried.
POSTPONED = 5_000_000


def next_read(now: int, interval: int, failures: int, retry_after: float | None = None) -> int:
    """Return when to read a sitemap next, in microseconds.

    Args:
        now: When it was read, or could not be.
        interval: Microseconds between two reads.
        failures: How many of the latest attempts failed in a row.
        retry_after: Seconds that the server asked to wait.

    >>> [next_read(0, 10**9, failures) // 10**6 for failures in range(5)]
    [1000, 120, 240, 480, 960]
    """
    if failures == 0:
        return now + interval
    wait = min(FIRST_RETRY << min(failures - 1, MAX_DOUBLINGS), interval)
    return now + max(wait, round((retry_after or 0.0) * 1e6))


@final
class DailyLimit:
    """A limit on what is spent in any 24 hours.

    Args:
        limit: The most that may be spent.
        spent: What was spent before: times in microseconds and amounts, in order.

    >>> limit = DailyLimit(3)
    >>> limit.spend(0, 2)
    >>> limit.left(1), limit.left(MICROSECONDS_A_DAY)
    (1, 3)
    """

    def __init__(self, limit: float, spent: Iterable[tuple[int, int]] = ()) -> None:
        self._limit = limit
        self._spent = deque(spent)
        self._total = sum(amount for _, amount in self._spent)

    def spend(self, now: int, amount: int) -> None:
        """Note that something was spent."""
        if amount:
            self._spent.append((now, amount))
            self._total += amount

    def left(self, now: int) -> float:
        """Return how much may still be spent; negative if too much was."""
        while self._spent and self._spent[0][0] <= now - MICROSECONDS_A_DAY:
            self._total -= self._spent.popleft()[1]
        return self._limit - self._total


@final
class SitemapLimits:
    """Limits on requests and bytes for sitemaps, per day.

    Args:
        requests: Requests per day.
        spent: Requests that earlier runs made in the last 24 hours: times and numbers.
    """

    def __init__(self, requests: float, spent: Iterable[tuple[int, int]] = ()) -> None:
        self._requests = DailyLimit(requests, spent)
        self._bytes: dict[str, DailyLimit] = {}

    def may_request(self, now: int) -> bool:
        """Whether another request is within the budget."""
        return self._requests.left(now) >= 1.0

    def max_bytes(self, sitemap: SitemapFile, now: int) -> int:
        """Return how much of a sitemap may be read; 0 for nothing."""
        left = min(self._of(key).left(now) for key in _keys(sitemap))
        return max(min(round(left), MAX_BYTES), 0)

    def spend(self, sitemap: SitemapFile, now: int, requests: int, size: int) -> None:
        """Note what reading a sitemap cost."""
        self._requests.spend(now, requests)
        for key in _keys(sitemap):
            self._of(key).spend(now, size)

    def _of(self, key: str) -> DailyLimit:
        return self._bytes.setdefault(key, DailyLimit(MAX_BYTES_A_DAY))


def _keys(sitemap: SitemapFile) -> set[str]:
    """Return what the bytes of a sitemap count against: its host, and its index."""
    return {sitemap.host, sitemap.root or sitemap.url}
