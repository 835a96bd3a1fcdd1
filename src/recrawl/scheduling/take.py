"""Take the pages whose visits are worth most now, as far as their hosts allow."""

import math

import numpy as np

from recrawl.kernels.jit import (
    Ints,
    bare_step,
    compiled,
    prefetch,
    prefetch_start,
    small_bare_step,
)
from recrawl.scheduling.due import (
    allowed_at,
    due_at,
    effective_elapsed,
    is_overdue,
    make_ready,
    schedule,
    within_interval,
    worth,
    worth_after,
)
from recrawl.scheduling.first_visits import is_queued_first, join_queue
from recrawl.scheduling.host_limits import count_visit, is_open, opens_at
from recrawl.scheduling.ready import best_ready, move_best_to_end, revalue_some
from recrawl.scheduling.state import (
    COARSE,
    FINE,
    FIRST_WAITING,
    NONE,
    OVERFLOW,
    PARKED,
    QUEUED,
    TAKEN,
    WAITING,
    Rows,
    Tables,
    unlink,
)
from recrawl.scheduling.timing_wheel import (
    SLOTS_PER_GAP,
    advance_slot,
    empty_slot,
    enqueue,
    enqueue_parked,
    enqueue_waiting,
    slot_of,
)

#: Each take values this many of the best ready pages per visit wanted, and half as many of the
#: others in turn; at least `MIN_CANDIDATES` of both, or, if only a few visits are wanted, `FEW` per
#: visit and `MIN_FEW` in total.
CANDIDATES_PER_VISIT = 1.1
MIN_CANDIDATES = 512
FEW, MIN_FEW = 32, 192
#: The two prices are averages over about these shares of the mean time between visits.
PRICE_MEMORY = 1 / 64
SCHEDULE_PRICE_MEMORY = 1 / 2
#: A page that comes up early, as its section was less active than expected, is not requeued if it
#: lacks at most this share of the time it needs.
NEAR = 1 / 32
#: A page whose visit is worth next to nothing is checked again after at least this share of the
#: time since its last visit.
WORTHLESS_WAIT = 1 / 16
#: How often a take may pull pages that are not due yet, twice as many each time.
MAX_PULLS = 8
#: Pages that may wait for a host: at least this many, and this many times what it takes at once.
MIN_WAITING = 16
WAITING_TAKES = 2
#: Pages that no price postpones queue for their host, and so do those that are parked, this many of
#: its visits apart: closer than they are visited, as some arrive while it is closed. As the host
#: may have become faster, each comes up no later than after so many of its visits, or the mean time
#: between visits to a page.
LINE_STEP = 0.5
MAX_LINE = 1_024.0
#: A page not worth its host's price comes up again when it is, but not before its value has risen
#: by the first of these factors, and in any case once it has risen by the second.
MIN_GAIN = 1.2
POSTPONE_GAIN = 1.5
#: A host's price falls by this factor whenever a page arrives and none waits for the host.
IDLE_FACTOR = 0.9


@compiled
def take_pages(
    tables: Tables,
    now: float,
    limit: int,
    must: int,
    gap: float,
    known: int,
    least: float,
) -> Ints:
    """Take the most valuable pages, the best first.

    Ready pages are in buckets by the value they had when it was last computed. Each take revalues
    the best ones and takes them by their current value; it revalues some of the others in turn, so
    that none is left behind.

    Args:
        tables: The frontier's tables.
        now: The present.
        limit: How many pages to take at most.
        must: How many to take, if there are enough, whatever they are worth; more are taken only if
            they are worth the price for saved budget.
        gap: Days since the previous take.
        known: Number of pages in the frontier.
        least: What a visit must be worth, per importance and day since the last one.
    """
    at_least = min(max(FEW * limit, MIN_FEW), MIN_CANDIDATES)
    candidates = max(int(CANDIDATES_PER_VISIT * limit), at_least)
    # Days in which the budget pays for a visit: no host is visited more often for long.
    pace = tables.shared["slot_width"][0] * SLOTS_PER_GAP / known
    _advance_to(tables, now, gap, pace)
    revalue_some(tables, now, max(limit // 2, at_least))
    taken = np.empty(limit, np.int64)
    size = 0
    marginal = math.nan
    saving_price = tables.shared["saving_price"][0]
    for attempt in range(MAX_PULLS):
        before = size
        values, ready = best_ready(tables, now, candidates)
        rest = ready.size
        while rest > 0 and size < limit and values[0] > 0.0:
            if size >= must and values[0] < saving_price:
                break
            rest = move_best_to_end(values, ready, rest)
            _prefetch_next(tables, ready, rest)
            if _take_one(tables, ready[rest], now, gap, values[rest], pace, least):
                taken[size] = ready[rest]
                size += 1
                if tables.pages["last_visit"][ready[rest]] > -math.inf and not is_overdue(
                    tables.pages, ready[rest], now
                ):
                    marginal = values[rest]
        for index in range(rest):
            make_ready(tables, ready[index], values[index])
        if size >= must:
            break
        # There are no more ready pages: pull those due next, as long as that yields any. It does
        # not if their hosts may not be visited yet.
        in_vain = attempt > 0 and size == before
        if ready.size < candidates and (
            in_vain or _pull(tables, now, gap, pace, (must - size) << attempt) == 0
        ):
            break
    if marginal > 0.0:
        _update_prices(tables, marginal, size, known)
    return taken[:size]


@small_bare_step
def _prefetch_next(tables: Tables, ready: Ints, size: int) -> None:
    """Prefetch the host of a heap's best page, and the two pages one of which is the next best."""
    if size > 2:  # noqa: PLR2004 - a page and both below it
        prefetch_start(tables.hosts, tables.pages["host"][ready[0]])
        prefetch_start(tables.pages, ready[1])
        prefetch_start(tables.pages, ready[2])


@bare_step
def _postpone_worthless(tables: Tables, page: int, now: float, value: float, least: float) -> bool:
    """Postpone a page whose visit is worth next to nothing until it is worth more."""
    pages = tables.pages
    since = now - pages["last_visit"][page]
    wanted = least * pages["importance"][page] * since
    if not 0.0 < value < wanted < math.inf:
        return False
    # A value rises roughly with the square of the time.
    pages["due"][page] = now + since * min(max(wanted / value - 1.0, WORTHLESS_WAIT), 1.0)
    enqueue(tables, page)
    return True


@bare_step
def _update_prices(tables: Tables, marginal: float, taken: int, known: int) -> None:
    """Move both prices towards the value of the least valuable visit taken."""
    shared = tables.shared
    if not shared["schedule_price"][0] > 0.0:
        shared["price"][0] = shared["schedule_price"][0] = marginal
    shared["price"][0] *= (marginal / shared["price"][0]) ** min(
        taken / (PRICE_MEMORY * known), 1.0
    )
    shared["schedule_price"][0] *= (marginal / shared["schedule_price"][0]) ** min(
        taken / (SCHEDULE_PRICE_MEMORY * known), 1.0
    )
    shared["highest_price"][0] = max(shared["highest_price"][0], shared["schedule_price"][0])


@bare_step
def _advance_to(tables: Tables, now: float, gap: float, pace: float) -> None:
    target = slot_of(tables, now)
    while tables.shared["slot"][0] < target:
        advance_slot(tables)
        _arrive_all(tables, empty_slot(tables, 0), now, gap, pace)
        _arrive_all(tables, empty_slot(tables, FIRST_WAITING), now, gap, pace)


@bare_step
def _arrive_all(tables: Tables, page: int, now: float, gap: float, pace: float) -> None:
    """Decide about a page that has reached its slot, and those it links to."""
    following = tables.pages["next"][page] if page != NONE else NONE
    while page != NONE:
        after = NONE
        if following != NONE:
            # Rows are scattered over memory: prefetch what the next pages need.
            after = tables.pages["next"][following]
            prefetch(tables.sections, tables.pages["section"][following])
            prefetch_start(tables.hosts, tables.pages["host"][following])
            prefetch(tables.pages, max(after, 0))
        _arrive(tables, page, now, gap, pace)
        page, following = following, after


@bare_step
def _arrive(tables: Tables, page: int, now: float, gap: float, pace: float) -> None:
    """Decide about a page that has reached its slot, by what is known now."""
    pages, hosts, host = tables.pages, tables.hosts, tables.pages["host"][page]
    waited, failed = pages["status"][page] == WAITING, pages["failures"][page] > 0
    parked = pages["status"][page] == PARKED
    hosts["waiting"][host] -= waited
    hosts["parked"][host] -= parked
    if is_queued_first(pages, page, now):
        join_queue(tables, page, False)  # noqa: FBT003
        return
    if pages["needed"][page] == math.inf and not waited and not failed:
        schedule(tables, page, now, tables.shared["schedule_price"][0])
        return
    elapsed = effective_elapsed(tables, page, now)
    ahead = pages["needed"][page] - elapsed
    too_early = ahead > max(tables.shared["slot_width"][0], NEAR * pages["needed"][page])
    if too_early and not (waited or failed or is_overdue(pages, page, now)):
        pages["due"][page] = within_interval(pages, page, now + ahead)
        if not parked:
            enqueue(tables, page)
            return
        # One page may wait, so that the host is not idle once it opens.
        if hosts["waiting"][host] > 0 and not is_open(hosts, host, now, gap):
            _park(tables, page, pace)
            return
    value = worth_after(tables, page, now, elapsed)
    if hosts["waiting"][host] == 0:
        hosts["price"][host] *= IDLE_FACTOR
    elif value < hosts["price"][host] and not waited and _may_be_late(pages, page, now):
        _postpone(tables, page, now, value)
        return
    make_ready(tables, page, value)


@small_bare_step
def _may_be_late(pages: Rows, page: int, now: float) -> bool:
    """Whether a price may postpone a page: it has a copy that is not overdue."""
    return bool(pages["last_visit"][page] > -math.inf) and not is_overdue(pages, page, now)


@bare_step
def _postpone(tables: Tables, page: int, now: float, value: float) -> None:
    """Postpone a page until it is worth its host's price, or at least has come closer."""
    pages, host = tables.pages, tables.pages["host"][page]
    price = min(
        max(tables.hosts["price"][host], MIN_GAIN * value),
        POSTPONE_GAIN * max(value, tables.shared["schedule_price"][0]),
    )
    pages["needed"][page], due = due_at(tables, page, now, price)
    # Not a little earlier, as in `schedule`, not while the host is closed, and not whenever a take
    # finds too few pages: it would be checked again and again in vain.
    pages["due"][page] = max(due, opens_at(tables.hosts, host))
    enqueue_parked(tables, page)


@bare_step
def _park(tables: Tables, page: int, pace: float) -> None:
    """Park a page that is not due yet: it queues for its host until then."""
    pages, hosts, host = tables.pages, tables.hosts, tables.pages["host"][page]
    turn = opens_at(hosts, host) + hosts["parked"][host] * _between(hosts, host, pace)
    pages["due"][page] = min(pages["due"][page], turn)
    enqueue_parked(tables, page)


@small_bare_step
def _between(hosts: Rows, host: int, pace: float) -> float:
    """Return the days between two pages in a host's queue."""
    return float(LINE_STEP * max(hosts["delay"][host], hosts["spacing"][host], pace))


@bare_step
def _take_one(
    tables: Tables, page: int, now: float, gap: float, value: float, pace: float, least: float
) -> bool:
    """Take a page that is in no list, or queue it until it, and its host, may be visited."""
    pages, hosts, host = tables.pages, tables.hosts, tables.pages["host"][page]
    if _postpone_worthless(tables, page, now, value, least):
        return False
    if allowed_at(pages, page) > now:
        pages["due"][page] = allowed_at(pages, page)
        enqueue(tables, page)
        return False
    if is_open(hosts, host, now, gap):
        count_visit(hosts, host, now, gap)
        pages["status"][page] = TAKEN
        return True
    at_once = gap / hosts["spacing"][host] if hosts["spacing"][host] > 0.0 else 0.0
    ahead = hosts["waiting"][host] - (MIN_WAITING + WAITING_TAKES * at_once)
    if ahead < 0.0:
        _wait(tables, page, 0.0)
        return False
    is_better = value > hosts["price"][host] > 0.0
    # Pages arrive in order of value, so this value was too low to wait.
    hosts["price"][host] = max(hosts["price"][host], value)
    if _may_be_late(pages, page, now):
        _postpone(tables, page, now, value)
        return False
    # No price postpones a page that is overdue or without a copy. If it stayed among the ready
    # pages, where nothing is worth more, the pages of a closed host would block all other hosts.
    between = _between(hosts, host, pace)
    end = max(MAX_LINE * between, tables.shared["slot_width"][0] * SLOTS_PER_GAP)
    _wait(tables, page, 0.0 if is_better else min(ahead * between, end))
    return False


@bare_step
def _wait(tables: Tables, page: int, longer: float) -> None:
    """Make a page wait until its host may be visited, and for some days longer."""
    host = tables.pages["host"][page]
    tables.pages["due"][page] = opens_at(tables.hosts, host) + longer
    enqueue_waiting(tables, page)
    tables.hosts["waiting"][host] += 1


@bare_step
def _pull(tables: Tables, now: float, gap: float, pace: float, wanted: int) -> int:
    """Make pages ready before they are due, the next ones first; return how many."""
    current, pulled = tables.shared["slot"][0], 0
    for slot in range(current + 1, (current // FINE + 1) * FINE):
        pulled += _pull_bucket(tables, now, gap, pace, slot % FINE, wanted - pulled)
        if pulled >= wanted:
            return pulled
    # A lap is long: take enough of its pages to find the best, not those visited last.
    wanted = max(wanted, MIN_CANDIDATES)
    for lap in range(current // FINE + 1, current // FINE + COARSE):
        pulled += _pull_bucket(tables, now, gap, pace, FINE + lap % COARSE, wanted - pulled)
        if pulled >= wanted:
            return pulled
    return pulled + _pull_bucket(tables, now, gap, pace, OVERFLOW, wanted - pulled)


@bare_step
def _pull_bucket(
    tables: Tables, now: float, gap: float, pace: float, bucket: int, wanted: int
) -> int:
    """Make the pages of a bucket ready that are only waiting to become due.

    Those of a closed host are parked, so that no other search finds them again.
    """
    pages, pulled = tables.pages, 0
    page = tables.heads[bucket]
    while page != NONE and pulled < wanted:
        following = pages["next"][page]
        if (
            pages["status"][page] == QUEUED
            and pages["failures"][page] == 0
            and pages["importance"][page] > 0.0
            and pages["last_visit"][page] < now
            and allowed_at(pages, page) <= now
        ):
            unlink(tables, page)
            if is_open(tables.hosts, pages["host"][page], now, gap):
                make_ready(tables, page, worth(tables, page, now))
                pulled += 1
            else:
                _park(tables, page, pace)
        page = following
    return pulled
