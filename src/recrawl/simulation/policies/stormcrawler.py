"""StormCrawler's AdaptiveScheduler, with its own settings and with those of Common Crawl's news."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from recrawl.kernels.jit import Bools, Ints
from recrawl.simulation.policy import Pages, Run

MINUTES_A_DAY = 1440.0


@final
@dataclass(frozen=True)
class StormCrawler:
    """The interval grows while a page does not change, and moves towards the least when it does.

    ``AdaptiveScheduler.schedule`` of Apache StormCrawler: after a visit that found a change the
    interval is (1 − ``decrease``) · interval + ``decrease`` · ``least``, else it is multiplied by
    1 + ``increase``, up to ``most``. Intervals are whole minutes, rounded down.

    Unless told otherwise the settings are those of its source. It keeps no budget: all pages that
    are due are visited.
    """

    name: str = "stormcrawler"
    increase: float = 0.5
    decrease: float = 0.5
    first: float = 1440.0
    least: float = 60.0
    most: float = 20_160.0
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = False

    @classmethod
    def news(cls) -> "StormCrawler":
        """Give the settings of ``commoncrawl/news-crawl``, for feeds: half a day at first."""
        return cls("news", increase=0.5, decrease=0.2, first=720.0, least=90.0, most=129_600.0)

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin with the first interval for every page."""
        del budget, tick, seed
        return _Schedule(self, pages.count)


class _Schedule:
    def __init__(self, rule: StormCrawler, pages: int) -> None:
        self._rule = rule
        self._minutes = np.full(pages, rule.first)
        self._due = self._minutes / MINUTES_A_DAY

    def take(self, now: float, limit: int) -> Ints:
        del limit
        return np.flatnonzero(self._due <= now)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        rule, minutes = self._rule, self._minutes[page]
        shorter = (1.0 - rule.decrease) * minutes + rule.decrease * rule.least
        longer = np.minimum((1.0 + rule.increase) * minutes, rule.most)
        self._minutes[page] = np.floor(np.where(changed, shorter, longer))
        self._due[page] = now + self._minutes[page] / MINUTES_A_DAY
