"""Queues of pages without a copy, one per host, from which hosts take turns.

A page without a copy is worth more than nearly any revisit, so a host that lists thousands of new
pages would take the whole budget. Discovered pages therefore wait in a queue of their host, and
have a share of the budget: one for all hosts together, and one for each. Pages whose first visits
are free, as a user asked for them, wait in another queue, and cost the budget nothing. Pages that
were asked for and are not free need no queue: they are ready, and worth more than all others.
"""

import math

import numpy as np

from recrawl.estimation.octaves import greatest_value
from recrawl.kernels.jit import Ints, bare_step, compiled, small_bare_step
from recrawl.scheduling.host_limits import count_visit, is_open
from recrawl.scheduling.state import (
    ASKED,
    DISCOVERED,
    FIRST_QUEUE,
    FREE,
    NONE,
    TAKEN,
    Rows,
    Tables,
)

#: After this many failed visits, the first visit to a page is paid for like that of a discovered
#: one, whoever asked for it.
TRIES = 3
#: Of so many pages at the head of a host's queue, the one with the fewest failures is next, or the
#: most important one.
LOOK = 16
#: How many hosts a take looks at, per visit wanted, and at least: others may not be visited yet.
TURNS_PER_VISIT, MIN_TURNS = 4, 256


@small_bare_step
def payment(pages: Rows, page: int) -> float:
    """Return how the first visit to a page without a copy is paid for."""
    if pages["failures"][page] >= TRIES:
        return DISCOVERED
    return float(pages["needed"][page])


@small_bare_step
def is_queued_first(pages: Rows, page: int, now: float) -> bool:
    """Whether a page belongs in its host's queue of first visits now."""
    return bool(
        pages["last_visit"][page] == -math.inf
        and payment(pages, page) != ASKED
        and pages["importance"][page] > 0.0
        and (pages["failures"][page] == 0 or pages["due"][page] <= now)
    )


@bare_step
def join_queue(tables: Tables, page: int, at_front: bool) -> None:  # noqa: FBT001
    """Add a page that is in no list to its host's queue."""
    pages, hosts, host = tables.pages, tables.hosts, tables.pages["host"][page]
    line = 1 if payment(pages, page) == FREE else 0
    pages["status"][page] = FIRST_QUEUE + line
    first, last = hosts["queue"][host, line], hosts["queue_end"][host, line]
    pages["before"][page] = NONE if at_front else last
    pages["next"][page] = first if at_front else NONE
    if first == NONE:
        hosts["queue"][host, line] = hosts["queue_end"][host, line] = page
        _join_round(tables, host, line)
    elif at_front:
        pages["before"][first] = page
        hosts["queue"][host, line] = page
    else:
        pages["next"][last] = page
        hosts["queue_end"][host, line] = page


@bare_step
def leave_queue(tables: Tables, page: int) -> None:
    """Remove a page from its host's queue."""
    pages, hosts, host = tables.pages, tables.hosts, tables.pages["host"][page]
    line = pages["status"][page] - FIRST_QUEUE
    after, before = pages["next"][page], pages["before"][page]
    if after == NONE:
        hosts["queue_end"][host, line] = before
    else:
        pages["before"][after] = before
    if before == NONE:
        hosts["queue"][host, line] = after
    else:
        pages["next"][before] = after
    if hosts["queue"][host, line] == NONE:
        _leave_round(tables, host, line)


@bare_step
def _join_round(tables: Tables, host: int, line: int) -> None:
    """Let a host have a turn, after all others."""
    turn, after, before = (
        tables.shared["turn"],
        tables.hosts["turn_after"],
        tables.hosts["turn_before"],
    )
    following = turn[0, line]
    if following == NONE:
        turn[0, line] = after[host, line] = before[host, line] = host
        return
    last = before[following, line]
    after[last, line] = before[following, line] = host
    before[host, line], after[host, line] = last, following


@bare_step
def _leave_round(tables: Tables, host: int, line: int) -> None:
    turn, after, before = (
        tables.shared["turn"],
        tables.hosts["turn_after"],
        tables.hosts["turn_before"],
    )
    following, last = after[host, line], before[host, line]
    after[last, line], before[following, line] = following, last
    if turn[0, line] == host:
        turn[0, line] = NONE if following == host else following


@bare_step
def empty_queues(tables: Tables) -> None:
    """Forget who is in a queue."""
    tables.hosts["queue"][:] = NONE
    tables.hosts["queue_end"][:] = NONE
    tables.shared["turn"][:] = NONE


@small_bare_step
def has_share(rows: Rows, row: int, now: float, gap: float, spacing: float) -> bool:
    """Whether the share of a host, or of all, pays for a first visit, one every ``spacing`` days.

    As with the budget of a host, what the last ``gap`` days would have paid for counts.
    """
    used = max(rows["shared_until"][row], now - gap - spacing)
    return bool(used + spacing <= now + 1e-9 * spacing)


@small_bare_step
def use_share(rows: Rows, row: int, now: float, gap: float, spacing: float) -> None:
    """Charge a first visit to the share of a host, or of all."""
    rows["shared_until"][row] = max(rows["shared_until"][row], now - gap - spacing) + spacing


@compiled
def take_discovered(
    tables: Tables, now: float, gap: float, limit: int, of_all: float, of_host: float, price: float
) -> Ints:
    """Take discovered pages without a copy, as shares of the budget allow; hosts take turns.

    Args:
        tables: The frontier's tables.
        now: The present.
        gap: Days since the previous take.
        limit: How many pages to take at most.
        of_all: Days in which the share of all hosts pays for a visit; 0 for any number of visits.
        of_host: Days in which the share of one host does.
        price: What a visit must be worth.
    """
    taken = np.empty(limit, np.int64)
    size = 0
    for _ in range(max(TURNS_PER_VISIT * limit, MIN_TURNS)):
        host = tables.shared["turn"][0, 0]
        if size == limit or host == NONE or not has_share(tables.shared, 0, now, gap, of_all):
            break
        page = NONE
        if is_open(tables.hosts, host, now, gap) and has_share(
            tables.hosts, host, now, gap, of_host
        ):
            page = _next_of(tables, host, 0)
            if first_worth(tables, page) < price:
                page = NONE
        if page == NONE:
            _end_turn(tables, host, 0)
            continue
        _take(tables, page, host, 0, now, gap)
        use_share(tables.shared, 0, now, gap, of_all)
        use_share(tables.hosts, host, now, gap, of_host)
        taken[size] = page
        size += 1
    return taken[:size]


@compiled
def take_free(tables: Tables, now: float, gap: float, limit: int) -> Ints:
    """Take pages whose first visit is free, as their hosts allow; hosts take turns."""
    taken = np.empty(limit, np.int64)
    size = 0
    for _ in range(max(TURNS_PER_VISIT * limit, MIN_TURNS)):
        host = tables.shared["turn"][0, 1]
        if size == limit or host == NONE:
            break
        if not is_open(tables.hosts, host, now, gap):
            _end_turn(tables, host, 1)
            continue
        page = _next_of(tables, host, 1)
        _take(tables, page, host, 1, now, gap)
        taken[size] = page
        size += 1
    return taken[:size]


@small_bare_step
def first_worth(tables: Tables, page: int) -> float:
    """Return what a first visit is worth: what any visit is after a very long time."""
    weight, rate = tables.pages["weight"][page], tables.shared["rate"][0]
    return float(tables.pages["importance"][page] * greatest_value(tables.curves, weight, rate))


@small_bare_step
def _goes_before(pages: Rows, page: int, other: int) -> bool:
    """Whether a page is next rather than another: those that were not tried yet are first."""
    if pages["failures"][page] != pages["failures"][other]:
        return bool(pages["failures"][page] < pages["failures"][other])
    return bool(pages["importance"][page] > pages["importance"][other])


@bare_step
def _next_of(tables: Tables, host: int, line: int) -> int:
    """Return the best of the pages at the head of a host's queue."""
    best = page = tables.hosts["queue"][host, line]
    for _ in range(LOOK):
        if page == NONE:
            break
        if _goes_before(tables.pages, page, best):
            best = page
        page = tables.pages["next"][page]
    return int(best)


@small_bare_step
def _end_turn(tables: Tables, host: int, line: int) -> None:
    """Let the next host have its turn."""
    tables.shared["turn"][0, line] = tables.hosts["turn_after"][host, line]


@bare_step
def _take(tables: Tables, page: int, host: int, line: int, now: float, gap: float) -> None:
    """Take a page out of its host's queue; then it is the next host's turn."""
    _end_turn(tables, host, line)
    leave_queue(tables, page)
    count_visit(tables.hosts, host, now, gap)
    tables.pages["status"][page] = TAKEN
