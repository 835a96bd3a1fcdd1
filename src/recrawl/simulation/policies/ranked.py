"""Policies that visit pages in turn, or rank all pages at every tick and visit the first ones."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from recrawl.kernels.jit import Bools, Floats, Ints, compiled, read_only
from recrawl.scheduling.value import value_of_rate
from recrawl.simulation.policies.learning import MIN_RATE_SHARE, Learner, MakeLearner, gamma_learner
from recrawl.simulation.policy import PageSet, Run

#: Maps change rates and times since the last visits to how urgent each page is.
Urgency = Callable[[Floats, Floats], Floats]


@final
@dataclass(frozen=True)
class Uniform:
    """Visit all pages in turn, each of them every pages / budget days.

    This is what a fixed interval amounts to, the rule of most crawlers, with visits spread evenly.
    """

    name: ClassVar[str] = "uniform"
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start with the first page."""
        del budget, tick, seed
        return _RoundRobin(pages.count)


class _RoundRobin:
    def __init__(self, pages: int) -> None:
        self._pages = pages
        self._next = 0

    def take(self, now: float, limit: int) -> Ints:
        del now
        page = (self._next + np.arange(min(limit, self._pages))) % self._pages
        self._next = (self._next + page.size) % self._pages
        return page

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        pass


@final
@dataclass(frozen=True)
class Proportional:
    """Visit pages regularly, in proportion to how often they change.

    The intuitive policy that Cho and Garcia-Molina (2003) proved worse than uniform. Change rates
    are the Gamma filter's, refitted daily. Pages with the largest rate · time since the last visit
    come first, which at a steady budget means regular visits at rates in that proportion.
    """

    name: ClassVar[str] = "proportional"
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start with equal rates."""
        del tick, seed
        learner = gamma_learner(pages.count, pages.count / budget)
        return Ranked(np.multiply, learner.rate(), learner)


@final
@dataclass(frozen=True)
class Age:
    """Visit the pages with the largest importance · time since the last visit.

    A common home-made score. At a steady budget it visits pages regularly, in proportion to their
    importance, however often they change.
    """

    name: ClassVar[str] = "age"
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start with the most important pages."""
        del budget, tick, seed

        def score(_: Floats, elapsed: Floats) -> Floats:
            return pages.importance * elapsed

        return Ranked(score, pages.importance)


@final
@dataclass(frozen=True)
class IndexKnown:
    """Visit the pages where a visit is worth most, given the true mean change rates.

    The value of a visit t days after the last one is (w/Δ)[1 − e^(−Δt)(1 + Δt)]. Where pages change
    as Poisson processes no policy does better in the long run.

    Attributes:
        name: Its name in tables.
        least_changes: Pages are assumed to change at least this often while the policy runs. With
            0, pages that will not change are never visited, which takes knowledge of the future.
    """

    name: str = "index-known"
    least_changes: float = 0.0
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = True

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start with all pages just visited."""
        del budget, tick, seed
        least = self.least_changes / pages.days
        return Ranked(_value_of(pages.importance, least), pages.true_rate)


@final
@dataclass(frozen=True)
class PointIndex:
    """Visit the pages where a visit is worth most, with estimates in place of the true rates.

    Estimates are refitted daily and raised to at least 2 % of the mean crawl rate: a page estimated
    never to change would never be visited again.
    """

    name: str
    learner: MakeLearner
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start with the lowest change rate for every page."""
        del tick, seed
        learner = self.learner(pages.count, pages.count / budget)
        value = _value_of(pages.importance, MIN_RATE_SHARE * budget / pages.count)
        return Ranked(value, np.zeros(pages.count), learner)


@final
class Ranked:
    """Visits the most urgent pages, as many as the budget allows.

    Args:
        urgency: How urgent each page is.
        change_rate: The initial change rates, kept for good if there is no learner.
        learner: Provides new change rates every day.
    """

    def __init__(
        self, urgency: Urgency, change_rate: Floats, learner: Learner | None = None
    ) -> None:
        self._urgency = urgency
        self._rate = change_rate
        self._learner = learner
        self._last = np.zeros(change_rate.size)
        self._next_fit = 1.0

    def take(self, now: float, limit: int) -> Ints:
        """Rank the pages and return the first ones."""
        if self._learner is not None and now >= self._next_fit:
            self._rate = self._learner.rate()
            self._next_fit = math.floor(now) + 1.0
        if limit <= 0:
            return np.empty(0, np.int64)
        return largest(self._urgency(self._rate, now - self._last), limit)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        """Learn, and start new gaps."""
        if self._learner is not None:
            no_rate = np.full(page.size, np.nan)
            self._learner.observe(page, now - self._last[page], changed, no_rate)
        self._last[page] = now


def largest(value: Floats, count: int) -> Ints:
    """Return the pages with the largest values in page order; ties go to the lower number.

    >>> largest(np.array([1.0, 3.0, 2.0, 2.0, 2.0]), 3)
    array([1, 2, 3])
    """
    if count >= value.size:
        return np.arange(value.size)
    if count <= 0:
        return np.empty(0, np.int64)
    edge = np.partition(value, value.size - count)[value.size - count]
    chosen = value > edge
    chosen[np.flatnonzero(value == edge)[: count - np.count_nonzero(chosen)]] = True
    return np.flatnonzero(chosen)


def _value_of(importance: Floats, min_rate: float) -> Urgency:
    def value(change_rate: Floats, elapsed: Floats) -> Floats:
        return _values(importance, read_only(change_rate), min_rate, elapsed)

    return value


@compiled
def _values(importance: Floats, change_rate: Floats, min_rate: float, elapsed: Floats) -> Floats:
    value = np.empty(elapsed.size)
    for page in range(elapsed.size):
        rate = max(change_rate[page], min_rate)
        value[page] = importance[page] * value_of_rate(rate, elapsed[page])
    return value
