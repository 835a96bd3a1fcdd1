"""The frontier's tables of pages, hosts and sections, and the linked lists through the pages.

A page's row holds everything a decision about it needs, in two cache lines. A page is in at most
one list at a time: a bucket of the timing wheel or a bucket of the ready pages. The lists are
doubly linked, so adding and removing a page takes constant time.
"""

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recrawl.errors import ArgumentError
from recrawl.estimation.octaves import OCTAVES, Curves, make_curves
from recrawl.estimation.rate_shapes import EQUAL, ONLY_FLAT, PEAKED, SHAPES
from recrawl.estimation.signals import KINDS, PRECISION, PRIOR_CHANGES, PRIOR_SIGNALS
from recrawl.kernels.jit import Floats, Ints, compiled, small_bare_step
from recrawl.scheduling.inputs import NewPages

Rows = NDArray[np.void]
Small = NDArray[np.int32]
Singles = NDArray[np.float32]

#: A page's status. A waiting page is in the timing wheel until its host may be visited again; a
#: parked one is not due yet, and would have been visited early if its host allowed it. A taken page
#: is out until its visit is reported; a new page is in no list yet. From `FIRST_QUEUE` on, a page
#: is in one of its host's queues of pages without a copy: of discovered ones, or of free ones.
ABSENT, QUEUED, READY, WAITING, TAKEN, NEW, PARKED, FIRST_QUEUE = range(8)
#: How the first visit to a page is paid for; see `recrawl.scheduling.first_visits`.
ASKED, DISCOVERED, FREE = 0.0, -1.0, -2.0
#: No page; the end of a list.
NONE = -1
#: The sibling of a page that is not in its section's list yet.
UNLINKED = -2
#: Lists: the timing wheel's fine and coarse buckets and its overflow, and the ready pages by value.
FINE = COARSE = VALUES = 1024
OVERFLOW = FINE + COARSE
FIRST_VALUE = OVERFLOW + 1
#: Ready pages whose value is about to be recomputed.
REVALUE = FIRST_VALUE + VALUES
#: The timing wheel of pages that wait or are parked: as many lists as up to `OVERFLOW`.
FIRST_WAITING = REVALUE + 1
LISTS = FIRST_WAITING + OVERFLOW + 1
#: How many pages ahead a loop prefetches, as rows are scattered over memory.
ROWS_AHEAD = 8
#: Bins of a host's or section's activity.
BINS = 64
#: Bins of the week's rhythm.
WEEK_BINS = 28
#: The initial log-odds that neighbours predict the outcomes of a host's visits.
FIRST_ODDS = 2.0
#: The initial log-odds that a host's signals are informative: trust has to be earned.
FIRST_SIGNAL_ODDS = -1.0
#: The changes a host starts with, as found and as expected.
CALIBRATION_PRIOR = 8.0
#: The cumulative time has to be recomputed.
STALE = -1

#: One row per page; see `recrawl.estimation.octaves` for the belief.
PAGE = np.dtype(
    [
        ("importance", np.float64),
        ("last_visit", np.float64),  # when the copy was made; −∞ if there is none yet
        ("due", np.float64),  # when a visit is worth its price; after a failure, when to retry
        # effective time since the last visit after which it is; before the first visit, how that is
        # paid for
        ("needed", np.float32),
        ("min_interval", np.float32),  # days after a visit before which there is no other
        ("max_interval", np.float32),  # days after a visit from which the page is overdue
        ("prior_shape", np.float32),  # of the page's own prior; 0 if it has none
        ("prior_time", np.float32),
        ("host", np.int32),
        ("section", np.int32),
        ("next", np.int32),  # next page in the list
        ("before", np.int32),  # previous page in the list, or −2 − list for the first one
        ("sibling", np.int32),  # next page of the section, in whatever list it is
        ("evidence", np.uint16),  # see `recrawl.scheduling.signals` for these three
        ("signals", np.uint16),
        ("counted", np.uint8),
        ("status", np.int8),
        ("failures", np.int8),  # failed visits in a row
        ("counts", np.bool_),  # whether its weights are among those of section, host and fleet
        ("weight", np.uint16, (OCTAVES,)),  # what is believed, prior included
        ("likelihood", np.float32, (OCTAVES,)),  # what visits said, without the prior
    ],
    align=True,
)

#: What is learned about a host's signals; see `recrawl.scheduling.signals`.
TRUST = [
    ("right", np.float32, (len(KINDS),)),  # how many of each kind were right...
    ("seen", np.float32, (len(KINDS),)),  # ...of those that were followed by a visit
    ("signal_odds", np.float32, (len(KINDS),)),  # log-odds that they say anything
    ("alone", np.float32),  # changes found by visits without a signal
    ("missed", np.float32),  # signals expected before these visits
    ("alike_odds", np.float32),  # log-odds that pages with more signals have more such changes
]

#: See `recrawl.scheduling.pooling`.
POOL = [
    ("members", np.int64),  # pages whose weights are counted
    ("pool", np.float64, (OCTAVES,)),  # the sum of their weights
]

#: See `recrawl.scheduling.neighbours`; a bin's column is its number modulo `BINS`.
ACTIVITY = [
    ("newest", np.int64),  # number of the newest bin
    ("refreshed", np.int64),  # the host's ``learned`` when ``cumulative`` was computed
    ("scheduled_at", np.float64),  # when the pages were scheduled
    ("cumulative", np.float32, (BINS + 1,)),  # effective time from the oldest bin to each bin
    ("found", np.float32, (BINS,)),  # changes found, spread over the bins they may belong to
    ("expected", np.float32, (BINS,)),  # changes expected of the same visits
    ("assumed", np.float32, (BINS,)),  # effective time from each bin to ``scheduled_at``
]

#: One row per host.
HOST = np.dtype(
    [
        ("delay", np.float64),  # days between two visits
        ("spacing", np.float64),  # days of the host's budget per visit; 0 without a budget
        ("learned", np.int64),  # visits that its activity has learned from
        ("open_at", np.float64),  # no visit before this time: delay, or Retry-After
        ("paid_until", np.float64),  # time up to which the host's budget is used up
        ("price", np.float64),  # what a visit must be worth while too many pages wait
        ("odds", np.float64),  # log-odds that neighbours predict outcomes better than real time
        ("trust", np.float64),  # the probability of these odds
        ("all_found", np.float64),  # changes found, exponentially weighted
        ("all_expected", np.float64),  # changes expected of the same visits
        ("waiting", np.int32),  # pages that wait for the host
        ("parked", np.int32),  # pages that are parked because of it
        ("first_section", np.int32),
        ("pages", np.int32),
        # see `recrawl.scheduling.first_visits`; the first of two is for discovered pages
        ("queue", np.int32, (2,)),  # the first page of its queues...
        ("queue_end", np.int32, (2,)),  # ...and the last one
        ("turn_after", np.int32, (2,)),  # the hosts with a queue whose turns are after this one...
        ("turn_before", np.int32, (2,)),  # ...and before it
        ("shared_until", np.float64),  # time up to which its share for first visits is used up
        ("heard", np.float32, (len(KINDS),)),  # signals of each kind
        ("heard_since", np.float64),  # time of the first of them; ∞ if there was none
        ("heard_until", np.float64),  # time of the last signal or visit
        *TRUST,
        *POOL,
        *ACTIVITY,
    ],
    align=True,
)

#: One row per section.
SECTION = np.dtype(
    [
        ("host", np.int32),
        ("next_section", np.int32),  # next section of the same host
        ("first_page", np.int32),
        *POOL,
        *ACTIVITY,
    ],
    align=True,
)

#: One row for the whole frontier.
SHARED = np.dtype(
    [
        ("price", np.float64),  # value of the least valuable visits taken lately
        ("schedule_price", np.float64),  # its mean over a longer time: pages are scheduled by it
        ("highest_price", np.float64),  # the highest schedule price of any queued page
        ("early", np.float64),  # share of the needed time after which a page becomes ready
        ("half_life", np.float64),  # days in which half of what was learned is forgotten
        ("slot_width", np.float64),  # days per slot of the timing wheel
        ("bin_width", np.float64),  # days per bin of activity
        ("rate", np.float64),  # the lowest of the change rates that weights are for
        ("pooling", np.bool_),  # whether priors are learned from sections, hosts and the fleet
        ("prior", np.float32, (OCTAVES,)),  # the prior of the page that is being looked at
        ("likely", np.float32, (OCTAVES,)),  # its prior by signals; the likelihood of a visit
        ("weight", np.uint16, (OCTAVES,)),  # the weights that it leads to
        ("flat", np.float32, (OCTAVES,)),  # the flat shape, as far as the page's visits tell
        ("chances", np.float64, (SHAPES,)),  # of the shapes of the fleet's rates
        ("base", np.float32, (OCTAVES,)),  # what all shapes but the flat one add to a prior
        *POOL,
        ("drawn", np.int64),  # random numbers drawn so far
        ("saving_price", np.float64),  # what a visit must be worth to be made with saved budget
        ("week_found", np.float64, (WEEK_BINS,)),  # changes found, by the hour of the week
        ("week_expected", np.float64, (WEEK_BINS,)),  # changes expected of the same visits
        ("week_lead", np.float64, (WEEK_BINS + 1,)),  # see `recrawl.scheduling.rhythm`
        ("week_area", np.float64, (WEEK_BINS + 1,)),  # its integral from the week's beginning
        ("week_odds", np.float64),  # log-odds that it predicts outcomes better than plain time
        ("week_trust", np.float64),  # their probability when speeds were computed last
        ("week_refit_at", np.float64),  # when speeds are to be computed again
        ("slot", np.int64),  # the wheel's current slot
        ("ready", np.int64),  # number of ready pages
        ("top_bucket", np.int64),  # no ready page is in a bucket above this one
        ("revalue_bucket", np.int64),  # the bucket whose pages are revalued next
        ("revaluing", np.int64),  # the bucket whose pages are being revalued
        ("turn", np.int32, (2,)),  # the host whose turn it is, for discovered and for free pages
        ("shared_until", np.float64),  # time up to which the share for first visits is used up
        ("filled", np.float64),  # free visits that count towards their limit...
        ("filled_at", np.float64),  # ...at this time; they count less and less
    ],
    align=True,
)


@dataclass(frozen=True)
class FrontierSettings:
    """The arguments of a `Frontier`, checked."""

    budget: float
    half_life: float
    host_delay: float
    host_spacing: float
    neighbours: bool
    pooling: bool
    rhythm: bool
    slack: float
    spend: str
    catch_up: float
    new_share: float
    new_host_share: float
    first_fill: float


class Tables(NamedTuple):
    """A frontier's whole state; kernels change it in place.

    Attributes:
        pages: Rows of `PAGE`.
        hosts: Rows of `HOST`.
        sections: Rows of `SECTION`.
        shared: One row of `SHARED`.
        heads: The first page of each list.
        curves: See `recrawl.estimation.octaves.make_curves`; always the same, and not saved.
    """

    pages: Annotated[Rows, PAGE]
    hosts: Annotated[Rows, HOST]
    sections: Annotated[Rows, SECTION]
    shared: Annotated[Rows, SHARED]
    heads: Small
    curves: Curves


@small_bare_step
def link(tables: Tables, page: int, where: int) -> None:
    """Add a page at the front of a list."""
    pages, first = tables.pages, tables.heads[where]
    pages["next"][page] = first
    pages["before"][page] = -2 - where
    if first != NONE:
        pages["before"][first] = page
    tables.heads[where] = page


@small_bare_step
def unlink(tables: Tables, page: int) -> None:
    """Remove a page from its list."""
    pages = tables.pages
    after, before = pages["next"][page], pages["before"][page]
    if after != NONE:
        pages["before"][after] = before
    if before >= 0:
        pages["next"][before] = after
    else:
        tables.heads[-2 - before] = after


def empty_tables(settings: FrontierSettings) -> Tables:
    """Return the tables of a frontier without pages."""
    shared = np.zeros(1, SHARED)
    shared["half_life"] = settings.half_life
    shared["pooling"] = settings.pooling
    set_usual_shapes(shared)
    # Odds of −∞ never move: a rhythm that is switched off stays so.
    shared["week_odds"] = 0.0 if settings.rhythm else -math.inf
    shared["week_refit_at"] = -math.inf
    # Set when the first pages are taken; nothing is scheduled before.
    shared["slot_width"] = shared["bin_width"] = math.inf
    set_no_queues(np.zeros(0, HOST), shared)
    heads = np.full(LISTS, NONE, np.int32)
    return Tables(
        np.zeros(0, PAGE), np.zeros(0, HOST), np.zeros(0, SECTION), shared, heads, make_curves()
    )


def set_no_queues(hosts: Rows, shared: Rows) -> None:
    """Set that no page waits for its first visit, and no share of the budget has been used."""
    for name in ("queue", "queue_end", "turn_after", "turn_before"):
        hosts[name] = NONE
    hosts["shared_until"] = -math.inf
    shared["turn"], shared["shared_until"], shared["filled_at"] = NONE, -math.inf, -math.inf


def set_usual_shapes(shared: Rows) -> None:
    """Set the chances of the shapes of rates as before any visit."""
    chances = EQUAL if shared["pooling"][0] else ONLY_FLAT
    shared["chances"] = chances
    shared["base"] = chances[1:] @ PEAKED


def extend(tables: Tables, new: NewPages, settings: FrontierSettings, now: float) -> Tables:
    """Return tables with rows for new pages, their hosts and sections."""
    if not new.page.size:
        return tables
    pages = _resized("page", tables.pages, int(new.page.max()) + 1)
    hosts = _resized("host", tables.hosts, int(new.host.max()) + 1)
    sections = _resized("section", tables.sections, int(new.section.max()) + 1)
    pages["sibling"][tables.pages.size :] = UNLINKED
    fresh = hosts[tables.hosts.size :]
    fresh["delay"], fresh["spacing"] = settings.host_delay, settings.host_spacing
    fresh["open_at"] = fresh["paid_until"] = -math.inf
    set_no_queues(fresh, tables.shared[:0])
    # Odds of −∞ never move: neighbours that are switched off stay so.
    fresh["odds"] = FIRST_ODDS if settings.neighbours else -math.inf
    fresh["trust"] = 1.0 / (1.0 + np.exp(-fresh["odds"]))
    fresh["all_found"] = fresh["all_expected"] = CALIBRATION_PRIOR
    fresh["first_section"] = NONE
    forget_signals(fresh)
    for name in ("host", "next_section", "first_page"):
        sections[name][tables.sections.size :] = NONE
    width = float(tables.shared["bin_width"][0])
    reset_activity(fresh, now, width)
    reset_activity(sections[tables.sections.size :], now, width)
    row = _first_on_another_host(sections, new.section, new.host)
    if row != NONE:
        raise ArgumentError(
            f"section: page {new.page[row]} is on host {new.host[row]}, but other pages of section "
            f"{new.section[row]} are not; a section belongs to one host"
        )
    extended = tables._replace(pages=pages, hosts=hosts, sections=sections)
    _join_hosts(extended, new.section, new.host)
    return extended


def forget_signals(hosts: Rows) -> None:
    """Reset the signals of hosts."""
    hosts["heard_since"], hosts["heard_until"] = math.inf, -math.inf
    set_usual_trust(hosts)


def set_usual_trust(hosts: Rows) -> None:
    """Set the initial trust in the signals of hosts."""
    hosts["seen"] = PRIOR_SIGNALS
    hosts["right"] = [PRIOR_SIGNALS * PRECISION[kind] for kind in KINDS]
    hosts["signal_odds"] = FIRST_SIGNAL_ODDS
    hosts["alone"] = hosts["missed"] = PRIOR_CHANGES


def _resized(name: str, rows: Rows, size: int) -> Rows:
    """Return at least ``size`` rows; new ones are zero."""
    if size <= rows.size:
        return rows
    # Spare rows, so that pages added one by one do not copy the table each time.
    wanted = size if rows.size == 0 else max(size, rows.size + rows.size // 2)
    try:
        larger = np.zeros(wanted, rows.dtype)
    except MemoryError:
        raise ArgumentError(
            f"{name}: {size - 1} is too large, a table with that many rows does not fit into "
            f"memory; number from 0 without gaps"
        ) from None
    larger[: rows.size] = rows
    return larger


def reset_activity(rows: Rows, now: float, width: float) -> None:
    """Reset the activity of hosts or sections, to bins of ``width`` days."""
    for name in ("found", "expected", "cumulative", "assumed"):
        rows[name] = 0.0
    rows["newest"] = math.floor(now / width)
    rows["scheduled_at"] = -math.inf
    rows["refreshed"] = STALE


@compiled
def _first_on_another_host(
    sections: Annotated[Rows, SECTION], new_section: Ints, new_host: Ints
) -> int:
    """Return the first row whose section belongs to another host; change nothing."""
    host = sections["host"].copy()
    for row in range(new_section.size):
        section = new_section[row]
        if host[section] == NONE:
            host[section] = new_host[row]
        elif host[section] != new_host[row]:
            return row
    return NONE


@compiled
def _join_hosts(tables: Tables, section: Ints, host: Ints) -> None:
    for row in range(section.size):
        if tables.sections["host"][section[row]] == NONE:
            tables.sections["host"][section[row]] = host[row]
            tables.sections["next_section"][section[row]] = tables.hosts["first_section"][host[row]]
            tables.hosts["first_section"][host[row]] = section[row]


def fill(
    tables: Tables,
    new: NewPages,
    prior: tuple[Floats, Floats],
) -> None:
    """Write new pages, without evidence of visits, into tables extended for them."""
    low, high = rounded_up(new.min_interval), rounded_up(new.max_interval)
    _write_rows(
        tables,
        new.page,
        new.importance,
        new.host,
        new.last_visit,
        *prior,
        low,
        high,
        new.payment,
    )
    _link_to_sections(tables, new.page, new.section)


@compiled
def _write_rows(
    tables: Tables,
    page: Ints,
    importance: Floats,
    host: Ints,
    last_visit: Floats,
    prior_shape: Floats,
    prior_time: Floats,
    min_interval: Singles,
    max_interval: Singles,
    payment: Floats,
) -> None:
    """Write the rows of new pages, except their links: row by row, not column by column.

    Each column would touch every cache line of the table again.
    """
    pages = tables.pages
    for row in range(page.size):
        here = page[row]
        pages["importance"][here] = importance[row]
        pages["last_visit"][here] = last_visit[row]
        pages["needed"][here] = payment[row]
        pages["min_interval"][here] = min_interval[row]
        pages["max_interval"][here] = max_interval[row]
        pages["prior_shape"][here] = prior_shape[row]
        pages["prior_time"][here] = prior_time[row]
        pages["host"][here] = host[row]
        pages["evidence"][here] = pages["signals"][here] = pages["counted"][here] = 0
        pages["status"][here] = NEW
        pages["failures"][here] = 0
        pages["counts"][here] = False
        for k in range(OCTAVES):
            pages["likelihood"][here, k] = 1.0
        tables.hosts["pages"][host[row]] += 1


def rounded_up(days: Floats) -> Singles:
    """Round up to single precision, so that no page is visited too early."""
    with np.errstate(over="ignore"):
        rounded = days.astype(np.float32)
    return np.where(rounded < days, np.nextafter(rounded, np.float32(np.inf)), rounded)


def _link_to_sections(tables: Tables, page: Ints, section: Ints) -> None:
    if _link_new(tables, page, section):
        return
    # A removed page's number was reused in another section: relink all sections.
    tables.sections["first_page"] = NONE
    tables.pages["sibling"] = UNLINKED
    present = np.flatnonzero(tables.pages["status"] != ABSENT)
    _link_new(tables, present, tables.pages["section"][present].astype(np.int64))


@compiled
def _link_new(tables: Tables, page: Ints, section: Ints) -> bool:
    """Link pages to their sections; return whether none was linked to another section."""
    pages, first, same = tables.pages, tables.sections["first_page"], True
    for row in range(page.size):
        here, of = page[row], section[row]
        if pages["sibling"][here] == UNLINKED:
            pages["sibling"][here] = first[of]
            first[of] = here
        else:
            same = same and pages["section"][here] == of
        pages["section"][here] = of
    return same
