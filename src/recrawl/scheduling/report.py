"""Learn from visits, and reschedule their pages and neighbours."""

import math
from typing import NamedTuple

from recrawl.estimation.octaves import (
    chance_of_change,
    hazard,
    inner,
    multiply_by_date,
    multiply_likelihood,
)
from recrawl.kernels.jit import (
    Bools,
    Floats,
    Ints,
    bare_step,
    compiled,
    prefetch,
    prefetch_start,
    small_bare_step,
)
from recrawl.scheduling.due import (
    effective_elapsed,
    kept,
    make_ready,
    ready_or_enqueue,
    remove_ready,
    schedule,
    worth,
)
from recrawl.scheduling.first_visits import leave_queue
from recrawl.scheduling.neighbours import (
    has_one_section,
    ignores_neighbours,
    is_ahead,
    learn,
    note_schedule,
    refresh_section,
)
from recrawl.scheduling.pooling import (
    find_usual_prior,
    learn_shape_from,
    shape_fits,
    uncount,
    weigh,
)
from recrawl.scheduling.rhythm import learn_rhythm, refit_rhythm
from recrawl.scheduling.signals import (
    is_heard,
    kept_by_signals,
    learn_likeness,
    learn_signals,
    multiply_after_signals,
    stated,
    write_likely,
)
from recrawl.scheduling.state import (
    ABSENT,
    FIRST_QUEUE,
    NONE,
    PARKED,
    QUEUED,
    READY,
    ROWS_AHEAD,
    WAITING,
    Tables,
    unlink,
)

#: A failed visit is retried after this share of the mean time between visits; each further failure
#: doubles the backoff, this many times at most.
FIRST_RETRY = 1 / 32
MAX_DOUBLINGS = 7
#: A visit teaches about the neighbours and the weekly rhythm if signals have left more than this
#: share of the page's chance of being fresh; otherwise they explain what it found.
BY_TIME = 0.9


class Finding(NamedTuple):
    """What a visit found.

    Attributes:
        now: When it was made.
        elapsed: Days since the last visit, in effective time.
        changed: Whether the page had changed.
        age: Days since the page last changed, if the server dates it; NaN if not.
    """

    now: float
    elapsed: float
    changed: bool
    age: float


@small_bare_step
def dequeue(tables: Tables, page: int) -> None:
    """Remove a page from the list it is in, if any."""
    status = tables.pages["status"][page]
    if status == READY:
        remove_ready(tables, page)
    elif status >= FIRST_QUEUE:
        leave_queue(tables, page)
    elif status in (QUEUED, WAITING, PARKED):
        unlink(tables, page)
        host = tables.pages["host"][page]
        tables.hosts["waiting"][host] -= status == WAITING
        tables.hosts["parked"][host] -= status == PARKED


@compiled
def reschedule(tables: Tables, page: Ints, now: float) -> None:
    """Schedule pages again after something about them has changed; taken ones stay taken."""
    for row in range(page.size):
        status = tables.pages["status"][page[row]]
        if status in (QUEUED, READY, PARKED) or status >= FIRST_QUEUE:
            dequeue(tables, page[row])
            schedule(tables, page[row], now, tables.shared["schedule_price"][0])


@compiled
def report_visits(
    tables: Tables,
    page: Ints,
    now: float,
    changed: Bools,
    failed: Bools,
    age: Floats,
    retry: float,
    pause: Floats,
) -> None:
    """Learn from visits and schedule their pages again.

    Args:
        tables: The frontier's tables.
        page: The pages visited.
        now: When they were visited.
        changed: Whether they had changed.
        failed: Whether the visit failed; a failed visit teaches nothing.
        age: Days since the page last changed, if the server dates it; NaN if not.
        retry: Days to back off after a first failure.
        pause: The minimum days to leave each page alone, if its visit failed.
    """
    last = page.size - 1
    for row in range(page.size):
        prefetch(tables.pages, page[min(row + 2 * ROWS_AHEAD, last)])
        ahead = page[min(row + ROWS_AHEAD, last)]
        prefetch(tables.sections, tables.pages["section"][ahead])
        prefetch(tables.hosts, tables.pages["host"][ahead])
        dequeue(tables, page[row])
        _record(tables, page[row], now, changed[row], failed[row], age[row], retry, pause[row])
    for row in range(page.size):
        prefetch_start(tables.hosts, tables.pages["host"][page[min(row + ROWS_AHEAD, last)]])
        if not failed[row]:
            tables.hosts["learned"][tables.pages["host"][page[row]]] += 1
    refit_rhythm(tables, now)
    for row in range(page.size):
        prefetch(tables.pages, page[min(row + 2 * ROWS_AHEAD, last)])
        prefetch_start(tables.hosts, tables.pages["host"][page[min(row + ROWS_AHEAD, last)]])
        schedule(tables, page[row], now, tables.shared["schedule_price"][0])
    _reschedule_neighbours(tables, page[changed & ~failed], now)


@bare_step
def _record(
    tables: Tables,
    page: int,
    now: float,
    changed: bool,  # noqa: FBT001
    failed: bool,  # noqa: FBT001
    age: float,
    retry: float,
    pause: float,
) -> None:
    """Record the outcome of one visit."""
    pages = tables.pages
    if failed:
        doublings = min(pages["failures"][page], MAX_DOUBLINGS)
        pages["failures"][page] = doublings + 1
        pages["due"][page] = now + max(retry * 2.0**doublings, pause)
        return
    pages["failures"][page] = 0
    if pages["last_visit"][page] < now:
        if pages["last_visit"][page] > -math.inf:
            _learn(tables, page, now, changed, age)
        else:
            _learn_from_first(tables, page, age)
        pages["last_visit"][page] = now
    pages["signals"][page] = pages["evidence"][page] = 0


@bare_step
def _reschedule_neighbours(tables: Tables, page: Ints, now: float) -> None:
    """Reschedule the hosts and sections of changed pages whose activity has run ahead."""
    last_host = NONE
    for row in range(page.size):
        ahead = page[min(row + ROWS_AHEAD, page.size - 1)]
        prefetch(tables.sections, tables.pages["section"][ahead])
        host = tables.pages["host"][page[row]]
        if not ignores_neighbours(tables, host):
            if host != last_host:
                _reschedule_host_if_ahead(tables, host, now)
                last_host = host
            _reschedule_section_if_ahead(tables, tables.pages["section"][page[row]], now)


@bare_step
def _learn(tables: Tables, page: int, now: float, changed: bool, age: float) -> None:  # noqa: FBT001
    """Update the activity around a page with a visit, then its belief, in effective time."""
    pages, section = tables.pages, tables.pages["section"][page]
    since, rate = pages["last_visit"][page], tables.shared["rate"][0]
    elapsed = effective_elapsed(tables, page, now)
    if not math.isnan(age):
        changed = age < now - since
    if kept_by_signals(tables, page) > BY_TIME:
        if not ignores_neighbours(tables, pages["host"][page]):
            learn(tables, section, since, now, pages["weight"][page], changed, now - age)
        expected = hazard(tables.curves, pages["weight"][page], rate, elapsed)
        learn_rhythm(tables, since, now, elapsed, expected, changed)
    finding = Finding(now, elapsed, changed, age)
    if is_heard(tables.hosts, pages["host"][page]):
        _learn_with_signals(tables, page, finding)
    else:
        _multiply(tables, page, finding)
    weigh(tables, page, kept(tables, now - since), True)  # noqa: FBT003


@bare_step
def _multiply(tables: Tables, page: int, finding: Finding) -> None:
    """Multiply a page's likelihoods by the chance of what a visit found."""
    pages, rate = tables.pages, tables.shared["rate"][0]
    likelihood, since = pages["likelihood"][page], pages["last_visit"][page]
    elapsed, changed = finding.elapsed, finding.changed
    before = shape_fits(tables, page)
    if math.isnan(finding.age):
        multiply_likelihood(tables.curves, likelihood, rate, elapsed, changed, stated(pages, page))
    else:
        quiet = elapsed / (finding.now - since) * min(finding.age, finding.now - since)
        multiply_by_date(tables.curves, likelihood, rate, quiet, changed)
    learn_shape_from(tables, page, before)


@bare_step
def _learn_with_signals(tables: Tables, page: int, finding: Finding) -> None:
    """Multiply likelihoods if there are signals, and learn how good these are."""
    pages, rate = tables.pages, tables.shared["rate"][0]
    elapsed, changed = finding.elapsed, finding.changed
    same = 1.0 - chance_of_change(tables.curves, pages["weight"][page], rate, elapsed)
    if pages["signals"][page] > 0:
        multiply_after_signals(tables, page, elapsed, changed)
    else:
        likelihood, shared = pages["likelihood"][page], tables.shared
        find_usual_prior(tables, page)
        write_likely(tables, page, shared["likely"][0])
        before = inner(likelihood, shared["prior"][0])
        before_likely = inner(likelihood, shared["likely"][0])
        _multiply(tables, page, finding)
        learn_likeness(tables, page, before, before_likely)
    learn_signals(tables, page, finding.now, same, changed)


@bare_step
def _learn_from_first(tables: Tables, page: int, age: float) -> None:
    """Set the belief about a page from the current prior, and its first date, if any."""
    if tables.pages["counts"][page]:
        return
    dated = not math.isnan(age)
    if dated:
        likelihood, rate = tables.pages["likelihood"][page], tables.shared["rate"][0]
        multiply_by_date(tables.curves, likelihood, rate, age, True)  # noqa: FBT003
    weigh(tables, page, 1.0, dated)


@bare_step
def _reschedule_host_if_ahead(tables: Tables, host: int, now: float) -> None:
    """Reschedule a host's pages if its activity has run ahead."""
    section, width = tables.hosts["first_section"][host], tables.shared["bin_width"][0]
    refresh_section(tables, section, now)
    if has_one_section(tables, host) or not is_ahead(
        tables.hosts, host, width, now, tables.hosts["trust"][host]
    ):
        return
    while section != NONE:
        refresh_section(tables, section, now)
        _reschedule_section(tables, section, now)
        section = tables.sections["next_section"][section]
    note_schedule(tables.hosts, host, width, now)


@bare_step
def _reschedule_section_if_ahead(tables: Tables, section: int, now: float) -> None:
    """Reschedule a section's pages if its activity has run ahead."""
    refresh_section(tables, section, now)
    trust = tables.hosts["trust"][tables.sections["host"][section]]
    if is_ahead(tables.sections, section, tables.shared["bin_width"][0], now, trust):
        _reschedule_section(tables, section, now)


@bare_step
def _reschedule_section(tables: Tables, section: int, now: float) -> None:
    """Recompute when the pages of a section are due."""
    pages = tables.pages
    page = tables.sections["first_page"][section]
    while page != NONE:
        if pages["status"][page] == READY:
            remove_ready(tables, page)
            make_ready(tables, page, worth(tables, page, now))
        elif pages["status"][page] in (QUEUED, PARKED) and pages["failures"][page] == 0:
            ahead = pages["needed"][page] - effective_elapsed(tables, page, now)
            if ahead < math.inf and now + ahead < pages["due"][page]:
                dequeue(tables, page)
                pages["due"][page] = now + ahead
                ready_or_enqueue(tables, page, now)
        page = pages["sibling"][page]
    note_schedule(tables.sections, section, tables.shared["bin_width"][0], now)


@compiled
def replace_priors(tables: Tables, page: Ints, shape: Floats, time: Floats) -> None:
    """Replace priors; a shape of 0 stands for one learned from other pages."""
    pages = tables.pages
    for row in range(page.size):
        here = page[row]
        counts = bool(pages["counts"][here])
        uncount(tables, here)
        pages["prior_shape"][here], pages["prior_time"][here] = shape[row], time[row]
        weigh(tables, here, 1.0, counts)


@compiled
def put_back_pages(tables: Tables, page: Ints, now: float) -> None:
    """Schedule pages that were taken but not visited as they were before."""
    for row in range(page.size):
        dequeue(tables, page[row])
        schedule(tables, page[row], now, tables.shared["schedule_price"][0])


@compiled
def remove_pages(tables: Tables, page: Ints) -> None:
    """Remove pages. They stay in their section's list, whose users skip them."""
    for row in range(page.size):
        dequeue(tables, page[row])
        uncount(tables, page[row])
        tables.pages["status"][page[row]] = ABSENT
        tables.hosts["pages"][tables.pages["host"][page[row]]] -= 1
