"""What a frontier knows of its pages, hosts and sections: a row each, and lists through the pages.

A page's row is all that deciding about it needs, in two lines of the processor's cache. A page is
in at most one list at a time: a bucket of the calendar, or of the pages that are ready. A list is a
chain from page to page, so that putting a page in or taking it out costs the same however long it
is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recrawl.kernels.jit import small_step

Rows = NDArray[np.void]
Small = NDArray[np.int32]
Singles = NDArray[np.float32]

#: Where a page is. One that waits is in the calendar until its host is open again; one that is new
#: is in no list yet.
ABSENT, QUEUED, READY, WAITING, OUT, NEW = range(6)
#: No page; the end of a chain.
NONE = -1
#: A page that is in no section's chain.
UNCHAINED = -2
#: Lists: the calendar's buckets, near and far, and those of the pages that are ready, by value.
FINE = COARSE = VALUES = 1024
FAR = FINE + COARSE
FIRST_VALUE = FAR + 1
#: Ready pages that are about to be looked at again.
AGAIN = FIRST_VALUE + VALUES
LISTS = AGAIN + 1
#: How many pages ahead a loop asks the memory for what they will need: rows lie anywhere in it.
ROWS_AHEAD = 8
#: Bins of a clock.
BINS = 64

#: One row a page. The belief is Gamma(shape, time), the prior what it began with.
PAGE = np.dtype(
    [
        ("shape", np.float64),
        ("time", np.float64),
        ("prior_shape", np.float64),
        ("prior_time", np.float64),
        ("importance", np.float64),
        ("last_visit", np.float64),  # when the copy was made; −∞ when there is none yet
        ("relaxed", np.float64),  # up to when forgetting has been applied to the belief
        ("keep", np.float64),  # what evidence since the last visit leaves of being fresh
        ("needed", np.float64),  # effective time at which a visit is worth its price
        ("due", np.float64),  # when that will be; after a failure, when to try again
        ("host", np.int32),
        ("section", np.int32),
        ("next", np.int32),  # the page after this one in its list
        ("before", np.int32),  # the page before it, or −2 − list for the first one
        ("sibling", np.int32),  # the next page of the section, whatever list it is in
        ("place", np.int8),  # where the page is: in which kind of list
        ("failures", np.int8),  # visits that failed in a row
    ],
    align=True,
)

#: A clock (see `recrawl.scheduling.neighbours`); a bin's column is its number modulo `BINS`.
CLOCK = [
    ("newest", np.int64),  # the newest bin that the columns hold
    ("read", np.int64),  # what the host had learned when the reading was worked out
    ("placed_at", np.float64),  # when the pages were put in their places
    ("reading", np.float32, (BINS + 1,)),  # effective time from the oldest bin to each bin
    ("found", np.float32, (BINS,)),  # changes found, spread over the bins they may have been in
    ("expected", np.float32, (BINS,)),  # changes expected of the visits
    ("assumed", np.float32, (BINS,)),  # effective time from a bin to when pages were placed
]

#: One row a host.
HOST = np.dtype(
    [
        ("delay", np.float64),  # days between two visits
        ("spacing", np.float64),  # days of the host's budget that a visit uses; 0: no budget
        ("learned", np.int64),  # visits that its clocks have learned from
        ("open_at", np.float64),  # no visit before, by the delay or because the host asked
        ("paid_until", np.float64),  # up to when the host's budget is used up
        ("price", np.float64),  # what a visit must be worth while too many pages wait
        ("odds", np.float64),  # ln odds that the host's clocks foretell better than plain time
        ("trust", np.float64),  # the chance that goes with these odds
        ("all_found", np.float64),  # changes found at all times, those of late counting most
        ("all_expected", np.float64),  # changes the beliefs expected of the same visits
        ("waiting", np.int32),  # how many pages wait for the host
        ("first_section", np.int32),
        *CLOCK,
    ],
    align=True,
)

#: One row a section.
SECTION = np.dtype(
    [
        ("host", np.int32),
        ("next_section", np.int32),  # the next one of the same host
        ("first_page", np.int32),
        *CLOCK,
    ],
    align=True,
)

#: One row: where the whole stands.
DESK = np.dtype(
    [
        ("price", np.float64),  # what the least valuable of the visits taken were worth of late
        ("watch", np.float64),  # the same over a longer time: pages are placed by it
        ("highest", np.float64),  # the highest such price some page in the calendar was placed by
        ("early", np.float64),  # the share of its time after which a page may be ready
        ("half_life", np.float64),  # days in which half of what was learned is forgotten
        ("slot_width", np.float64),  # days a slot of the calendar
        ("bin_width", np.float64),  # days a bin of a clock
        ("slot", np.int64),  # the last slot brought up
        ("ready", np.int64),  # pages that are ready
        ("top", np.int64),  # no ready page is in a bucket above this one
        ("turn", np.int64),  # the bucket whose pages are looked at again next
    ],
    align=True,
)


class Book(NamedTuple):
    """All that a frontier keeps; kernels change it in place.

    Attributes:
        pages: Rows of `PAGE`.
        hosts: Rows of `HOST`.
        sections: Rows of `SECTION`.
        desk: One row of `DESK`.
        heads: The first page of each list.
    """

    pages: Rows
    hosts: Rows
    sections: Rows
    desk: Rows
    heads: Small


def grown(rows: Rows, size: int) -> Rows:
    """Give at least so many rows, the new ones zero."""
    if size <= rows.size:
        return rows
    # Room for more, so that rows that come one by one do not copy all each time.
    larger = np.zeros(size if rows.size == 0 else max(size, rows.size + rows.size // 2), rows.dtype)
    larger[: rows.size] = rows
    return larger


@small_step
def link(book: Book, page: int, where: int) -> None:
    """Put a page at the front of a list."""
    pages, first = book.pages, book.heads[where]
    pages["next"][page] = first
    pages["before"][page] = -2 - where
    if first != NONE:
        pages["before"][first] = page
    book.heads[where] = page


@small_step
def unlink(book: Book, page: int) -> None:
    """Take a page out of the list it is in."""
    pages = book.pages
    after, before = pages["next"][page], pages["before"][page]
    if after != NONE:
        pages["before"][after] = before
    if before >= 0:
        pages["next"][before] = after
    else:
        book.heads[-2 - before] = after
