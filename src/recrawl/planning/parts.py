"""Estimate change rates from all visits to some of the pages.

These functions take the whole log on one machine, a part of it out of core, or a partition on a
cluster. Pages are independent of each other, so the numbers are identical, to the last bit, however
pages are partitioned.
"""

from typing import Any, NamedTuple

import numpy as np

from recrawl import estimation
from recrawl.errors import CrawlLogError
from recrawl.estimation import Observations, Prior
from recrawl.kernels.jit import Floats, Ints
from recrawl.planning.methods import METHODS, WITH_PRIOR
from recrawl.records import CrawlLog, Outcome
from recrawl.units import MICROSECONDS_A_DAY

#: Error messages for a log without observations.
NOTHING_LEARNED = "no page was seen twice, so nothing can be learned"
NOTHING_COMPARED = "no visit says whether its page had changed since the previous one"


class PageFacts(NamedTuple):
    """What a log says about its pages before anything is estimated, one element per page.

    Attributes:
        last_visit: When the page was last seen, or last tried if it was never seen.
        times_seen: How many visits saw it.
        seen_for: The microseconds from the first of these to the last.
        importance: The importance in its last row that has one, else NaN; None without the column.
    """

    last_visit: Ints
    times_seen: Ints
    seen_for: Ints
    importance: Floats | None


class Believed(NamedTuple):
    """The estimates for pages, one element per page.

    Attributes:
        change_rate: Changes per day.
        observations: The number of visits that could be compared.
        low: The lower end of the interval; None if no interval was requested.
        high: The upper end.
    """

    change_rate: Floats
    observations: Ints
    low: Floats | None
    high: Floats | None


def nothing_learned(visits: int, pages: int) -> str:
    """Return why a log without observations has none."""
    return NOTHING_COMPARED if visits > pages else NOTHING_LEARNED


def page_facts(log: CrawlLog) -> PageFacts:
    """Return what a log says about its pages."""
    page, time = _seen(log)
    first, last = np.zeros(log.pages, np.int64), np.zeros(log.pages, np.int64)
    last[page] = time
    first[page[::-1]] = time[::-1]
    times_seen = np.bincount(page, minlength=log.pages)
    return PageFacts(last_visits(log), times_seen, last - first, latest_importance(log))


def observed(log: CrawlLog, method: str) -> Observations:
    """Return the observations in a log that an estimator uses.

    Raises:
        CrawlLogError: The log lacks what the method needs.
    """
    if method == "last-modified" and log.last_modified is None:
        raise CrawlLogError(log.source, f"the method {method} needs the column 'last_modified'")
    return estimation.observe(log)


def estimator_of(method: str, prior: Prior | None) -> Any:  # noqa: ANN401 - any estimator
    """Return the estimator of a method."""
    settings = {"prior": prior} if method in WITH_PRIOR else {}
    return getattr(estimation, METHODS[method])(**settings)


def believed(observations: Observations, estimator: Any, level: float | None) -> Believed:  # noqa: ANN401
    """Return the estimates for pages after all their observations."""
    state = estimator.update(estimator.start(observations.pages), observations)
    ends = (None, None) if level is None else estimator.interval(state, level)
    return Believed(estimator.rate(state), state.visits, *ends)


def visit_rates(pages: PageFacts, covered: int) -> Floats:
    """Return how often each page was seen: visits per day in the time that the log stands for.

    That is the time from its first visit to its last, ``covered`` microseconds, if visits are
    spread over it. If all pages are visited at once, such as once a day, the last visits stand for
    a day, too: four daily visits take three days, and are one per day. What tells the two apart is
    how much of the log lies before a page's first visit and after its last: about the time between
    two visits to it in one case, nothing in the other.
    """
    gaps = np.maximum(pages.times_seen - 1, 0)
    total = float(gaps.sum())
    if total:
        between = float(pages.seen_for.sum(dtype=np.float64)) / total
        outside = covered - float(gaps @ pages.seen_for.astype(np.float64)) / total
        covered += int(max(between - outside, 0.0))
    return pages.times_seen.astype(np.float64) * (MICROSECONDS_A_DAY / covered)


def last_visits(log: CrawlLog) -> Ints:
    """Return when each page was last seen, or last tried if it was never seen.

    A visit that failed or found the page gone did not see it.
    """
    last = np.empty(log.pages, np.int64)
    last[log.page] = log.time
    page, time = _seen(log)
    last[page] = time
    return last


def latest_importance(log: CrawlLog) -> Floats | None:
    """Return the importance in the last row of each page that has one, else NaN."""
    if log.importance is None:
        return None
    importance = np.full(log.pages, np.nan)
    # Rows are in order of time, and the last assignment to an element wins.
    given = np.flatnonzero(~np.isnan(log.importance))
    importance[log.page[given]] = log.importance[given]
    return importance


def _seen(log: CrawlLog) -> tuple[Ints, Ints]:
    """Return the pages and times of visits that saw the page."""
    seen = (log.outcome != Outcome.FAILED) & (log.outcome != Outcome.GONE)
    return log.page[seen], log.time[seen]
