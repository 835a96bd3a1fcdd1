"""Gauges in the stats of a crawl: pages, price, expected freshness, hosts in backoff."""

import time
from collections.abc import Callable
from typing import final

from recrawl.engine.cost_share import CostShare
from recrawl.engine.frontier import CrawlFrontier, days
from recrawl.engine.lag import KeepingUp
from recrawl.engine.stats import Stats
from recrawl.records import MICROSECONDS_A_DAY

#: The share of the time that summing the expected freshness over all pages may take.
MAX_FRESHNESS_SHARE = 0.01


@final
class Gauges:
    """Refreshes the gauges of the stats; counters are always current.

    Args:
        stats: What is refreshed.
        frontier: The frontier of the crawl.
        seconds: Returns the real time in seconds.
    """

    def __init__(
        self, stats: Stats, frontier: CrawlFrontier, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._stats = stats
        self._crawl = frontier
        self._frontier = frontier.frontier
        self._seconds = seconds
        self._cost = CostShare(MAX_FRESHNESS_SHARE)

    def refresh(self, now: int, *, is_last: bool) -> None:
        """Refresh the gauges.

        Args:
            now: The present, in microseconds.
            is_last: Compute the expected freshness and what is due, whatever that costs.
        """
        stats, frontier = self._stats, self._frontier
        stats.now = now
        if is_last:
            up = KeepingUp.of(self._crawl, now)
            stats.expected_freshness, stats.waiting, stats.held = (
                up.expected_freshness,
                up.waiting,
                up.held,
            )
        elif self._cost.is_due(self._seconds()):
            self._refresh_freshness()
        stats.price = frontier.price
        # The frontier's time keeps advancing when the clock is set back.
        ahead = max(frontier.now - days(now), 0.0)
        stats.next_visit = round((frontier.affordable_at - ahead) * MICROSECONDS_A_DAY)
        stats.pages = len(frontier)
        stats.closed = {host: until for host, until in stats.closed.items() if until > now}

    def _refresh_freshness(self) -> None:
        """Compute the expected freshness; with millions of pages, not every time."""
        began = self._seconds()
        self._stats.expected_freshness = self._crawl.freshness.expected(days(self._stats.now))
        ended = self._seconds()
        self._cost.spend(ended, ended - began)
