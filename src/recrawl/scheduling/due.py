"""Where a page belongs: what a visit to it is worth now, and when it will be worth its price."""

import math

import numpy as np

from recrawl.estimation.gamma import forget, hazard
from recrawl.kernels.jit import Floats, Ints, compiled, small_step, step
from recrawl.scheduling.neighbours import elapsed_by_clock
from recrawl.scheduling.state import (
    ABSENT,
    FIRST_VALUE,
    NONE,
    OUT,
    READY,
    VALUES,
    Book,
    Rows,
    link,
    unlink,
)
from recrawl.scheduling.timing_wheel import SLOTS_A_GAP, queue, slot_of
from recrawl.scheduling.value import elapsed_worth_of_belief, value_of_belief

#: A page without a copy is worth this much more than its belief's time: such pages come first.
WITHOUT_COPY = 1e12
#: Evidence can make a page look older by this factor at most, e^60.
MAX_EVIDENCE = 60.0
#: Steps and growth of the search for the time when forgetting has made a visit worth its price.
FORGETTING_STEPS = 200
FORGETTING_GROWTH = 1.25
#: Ready pages are in buckets by value, so many of them each time it doubles; a value of 1 is in the
#: middle, and buckets reach 64 doublings up and down from there.
BUCKETS_A_DOUBLING = 8.0
SMALLEST_VALUE = 2.0**-64
#: A page that is visited less often than the mean is ready when this share of its time is over. A
#: price that falls finds it ready, and looking at it now and then is often enough.
EARLY = 0.85
#: Steps and widest jumps of the search for a price.
PRICE_STEPS = 60
PRICE_JUMP = 1e6


@step
def clock_elapsed(book: Book, page: int, now: float) -> float:
    """Give the effective time since the page's last visit."""
    return elapsed_by_clock(book, book.pages["section"][page], book.pages["last_visit"][page], now)


@small_step
def _evidence(pages: Rows, page: int) -> float:
    """Give keep^(−1/a), by which evidence stretches b + t so that S becomes keep·S."""
    if pages["keep"][page] >= 1.0:
        return 1.0
    return math.exp(min(-math.log(pages["keep"][page]) / pages["shape"][page], MAX_EVIDENCE))


@step
def worth(book: Book, page: int, now: float) -> float:
    """Give what a visit now is worth: importance times days."""
    return worth_after(book.pages, page, clock_elapsed(book, page, now))


@step
def worth_after(pages: Rows, page: int, elapsed: float) -> float:
    """Give what a visit is worth so much effective time after the last one."""
    time = pages["time"][page]
    if pages["last_visit"][page] == -math.inf:
        return float(pages["importance"][page] * time * WITHOUT_COPY)
    seen = (time + elapsed) * _evidence(pages, page) - time
    return float(pages["importance"][page] * value_of_belief(pages["shape"][page], time, seen))


@step
def survival(book: Book, page: int, now: float) -> float:
    """Give the chance that the page's copy is fresh."""
    pages = book.pages
    if pages["last_visit"][page] == -math.inf:
        return 0.0
    passed = hazard(pages["shape"][page], pages["time"][page], clock_elapsed(book, page, now))
    return float(pages["keep"][page] * math.exp(-passed))


@small_step
def relax(book: Book, page: int, now: float) -> None:
    """Let half of what is believed beyond the prior be forgotten in each half-life."""
    book.pages["shape"][page], book.pages["time"][page] = _forgotten(book, page, now)
    book.pages["relaxed"][page] = now


@small_step
def _forgotten(book: Book, page: int, now: float) -> tuple[float, float]:
    """Return what will be left of a page's belief at a time without visits until then."""
    pages = book.pages
    return forget(
        pages["shape"][page],
        pages["time"][page],
        pages["prior_shape"][page],
        pages["prior_time"][page],
        max(now - pages["relaxed"][page], 0.0),
        book.desk["half_life"][0],
    )


@step
def need(book: Book, page: int, now: float, price: float) -> tuple[float, float]:
    """Give the effective time that makes a visit worth a price, and when that will be."""
    pages = book.pages
    weight, time = pages["importance"][page], pages["time"][page]
    if weight <= 0.0:
        return math.inf, math.inf
    if pages["last_visit"][page] == -math.inf:
        return 0.0, now
    seen = elapsed_worth_of_belief(pages["shape"][page], time, price / weight)
    if seen == math.inf:
        return math.inf, _after_forgetting(book, page, now, price / weight)
    needed = max((time + seen) / _evidence(pages, page) - time, 0.0)
    return needed, now + needed - clock_elapsed(book, page, now)


@step
def _after_forgetting(book: Book, page: int, now: float, value: float) -> float:
    """Give about when a belief too sure of itself will have been forgotten enough for a visit."""
    pages, half_life = book.pages, book.desk["half_life"][0]
    if half_life == math.inf:
        return math.inf
    ahead = half_life / 16.0
    for _ in range(FORGETTING_STEPS):
        shape, time = _forgotten(book, page, now + ahead)
        if value_of_belief(shape, time, now + ahead - pages["last_visit"][page]) >= value:
            return float(now + ahead)
        ahead *= FORGETTING_GROWTH
    return math.inf


@step
def place_at(book: Book, page: int, now: float, price: float) -> None:
    """Put a page that is in no list where it belongs at a price."""
    pages = book.pages
    needed, due = need(book, page, now, price)
    if needed < math.inf:
        early = book.desk["early"][0]
        if needed > book.desk["slot_width"][0] * SLOTS_A_GAP:
            early = min(early, EARLY)
        due -= (1.0 - early) * needed
        needed *= early
    pages["needed"][page] = needed
    if pages["failures"][page] == 0:
        pages["due"][page] = due
    put(book, page, now)


@step
def put(book: Book, page: int, now: float) -> None:
    """Put a page that is in no list among those that are ready, or into the calendar."""
    if book.pages["due"][page] <= now:
        make_ready(book, page, worth(book, page, now))
    else:
        queue(book, page)


@small_step
def make_ready(book: Book, page: int, value: float) -> None:
    """Put a page that is in no list among those that are ready, by what a visit is worth."""
    bucket = 0
    if value > SMALLEST_VALUE:
        steps = VALUES / 2 + BUCKETS_A_DOUBLING * math.log2(value)
        bucket = int(min(max(steps, 0.0), VALUES - 1.0))
    link(book, page, FIRST_VALUE + bucket)
    book.pages["place"][page] = READY
    book.desk["ready"][0] += 1
    book.desk["top"][0] = max(book.desk["top"][0], bucket)


@small_step
def unready(book: Book, page: int) -> None:
    """Take a page from among those that are ready."""
    unlink(book, page)
    book.desk["ready"][0] -= 1


@compiled
def balanced_price(book: Book, sample: Ints, visits: float) -> float:
    """Give the price at which the pages of a sample are due so many times a day in all.

    A page is due once in the time that makes a visit worth the price; the higher the price, the
    longer that is. The price is found by halving its range on a logarithmic scale.
    """
    low = high = 0.0
    price = 1.0
    for _ in range(PRICE_STEPS):
        if _visits_at(book, sample, price) > visits:
            low = price
        else:
            high = price
        if low == 0.0:
            price /= PRICE_JUMP
        elif high == 0.0:
            price *= PRICE_JUMP
        else:
            price = math.sqrt(low) * math.sqrt(high)
    return price


@step
def _visits_at(book: Book, sample: Ints, price: float) -> float:
    """Give how many visits a day a sample of pages is due at a price."""
    pages, visits = book.pages, 0.0
    for row in range(sample.size):
        page = sample[row]
        if pages["importance"][page] > 0.0:
            visits += 1.0 / elapsed_worth_of_belief(
                pages["shape"][page], pages["time"][page], price / pages["importance"][page]
            )
    return visits


@compiled
def place_all(book: Book, now: float) -> None:
    """Put every page where it belongs at the price there is, from scratch."""
    book.heads[:] = NONE
    book.desk["ready"][0] = book.desk["top"][0] = book.desk["turn"][0] = 0
    book.hosts["waiting"][:] = 0
    book.desk["highest"][0] = book.desk["watch"][0]
    book.desk["slot"][0] = slot_of(book, now)
    # Backwards, as a list begins with the page that came last.
    for page in range(book.pages.size - 1, -1, -1):
        if book.pages["place"][page] not in (ABSENT, OUT):
            place_at(book, page, now, book.desk["watch"][0])


@compiled
def place_new(book: Book, page: Ints, now: float) -> None:
    """Put pages that are in no list where they belong."""
    for row in range(page.size):
        place_at(book, page[row], now, book.desk["watch"][0])


@compiled
def due_times(book: Book, page: Ints, now: float) -> Floats:
    """Give when a visit to each of these pages will be worth the price there is."""
    due = np.empty(page.size)
    for row in range(page.size):
        here = page[row]
        _, due[row] = need(book, here, now, book.desk["price"][0])
        if book.pages["failures"][here] > 0:
            due[row] = max(due[row], book.pages["due"][here])
    return due


@compiled
def fresh_importance(book: Book, now: float) -> tuple[float, float]:
    """Give the importance expected to be fresh, and the importance there is."""
    fresh = total = 0.0
    for page in range(book.pages.size):
        if book.pages["place"][page] != ABSENT:
            fresh += book.pages["importance"][page] * survival(book, page, now)
            total += book.pages["importance"][page]
    return fresh, total
