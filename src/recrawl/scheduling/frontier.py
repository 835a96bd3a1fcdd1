"""The frontier: outcomes of visits go in, the next pages come out, and the budget is spent."""

import math
import os
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike

from recrawl.errors import ArgumentError
from recrawl.estimation.belief import Prior
from recrawl.kernels.jit import Floats, Ints
from recrawl.scheduling import inputs, saving
from recrawl.scheduling.due import (
    balanced_price,
    due_times,
    fresh_importance,
    place_all,
    place_new,
)
from recrawl.scheduling.neighbours import BINS_A_GAP, begin
from recrawl.scheduling.report import FIRST_RETRY, place_again, remove_pages, report_visits
from recrawl.scheduling.state import ABSENT, FINE, NEW
from recrawl.scheduling.state_setup import Settings, chain, empty_book, with_room
from recrawl.scheduling.take import LEAST_LOOKED_AT, take_pages
from recrawl.scheduling.timing_wheel import SLOTS_A_GAP

#: Without a prior, a page is believed to change once in the mean time between two visits.
PRIOR_SHAPE = 1.0
#: When the price has fallen by this share, pages placed by the old one are placed anew...
PRICE_FALL = 0.2
#: ...but not before so many visits a page, so that it costs each visit the same few steps.
VISITS_BETWEEN = 0.0625
#: Pages that stand for all when the first price is looked for.
PRICE_SAMPLE = 2_048
#: New pages up to this share of those known are placed one by one.
FEW_NEW = 0.25
#: A fleet of up to so many pages is ready at any time: all are looked at each time anyway.
ALWAYS_READY = 2 * LEAST_LOOKED_AT
#: The calendar and the clocks begin anew when the mean time between visits has changed by this.
NEW_SCALE = 2.0
#: A pause longer than this many slots is not stepped through.
LONG_PAUSE = 64 * FINE
#: Evidence leaves at least this chance; what is certain cannot be made likelier.
LEAST_KEEP = 1e-12


@final
class Frontier:
    """Which pages to visit now, so that a budget of visits keeps the copies as fresh as it can.

    Each page has a belief about its change rate, Δ ~ Gamma, that every visit sharpens. A visit is
    worth what the freshness index says (`recrawl.scheduling.value`); `take` gives the pages whose
    visit is worth most, as many as the budget pays for since pages were taken last. Pages are
    numbers from 0, hosts and sections likewise; times are days on any one scale.

    Args:
        budget: Visits a day.
        prior: What is believed of pages before their first visit; by default that they change once
            in the mean time between two visits, pages / budget.
        half_life: Days after which half of what was learned is forgotten; None for never.
        host_delay: Days between two visits to a host.
        host_budget: Visits a day to a host at most.
        neighbours: Whether a change found on one page counts as evidence about the pages of its
            section and host (`recrawl.scheduling.neighbours`). How much it counts is learned.
        catch_up: Budget not spent is kept for so many days; what is older is lost, so that a pause
            is not followed by a burst.

    >>> frontier = Frontier(budget=2)
    >>> frontier.add([0, 1, 2], now=0.0, importance=[1.0, 2.0, 1.0], last_visit=0.0)
    >>> frontier.take(now=0.5, limit=10)
    array([1])
    >>> frontier.report([1], now=0.5, changed=[True])
    >>> frontier.take(now=1.0, limit=10)
    array([0])
    """

    def __init__(
        self,
        budget: float,
        *,
        prior: Prior | None = None,
        half_life: float | None = 365.0,
        host_delay: float = 0.0,
        host_budget: float | None = None,
        neighbours: bool = True,
        catch_up: float = 0.25,
    ) -> None:
        self._settings = Settings(
            budget=inputs.positive("budget", budget),
            half_life=math.inf if half_life is None else inputs.positive("half_life", half_life),
            host_delay=inputs.not_negative("host_delay", host_delay),
            host_spacing=inputs.spacing("host_budget", host_budget),
            neighbours=bool(neighbours),
            catch_up=inputs.positive("catch_up", catch_up),
        )
        self._prior = prior
        self._book = empty_book(self._settings)
        self._known = 0
        self._now = -math.inf
        self._taken_at = -math.inf
        self._credit = 0.0
        self._visits_since_placing = 0
        self._new: list[Ints] = []

    # What there is to visit

    def add(
        self,
        page: ArrayLike,
        *,
        now: float,
        importance: ArrayLike = 1.0,
        host: ArrayLike = 0,
        section: ArrayLike | None = None,
        last_visit: ArrayLike | None = None,
        prior: Prior | None = None,
        belief: Prior | None = None,
    ) -> None:
        """Take pages in.

        Args:
            page: Their numbers, each new or removed before.
            now: The present.
            importance: What their freshness is worth.
            host: Their hosts, by number.
            section: Pages of a host that may change together, by a number that no other host uses;
                by default a host is one section.
            last_visit: When their copies were made; None for pages without a copy, which come
                first. With an array, -inf stands for none.
            prior: What is believed of pages like these, and what forgetting returns to; the
                frontier's unless given.
            belief: What earlier visits taught about these pages; the prior unless given.
        """
        pages = inputs.pages("page", page)
        self._pass_time(now)
        columns = inputs.NewPages.of(pages, importance, host, section, last_visit, self._now)
        known = pages[pages < self._book.pages.size]
        there = known[self._book.pages["place"][known] != ABSENT]
        if there.size:
            raise ArgumentError(f"page: {there[0]} is there already")
        gap = max(self._known + pages.size, 1) / self._settings.budget
        origin = prior or self._prior or Prior(PRIOR_SHAPE, PRIOR_SHAPE * gap)
        before, after = (known.columns(pages.size) for known in (origin, belief or origin))
        self._book = with_room(self._book, columns, self._settings, self._now)
        self._known += pages.size
        columns.fill(self._book.pages, before, after, self._now)
        chain(self._book, pages, columns.section)
        self._new.append(pages)

    def remove(self, page: ArrayLike) -> None:
        """Forget pages; their numbers may be given to others."""
        pages = self._present("page", page)
        remove_pages(self._book, pages)
        self._known -= pages.size

    def set_importance(self, page: ArrayLike, importance: ArrayLike) -> None:
        """Give pages another importance."""
        pages = self._present("page", page)
        self._book.pages["importance"][pages] = inputs.importances(importance, pages.size)
        place_again(self._book, pages, self._now)

    def settle(self, now: float) -> None:
        """Put all pages in their places, as the first `take` after many were added would do.

        For a million pages that takes a moment, which not every caller can spare at that time.
        """
        self._pass_time(now)
        if self._known:
            self._put_pages_in_place()

    # What to visit, and what came of it

    def take(self, now: float, limit: int) -> Ints:
        """Give the pages to visit now, the most valuable first; they are out until reported.

        Never more than the budget pays for, than ``limit``, or than hosts allow.
        """
        self._pass_time(now)
        affordable = int(self._credit + 1e-9)
        wanted = min(inputs.whole("limit", limit), affordable, self._known)
        if wanted <= 0:
            return np.empty(0, np.int64)
        self._put_pages_in_place()
        gap = min(self._now - self._taken_at, self._settings.catch_up)
        taken = take_pages(self._book, self._now, wanted, gap, self._known)
        self._credit -= taken.size
        self._visits_since_placing += taken.size
        self._taken_at = self._now
        return taken

    def report(
        self,
        page: ArrayLike,
        now: float,
        changed: ArrayLike,
        *,
        failed: ArrayLike = False,
        age: ArrayLike | None = None,
    ) -> None:
        """Say what visits found; pages that were not taken may be reported too.

        Args:
            page: The pages visited, none twice.
            now: When.
            changed: Whether they had changed since the last visit; of a first visit it is not
                looked at.
            failed: Visits that came to nothing. They teach nothing, and the page is tried again
                later, later still if it goes on failing.
            age: Days since the page changed last, where the server tells; NaN elsewhere.
        """
        pages = self._present("page", page)
        self._pass_time(now)
        report_visits(
            self._book,
            pages,
            self._now,
            inputs.flags("changed", changed, pages.size),
            inputs.flags("failed", failed, pages.size),
            inputs.ages(age, pages.size),
            FIRST_RETRY * self._mean_gap,
        )

    def signal(self, page: ArrayLike, now: float, keep: ArrayLike) -> None:
        """Say that something leaves only ``keep`` of the pages' chance of being fresh.

        A sitemap's date, a feed, a push. Several signals multiply; a visit clears them.
        """
        pages = self._present("page", page)
        self._pass_time(now)
        share = inputs.shares("keep", keep, pages.size)
        column = self._book.pages["keep"]
        column[pages] = np.maximum(column[pages] * share, LEAST_KEEP)
        place_again(self._book, pages, self._now)

    def defer(self, host: ArrayLike, until: ArrayLike) -> None:
        """Visit no page of these hosts before that time, as Retry-After asks."""
        hosts = inputs.hosts("host", host, self._book.hosts.size)
        times = inputs.times("until", until, hosts.size)
        np.maximum.at(self._book.hosts["open_at"], hosts, times)

    def limit_host(
        self, host: ArrayLike, *, delay: float | None = None, budget: float | None = None
    ) -> None:
        """Give hosts limits of their own, as robots.txt asks; what is None stays as it is."""
        hosts = inputs.hosts("host", host, self._book.hosts.size)
        days = None if delay is None else inputs.not_negative("delay", delay)
        spacing = inputs.spacing("budget", budget)
        if days is not None:
            self._book.hosts["delay"][hosts] = days
        if budget is not None:
            self._book.hosts["spacing"][hosts] = spacing

    def spend(self, visits: int) -> None:
        """Count requests that were made beside the visits taken: retries, hops of redirects.

        What is overspent is saved on the visits to come. A negative number gives back what visits
        did not cost.
        """
        self._credit -= math.copysign(inputs.whole("visits", abs(visits)), visits)

    # What it thinks

    def __len__(self) -> int:
        return self._known

    def __contains__(self, page: int) -> bool:
        places = self._book.pages["place"]
        return 0 <= page < places.size and bool(places[page] != ABSENT)

    @property
    def affordable_at(self) -> float:
        """When the budget pays for another visit; the present if it does already."""
        return self._now + max(1.0 - self._credit, 0.0) / self._settings.budget

    @property
    def price(self) -> float:
        """What a visit must be worth, importance times days; 0 before the first pages are taken."""
        return float(self._book.desk["price"][0])

    def due(self, page: ArrayLike) -> Floats:
        """When visits to these pages will be worth the price, if it stays; infinity for never."""
        return due_times(self._book, self._present("page", page), self._now)

    def belief(self, page: ArrayLike) -> Prior:
        """What is believed of these pages' change rates."""
        pages = self._present("page", page)
        return Prior(self._book.pages["shape"][pages], self._book.pages["time"][pages])

    def expected_freshness(self, now: float) -> float:
        """The share of importance whose copies are expected to be fresh; 1 without pages."""
        self._pass_time(now)
        fresh, total = fresh_importance(self._book, self._now)
        return fresh / total if total > 0.0 else 1.0

    # Keeping it

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to a file; what was there before stays until the new file is whole."""
        self._place_new()
        counters = [self._known, self._now, self._taken_at, self._credit]
        saving.save(
            path, self._book, self._settings, self._prior, [*counters, self._visits_since_placing]
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; it goes on just as the one that was saved would have."""
        saved = saving.load(path)
        frontier = cls(saved.settings.budget, prior=saved.prior)
        frontier._settings = saved.settings
        frontier._book = saved.book
        known, now, taken_at, credit, visits = saved.counters
        frontier._known, frontier._visits_since_placing = int(known), int(visits)
        frontier._now, frontier._taken_at, frontier._credit = now, taken_at, credit
        return frontier

    # How it works

    @property
    def _mean_gap(self) -> float:
        return max(self._known, 1) / self._settings.budget

    def _pass_time(self, now: float) -> None:
        """Let the budget of the time since add up; time never runs backwards."""
        time = inputs.time("now", now)
        if self._now == -math.inf:
            self._now = self._taken_at = time
        budget, catch_up = self._settings.budget, self._settings.catch_up
        most = budget * catch_up + 1.0
        self._credit = min(self._credit + budget * max(time - self._now, 0.0), most)
        self._now = max(self._now, time)

    def _present(self, name: str, page: ArrayLike) -> Ints:
        pages = inputs.pages(name, page)
        size = self._book.pages.size
        missing = (
            pages[
                (pages >= size) | (self._book.pages["place"][np.minimum(pages, size - 1)] == ABSENT)
            ]
            if size
            else pages
        )
        if missing.size:
            raise ArgumentError(f"{name}: {missing[0]} is not in the frontier; add it first")
        return pages

    def _put_pages_in_place(self) -> None:
        """Place new pages; and all of them when the price or the scale of time has moved."""
        book = self._book
        width = self._mean_gap / SLOTS_A_GAP
        book.desk["early"] = 0.0 if self._known <= ALWAYS_READY else 1.0
        if book.desk["slot_width"][0] == math.inf:
            self._place_all(width)
        slots = (self._now / book.desk["slot_width"][0]) - book.desk["slot"][0]
        waiting = sum(pages.size for pages in self._new)
        fallen = book.desk["watch"][0] < (1.0 - PRICE_FALL) * book.desk["highest"][0]
        if (
            not 1.0 / NEW_SCALE < book.desk["slot_width"][0] / width < NEW_SCALE
            or slots > LONG_PAUSE
            or waiting > FEW_NEW * self._known
            or (fallen and self._visits_since_placing > VISITS_BETWEEN * self._known)
        ):
            self._place_all(width)
        self._place_new()

    def _place_new(self) -> None:
        for pages in self._new:
            still = pages[self._book.pages["place"][pages] == NEW]
            place_new(self._book, still, self._now)
        self._new.clear()

    def _place_all(self, width: float) -> None:
        book = self._book
        if not 1.0 / NEW_SCALE < book.desk["slot_width"][0] / width < NEW_SCALE:
            book.desk["slot_width"][0] = width
            bin_width = width * SLOTS_A_GAP / BINS_A_GAP
            book.desk["bin_width"] = bin_width
            begin(book.hosts, self._now, bin_width)
            begin(book.sections, self._now, bin_width)
        if not book.desk["watch"][0] > 0.0:
            book.desk["price"][0] = book.desk["watch"][0] = self._balanced_price()
        place_all(book, self._now)
        self._new.clear()
        self._visits_since_placing = 0

    def _balanced_price(self) -> float:
        """The price at which the pages are due as often as the budget pays for."""
        known = np.flatnonzero(self._book.pages["place"] != ABSENT)
        sample = known[:: -(-known.size // PRICE_SAMPLE)]
        return balanced_price(self._book, sample, self._settings.budget * sample.size / known.size)
