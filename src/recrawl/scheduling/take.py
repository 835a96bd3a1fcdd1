"""Who is next: the pages whose visit is worth most now, as far as their hosts allow."""

import math

import numpy as np

from recrawl.kernels.jit import Floats, Ints, compiled, prefetch, small_step, step
from recrawl.scheduling.due import (
    clock_elapsed,
    make_ready,
    place_at,
    relax,
    unready,
    worth,
    worth_after,
)
from recrawl.scheduling.host_limits import count_visit, is_open, opens_at
from recrawl.scheduling.state import (
    AGAIN,
    COARSE,
    FAR,
    FINE,
    FIRST_VALUE,
    NONE,
    OUT,
    QUEUED,
    ROWS_AHEAD,
    WAITING,
    Book,
    unlink,
)
from recrawl.scheduling.timing_wheel import next_slot, queue, slot_of

#: Of the ready pages the best are looked at each time, this many times what is taken, and half as
#: many as are taken of the others in turn; at least so many.
LOOKED_AT = 1.1
LEAST_LOOKED_AT = 512
#: Two prices are kept, means over about these shares of the mean time between visits.
PRICE_MEMORY = 1 / 64
WATCH_MEMORY = 1 / 2
#: A page that comes up this share of its time early, as its clock has run slower than expected, is
#: not sent away again.
NEAR = 1 / 32
#: How often pages that are not due yet are asked for in one go, twice as many each time.
MAX_PULLS = 8
#: Pages that may wait for a host, and how many times what it takes at once.
LEAST_WAITING = 16
WAITING_TAKES = 2
#: A page that is not worth its host's price comes up again when its worth has grown by this.
LADDER = 1.5
#: A host's price falls by this whenever the host has nothing to do.
IDLE = 0.9


@compiled
def take_pages(book: Book, now: float, limit: int, gap: float, known: int) -> Ints:
    """Take the most valuable pages, at most so many, the best first.

    Ready pages are in buckets by what a visit was worth when they were looked at last. The best
    ones are looked at each time, and taken by what they are worth now; of the others some, in
    turn, so that none is left behind.

    Args:
        book: The frontier's.
        now: The present.
        limit: How many to take.
        gap: Days since pages were taken before.
        known: Pages in the frontier.
    """
    look = max(int(LOOKED_AT * limit), LEAST_LOOKED_AT)
    _bring_up(book, now)
    _look_again(book, now, max(limit // 2, LEAST_LOOKED_AT))
    taken = np.empty(limit, np.int64)
    size = 0
    marginal = math.nan
    for attempt in range(MAX_PULLS):
        before = size
        values, ready = _best_ready(book, now, look)
        rest = ready.size
        while rest > 0 and size < limit and values[0] > 0.0:
            rest = _move_best_to_end(values, ready, rest)
            if _take_one(book, ready[rest], now, gap, values[rest]):
                taken[size] = ready[rest]
                size += 1
                if book.pages["last_visit"][ready[rest]] > -math.inf:
                    marginal = values[rest]
        for place in range(rest):
            make_ready(book, ready[place], values[place])
        if size == limit:
            break
        # When all that were ready are taken or wait, pages due next stand in for more, as long as
        # that helps and it is not their hosts that are shut.
        in_vain = attempt > 0 and size == before
        if ready.size < look and (in_vain or _pull(book, now, (limit - size) << attempt) == 0):
            break
    if marginal > 0.0:
        _follow(book, marginal, size, known)
    return taken[:size]


@step
def _follow(book: Book, marginal: float, taken: int, known: int) -> None:
    """Let the prices follow what the least valuable of the visits taken was worth."""
    desk = book.desk
    if not desk["watch"][0] > 0.0:
        desk["price"][0] = desk["watch"][0] = marginal
    desk["price"][0] *= (marginal / desk["price"][0]) ** min(taken / (PRICE_MEMORY * known), 1.0)
    desk["watch"][0] *= (marginal / desk["watch"][0]) ** min(taken / (WATCH_MEMORY * known), 1.0)
    desk["highest"][0] = max(desk["highest"][0], desk["watch"][0])


@step
def _bring_up(book: Book, now: float) -> None:
    target = slot_of(book, now)
    while book.desk["slot"][0] < target:
        page = next_slot(book)
        following = book.pages["next"][page] if page != NONE else NONE
        while page != NONE:
            after = NONE
            if following != NONE:
                # Rows lie anywhere in memory: what the next pages need is asked for beforehand.
                after = book.pages["next"][following]
                prefetch(book.sections, book.pages["section"][following])
                prefetch(book.pages, max(after, 0))
            _arrive(book, page, now)
            page, following = following, after


@step
def _arrive(book: Book, page: int, now: float) -> None:
    """Decide about a page whose time has come by what was known when it was placed."""
    pages, hosts, host = book.pages, book.hosts, book.pages["host"][page]
    waited, failed = pages["place"][page] == WAITING, pages["failures"][page] > 0
    hosts["waiting"][host] -= waited
    if pages["needed"][page] == math.inf and not waited and not failed:
        relax(book, page, now)
        place_at(book, page, now, book.desk["watch"][0])
        return
    elapsed = clock_elapsed(book, page, now)
    ahead = pages["needed"][page] - elapsed
    too_early = ahead > max(book.desk["slot_width"][0], NEAR * pages["needed"][page])
    if too_early and not waited and not failed:
        pages["due"][page] = now + ahead
        queue(book, page)
        return
    value = worth_after(pages, page, elapsed)
    if hosts["waiting"][host] == 0:
        hosts["price"][host] *= IDLE
    elif value < hosts["price"][host] and not waited:
        _climb(book, page, now, value)
        return
    make_ready(book, page, value)


@step
def _climb(book: Book, page: int, now: float, value: float) -> None:
    """Let a page come up again when it is worth its host's price, or has at least gained on it."""
    price = min(
        book.hosts["price"][book.pages["host"][page]], LADDER * max(value, book.desk["watch"][0])
    )
    place_at(book, page, now, price)


@step
def _best_ready(book: Book, now: float, look: int) -> tuple[Floats, Ints]:
    """Take out the best ready pages with their values, as a heap: the best first."""
    count = min(book.desk["ready"][0], look)
    ready = np.empty(count, np.int64)
    bucket = book.desk["top"][0]
    for place in range(count):
        while bucket >= 0 and book.heads[FIRST_VALUE + bucket] == NONE:
            bucket -= 1
        ready[place] = _first_out(book, FIRST_VALUE + bucket if bucket >= 0 else AGAIN)
    book.desk["top"][0] = max(bucket, 0)
    values = _values_of(book, ready, now)
    for place in range(count // 2 - 1, -1, -1):
        _sift(values, ready, place, count)
    return values, ready


@step
def _look_again(book: Book, now: float, look: int) -> None:
    """Put some ready pages into the buckets they belong to now, bucket by bucket in turn."""
    if book.desk["ready"][0] <= look:
        # All of them are about to be looked at as the best.
        return
    again = np.empty(look, np.int64)
    for place in range(look):
        while book.heads[AGAIN] == NONE:
            _turn_to_next_bucket(book)
        again[place] = _first_out(book, AGAIN)
    values = _values_of(book, again, now)
    for place in range(look):
        make_ready(book, again[place], values[place])


@step
def _first_out(book: Book, where: int) -> int:
    """Take the first page out of a list of ready ones."""
    page = book.heads[where]
    prefetch(book.pages, max(book.pages["next"][page], 0))
    unready(book, page)
    return int(page)


@step
def _values_of(book: Book, page: Ints, now: float) -> Floats:
    """Give what visits to these pages are worth."""
    values = np.empty(page.size)
    for row in range(page.size):
        ahead = page[min(row + ROWS_AHEAD, page.size - 1)]
        prefetch(book.sections, book.pages["section"][ahead])
        prefetch(book.hosts, book.pages["host"][ahead])
        values[row] = worth(book, page[row], now)
    return values


@step
def _turn_to_next_bucket(book: Book) -> None:
    """Let the pages of the next bucket be those that are looked at again."""
    bucket = book.desk["turn"][0]
    book.desk["turn"][0] = bucket - 1 if bucket > 0 else book.desk["top"][0]
    first = book.heads[FIRST_VALUE + bucket]
    if first != NONE:
        book.heads[FIRST_VALUE + bucket] = NONE
        book.heads[AGAIN] = first
        book.pages["before"][first] = -2 - AGAIN


@step
def _move_best_to_end(values: Floats, ready: Ints, size: int) -> int:
    """Take the best page out of a heap, to just behind its end; give the heap's new size."""
    last = size - 1
    values[0], values[last] = values[last], values[0]
    ready[0], ready[last] = ready[last], ready[0]
    _sift(values, ready, 0, last)
    return last


@small_step
def _sift(values: Floats, ready: Ints, place: int, size: int) -> None:
    """Let the page at a place of a heap sink to where it belongs; of equals the lower is better."""
    value, page = values[place], ready[place]
    child = 2 * place + 1
    while child < size:
        other = child + 1
        if other < size and (
            values[other] > values[child]
            or (values[other] == values[child] and ready[other] < ready[child])
        ):
            child = other
        if value > values[child] or (value == values[child] and page < ready[child]):
            break
        values[place], ready[place] = values[child], ready[child]
        place, child = child, 2 * child + 1
    values[place], ready[place] = value, page


@step
def _take_one(book: Book, page: int, now: float, gap: float, value: float) -> bool:
    """Take a page that is in no list, or let it wait until its host is open."""
    pages, hosts, host = book.pages, book.hosts, book.pages["host"][page]
    if is_open(hosts, host, now, gap):
        count_visit(hosts, host, now, gap)
        pages["place"][page] = OUT
        return True
    at_once = gap / hosts["spacing"][host] if hosts["spacing"][host] > 0.0 else 0.0
    if hosts["waiting"][host] >= LEAST_WAITING + WAITING_TAKES * at_once:
        # Pages come here the most valuable first: this one shows what is too little.
        hosts["price"][host] = max(hosts["price"][host], value)
        _climb(book, page, now, value)
        return False
    pages["due"][page] = opens_at(hosts, host)
    queue(book, page)
    pages["place"][page] = WAITING
    hosts["waiting"][host] += 1
    return False


@step
def _pull(book: Book, now: float, wanted: int) -> int:
    """Make pages ready before their time, those due next first; give how many."""
    reached, pulled = book.desk["slot"][0], 0
    for slot in range(reached + 1, (reached // FINE + 1) * FINE):
        pulled += _pull_bucket(book, now, slot % FINE, wanted - pulled)
        if pulled >= wanted:
            return pulled
    for stretch in range(reached // FINE + 1, reached // FINE + COARSE):
        pulled += _pull_bucket(book, now, FINE + stretch % COARSE, wanted - pulled)
        if pulled >= wanted:
            return pulled
    return pulled + _pull_bucket(book, now, FAR, wanted - pulled)


@step
def _pull_bucket(book: Book, now: float, bucket: int, wanted: int) -> int:
    """Make pages of a bucket ready that wait for nothing but their time."""
    pages, pulled = book.pages, 0
    page = book.heads[bucket]
    while page != NONE and pulled < wanted:
        following = pages["next"][page]
        if (
            pages["place"][page] == QUEUED
            and pages["failures"][page] == 0
            and pages["importance"][page] > 0.0
            and pages["last_visit"][page] < now
        ):
            unlink(book, page)
            make_ready(book, page, worth(book, page, now))
            pulled += 1
        page = following
    return pulled
