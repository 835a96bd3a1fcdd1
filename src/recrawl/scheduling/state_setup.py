"""A frontier's book: made empty, given room for more, its pages chained by section."""

import math
from dataclasses import dataclass

import numpy as np

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Ints, compiled
from recrawl.scheduling.inputs import NewPages
from recrawl.scheduling.neighbours import CALIBRATION_PRIOR, FIRST_ODDS, begin
from recrawl.scheduling.state import (
    ABSENT,
    DESK,
    HOST,
    LISTS,
    NONE,
    PAGE,
    SECTION,
    UNCHAINED,
    Book,
    Rows,
    grown,
)


@dataclass(frozen=True)
class Settings:
    """How a frontier was asked to work."""

    budget: float
    half_life: float
    host_delay: float
    host_spacing: float
    neighbours: bool
    catch_up: float


def empty_book(settings: Settings) -> Book:
    """Give a book without pages."""
    desk = np.zeros(1, DESK)
    desk["half_life"] = settings.half_life
    # No page is placed by these: they are set when the first pages are taken.
    desk["slot_width"] = desk["bin_width"] = math.inf
    heads = np.full(LISTS, NONE, np.int32)
    return Book(np.zeros(0, PAGE), np.zeros(0, HOST), np.zeros(0, SECTION), desk, heads)


def with_room(book: Book, new: NewPages, settings: Settings, now: float) -> Book:
    """Give a book with rows for new pages, their hosts and sections."""
    if not new.page.size:
        return book
    pages = grown(book.pages, int(new.page.max()) + 1)
    hosts = grown(book.hosts, int(new.host.max()) + 1)
    sections = grown(book.sections, int(new.section.max()) + 1)
    pages["sibling"][book.pages.size :] = UNCHAINED
    fresh = hosts[book.hosts.size :]
    fresh["delay"], fresh["spacing"] = settings.host_delay, settings.host_spacing
    fresh["open_at"], fresh["paid_until"] = -math.inf, now - settings.host_spacing
    # Odds of −∞ are never moved: clocks that were switched off stay so.
    fresh["odds"] = FIRST_ODDS if settings.neighbours else -math.inf
    fresh["trust"] = 1.0 / (1.0 + np.exp(-fresh["odds"]))
    fresh["all_found"] = fresh["all_expected"] = CALIBRATION_PRIOR
    fresh["first_section"] = NONE
    for name in ("host", "next_section", "first_page"):
        sections[name][book.sections.size :] = NONE
    width = float(book.desk["bin_width"][0])
    begin(fresh, now, width)
    begin(sections[book.sections.size :], now, width)
    row = _first_misplaced(sections, new.section, new.host)
    if row != NONE:
        raise ArgumentError(
            f"section: page {new.page[row]} is on host {new.host[row]}, and others of section "
            f"{new.section[row]} are not; a section is on one host"
        )
    roomy = book._replace(pages=pages, hosts=hosts, sections=sections)
    _join_hosts(roomy, new.section, new.host)
    return roomy


@compiled
def _first_misplaced(sections: Rows, new_section: Ints, new_host: Ints) -> int:
    """Give the first row whose section is on another host; join no section to any yet."""
    host = sections["host"].copy()
    for row in range(new_section.size):
        section = new_section[row]
        if host[section] == NONE:
            host[section] = new_host[row]
        elif host[section] != new_host[row]:
            return row
    return NONE


@compiled
def _join_hosts(book: Book, section: Ints, host: Ints) -> None:
    for row in range(section.size):
        if book.sections["host"][section[row]] == NONE:
            book.sections["host"][section[row]] = host[row]
            book.sections["next_section"][section[row]] = book.hosts["first_section"][host[row]]
            book.hosts["first_section"][host[row]] = section[row]


def chain(book: Book, page: Ints, section: Ints) -> None:
    """Put pages into their sections' chains."""
    pages = book.pages
    unchained = pages["sibling"][page] == UNCHAINED
    moved = ~unchained & (pages["section"][page] != section)
    pages["section"][page] = section
    fresh = page[unchained]
    if moved.any():
        # A number was given to a page of another section: all chains are laid anew.
        book.sections["first_page"] = NONE
        pages["sibling"] = UNCHAINED
        fresh = np.flatnonzero(pages["place"] != ABSENT)
    _chain(book, fresh)


@compiled
def _chain(book: Book, page: Ints) -> None:
    for row in range(page.size):
        section = book.pages["section"][page[row]]
        book.pages["sibling"][page[row]] = book.sections["first_page"][section]
        book.sections["first_page"][section] = page[row]
