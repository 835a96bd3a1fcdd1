"""A plain reference frontier: it values every page each time, and its activity keeps every bin."""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.scheduling.frontier import Frontier
from recrawl.scheduling.state import Tables

#: The frontier's tuned constants, written out again so that a change of one does not go unnoticed.
HOST, SECTION, ONLY_SECTION = 2.0, 0.15, 0.25
MAX_ODDS, FIRST_ODDS = 10.0, 2.0
MIN_SPEED = 1e-3
CALIBRATION_VISITS, CALIBRATION_PRIOR = 65_536.0, 8.0
BINS_PER_GAP = 16


def tables_of(frontier: Frontier) -> Tables:
    """Return the tables inside a frontier, which no one but a test looks into."""
    return frontier._tables  # noqa: SLF001


def value(weight: Floats, rate: Floats, elapsed: Floats) -> Floats:
    """Return ∫₀ᵗ S(s) ds − t·S(t) for S(t) = Σ p e^(−rt), one element per page."""
    x = elapsed[:, None] * rate
    gain = np.where(x < 1e-4, x * x * (1 / 2 - x / 3), -np.expm1(-x) - x * np.exp(-x))
    total: Floats = (weight * gain / rate).sum(1)
    return total


def chance(weight: Floats, rate: Floats, elapsed: Floats) -> Floats:
    """Return the chance of a change within some days, one element per page."""
    total: Floats = (weight * -np.expm1(-elapsed[:, None] * rate)).sum(1)
    return total


def older(weight: Floats, rate: Floats, elapsed: Floats, keep: Floats) -> Floats:
    """Return the time after which only ``keep`` of the chance of no change would be left."""
    wanted = 1.0 - keep * (1.0 - chance(weight, rate, elapsed))
    low, high = elapsed, np.maximum(elapsed, 1.0) * 1e9
    for _ in range(200):
        middle = np.sqrt(np.maximum(low, 1e-12) * high)
        less = chance(weight, rate, middle) < wanted
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return np.where(keep < 1.0, low, elapsed)


class Beliefs:
    """Weights on rates an octave apart, with a prior from the others of section, host and fleet.

    Args:
        gap: The mean time between two visits.
        section: Each page's section.
        host: Each section's host.
        pooling: Whether the others say anything.
    """

    def __init__(self, gap: float, section: Ints, host: Sequence[int], *, pooling: bool) -> None:
        self.rate: Floats = np.array([2.0 ** (round(-math.log2(gap)) - 9 + k) for k in range(14)])
        self.section, self.pooling = section, pooling
        self.host = np.array(host)[section]
        self.likelihood = np.ones((section.size, 14))
        self.chances = np.full(4, 0.25) if pooling else np.array([1.0, 0.0, 0.0, 0.0])
        self.weight = np.tile(self.base(np.ones(14)), (section.size, 1))
        self.seen = np.zeros(section.size, np.bool_)

    @staticmethod
    def flat(likelihood: Floats) -> Floats:
        """Return equal weights for the rates that visits tell from the next; all from the 7th."""
        counts = np.ones(14)
        counts[:6] = (np.abs(np.diff(likelihood[:7])) + 1e-36) / (likelihood[:6] / 64 + 1e-36)
        flat: Floats = np.minimum(counts, 1.0) / np.minimum(counts, 1.0).sum()
        return flat

    def shapes(self, likelihood: Floats) -> Floats:
        """Return the flat shape, and those that peak at a change in 16 gaps, in 4, and in one."""
        octave = np.arange(14)
        peaked = [
            np.where(octave > peak, 4.0 ** (peak - octave), 2.0 ** (octave - peak))
            for peak in (5, 7, 9)
        ]
        return np.array([self.flat(likelihood), *(shape / shape.sum() for shape in peaked)])

    def base(self, likelihood: Floats) -> Floats:
        """Return the mixture of shapes."""
        base: Floats = self.chances @ self.shapes(likelihood)
        return base

    def learn_shape(self, before: Floats, after: Floats) -> None:
        """Learn how well each shape predicted a visit."""
        if self.pooling:
            shapes = self.shapes(before)
            likely = self.chances * (shapes @ after) / (shapes @ before)
            likely = np.maximum(likely / likely.sum(), 2.0**-12)
            self.chances = likely / likely.sum()

    def prior(self, likelihood: Floats, here: int) -> Floats:
        prior = base = self.base(likelihood)
        if not self.pooling:
            return prior
        others = self.seen & (np.arange(self.seen.size) != here)
        on_host = others & (self.host == self.host[here])
        alike = others & (self.section == self.section[here])
        pools = np.array([others, on_host, alike], float)
        # Sums of weights: a product is several times faster than picking rows.
        total, count = pools @ self.weight, pools.sum(1)
        for level, strength in enumerate((5.0, 5.0, 3.0)):
            learned = (strength * prior + total[level]) / (strength + count[level])
            prior = 0.5 * base + 0.5 * learned
        return prior

    def learn(self, here: int, chances: Floats, kept: float) -> None:
        likelihood = self.likelihood[here] * chances
        self.learn_shape(self.likelihood[here], likelihood)
        prior = self.prior(likelihood, here)
        likelihood = kept * likelihood / (prior @ likelihood) + 1.0 - kept
        self.likelihood[here], self.weight[here] = likelihood, prior * likelihood
        self.seen[here] = True


class Activity:
    """How fast time ran in each bin, by host and by section, as learned from visits.

    Args:
        host: Each section's host.
        width: Days per bin.
    """

    BINS = 64

    def __init__(self, host: Sequence[int], width: float) -> None:
        self.host, self.width = list(host), width
        self.found: dict[tuple[str, int, int], float] = defaultdict(float)
        self.expected: dict[tuple[str, int, int], float] = defaultdict(float)
        self.pending: list[tuple[tuple[str, int, int], float, float]] = []
        self.odds = dict.fromkeys(self.host, FIRST_ODDS)
        self.all_found = dict.fromkeys(self.host, CALIBRATION_PRIOR)
        self.all_expected = dict.fromkeys(self.host, CALIBRATION_PRIOR)

    def trust(self, section: int) -> float:
        return 1.0 / (1.0 + math.exp(-self.odds[self.host[section]]))

    def speed(self, section: int, number: int) -> float:
        of_host = ("host", self.host[section], number)
        of_section = ("section", section, number)
        around, prior = 1.0, ONLY_SECTION
        if self.host.count(self.host[section]) > 1:
            around = (HOST + self.found[of_host]) / (HOST + self.expected[of_host])
            prior = SECTION
        return (prior * around + self.found[of_section]) / (prior + self.expected[of_section])

    def parts(self, since: float, now: float) -> list[tuple[int, float]]:
        """Return the bins between two times that are remembered, and how many days lie in each."""
        newest = math.floor(now / self.width)
        oldest = max(math.floor(since / self.width), newest - self.BINS + 1)
        days = (
            (n, min(now, (n + 1) * self.width) - max(since, n * self.width))
            for n in range(oldest, newest + 1)
        )
        return [(n, max(overlap, 0.0)) for n, overlap in days]

    def shown(self, section: int, since: float, now: float) -> float:
        parts = self.parts(since, now)
        forgotten = now - since - sum(days for _, days in parts)
        return forgotten + sum(days * self.speed(section, n) for n, days in parts)

    def elapsed(self, section: int, since: float, now: float) -> float:
        plain = now - since
        if plain <= 0.0:
            return 0.0
        believed = plain + self.trust(section) * (self.shown(section, since, now) - plain)
        return max(believed, MIN_SPEED * plain)

    def bias(self, host: int, expected: float, changed: bool) -> float:
        """Return how many changes were found for each expected, before this visit is counted."""
        bias = self.all_found[host] / self.all_expected[host]
        found = bias * expected / (1.0 - math.exp(-bias * expected)) if changed else 0.0
        for total, new in ((self.all_found, found), (self.all_expected, expected)):
            total[host] += new - total[host] / CALIBRATION_VISITS
        return bias

    def learn(
        self,
        section: int,
        since: float,
        now: float,
        hazard_of: Callable[[float], float],
        changed: bool,
        dated: float,
    ) -> None:
        shown, host = self.shown(section, since, now), self.host[section]
        bias = self.bias(host, hazard_of(now - since), changed)
        hazard, plain = (bias * hazard_of(days) for days in (shown, now - since))
        gain = plain - hazard
        if changed:
            gain = math.log((1.0 - math.exp(-hazard)) / (1.0 - math.exp(-plain)))
        self.odds[host] = min(max(self.odds[host] + gain, -MAX_ODDS), MAX_ODDS)
        begin, share = since, 0.0
        additions: list[tuple[int, float, float]] = []
        if changed and not math.isnan(dated):
            begin = min(max(dated, since), now)
            number = math.floor(begin / self.width)
            if number > math.floor(now / self.width) - self.BINS:
                additions.append((number, 1.0, 0.0))
        elif changed:
            share = 1.0 / (1.0 - math.exp(-hazard))
        for number, days in self.parts(begin, now):
            mass = hazard / shown * days
            additions.append((number, mass * self.speed(section, number) * share, mass))
        for number, found, expected in additions:
            for key in (("host", host, number), ("section", section, number)):
                self.pending.append((key, found, expected))

    def settle(self) -> None:
        """Apply what the visits reported together have taught."""
        for key, found, expected in self.pending:
            self.found[key] += found
            self.expected[key] += expected
        self.pending.clear()


class PlainFrontier:
    """Values all pages at each take, and takes the most valuable.

    Args:
        budget: Visits per day.
        importance: One element per page.
        section: Each page's section; None for plain time everywhere.
        host: Each section's host.
        half_life: Days in which half of what was learned is forgotten.
        catch_up: Days for which budget that is not spent is kept.
        pooling: Whether priors come from other pages.
    """

    def __init__(
        self,
        budget: float,
        importance: Floats,
        *,
        section: Ints | None = None,
        host: Sequence[int] = (0,),
        half_life: float = math.inf,
        catch_up: float = 0.25,
        pooling: bool = True,
    ) -> None:
        pages = importance.size
        self.budget, self.importance, self.section, self.host = budget, importance, section, host
        self.half_life, self.catch_up = half_life, catch_up
        groups = np.zeros(pages, np.int64) if section is None else section
        self.beliefs = Beliefs(pages / budget, groups, host, pooling=pooling)
        self.last, self.keep = np.zeros(pages), np.ones(pages)
        self.out = np.zeros(pages, np.bool_)
        self.activity: Activity | None = None
        self.now = self.credit = 0.0

    def elapsed(self, now: float) -> Floats:
        if self.activity is None or self.section is None:
            return now - self.last
        return np.array(
            [
                self.activity.elapsed(int(section), float(last), now)
                for section, last in zip(self.section, self.last, strict=True)
            ]
        )

    def values(self, now: float) -> Floats:
        weight, rate = self.beliefs.weight, self.beliefs.rate
        seen = self.elapsed(now)
        if (self.keep < 1.0).any():
            seen = older(weight, rate, seen, self.keep)
        return self.importance * value(weight, rate, seen)

    def take(self, now: float, limit: int) -> Ints:
        max_credit = self.budget * self.catch_up + 1.0
        self.credit = min(self.credit + self.budget * (now - self.now), max_credit)
        self.now = now
        wanted = min(limit, int(self.credit + 1e-9))
        if wanted and self.activity is None and self.section is not None:
            self.activity = Activity(self.host, self.importance.size / self.budget / BINS_PER_GAP)
        values = np.where(self.out, 0.0, self.values(now)) if wanted else np.zeros(self.last.size)
        order = np.lexsort((np.arange(values.size), -values))[:wanted]
        taken = order[values[order] > 0.0]
        self.credit -= taken.size
        self.out[taken] = True
        return taken

    def evidence(self, page: Ints, keep: float) -> None:
        self.keep[page] *= keep

    def report(
        self, page: Iterable[int], now: float, changed: Iterable[bool], age: float = math.nan
    ) -> None:
        for here, found in zip(page, changed, strict=True):
            self._learn(here, now, bool(found), age)
            self.last[here], self.keep[here], self.out[here] = now, 1.0, False
        if self.activity is not None:
            self.activity.settle()

    def _learn(self, here: int, now: float, changed: bool, age: float) -> None:
        since = float(self.last[here])
        gap, rate = now - since, self.beliefs.rate
        section = 0 if self.section is None else int(self.section[here])
        elapsed = gap
        if self.activity is not None:
            elapsed = self.activity.elapsed(section, since, now)
        chances = np.exp(-rate * elapsed)
        if not math.isnan(age):
            changed = age < gap
            quiet = elapsed * min(age / gap, 1.0)
            chances = np.exp(-rate * quiet) * (rate / rate[-1] if changed else 1.0)
        elif changed:
            chances = 1.0 - self.keep[here] * chances
            chances = -np.expm1(-rate * elapsed) if self.keep[here] == 1.0 else chances
        weight = self.beliefs.weight[here].copy()
        if self.activity is not None:
            self.activity.learn(
                section, since, now, partial(hazard, weight, rate), changed, now - age
            )
        self.beliefs.learn(here, chances, 2.0 ** (-gap / self.half_life))


def hazard(weight: Floats, rate: Floats, days: float) -> float:
    """Return −ln of the chance of no change within some days."""
    changed = float(weight @ -np.expm1(-rate * days))
    return -math.log1p(-min(changed, 1.0 - 1e-15))


class Taker(Protocol):
    """What decides about visits."""

    def take(self, now: float, limit: int) -> Ints: ...

    def report(self, page: Ints, now: float, changed: Bools) -> None: ...


@dataclass(frozen=True)
class Story:
    """What came of a replay: the share of importance and time that was stale, and who was taken."""

    staleness: float
    picks: list[list[int]]
    times: list[float]


def replay(
    frontier: Taker, changes: list[Floats], importance: Floats, times: Iterable[float]
) -> Story:
    """Lead a frontier through what happens to pages; all copies are fresh at time 0."""
    times_of = [list(page) for page in changes]
    last, stale, picks, asked = [0.0] * importance.size, 0.0, [], list(times)

    def first_unseen(page: int) -> float:
        after = bisect_right(times_of[page], last[page])
        return times_of[page][after] if after < len(times_of[page]) else math.inf

    for now in asked:
        taken = frontier.take(now, 1_000_000)
        unseen = [first_unseen(page) for page in taken.tolist()]
        stale += sum(
            importance[page] * max(now - since, 0.0)
            for page, since in zip(taken.tolist(), unseen, strict=True)
        )
        frontier.report(taken, now, np.array(unseen) <= now)
        for page in taken.tolist():
            last[page] = now
        picks.append(taken.tolist())
    end = asked[-1]
    stale += sum(importance[page] * max(end - first_unseen(page), 0.0) for page in range(len(last)))
    return Story(float(stale / (importance.sum() * end)), picks, asked)


def poisson_changes(rng: np.random.Generator, rate: Floats, days: float) -> list[Floats]:
    """Draw when pages change, each at its own rate."""
    counts = rng.poisson(rate * days)
    return [np.sort(rng.uniform(0.0, days, count)) for count in counts]


def changes_together(
    rng: np.random.Generator, section: Ints, rate: float, share: float, days: float
) -> list[Floats]:
    """Draw when pages change if a share of a section changes whenever the section does."""
    events = poisson_changes(rng, np.full(int(section.max()) + 1, rate), days)
    return [events[here][rng.random(events[here].size) < share] for here in section.tolist()]


class Shadow:
    """Leads a frontier and a plain one through the same past, and compares what each would take.

    Args:
        frontier: The one whose pages are visited.
        plain: The one that would have taken the most valuable.
        since: When comparing begins.
    """

    def __init__(self, frontier: Frontier, plain: PlainFrontier, since: float) -> None:
        self.frontier, self.plain, self.since = frontier, plain, since
        self.taken = self.same = 0
        self.value = self.best = 0.0

    def take(self, now: float, limit: int) -> Ints:
        wished, taken = self.plain.take(now, limit), self.frontier.take(now, limit)
        assert taken.size == wished.size
        self.plain.out[wished] = False
        self.plain.out[taken] = True
        if taken.size and now > self.since:
            values = self.plain.values(now)
            self.taken += taken.size
            self.same += np.intersect1d(taken, wished).size
            self.value += float(values[taken].sum())
            self.best += float(values[wished].sum())
        return taken

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        self.frontier.report(page, now, changed)
        self.plain.report(page.tolist(), now, changed.tolist())
