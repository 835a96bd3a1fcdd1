"""Rules that adapt a page's interval: Apache Nutch's and Apache StormCrawler's."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.records import SECONDS_A_DAY
from recrawl.simulation.policy import PageSet, Run

MINUTES_PER_DAY = SECONDS_A_DAY / 60.0
NO_PAGES = np.empty(0, np.int64)


@final
@dataclass(frozen=True)
class Nutch:
    """The interval grows while a page does not change, and shrinks when it does.

    ``AdaptiveFetchSchedule.setFetchSchedule`` of Apache Nutch (master of July 2026), with the
    values of ``nutch-default.xml``. After a visit that found a change the interval is multiplied by
    1 − ``decrease``, otherwise by 1 + ``increase``. Then ``sync_delta``: the interval is at least
    the time since a change was last found, and the next visit is moved forward by ``sync`` times
    that. Finally the interval is clipped to ``shortest`` and ``longest``.

    If the move forward would be longer than ``longest``, Nutch intends to shorten it, but an
    integer division yields 0, so the visit is not moved at all. This is modelled as it runs. Not
    modelled: the Generator, which also fetches pages due later than ``db.fetch.interval.max`` at
    once, and rounding to seconds.

    It keeps no budget: every page that is due is visited.
    """

    increase: float = 0.4
    decrease: float = 0.2
    first: float = 30.0
    shortest: float = 60.0 / SECONDS_A_DAY
    longest: float = 365.0
    sync: float = 0.3
    name: ClassVar[str] = "nutch"
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start with the default interval for every page."""
        del budget, tick, seed
        return _NutchRun(self, pages.count)


class _NutchRun:
    def __init__(self, rule: Nutch, pages: int) -> None:
        self._rule = rule
        self._interval = np.full(pages, rule.first)
        self._queue = _Queue(self._interval.copy())
        self._modified = np.zeros(pages)

    def take(self, now: float, limit: int) -> Ints:
        del limit
        return self._queue.take(now)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        if not page.size:
            return
        rule = self._rule
        self._modified[page[changed]] = now
        since = now - self._modified[page]
        grown = np.where(changed, 1.0 - rule.decrease, 1.0 + rule.increase) * self._interval[page]
        interval = np.clip(np.maximum(grown, since), rule.shortest, rule.longest)
        forward = rule.sync * since
        forward[forward > rule.longest] = 0.0
        self._interval[page] = interval
        self._queue.put(page, now + interval - forward)


@final
@dataclass(frozen=True)
class StormCrawler:
    """The interval grows while a page does not change, and moves to the shortest when it does.

    ``AdaptiveScheduler.schedule`` of Apache StormCrawler: after a visit that found a change the
    interval is (1 − ``decrease``) · interval + ``decrease`` · ``shortest``, otherwise it is
    multiplied by 1 + ``increase``, up to ``longest``. Intervals are whole minutes, rounded down.

    The default settings are those of its source. It keeps no budget: every page that is due is
    visited.
    """

    name: str = "stormcrawler"
    increase: float = 0.5
    decrease: float = 0.5
    first: float = 1440.0
    shortest: float = 60.0
    longest: float = 20_160.0
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = False

    @classmethod
    def news(cls) -> "StormCrawler":
        """Return the settings that ``commoncrawl/news-crawl`` uses for feeds: half a day first."""
        return cls(
            "news", increase=0.5, decrease=0.2, first=720.0, shortest=90.0, longest=129_600.0
        )

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start with the first interval for every page."""
        del budget, tick, seed
        return _StormCrawlerRun(self, pages.count)


class _StormCrawlerRun:
    def __init__(self, rule: StormCrawler, pages: int) -> None:
        self._rule = rule
        self._minutes = np.full(pages, rule.first)
        self._queue = _Queue(self._minutes / MINUTES_PER_DAY)

    def take(self, now: float, limit: int) -> Ints:
        del limit
        return self._queue.take(now)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        if not page.size:
            return
        rule, minutes = self._rule, self._minutes[page]
        shorter = (1.0 - rule.decrease) * minutes + rule.decrease * rule.shortest
        longer = np.minimum((1.0 + rule.increase) * minutes, rule.longest)
        self._minutes[page] = np.floor(np.where(changed, shorter, longer))
        self._queue.put(page, now + self._minutes[page] / MINUTES_PER_DAY)


class _Queue:
    """When each page is due. At most ticks no page is due, and these must cost next to nothing."""

    def __init__(self, due: Floats) -> None:
        self._due = due
        self._first = float(due.min(initial=np.inf))

    def take(self, now: float) -> Ints:
        """Return the pages that are due."""
        return np.flatnonzero(self._due <= now) if self._first <= now else NO_PAGES

    def put(self, page: Ints, due: Floats) -> None:
        """Set when pages are due next."""
        self._due[page] = due
        self._first = float(self._due.min())
