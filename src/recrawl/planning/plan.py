"""A plan: how often to visit every page, when next, and what that brings."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from recrawl.allocation import Allocation, allocate, freshness, uniform
from recrawl.errors import ArgumentError
from recrawl.formats.cells import YEAR_10000
from recrawl.hosts import number_hosts
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.planning.beliefs import (
    Beliefs,
    ImportanceSource,
    LogSource,
    Progress,
    learn_weighted,
    no_progress,
)
from recrawl.planning.methods import SPACINGS, Spacing, check_choice
from recrawl.quantities import rate
from recrawl.records import CrawlLog, Outcome
from recrawl.units import MICROSECONDS_A_DAY, MICROSECONDS_A_SECOND, SECONDS_A_DAY, quoted

#: A host's budget counts as used up when no more than this share of it is left.
SLACK = 1e-9


class CurvePoint(NamedTuple):
    """Visits per day, and the freshness they are expected to bring."""

    visits: float
    freshness: float


@dataclass(frozen=True, eq=False)
class Plan:
    """How often to visit every page of a crawl log. Arrays have one element per page.

    Attributes:
        beliefs: The pages, and what is believed of them.
        importance: How much the freshness of each page counts.
        budget: Visits per day for all pages together.
        allocation: How the budget is shared.
        host: The host number of each page, if hosts have a budget.
        host_budget: The most visits per day to any one host, if hosts have a budget.
        as_logged: What the visits in the log bring.
        uniform: What the budget would bring if every page were visited equally often.
    """

    beliefs: Beliefs
    importance: Floats
    budget: float
    allocation: Allocation
    host: Ints | None
    host_budget: float | None
    as_logged: CurvePoint
    uniform: CurvePoint

    @property
    def page(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """The names of the pages, as an Arrow array."""
        return self.beliefs.log.names

    @property
    def change_rate(self) -> Floats:
        """Estimated changes per day."""
        return self.beliefs.change_rate

    @property
    def crawl_rate(self) -> Floats:
        """Visits per day; 0 for a page that is not worth a visit."""
        return self.allocation.crawl_rate

    @property
    def freshness(self) -> float:
        """The expected share of pages that are up to date, weighted by importance."""
        return self.allocation.freshness

    @cached_property
    def next_visit(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """When each page is due, as an Arrow array; null for a page that gets no visits."""
        return next_visits(last_visits(self.beliefs.log), self.crawl_rate)

    @cached_property
    def saturated_hosts(self) -> Bools:
        """Which hosts use up their budget, one element per host."""
        if self.host is None or self.host_budget is None:
            return np.zeros(0, np.bool_)
        used = np.bincount(self.host, self.crawl_rate)
        return used >= self.host_budget * (1.0 - SLACK)

    def columns(self) -> dict[str, Any]:
        """Return the columns of the plan by name, with 95 % intervals, as they go to a file."""
        low, high = self.beliefs.interval(0.95)
        return {
            "page": self.page,
            "change_rate": self.change_rate,
            "low": low,
            "high": high,
            "importance": self.importance,
            "crawl_rate": self.crawl_rate,
            "next_visit": self.next_visit,
        }


def plan(
    log: LogSource,
    *,
    budget: float,
    importance: ImportanceSource | None = None,
    host_budget: float | None = None,
    visits: Spacing = "periodic",
    method: str = "gamma",
    prior: str | None = None,
    ignore_unknown: bool = False,
    progress: Progress = no_progress,
) -> Plan:
    """Plan how often to visit every page in a crawl log, so that the copy is freshest.

    Args:
        log: A log from `read_log`, or the file it is in: CSV or Parquet, "-" for standard input.
        budget: Visits per day for all pages together.
        importance: How much the freshness of each page counts: a file with the columns page and
            importance, or one number per page. By default the column importance of the log, and 1
            where it says nothing.
        host_budget: The most visits per day to any one host.
        visits: Whether visits to a page are evenly spaced ("periodic") or random ("poisson").
        method: How to estimate change rates: a key of `METHODS`.
        prior: What to expect of a page before its first visit: nothing ("alone"), or what all pages
            of the log ("fleet") or of its host ("host") are like. By default "fleet", if the
            method has a prior.
        ignore_unknown: Skip unknown columns in files instead of rejecting them.
        progress: Shows how far the work is.

    Raises:
        ArgumentError: An argument is invalid, or hosts have a budget but a page has no host.
        InputError: A file is invalid; the message says where and why.
    """
    check_choice("visits", visits, SPACINGS)
    budget = rate("budget", budget)
    host_budget = None if host_budget is None else rate("host_budget", host_budget)
    beliefs, weights = learn_weighted(
        log,
        importance,
        method=method,
        prior=prior,
        ignore_unknown=ignore_unknown,
        progress=progress,
    )
    with progress("Planning"):
        host = None if host_budget is None else _hosts(beliefs.log)
        changes = beliefs.change_rate
        best = allocate(
            changes, budget, importance=weights, visits=visits, host=host, host_budget=host_budget
        )
        alike = uniform(changes, budget, importance=weights, visits=visits)
        return Plan(
            beliefs,
            weights,
            budget,
            best,
            host,
            host_budget,
            as_logged=logged_freshness(beliefs, weights, visits),
            uniform=CurvePoint(alike.budget_used, alike.freshness),
        )


def logged_freshness(beliefs: Beliefs, importance: Floats, visits: Spacing) -> CurvePoint:
    """Return how often the log's crawler visits, and how fresh that is expected to keep pages."""
    rates = visit_rates(beliefs.log)
    fresh = freshness(rates, beliefs.change_rate, importance=importance, visits=visits)
    return CurvePoint(float(rates.sum()), fresh)


def visit_rates(log: CrawlLog) -> Floats:
    """Return how often each page was seen: visits per day, from its first to its last.

    A page seen once counts as seen once in the time that the log covers.
    """
    page, time = _seen(log)
    first, last = np.zeros(log.pages, np.int64), np.zeros(log.pages, np.int64)
    last[page] = time
    first[page[::-1]] = time[::-1]
    times_seen = np.bincount(page, minlength=log.pages)
    covered = float(np.ptp(log.time))
    gaps = np.where(times_seen > 1, times_seen - 1, times_seen)
    return gaps * MICROSECONDS_A_DAY / np.where(times_seen > 1, last - first, covered)


def last_visits(log: CrawlLog) -> Ints:
    """Return when each page was last seen, or last tried if it was never seen.

    A visit that failed or found the page gone did not see it.
    """
    last = np.empty(log.pages, np.int64)
    last[log.page] = log.time
    page, time = _seen(log)
    last[page] = time
    return last


def next_visits(last_visit: Ints, crawl_rate: Floats) -> pa.Array:
    """Return when each page is due, 1/crawl_rate days after its last visit, to the second.

    It is null for a page that gets no visits, or none before the calendar ends.

    >>> next_visits(np.array([0, 0]), np.array([2.0, 0.0])).cast(pa.string()).to_pylist()
    ['1970-01-01 12:00:00Z', None]
    """
    with np.errstate(divide="ignore", over="ignore"):
        seconds = np.rint(last_visit / MICROSECONDS_A_SECOND + SECONDS_A_DAY / crawl_rate)
    never = ~(seconds < YEAR_10000)
    seconds[never] = 0.0
    return pa.array(seconds.astype("datetime64[s]"), pa.timestamp("s", "UTC"), mask=never)


def _seen(log: CrawlLog) -> tuple[Ints, Ints]:
    """Return the pages and times of visits that saw the page."""
    seen = (log.outcome != Outcome.FAILED) & (log.outcome != Outcome.GONE)
    return log.page[seen], log.time[seen]


def _hosts(log: CrawlLog) -> Ints:
    host, names = number_hosts(log.names)
    if "" in names:
        page = quoted(str(log.names[int(np.argmax(host == names.index("")))].as_py()))
        raise ArgumentError(f"host_budget: the page {page} is not a URL, so it has no host")
    return host
