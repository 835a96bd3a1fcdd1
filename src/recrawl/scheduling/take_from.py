"""Take pages of given hosts, and mark pages that are already out."""

import numpy as np

from recrawl.kernels.jit import Ints, compiled
from recrawl.scheduling.due import allowed_at, is_overdue, worth
from recrawl.scheduling.first_visits import has_share, use_share
from recrawl.scheduling.host_limits import count_visit, is_open
from recrawl.scheduling.report import dequeue
from recrawl.scheduling.state import (
    FIRST_QUEUE,
    PARKED,
    QUEUED,
    READY,
    TAKEN,
    WAITING,
    Tables,
)


@compiled
def take_from(
    tables: Tables, page: Ints, now: float, limit: int, gap: float, of_all: float, of_host: float
) -> Ints:
    """Take those of the given pages whose visit is worth the price, the best first.

    Unlike `take_pages`, this values all given pages, and moves no price.

    Args:
        tables: The frontier's tables.
        page: The pages to take from.
        now: The present.
        limit: How many pages to take at most.
        gap: Days since the previous take.
        of_all: See `take_discovered`.
        of_host: See `take_discovered`.
    """
    pages, hosts = tables.pages, tables.hosts
    values = np.zeros(page.size)
    for row in range(page.size):
        here = page[row]
        status = pages["status"][here]
        is_in_line = status in (QUEUED, READY, WAITING, PARKED) or status >= FIRST_QUEUE
        # A page whose visit failed is queued until its retry.
        is_retry = pages["failures"][here] > 0 and pages["due"][here] > now
        if not is_in_line or is_retry or allowed_at(pages, here) > now:
            continue
        value = worth(tables, here, now)
        if value >= tables.shared["price"][0] or is_overdue(pages, here, now):
            values[row] = value
    taken = np.empty(min(limit, page.size), np.int64)
    size = 0
    for row in np.argsort(-values, kind="mergesort"):
        if size == taken.size or values[row] <= 0.0:
            break
        here = page[row]
        host = pages["host"][here]
        is_shared = pages["status"][here] == FIRST_QUEUE
        if is_shared and not (
            has_share(tables.shared, 0, now, gap, of_all)
            and has_share(hosts, host, now, gap, of_host)
        ):
            continue
        if is_open(hosts, host, now, gap):
            if is_shared:
                use_share(tables.shared, 0, now, gap, of_all)
                use_share(hosts, host, now, gap, of_host)
            dequeue(tables, here)
            count_visit(hosts, host, now, gap)
            pages["status"][here] = TAKEN
            taken[size] = here
            size += 1
    return taken[:size]


@compiled
def hold_pages(tables: Tables, page: Ints) -> None:
    """Mark pages as taken."""
    for row in range(page.size):
        dequeue(tables, page[row])
        tables.pages["status"][page[row]] = TAKEN
