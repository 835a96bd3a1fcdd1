"""Make a plan: how often to visit every page, when next, and how fresh that keeps the copy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from recrawl.allocation import Allocation, allocate, freshness
from recrawl.errors import ArgumentError
from recrawl.formats.times import YEAR_10000
from recrawl.hosts import number_hosts
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.planning.beliefs import (
    Beliefs,
    ImportanceSource,
    LogSource,
    Progress,
    Reading,
    learn_weighted,
    no_progress,
)
from recrawl.planning.methods import SPACINGS, Spacing, check_choice
from recrawl.planning.parts import visit_rates
from recrawl.quantities import rate
from recrawl.tabular import Tabular, spread
from recrawl.units import MICROSECONDS_A_SECOND, SECONDS_A_DAY, quoted

#: The level of a plan's intervals.
LEVEL = 0.95
#: How many pages are written at a time.
BATCH_PAGES = 1 << 20
#: A host's budget counts as used up when no more than this share of it is left.
SLACK = 1e-9


class CurvePoint(NamedTuple):
    """Visits per day, and the freshness they are expected to achieve."""

    visits: float
    freshness: float


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Tabular):
    """How often to visit every page of a crawl log. Arrays have one element per page.

    Attributes:
        beliefs: The pages, and the beliefs about them.
        importance: How much the freshness of each page counts.
        budget: Visits per day for all pages together.
        allocation: How the budget is shared.
        host: The host number of each page, if hosts have a budget.
        host_budget: The maximum visits per day to any one host, if hosts have a budget.
        as_logged: The freshness that the visits in the log achieve.
        uniform: The freshness if every page were visited equally often.
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
        return self.beliefs.names

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
        return next_visits(self.beliefs.pages.last_visit, self.crawl_rate)

    @cached_property
    def saturated_hosts(self) -> Bools:
        """Which hosts use up their budget, one element per host."""
        if self.host is None or self.host_budget is None:
            return np.zeros(0, np.bool_)
        used = np.bincount(self.host, self.crawl_rate)
        return used >= self.host_budget * (1.0 - SLACK)

    def columns(self) -> dict[str, Any]:
        """Return the columns of the plan by name, with 95 % intervals, as they go to a file."""
        return self._columns(0, len(self.page))

    def batches(self) -> Iterator[Any]:
        """Yield the columns as Arrow tables of some pages each, which takes less memory."""
        for first in range(0, len(self.page), BATCH_PAGES):
            yield pa.table(self._columns(first, first + BATCH_PAGES))

    def _columns(self, first: int, last: int) -> dict[str, Any]:
        """Return the columns of some of the pages."""
        here = slice(first, last)
        low, high = self._interval
        due = next_visits(self.beliefs.pages.last_visit[here], self.crawl_rate[here])
        return {
            "page": self.page[here],
            "change_rate": self.change_rate[here],
            "low": low[here],
            "high": high[here],
            "importance": self.importance[here],
            "crawl_rate": self.crawl_rate[here],
            "next_visit": due,
        }

    def summary(self) -> str:
        """Return the number of pages, the freshness, and the distribution of crawl rates."""
        fresh = f"freshness {self.freshness:.4g} at {self.budget:.4g} visits per day"
        return f"{len(self.page):,} pages, {fresh}, per page: {spread(self.crawl_rate)}"

    def _charted(self) -> tuple[str, Any]:
        return "visits per day", self.crawl_rate

    @cached_property
    def _interval(self) -> tuple[Floats, Floats]:
        return self.beliefs.interval(LEVEL)


def plan(
    log: LogSource,
    *,
    budget: float,
    importance: ImportanceSource | None = None,
    host_budget: float | None = None,
    visits: Spacing = "periodic",
    method: str = "gamma",
    prior: str | None = None,
    columns: Mapping[str, str] | None = None,
    ignore_unknown: bool = False,
    memory: float | str | None = None,
    progress: Progress = no_progress,
) -> Plan:
    """Plan how often to visit every page in a crawl log, so that the copy is freshest.

    Args:
        log: A log from `read_log`, or where it is: a file, a folder or a pattern, or several of
            them, as for `read_log`.
        budget: Visits per day for all pages together.
        importance: How much the freshness of each page counts: a file with the columns page and
            importance, or one number per page. By default the column importance of the log, and 1
            where it is empty.
        host_budget: The maximum visits per day to any one host.
        visits: Whether visits to a page are evenly spaced ("periodic") or random ("poisson").
        method: How to estimate change rates: a key of `METHODS`.
        prior: What to expect of a page before its first visit: nothing ("alone"), or what all pages
            of the log ("fleet") or of its host ("host") are like. By default "fleet", if the
            method has a prior.
        columns: The log's names of columns, by our names, such as ``{"page": "url"}``.
        ignore_unknown: Skip unknown columns in files instead of rejecting them.
        memory: How many bytes visits may take, or a text such as "2GB"; by default half of what is
            free. A larger log is written to temporary files, and the plan is the same.
        progress: Shows progress.

    Raises:
        ArgumentError: An argument is invalid, or hosts have a budget but a page has no host.
        InputError: A file is invalid; the message says where and why.
        OutputError: The log is larger than memory, and the disk too small for it.
    """
    check_choice("visits", visits, SPACINGS)
    budget = rate("budget", budget)
    host_budget = None if host_budget is None else rate("host_budget", host_budget)
    beliefs, weights = learn_weighted(
        log,
        importance,
        method=method,
        prior=prior,
        level=LEVEL,
        reading=Reading(columns or {}, ignore_unknown, memory, progress),
    )
    with progress("Planning"):
        host = None if host_budget is None else checked_hosts(beliefs.names)
        changes = beliefs.change_rate
        best = allocate(
            changes, budget, importance=weights, visits=visits, host=host, host_budget=host_budget
        )
        alike = freshness(budget / changes.size, changes, importance=weights, visits=visits)
        return Plan(
            beliefs,
            weights,
            budget,
            best,
            host,
            host_budget,
            as_logged=logged_freshness(beliefs, weights, visits),
            uniform=CurvePoint(budget, alike),
        )


def logged_freshness(beliefs: Beliefs, importance: Floats, visits: Spacing) -> CurvePoint:
    """Return the visits per day in the log, and the freshness they are expected to achieve."""
    rates = visit_rates(beliefs.pages, beliefs.facts.last - beliefs.facts.first)
    fresh = freshness(rates, beliefs.change_rate, importance=importance, visits=visits)
    return CurvePoint(float(rates.sum()), fresh)


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


def checked_hosts(pages: Any) -> Ints:  # noqa: ANN401 - pyarrow has no types
    """Return the number of each page's host.

    Raises:
        ArgumentError: A page has no host.
    """
    host, names = number_hosts(pages)
    if "" in names:
        page = quoted(str(pages[int(np.argmax(host == names.index("")))].as_py()))
        raise ArgumentError(f"host_budget: the page {page} is not a URL, so it has no host")
    return host
