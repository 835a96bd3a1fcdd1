"""What a visit teaches, and where its page goes from there."""

import math

from recrawl.estimation.gamma import after_visit
from recrawl.kernels.jit import Bools, Floats, Ints, compiled, prefetch, small_step, step
from recrawl.scheduling.due import (
    clock_elapsed,
    make_ready,
    place_at,
    put,
    relax,
    unready,
    worth,
)
from recrawl.scheduling.neighbours import (
    has_jumped,
    is_alone,
    is_off,
    learn,
    note_places,
    read_section,
)
from recrawl.scheduling.state import ABSENT, NONE, QUEUED, READY, ROWS_AHEAD, WAITING, Book, unlink

#: After a failed visit a page is tried again after this share of the mean time between visits,
#: after two failures twice that, and so on, up to so many doublings.
FIRST_RETRY = 1 / 32
MAX_DOUBLINGS = 7


@small_step
def take_out(book: Book, page: int) -> None:
    """Take a page out of whatever list it is in."""
    place = book.pages["place"][page]
    if place == READY:
        unready(book, page)
    elif place in (QUEUED, WAITING):
        unlink(book, page)
        if place == WAITING:
            book.hosts["waiting"][book.pages["host"][page]] -= 1


@compiled
def place_again(book: Book, page: Ints, now: float) -> None:
    """Put pages where they belong after something about them has changed; those out stay out."""
    for row in range(page.size):
        if book.pages["place"][page[row]] in (QUEUED, READY):
            take_out(book, page[row])
            place_at(book, page[row], now, book.desk["watch"][0])


@compiled
def report_visits(
    book: Book, page: Ints, now: float, changed: Bools, failed: Bools, age: Floats, retry: float
) -> None:
    """Learn from visits and put their pages back.

    Args:
        book: The frontier's.
        page: The pages visited.
        now: When.
        changed: Whether they had changed.
        failed: Whether the visit failed, and so teaches nothing.
        age: Days since a page changed last, NaN where its server does not tell.
        retry: Days to wait after a first failure.
    """
    for row in range(page.size):
        ahead = page[min(row + ROWS_AHEAD, page.size - 1)]
        prefetch(book.sections, book.pages["section"][ahead])
        prefetch(book.hosts, book.pages["host"][ahead])
        take_out(book, page[row])
        _hear(book, page[row], now, changed[row], failed[row], age[row], retry)
    for row in range(page.size):
        if not failed[row]:
            book.hosts["learned"][book.pages["host"][page[row]]] += 1
    for row in range(page.size):
        place_at(book, page[row], now, book.desk["watch"][0])
    _follow_clocks(book, page[changed & ~failed], now)


@step
def _hear(
    book: Book,
    page: int,
    now: float,
    changed: bool,  # noqa: FBT001
    failed: bool,  # noqa: FBT001
    age: float,
    retry: float,
) -> None:
    """Take in what one visit found."""
    pages = book.pages
    if failed:
        doublings = min(pages["failures"][page], MAX_DOUBLINGS)
        pages["failures"][page] = doublings + 1
        pages["due"][page] = now + retry * 2.0**doublings
        return
    pages["failures"][page] = 0
    if pages["last_visit"][page] < now:
        if pages["last_visit"][page] > -math.inf:
            _learn(book, page, now, changed, age)
        pages["last_visit"][page] = now
    pages["keep"][page] = 1.0


@step
def _follow_clocks(book: Book, page: Ints, now: float) -> None:
    """Put pages to new places where the clocks of pages that had changed have run ahead."""
    last_host = NONE
    for row in range(page.size):
        host = book.pages["host"][page[row]]
        if not is_off(book, host):
            if host != last_host:
                _follow_host(book, host, now)
                last_host = host
            _follow_section(book, book.pages["section"][page[row]], now)


@step
def _learn(book: Book, page: int, now: float, changed: bool, age: float) -> None:  # noqa: FBT001
    """Update the belief by a visit, in effective time, and then the clocks by it."""
    pages, section = book.pages, book.pages["section"][page]
    relax(book, page, now)
    shape, time, since = pages["shape"][page], pages["time"][page], pages["last_visit"][page]
    elapsed = clock_elapsed(book, page, now)
    pages["shape"][page], pages["time"][page] = after_visit(
        shape, time, now - since, changed, age, elapsed, pages["keep"][page]
    )
    if not math.isnan(age):
        changed = age < now - since
    if not is_off(book, pages["host"][page]):
        learn(book, section, since, now, shape, time, changed, now - age)


@step
def _follow_host(book: Book, host: int, now: float) -> None:
    """Put a host's pages to new places when its clock has run ahead."""
    section, width = book.hosts["first_section"][host], book.desk["bin_width"][0]
    read_section(book, section, now)
    if is_alone(book, host) or not has_jumped(
        book.hosts, host, width, now, book.hosts["trust"][host]
    ):
        return
    while section != NONE:
        read_section(book, section, now)
        _move_section(book, section, now)
        section = book.sections["next_section"][section]
    note_places(book.hosts, host, width, now)


@step
def _follow_section(book: Book, section: int, now: float) -> None:
    """Put a section's pages to new places when its clock has run ahead."""
    read_section(book, section, now)
    trust = book.hosts["trust"][book.sections["host"][section]]
    if has_jumped(book.sections, section, book.desk["bin_width"][0], now, trust):
        _move_section(book, section, now)


@step
def _move_section(book: Book, section: int, now: float) -> None:
    """Reckon anew when the pages of a section are due."""
    pages = book.pages
    page = book.sections["first_page"][section]
    while page != NONE:
        if pages["place"][page] == READY:
            unready(book, page)
            make_ready(book, page, worth(book, page, now))
        elif pages["place"][page] == QUEUED and pages["failures"][page] == 0:
            ahead = pages["needed"][page] - clock_elapsed(book, page, now)
            if ahead < math.inf and now + ahead < pages["due"][page]:
                pages["due"][page] = now + ahead
                unlink(book, page)
                put(book, page, now)
        page = pages["sibling"][page]
    note_places(book.sections, section, book.desk["bin_width"][0], now)


@compiled
def remove_pages(book: Book, page: Ints) -> None:
    """Forget pages. They stay in their section's chain, which passes over them."""
    for row in range(page.size):
        take_out(book, page[row])
        book.pages["place"][page[row]] = ABSENT
