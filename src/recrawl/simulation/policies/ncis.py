"""Policies that use signals, with a number or a Gamma belief for each page's change rate."""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np

from recrawl.estimation.gamma import after_visit, forget
from recrawl.estimation.signals import (
    PRECISION,
    PRIOR_SIGNALS,
    chance_fresh,
    precision,
    right_signals,
)
from recrawl.kernels.jit import Bools, Floats, Ints, compiled
from recrawl.scheduling.value import value_of_belief, value_of_rate
from recrawl.simulation.policies.ranked import largest
from recrawl.simulation.policy import PageSet, Run

#: A change rate without a signal is at least this, and a signal wrong at least so often.
TINY = 1e-9
#: Terms of the index; each further signal before the next visit adds one.
MAX_TERMS = 60
#: Poisson variables of a larger mean are above any number of terms.
LARGE_MEAN = 700.0
#: A learned signal rate starts from half a signal in the mean time between visits.
HALF = 0.5
HALF_LIFE = 365.0
MIN_KEEP = 1e-12


@final
@dataclass(frozen=True)
class Ncis:
    """GREEDY-NCIS of Busa-Fekete et al. (WWW 2025), given all true rates.

    Where pages change and are signalled as Poisson processes, nothing known does better.
    """

    name: ClassVar[str] = "ncis"
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = True

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start with all pages just visited."""
        del budget, tick, seed
        return _Known(pages)


class _Known:
    """Ranks pages by the index at the true rates."""

    def __init__(self, pages: PageSet) -> None:
        none = np.zeros(pages.count)
        right, recall = pages.true_signals or (none, none)
        signalled = recall * pages.true_rate
        self._importance, self._precision = pages.importance, right
        self._alpha = np.maximum(pages.true_rate - signalled, TINY)
        self._per_day = np.divide(signalled, right, out=np.zeros(pages.count), where=right > 0)
        self._last, self._signals = np.zeros(pages.count), np.zeros(pages.count)

    def signal(self, page: Ints, now: float, kind: str) -> None:
        """Count signals."""
        del now, kind
        np.add.at(self._signals, page, 1.0)

    def take(self, now: float, limit: int) -> Ints:
        """Return the most valuable pages."""
        if limit <= 0:
            return np.empty(0, np.int64)
        value = _ncis_values(
            self._alpha, self._per_day, self._precision, now - self._last, self._signals
        )
        return largest(self._importance * value, limit)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        """Start new gaps."""
        del changed
        self._last[page] = now
        self._signals[page] = 0.0


@compiled
def _ncis_values(
    alpha: Floats, per_day: Floats, share: Floats, elapsed: Floats, signals: Floats
) -> Floats:
    value = np.empty(alpha.size)
    for page in range(alpha.size):
        value[page] = ncis_value(
            alpha[page], per_day[page], share[page], elapsed[page], signals[page]
        )
    return value


@compiled
def ncis_value(alpha: float, per_day: float, share: float, elapsed: float, signals: float) -> float:
    """Return the index of GREEDY-NCIS in days.

    Args:
        alpha: Changes per day without a signal.
        per_day: Signals per day.
        share: The precision of signals.
        elapsed: Days since the last visit.
        signals: Their number since then.

    >>> round(ncis_value(0.1, 0.2, 0.5, 5.0, 1.0), 4)
    1.9541
    """
    if per_day <= 0.0:
        return value_of_rate(alpha, elapsed)
    step = -math.log(max(1.0 - share, TINY))
    depth = alpha * elapsed + step * signals
    change, wrong = alpha + per_day, per_day * (1.0 - share)
    length = fresh = 0.0
    factor = 1.0
    for term in range(MAX_TERMS):
        left = depth - step * term
        if left < 0.0:
            break
        length += _above(term, per_day * left / alpha)
        fresh += factor * _above(term, change * left / alpha)
        factor *= wrong / change
    return fresh / change - math.exp(-depth) * length / per_day


@compiled
def _above(number: int, mean: float) -> float:
    """Return the chance that a Poisson variable is above a number."""
    if mean > LARGE_MEAN:
        return 1.0
    chance = math.exp(-mean)
    total = chance
    for k in range(1, number + 1):
        chance *= mean / k
        total += chance
    return max(1.0 - total, 0.0)


class Columns(NamedTuple):
    """What is learned about pages and hosts.

    Attributes:
        host: Each page's host.
        shape: The shape of each page's Gamma belief about changes without a signal.
        time: The time of that belief.
        last: The last visit.
        signals: The number of signals since.
        counted: The number of all signals.
        keep: What signals have left of the chance of being fresh.
        right: Signals of each host that were right.
        seen: Signals of each host.
    """

    host: Ints
    shape: Floats
    time: Floats
    last: Floats
    signals: Floats
    counted: Floats
    keep: Floats
    right: Floats
    seen: Floats


@final
@dataclass(frozen=True)
class NcisLearned:
    """GREEDY-NCIS with estimates in place of the true rates.

    Changes without a signal are learned by the Gamma filter, precision per host, and signals are
    counted. The index gets the means.
    """

    name: ClassVar[str] = "ncis-learned"
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start from one change in the mean time between visits."""
        del tick, seed
        return _Learning(pages, pages.count / budget, by_index=True)


@final
@dataclass(frozen=True)
class SignalsKeep:
    """The freshness index at the effective time that a host's first signal leads to.

    A signal multiplies the chance of being fresh by the share of the host's signals that were
    wrong, and a visit is worth as much as after the time in which the chance would fall as far
    without it. Further signals before the next visit do not count.
    """

    name: ClassVar[str] = "signals-keep"
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start from one change in the mean time between visits."""
        del tick, seed
        return _Learning(pages, pages.count / budget, by_index=False)


class _Learning:
    """Learns rates and precisions, and ranks pages by them."""

    def __init__(self, pages: PageSet, gap: float, *, by_index: bool) -> None:
        hosts = int(pages.host.max()) + 1
        self._importance, self._gap, self._by_index = pages.importance, gap, by_index
        right = PRIOR_SIGNALS * PRECISION["sitemap"]
        count = pages.count
        self._columns = Columns(
            np.array(pages.host), np.ones(count), np.full(count, gap), np.zeros(count),
            np.zeros(count), np.zeros(count), np.ones(count), np.full(hosts, right),
            np.full(hosts, PRIOR_SIGNALS),
        )  # fmt: skip

    def signal(self, page: Ints, now: float, kind: str) -> None:
        """Count signals, and apply the first of them."""
        del now, kind
        columns = self._columns
        first = page[columns.signals[page] == 0.0]
        if not self._by_index:
            host = columns.host[first]
            columns.keep[first] = 1.0 - columns.right[host] / columns.seen[host]
        np.add.at(columns.signals, page, 1.0)
        np.add.at(columns.counted, page, 1.0)

    def take(self, now: float, limit: int) -> Ints:
        """Return the most valuable pages."""
        if limit <= 0:
            return np.empty(0, np.int64)
        value = (
            _learned_values(self._columns, now, self._gap)
            if self._by_index
            else _kept_values(self._columns, now)
        )
        return largest(self._importance * value, limit)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        """Learn, and start new gaps."""
        _report(self._columns, page, now, changed, self._gap, self._by_index)


@compiled
def _learned_values(columns: Columns, now: float, gap: float) -> Floats:
    value = np.empty(columns.last.size)
    for page in range(value.size):
        host, per_day = columns.host[page], 0.0
        if columns.counted[page] > 0.0:
            per_day = (columns.counted[page] + HALF) / (now + gap)
        value[page] = ncis_value(
            columns.shape[page] / columns.time[page],
            per_day,
            precision(columns.right[host], columns.seen[host]),
            now - columns.last[page],
            columns.signals[page],
        )
    return value


@compiled
def _kept_values(columns: Columns, now: float) -> Floats:
    value = np.empty(columns.last.size)
    for page in range(value.size):
        shape, time = columns.shape[page], columns.time[page]
        later = math.exp(min(-math.log(max(columns.keep[page], MIN_KEEP)) / shape, 60.0))
        elapsed = (time + now - columns.last[page]) * later - time
        value[page] = value_of_belief(shape, time, elapsed)
    return value


@compiled
def _report(
    columns: Columns,
    page: Ints,
    now: float,
    changed: Bools,
    gap: float,
    by_index: bool,  # noqa: FBT001
) -> None:
    for row in range(page.size):
        i = page[row]
        host, signals, elapsed = columns.host[i], columns.signals[i], now - columns.last[i]
        share = precision(columns.right[host], columns.seen[host])
        same = (columns.time[i] / (columns.time[i] + elapsed)) ** columns.shape[i]
        keep = chance_fresh(1.0, share, signals) if by_index else columns.keep[i]
        if signals > 0.0:
            number = signals if by_index else 1.0
            columns.seen[host] += number
            if changed[row]:
                chance = 1.0 - same * keep
                found = right_signals(share, signals, chance) if by_index else 1.0
                columns.right[host] += found
        shape, time = forget(columns.shape[i], columns.time[i], 1.0, gap, elapsed, HALF_LIFE)
        columns.shape[i], columns.time[i] = after_visit(
            shape, time, elapsed, changed[row], math.nan, elapsed, max(keep, MIN_KEEP)
        )
        columns.last[i], columns.signals[i], columns.keep[i] = now, 0.0, 1.0
