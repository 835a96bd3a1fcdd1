"""A plain reference frontier: it values every page each time, and its activity keeps every bin."""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.scheduling.frontier import Frontier
from recrawl.scheduling.state import Tables

#: The frontier's tuned constants, written out again so that a change of one does not go unnoticed.
HOST, SECTION = 4.0, 0.25
MAX_ODDS, FIRST_ODDS = 10.0, 2.0
MIN_SPEED = 1e-3
CALIBRATION_VISITS, CALIBRATION_PRIOR = 65_536.0, 8.0
BINS_PER_GAP = 16


def tables_of(frontier: Frontier) -> Tables:
    """Return the tables inside a frontier, which no one but a test looks into."""
    return frontier._tables  # noqa: SLF001


def value(shape: Floats, time: Floats, elapsed: Floats) -> Floats:
    """Return ∫₀ᵗ S(s) ds − t·S(t) for S(t) = (b/(b+t))^a, one element per page."""
    u = elapsed / time
    log_time = np.log1p(u)
    z = (1.0 - shape) * log_time
    whole = np.where(z == 0.0, 1.0, np.expm1(z) / np.where(z == 0.0, 1.0, z))
    direct = log_time * whole - u * np.exp(-shape * log_time)
    next_ = (shape + 1.0) * u
    series = shape * u * u * (1 / 2 - next_ / 3 + next_ * (shape + 2.0) * u / 8)
    return time * np.where(next_ < 1e-3, series, direct)


def after_change(shape: float, time: float, elapsed: float, keep: float) -> tuple[float, float]:
    """Return the Gamma belief with the mean and variance of the posterior after a change."""
    r = time / (time + elapsed)
    c = keep * r**shape
    mean = shape / time * (1.0 - c * r) / (1.0 - c)
    square = shape * (shape + 1.0) / time**2 * (1.0 - c * r * r) / (1.0 - c)
    variance = square - mean * mean
    return mean * mean / variance, mean / variance


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
        around = 1.0
        if self.host.count(self.host[section]) > 1:
            around = (HOST + self.found[of_host]) / (HOST + self.expected[of_host])
        return (SECTION * around + self.found[of_section]) / (SECTION + self.expected[of_section])

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
        belief: tuple[float, float],
        changed: bool,
        dated: float,
    ) -> None:
        shape, time = belief
        shown, host = self.shown(section, since, now), self.host[section]
        bias = self.bias(host, shape * math.log1p((now - since) / time), changed)
        hazard, plain = (bias * shape * math.log1p(days / time) for days in (shown, now - since))
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
    ) -> None:
        pages = importance.size
        self.budget, self.importance, self.section, self.host = budget, importance, section, host
        self.half_life, self.catch_up = half_life, catch_up
        self.prior = (1.0, pages / budget)
        self.shape, self.time = np.full(pages, 1.0), np.full(pages, pages / budget)
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
        elapsed = self.elapsed(now)
        seen = (self.time + elapsed) * self.keep ** (-1.0 / self.shape) - self.time
        return self.importance * value(self.shape, self.time, seen)

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

    def signal(self, page: Ints, keep: float) -> None:
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
        kept = 2.0 ** (-(now - since) / self.half_life)
        shape, time = (
            prior + kept * (float(column[here]) - prior)
            for prior, column in zip(self.prior, (self.shape, self.time), strict=True)
        )
        section = 0 if self.section is None else int(self.section[here])
        elapsed = now - since
        if self.activity is not None:
            elapsed = self.activity.elapsed(section, since, now)
        if not math.isnan(age):
            changed = age < now - since
            share = min(age / (now - since), 1.0)
            self.shape[here], self.time[here] = shape + changed, time + elapsed * share
        elif changed:
            self.shape[here], self.time[here] = after_change(
                shape, time, elapsed, float(self.keep[here])
            )
        else:
            self.shape[here], self.time[here] = shape, time + elapsed
        if self.activity is not None:
            self.activity.learn(section, since, now, (shape, time), changed, now - age)


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
