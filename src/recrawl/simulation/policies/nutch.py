"""Apache Nutch's AdaptiveFetchSchedule."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from recrawl.kernels.jit import Bools, Ints
from recrawl.records import SECONDS_A_DAY
from recrawl.simulation.policy import Pages, Run


@final
@dataclass(frozen=True)
class Nutch:
    """The interval grows while a page does not change, and shrinks when it does.

    ``AdaptiveFetchSchedule.setFetchSchedule`` of Apache Nutch (master of July 2026), with the
    values of ``nutch-default.xml``. After a visit that found a change the interval is multiplied by
    1 − ``decrease``, else by 1 + ``increase``. Then ``sync_delta``: with the time since a change
    was last found, the interval is at least that time, and the next visit is moved forward by
    ``sync`` of it. Last, the interval is kept between ``least`` and ``most``.

    Where the move forward would be longer than ``most``, Nutch means to shorten it, but divides
    whole numbers and gets 0: the visit is not moved at all. That is modelled as it runs. What is
    not modelled: the Generator, which also fetches at once what is due later than
    ``db.fetch.interval.max``, and rounding to seconds.

    It keeps no budget: all pages that are due are visited.
    """

    increase: float = 0.4
    decrease: float = 0.2
    first: float = 30.0
    least: float = 60.0 / SECONDS_A_DAY
    most: float = 365.0
    sync: float = 0.3
    name: ClassVar[str] = "nutch"
    keeps_budget: ClassVar[bool] = False
    knows_rates: ClassVar[bool] = False

    def start(self, pages: Pages, budget: float, *, tick: float, seed: int) -> Run:
        """Begin with the default interval for every page."""
        del budget, tick, seed
        return _Schedule(self, pages.count)


class _Schedule:
    def __init__(self, rule: Nutch, pages: int) -> None:
        self._rule = rule
        self._interval = np.full(pages, rule.first)
        self._due = self._interval.copy()
        self._modified = np.zeros(pages)

    def take(self, now: float, limit: int) -> Ints:
        del limit
        return np.flatnonzero(self._due <= now)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        rule = self._rule
        self._modified[page[changed]] = now
        since = now - self._modified[page]
        grown = np.where(changed, 1.0 - rule.decrease, 1.0 + rule.increase) * self._interval[page]
        interval = np.clip(np.maximum(grown, since), rule.least, rule.most)
        forward = rule.sync * since
        forward[forward > rule.most] = 0.0
        self._interval[page] = interval
        self._due[page] = now + interval - forward
