"""The freshness index with signals, on weights for change rates an octave apart.

This is a plain version: all pages are valued at every tick. `recrawl.estimation.signals` has the
formulas.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np

from recrawl.estimation.signals import (
    MAX_STRENGTH,
    PRECISION,
    PRIOR_CHANGES,
    PRIOR_SIGNALS,
    chance_fresh,
    chance_same,
    faded,
    likely_weights,
    mix,
    next_odds,
    precision,
    right_signals,
    signal_rate,
    trust,
    unsignalled_changes,
    value_with_signals,
)
from recrawl.kernels.jit import Bools, Floats, Floats2D, Ints, compiled
from recrawl.simulation.policies.ranked import largest
from recrawl.simulation.policy import PageSet, Run

#: The number of rates; the lowest is this many octaves below one change between two visits.
OCTAVES, BELOW = 14, 9
#: Half of what visits say is forgotten in so many days.
HALF_LIFE = 1_000.0
#: The fleet's weights count as this many pages of a host, and flat ones as so many of the fleet.
FLEET_PAGES, FLAT_PAGES = 3.0, 5.0
#: Ticks between two updates of the fleet's weights.
REFIT = 20
#: The likely rate of a page is not below this share of the lowest rate.
LOWEST_LIKELY = 0.25
LEAST = 1e-12
#: Right signals of a host nobody has heard of.
PRIOR_RIGHT = PRIOR_SIGNALS * PRECISION["sitemap"]


@final
@dataclass(frozen=True)
class SignalsIndex:
    """Visit the pages whose visit is worth most, given what signals say of them.

    Attributes:
        name: Its name in tables.
        hears: Whether it uses signals.
    """

    name: str = "signals"
    hears: bool = True
    keeps_budget: ClassVar[bool] = True
    knows_rates: ClassVar[bool] = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
        """Start with all rates equally likely."""
        del tick, seed
        gap = pages.count / budget
        return _Hearing(pages, gap) if self.hears else _Deaf(pages, gap)


class Columns(NamedTuple):
    """What is learned about pages and hosts.

    Attributes:
        host: Each page's host.
        weight: Each page's weights of the rates of changes without a signal; they add up to 1.
        likelihood: What its visits alone say about these rates.
        last: Its last visit.
        signals: The number of signals since.
        counted: The number of all its signals.
        pages: The number of each host's pages.
        pool: The sum of their weights.
        fleet: The weights of the fleet.
        right: The number of each host's signals that were right.
        seen: The number of those that were followed by a visit.
        heard: The number of all its signals.
        alone: Changes found by visits without a signal.
        missed: Signals expected before these visits; alone / missed is θ.
        odds: The log-odds that θ helps.
    """

    host: Ints
    weight: Floats2D
    likelihood: Floats2D
    last: Floats
    signals: Floats
    counted: Floats
    pages: Floats
    pool: Floats2D
    fleet: Floats
    right: Floats
    seen: Floats
    heard: Floats
    alone: Floats
    missed: Floats
    odds: Floats


def _columns(pages: PageSet) -> Columns:
    count, hosts = pages.count, int(pages.host.max()) + 1
    members = np.bincount(pages.host, minlength=hosts).astype(np.float64)
    flat = np.full(OCTAVES, 1.0 / OCTAVES)
    return Columns(
        host=np.array(pages.host),
        weight=np.tile(flat, (count, 1)),
        likelihood=np.ones((count, OCTAVES)),
        last=np.zeros(count),
        signals=np.zeros(count),
        counted=np.zeros(count),
        pages=members,
        pool=np.outer(members, flat),
        fleet=flat.copy(),
        right=np.full(hosts, PRIOR_RIGHT),
        seen=np.full(hosts, PRIOR_SIGNALS),
        heard=np.zeros(hosts),
        alone=np.full(hosts, PRIOR_CHANGES),
        missed=np.full(hosts, PRIOR_CHANGES),
        odds=np.zeros(hosts),
    )


class _Deaf:
    """A run that hears no signals."""

    def __init__(self, pages: PageSet, gap: float) -> None:
        self._importance, self._gap = pages.importance, gap
        self._rate = 2.0**-BELOW / gap
        self._columns = _columns(pages)
        self._ticks = 0

    def take(self, now: float, limit: int) -> Ints:
        """Return the most valuable pages."""
        self._ticks += 1
        if self._ticks % REFIT == 0:
            weight = self._columns.weight
            mean = (weight.sum(0) + FLAT_PAGES / OCTAVES) / (len(weight) + FLAT_PAGES)
            self._columns.fleet[:] = 0.5 / OCTAVES + 0.5 * mean
        if limit <= 0:
            return np.empty(0, np.int64)
        value = _values(self._columns, self._rate, self._gap, now)
        return largest(self._importance * value, limit)

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        """Learn, and start new gaps."""
        _report(self._columns, self._rate, self._gap, page, now, changed)

    def chance(self, page: Ints, now: float) -> Floats:
        """Return the chances that pages have changed."""
        return 1.0 - _fresh(self._columns, self._rate, page, now)


class _Hearing(_Deaf):
    """A run that does."""

    def signal(self, page: Ints, now: float, kind: str) -> None:
        """Count signals."""
        del now, kind
        columns = self._columns
        np.add.at(columns.signals, page, 1.0)
        np.add.at(columns.counted, page, 1.0)
        np.add.at(columns.heard, columns.host[page], 1.0)


@compiled
def _signal_rate(columns: Columns, page: int, gap: float, now: float) -> float:
    host = columns.host[page]
    of_host = columns.heard[host] / (columns.pages[host] * now)
    return signal_rate(columns.counted[page], now, of_host, gap)


@compiled
def _chance(columns: Columns, rate: float, page: int, now: float) -> float:
    host = columns.host[page]
    same = chance_same(columns.weight[page], 1.0, rate, now - columns.last[page])
    share = precision(columns.right[host], columns.seen[host])
    return chance_fresh(same, share, columns.signals[page])


@compiled
def _fresh(columns: Columns, rate: float, page: Ints, now: float) -> Floats:
    chance = np.empty(page.size)
    for row in range(page.size):
        chance[row] = min(max(_chance(columns, rate, page[row], now), 0.0), 1.0)
    return chance


@compiled
def _values(columns: Columns, rate: float, gap: float, now: float) -> Floats:
    value = np.empty(columns.last.size)
    for page in range(value.size):
        host = columns.host[page]
        value[page] = value_with_signals(
            columns.weight[page],
            1.0,
            rate,
            _signal_rate(columns, page, gap, now),
            precision(columns.right[host], columns.seen[host]),
            _chance(columns, rate, page, now),
        )
    return value


@compiled
def _report(
    columns: Columns, rate: float, gap: float, page: Ints, now: float, changed: Bools
) -> None:
    for row in range(page.size):
        number, host = page[row], columns.host[page[row]]
        share = precision(columns.right[host], columns.seen[host])
        keep = chance_fresh(1.0, share, columns.signals[number])
        elapsed = now - columns.last[number]
        same = chance_same(columns.weight[number], 1.0, rate, elapsed)
        per_day = _signal_rate(columns, number, gap, now)
        if columns.signals[number] == 0.0:
            # After signals, a precision set too low would raise the rate, which lowers it further.
            _learn_rate(columns, rate, number, elapsed, per_day, changed[row])
        if columns.heard[host] > 0.0:
            _learn_signals(columns, number, share, same, keep, per_day * elapsed, changed[row])
        columns.last[number], columns.signals[number] = now, 0.0


@compiled
def _learn_rate(
    columns: Columns,
    rate: float,
    page: int,
    elapsed: float,
    per_day: float,
    changed: bool,  # noqa: FBT001
) -> None:
    """Learn a page's rate of changes without a signal, from a visit without one.

    Args:
        columns: What is learned.
        rate: The lowest rate.
        page: The page visited.
        elapsed: Days since its last visit.
        per_day: Its signals per day.
        changed: Whether it had changed.
    """
    host, likelihood, weight = columns.host[page], columns.likelihood[page], columns.weight[page]
    columns.pool[host] -= weight
    others = FLEET_PAGES + columns.pages[host] - 1.0
    usual = (FLEET_PAGES * columns.fleet + columns.pool[host]) / others
    likely = usual.copy()
    if columns.heard[host] > 0.0:
        expected = max(columns.alone[host] / columns.missed[host] * per_day, LOWEST_LIKELY * rate)
        strength = min(columns.counted[page] + 0.5, MAX_STRENGTH)
        likely_weights(rate, expected, strength, likely)
    before, before_likely = np.sum(usual * likelihood), np.sum(likely * likelihood)
    unchanged = math.exp(-rate * elapsed)
    for k in range(likelihood.size):
        likelihood[k] *= max(1.0 - unchanged if changed else unchanged, LEAST)
        unchanged *= unchanged
    after, after_likely = np.sum(usual * likelihood), np.sum(likely * likelihood)
    mix(usual, likely, trust(columns.odds[host]))
    columns.odds[host] = next_odds(columns.odds[host], after_likely / before_likely, after / before)
    kept = 2.0 ** (-elapsed / HALF_LIFE)
    likelihood[:] = kept * likelihood / np.sum(usual * likelihood) + (1.0 - kept)
    weight[:] = usual * likelihood / np.sum(usual * likelihood)
    columns.pool[host] += weight


@compiled
def _learn_signals(
    columns: Columns,
    page: int,
    share: float,
    same: float,
    keep: float,
    expected: float,
    changed: bool,  # noqa: FBT001
) -> None:
    """Learn how good a host's signals are, from a visit.

    Args:
        columns: What is learned.
        page: The page visited.
        share: The precision of its signals.
        same: The chance of no change without a signal.
        keep: What signals had left of its chance of being fresh.
        expected: The number of signals to expect in the time since the last visit.
        changed: Whether it had changed.
    """
    host, signals = columns.host[page], columns.signals[page]
    if signals == 0.0:
        columns.missed[host] += expected
        columns.alone[host] += unsignalled_changes(same) if changed else 0.0
        return
    columns.seen[host] += signals
    if changed:
        columns.right[host] += right_signals(share, signals, 1.0 - same * keep)
    columns.right[host] = faded(columns.right[host], PRIOR_RIGHT)
    columns.seen[host] = faded(columns.seen[host], PRIOR_SIGNALS)
