"""What a crawl log tells of its pages' past: the last visit, how often, and how much they count.

Visits come sorted by page and time, as `read_crawl_log` gives them. Where several rows are of one
page, the last one assigned is the one that stays.
"""

import numpy as np

from recrawl.kernels.jit import Floats, Ints
from recrawl.records import MICROSECONDS_A_DAY, Outcome, Visits


def last_visits(visits: Visits) -> Ints:
    """Give when each page was last seen; if it never was, when it was last looked for.

    A failed visit, or one that found the page gone, brought no copy home.
    """
    last = np.empty(len(visits.names), np.int64)
    last[visits.page] = visits.time
    page, time = _seen(visits)
    last[page] = time
    return last


def visit_rates(visits: Visits) -> Floats:
    """Give how often each page was seen: visits a day, from its first to its last.

    A page seen once was seen once in the time the log covers; one never seen, never.
    """
    page, time = _seen(visits)
    pages = len(visits.names)
    first, last = np.zeros(pages, np.int64), np.zeros(pages, np.int64)
    last[page] = time
    first[page[::-1]] = time[::-1]
    times_seen = np.bincount(page, minlength=pages)
    covered = float(np.ptp(visits.time))
    gaps = np.where(times_seen > 1, times_seen - 1, times_seen)
    return gaps * MICROSECONDS_A_DAY / np.where(times_seen > 1, last - first, covered)


def latest_importance(visits: Visits) -> Floats:
    """Give the importance that each page's latest row with one tells; NaN where none does."""
    importance = np.full(len(visits.names), np.nan)
    if visits.importance is not None:
        told = np.flatnonzero(~np.isnan(visits.importance))
        importance[visits.page[told]] = visits.importance[told]
    return importance


def _seen(visits: Visits) -> tuple[Ints, Ints]:
    """Give the pages and times of visits that brought the page home."""
    seen = (visits.outcome != Outcome.FAILED) & (visits.outcome != Outcome.GONE)
    return visits.page[seen], visits.time[seen]
