"""Compute when a page is due: what a visit is worth now, and when it will be worth its price."""

import math

import numpy as np

from recrawl.estimation.octaves import (
    BELOW,
    chance_and_value,
    chance_of_change,
    elapsed_worth,
    greatest_value,
    with_evidence,
    without_evidence,
)
from recrawl.estimation.signals import (
    FEW,
    elapsed_worth_with_signals,
    value_with_signals,
)
from recrawl.kernels.jit import (
    Floats,
    Ints,
    bare_step,
    compiled,
    prefetch,
    prefetch_start,
    small_bare_step,
)
from recrawl.scheduling.first_visits import empty_queues, is_queued_first, join_queue
from recrawl.scheduling.neighbours import trusted_elapsed
from recrawl.scheduling.pooling import value_of_prior
from recrawl.scheduling.rhythm import timing, with_rhythm
from recrawl.scheduling.signals import kept_by_signals, signals_ahead, was_signalled
from recrawl.scheduling.state import (
    ABSENT,
    FIRST_VALUE,
    NONE,
    READY,
    ROWS_AHEAD,
    TAKEN,
    VALUES,
    Rows,
    Tables,
    link,
    unlink,
)
from recrawl.scheduling.timing_wheel import SLOTS_PER_GAP, enqueue, slot_of

#: The value of pages without a copy, in units of the mean time between visits: they come first.
WITHOUT_COPY = 1e12
#: The same after a failed visit: a page that fails comes after those that were not tried yet.
FAILED_WITHOUT_COPY = 1e6
#: The value of overdue pages, in units of importance and of their maximum interval: they come
#: after pages without a copy, and before all others.
OVERDUE = 1e9
#: However bad the hour of the week, a visit is worth at least this share of its value otherwise.
MIN_TIMED = 1e-3
#: Pages are scheduled no later than when this share of the evidence is still remembered.
LEAST_KEPT = 1e-9
#: Ready pages are in buckets by value. They cover 128 doublings from the smallest value on: there
#: is more above 1 than below, as pages without a copy, and overdue ones, are worth far more.
BUCKETS_PER_DOUBLING = 8.0
SMALLEST_VALUE = 2.0**-48
#: A page visited less often than average becomes ready after this share of the time it needs, so
#: that it is there when the price falls; checking it now and then is enough.
EARLY = 0.85
#: Steps of the search for a price, and the factor by which it is bracketed.
PRICE_STEPS = 60
PRICE_FACTOR = 1e6


@small_bare_step
def effective_elapsed(tables: Tables, page: int, now: float) -> float:
    """Return the effective time since the page's last visit."""
    since, host = tables.pages["last_visit"][page], tables.pages["host"][page]
    if tables.hosts["learned"][host] == 0:
        # Nothing is known about its activity: do not load the section, which is not in the cache.
        return with_rhythm(tables, max(now - since, 0.0), since, now)
    active = trusted_elapsed(tables, tables.pages["section"][page], since, now)
    return with_rhythm(tables, active, since, now)


@bare_step
def worth(tables: Tables, page: int, now: float) -> float:
    """Return the value of a visit now: importance times days."""
    return worth_after(tables, page, now, effective_elapsed(tables, page, now))


@small_bare_step
def is_overdue(pages: Rows, page: int, now: float) -> bool:
    """Whether a page's copy is older than its maximum interval."""
    return bool(now - pages["last_visit"][page] >= pages["max_interval"][page]) and bool(
        pages["last_visit"][page] > -math.inf
    )


@small_bare_step
def allowed_at(pages: Rows, page: int) -> float:
    """Return when a page may be visited by its minimum interval."""
    return float(pages["last_visit"][page] + pages["min_interval"][page])


@small_bare_step
def worth_after(tables: Tables, page: int, now: float, elapsed: float) -> float:
    """Return the value of a visit now, ``elapsed`` days of effective time after the last one."""
    pages, rate = tables.pages, tables.shared["rate"][0]
    if is_overdue(pages, page, now):
        # The longer a page is overdue, relative to its maximum interval, the sooner it is visited.
        late = (now - pages["last_visit"][page]) / pages["max_interval"][page]
        return float(pages["importance"][page] * late * OVERDUE)
    if pages["last_visit"][page] == -math.inf:
        first = WITHOUT_COPY if pages["failures"][page] == 0 else FAILED_WITHOUT_COPY
        return float(pages["importance"][page] * first / (rate * 2.0**BELOW))
    stale, value = _stale_and_value(tables, page, elapsed)
    if pages["needed"][page] == math.inf:
        # Time alone never makes a visit worth its price, but forgetting may.
        forgotten = 1.0 - kept(tables, now - pages["last_visit"][page])
        value += forgotten * (value_of_prior(tables, page, elapsed) - value)
    timed = value + stale * timing(tables, now, elapsed)
    return float(pages["importance"][page] * max(timed, MIN_TIMED * value))


@small_bare_step
def _stale_and_value(tables: Tables, page: int, elapsed: float) -> tuple[float, float]:
    """Return the chance that a page has changed, and the value of a visit in days."""
    weight, rate = tables.pages["weight"][page], tables.shared["rate"][0]
    keep = kept_by_signals(tables, page)
    per_day, share = signals_ahead(tables, page)
    if per_day * share * elapsed > FEW or (per_day * share > 0.0 and keep < 1.0):
        fresh = keep * (1.0 - chance_of_change(tables.curves, weight, rate, elapsed))
        return 1.0 - fresh, value_with_signals(tables.curves, weight, rate, per_day, share, fresh)
    if keep < 1.0:
        elapsed = with_evidence(tables.curves, weight, rate, elapsed, keep)
    return chance_and_value(tables.curves, weight, rate, elapsed)


@small_bare_step
def kept(tables: Tables, elapsed: float) -> float:
    """Return the share of the evidence that is not forgotten after some days."""
    return math.exp(-math.log(2.0) * elapsed / tables.shared["half_life"][0])


@bare_step
def survival(tables: Tables, page: int, now: float) -> float:
    """Return the chance that the page's copy is fresh."""
    pages = tables.pages
    if pages["last_visit"][page] == -math.inf:
        return 0.0
    elapsed = effective_elapsed(tables, page, now)
    changed = chance_of_change(
        tables.curves, pages["weight"][page], tables.shared["rate"][0], elapsed
    )
    return kept_by_signals(tables, page) * (1.0 - changed)


@bare_step
def due_at(tables: Tables, page: int, now: float, price: float) -> tuple[float, float]:
    """Return the effective time after which a visit is worth a price, and when that will be."""
    pages, rate = tables.pages, tables.shared["rate"][0]
    importance, weight = pages["importance"][page], pages["weight"][page]
    if importance <= 0.0:
        return math.inf, math.inf
    if pages["last_visit"][page] == -math.inf:
        return 0.0, now
    per_day, share = signals_ahead(tables, page)
    needed = elapsed_worth_with_signals(
        tables.curves, weight, rate, per_day, share, price / importance
    )
    if needed == math.inf:
        forgotten = _after_forgetting(tables, page, price / importance)
        return math.inf, within_interval(pages, page, forgotten)
    if was_signalled(pages, page):
        keep = kept_by_signals(tables, page)
        needed = without_evidence(tables.curves, weight, rate, needed, keep)
    due = now + needed - effective_elapsed(tables, page, now)
    return needed, within_interval(pages, page, due)


@small_bare_step
def within_interval(pages: Rows, page: int, due: float) -> float:
    """Return when a page with a copy is due, moved into its interval."""
    latest = pages["last_visit"][page] + pages["max_interval"][page]
    return float(max(min(due, latest), allowed_at(pages, page)))


@bare_step
def _after_forgetting(tables: Tables, page: int, value: float) -> float:
    """Return when forgetting will have made a visit worth ``value``, which time cannot.

    By then the belief is a mixture of the present one and the prior, and the value under each is
    almost as high as it will ever be.
    """
    pages, half_life = tables.pages, tables.shared["half_life"][0]
    if half_life == math.inf:
        return math.inf
    least = greatest_value(tables.curves, pages["weight"][page], tables.shared["rate"][0])
    most = value_of_prior(tables, page, math.inf)
    if not value < most:
        return math.inf
    share = min(max((most - value) / (most - least), 0.0), 1.0) if most > least else 0.0
    return float(pages["last_visit"][page] - half_life * math.log2(max(share, LEAST_KEPT)))


@bare_step
def schedule(tables: Tables, page: int, now: float, price: float) -> None:
    """Schedule a page that is in no list for when a visit will be worth a price."""
    pages = tables.pages
    if is_queued_first(pages, page, now):
        join_queue(tables, page, False)  # noqa: FBT003
        return
    needed, due = due_at(tables, page, now, price)
    early = tables.shared["early"][0]
    # A page that is due only because of its maximum interval is worth nothing earlier.
    is_forced = due == pages["last_visit"][page] + pages["max_interval"][page] and early > 0.0
    if needed < math.inf and not is_forced:
        if needed > tables.shared["slot_width"][0] * SLOTS_PER_GAP:
            early = min(early, EARLY)
        due -= (1.0 - early) * needed
        needed *= early
        if pages["last_visit"][page] > -math.inf:
            due = within_interval(pages, page, due)
    elif early == 0.0 and pages["importance"][page] > 0.0:
        # All pages are always ready: the price may fall again below what the visit is worth.
        due = within_interval(pages, page, now)
    if pages["last_visit"][page] > -math.inf:
        pages["needed"][page] = needed
    if pages["failures"][page] == 0:
        pages["due"][page] = due
    ready_or_enqueue(tables, page, now)


@bare_step
def ready_or_enqueue(tables: Tables, page: int, now: float) -> None:
    """Make a page that is in no list ready if it is due; enqueue it if not."""
    if tables.pages["due"][page] <= now:
        make_ready(tables, page, worth(tables, page, now))
    else:
        enqueue(tables, page)


@small_bare_step
def make_ready(tables: Tables, page: int, value: float) -> None:
    """Add a page that is in no list to the ready pages, by the value of a visit."""
    bucket = 0
    if value > SMALLEST_VALUE:
        steps = BUCKETS_PER_DOUBLING * math.log2(value / SMALLEST_VALUE)
        bucket = int(min(steps, VALUES - 1.0))
    link(tables, page, FIRST_VALUE + bucket)
    tables.pages["status"][page] = READY
    tables.shared["ready"][0] += 1
    tables.shared["top_bucket"][0] = max(tables.shared["top_bucket"][0], bucket)


@small_bare_step
def remove_ready(tables: Tables, page: int) -> None:
    """Remove a page from the ready pages."""
    unlink(tables, page)
    tables.shared["ready"][0] -= 1


@compiled
def balanced_price(tables: Tables, sample: Ints, visits: float) -> float:
    """Return the price at which the pages of a sample are due for ``visits`` visits per day.

    The interval between a page's visits is the time after which a visit is worth the price; it
    increases with the price. The price is found by bisection on a logarithmic scale.
    """
    low = high = 0.0
    price = 1.0
    for _ in range(PRICE_STEPS):
        if _visits_at(tables, sample, price) > visits:
            low = price
        else:
            high = price
        if low == 0.0:
            price /= PRICE_FACTOR
        elif high == 0.0:
            price *= PRICE_FACTOR
        else:
            price = math.sqrt(low) * math.sqrt(high)
    return price


@bare_step
def _visits_at(tables: Tables, sample: Ints, price: float) -> float:
    """Return how many visits per day a sample of pages is due for at a price."""
    pages, visits = tables.pages, 0.0
    for row in range(sample.size):
        page = sample[row]
        if pages["importance"][page] > 0.0:
            visits += 1.0 / elapsed_worth(
                tables.curves,
                pages["weight"][page],
                tables.shared["rate"][0],
                price / pages["importance"][page],
            )
    return visits


@compiled
def schedule_all(tables: Tables, now: float) -> None:
    """Schedule every page from scratch, at the current price."""
    tables.heads[:] = NONE
    empty_queues(tables)
    tables.shared["ready"][0] = tables.shared["top_bucket"][0] = tables.shared["revalue_bucket"][
        0
    ] = 0
    tables.hosts["waiting"][:] = tables.hosts["parked"][:] = 0
    tables.shared["highest_price"][0] = tables.shared["schedule_price"][0]
    tables.shared["slot"][0] = slot_of(tables, now)
    # Backwards, as pages are added at the front of a list.
    for page in range(tables.pages.size - 1, -1, -1):
        _prefetch_around(tables, max(page - ROWS_AHEAD, 0), max(page - 2 * ROWS_AHEAD, 0))
        if tables.pages["status"][page] in (ABSENT, TAKEN):
            continue
        if is_queued_first(tables.pages, page, now):
            join_queue(tables, page, True)  # noqa: FBT003
        else:
            schedule(tables, page, now, tables.shared["schedule_price"][0])


@small_bare_step
def _prefetch_around(tables: Tables, soon: int, later: int) -> None:
    """Prefetch what the due times of two pages depend on: the host first, which says what else."""
    prefetch_start(tables.hosts, tables.pages["host"][later])
    if tables.hosts["learned"][tables.pages["host"][soon]] > 0:
        prefetch(tables.sections, tables.pages["section"][soon])


@compiled
def schedule_each(tables: Tables, page: Ints, now: float) -> None:
    """Schedule pages that are in no list."""
    for row in range(page.size):
        soon, later = min(row + ROWS_AHEAD, page.size - 1), min(row + 2 * ROWS_AHEAD, page.size - 1)
        _prefetch_around(tables, page[soon], page[later])
        schedule(tables, page[row], now, tables.shared["schedule_price"][0])


@compiled
def due_times(tables: Tables, page: Ints, now: float) -> Floats:
    """Return when a visit to each of these pages will be worth the current price."""
    due = np.empty(page.size)
    for row in range(page.size):
        here = page[row]
        _, due[row] = due_at(tables, here, now, tables.shared["price"][0])
        if tables.pages["failures"][here] > 0:
            due[row] = max(due[row], tables.pages["due"][here])
    return due


@compiled
def chances_fresh(tables: Tables, page: Ints, now: float) -> Floats:
    """Return the chances that these pages' copies are fresh."""
    fresh = np.empty(page.size)
    for row in range(page.size):
        fresh[row] = survival(tables, page[row], now)
    return fresh


@compiled
def fresh_importance(tables: Tables, now: float) -> tuple[float, float]:
    """Return the importance expected to be fresh, and the total importance."""
    fresh = total = 0.0
    for page in range(tables.pages.size):
        if tables.pages["status"][page] != ABSENT:
            fresh += tables.pages["importance"][page] * survival(tables, page, now)
            total += tables.pages["importance"][page]
    return fresh, total
