"""The frontier: takes in outcomes of visits and returns the pages to visit next, on a budget."""

import math
import os
from dataclasses import replace
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike

from recrawl.errors import ArgumentError
from recrawl.estimation.belief import Prior
from recrawl.estimation.octaves import Likelihoods, Octaves, gamma_of, lowest_octave
from recrawl.kernels.jit import Floats, Ints
from recrawl.quantities import number as as_number
from recrawl.scheduling import inputs, saving
from recrawl.scheduling.due import (
    balanced_price,
    due_times,
    fresh_importance,
    schedule_all,
    schedule_each,
)
from recrawl.scheduling.neighbours import BINS_PER_GAP
from recrawl.scheduling.pooling import shift_octaves, weigh_pages
from recrawl.scheduling.remembering import clocks_of, restore_bins, restore_hosts, set_width
from recrawl.scheduling.report import (
    FIRST_RETRY,
    put_back_pages,
    remove_pages,
    replace_priors,
    report_visits,
    reschedule,
)
from recrawl.scheduling.state import (
    ABSENT,
    FINE,
    NEW,
    FrontierSettings,
    Rows,
    empty_tables,
    extend,
    fill,
    reset_activity,
)
from recrawl.scheduling.take import MIN_CANDIDATES, take_pages
from recrawl.scheduling.take_from import hold_pages, take_from
from recrawl.scheduling.timing_wheel import SLOTS_PER_GAP

#: A Gamma belief without a prior has grown from one change in the mean time between two visits.
PRIOR_SHAPE = 1.0
#: When the price has fallen by this share, all pages are rescheduled...
PRICE_FALL = 0.2
#: ...but not before this many visits per page, so that the cost per visit stays constant.
MIN_VISITS = 0.0625
#: A visit must be worth this share of importance times the days since the last one, by default.
LEAST_WORTH = 1e-4
#: This many days of budget may be saved by default, but never more than a share of the mean gap.
SLACK = 3.0
MAX_SLACK = 1 / 3
#: With saved budget, this many times the budget of the time since the last take is spent at once.
MAX_BURST = 8.0
#: The price for saved budget follows spending over this many days at most, or half a mean gap; and
#: it pulls what is saved back to half of what may be.
LONGEST_MEMORY = 14.0
CENTRING = 0.1
#: Days in which half of what was learned is forgotten.
HALF_LIFE = 1_000.0
#: Days for which unspent budget is kept.
CATCH_UP = 0.25
#: Size of the sample of pages that the first price is computed from.
PRICE_SAMPLE = 2_048
#: New pages are scheduled one by one up to this share of all pages; beyond it all are rescheduled.
NEW_SHARE = 0.25
#: In a frontier of up to this many pages all are ready at any time: each take values them anyway.
ALWAYS_READY = 2 * MIN_CANDIDATES
#: The timing wheel and activity restart when the mean time between visits changes by this factor.
NEW_SCALE = 2.0
#: After a pause of more slots than this all pages are rescheduled.
LONG_PAUSE = 64 * FINE
#: Evidence leaves at least this share of the chance of being fresh.
MIN_KEEP = 1e-12
#: Visits from the origin of time to now; slots of time are numbered, and more have no numbers.
MAX_VISITS = 1e15


@final
class Frontier:
    """Chooses the pages to visit now, so that a budget of visits keeps copies as fresh as possible.

    Each page has a belief about its change rate (`recrawl.estimation.octaves`) that every visit
    updates. The value of
    a visit is the freshness index (`recrawl.scheduling.value`); `take` returns the pages with the
    most valuable visits, as many as the budget has paid for since the last take. Pages, hosts and
    sections are numbered from 0; times are in days, from any origin.

    Args:
        budget: Visits per day.
        prior: The belief about pages before their first visit; by default it is learned from other
            pages, and at first all rates around one change in pages / budget days are as likely.
        half_life: Days after which half of what was learned is forgotten; None for never.
        host_delay: Days between two visits to a host.
        host_budget: Maximum visits per day to a host.
        neighbours: Whether a change found on one page counts as evidence about the other pages of
            its section and host (`recrawl.scheduling.neighbours`). How much it counts is learned.
        pooling: Whether pages without a prior of their own get it from what is believed about other
            pages of their section, their host and the fleet (`recrawl.scheduling.pooling`).
        rhythm: Whether visits follow the rhythm of the week in which pages change, as far as there
            is one (`recrawl.scheduling.rhythm`).
        slack: Days of budget that may be saved for times when visits are worth more, but never more
            than a third of the mean time between two visits. 0 spends steadily.
        spend: "worth" leaves budget unspent rather than make visits that are worth next to nothing;
            "all" spends it.
        catch_up: Days for which unspent budget is kept; older budget is lost, so that no burst
            follows a pause.

    >>> frontier = Frontier(budget=2)
    >>> frontier.add([0, 1, 2], now=0.0, importance=[1.0, 2.0, 1.0], last_visit=0.0)
    >>> frontier.take(now=0.5, limit=10)
    array([1])
    >>> frontier.report([1], now=0.5, changed=[True])
    >>> frontier.take(now=1.0, limit=10)
    array([1])
    """

    def __init__(
        self,
        budget: float,
        *,
        prior: Prior | None = None,
        half_life: float | None = HALF_LIFE,
        host_delay: float = 0.0,
        host_budget: float | None = None,
        neighbours: bool = True,
        pooling: bool = True,
        rhythm: bool = True,
        slack: float = SLACK,
        spend: str = "worth",
        catch_up: float = CATCH_UP,
    ) -> None:
        self._settings = FrontierSettings(
            budget=inputs.rate("budget", budget),
            half_life=math.inf if half_life is None else inputs.duration("half_life", half_life),
            host_delay=inputs.delay("host_delay", host_delay),
            host_spacing=inputs.spacing("host_budget", host_budget),
            neighbours=bool(neighbours),
            pooling=bool(pooling),
            rhythm=bool(rhythm),
            slack=inputs.delay("slack", slack),
            spend=inputs.one_of("spend", spend, ("worth", "all")),
            catch_up=inputs.duration("catch_up", catch_up),
        )
        self._prior = prior
        self._tables = empty_tables(self._settings)
        self._known = 0
        self._now = -math.inf
        self._taken_at = self._began = -math.inf
        self._credit = 0.0
        self._visits_since_rescheduling = 0
        self._new: list[Ints] = []

    # Pages

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
        belief: Prior | Octaves | None = None,
        min_interval: ArrayLike = 0.0,
        max_interval: ArrayLike = math.inf,
    ) -> None:
        """Add pages.

        Args:
            page: Their numbers, each new or removed before.
            now: The present.
            importance: The weight of their freshness.
            host: Numbers of their hosts.
            section: Numbers of their sections: pages of one host that may change together. No two
                hosts share a section; by default a host is one section.
            last_visit: When their copies were made; None for pages without a copy, which come
                first. In an array, -inf means no copy.
            prior: The belief that forgetting returns to; by default the frontier's, or what is
                learned from other pages of the section, the host and the fleet.
            belief: What earlier visits have taught about these pages; nothing by default. Octaves
                that `octaves` returned, or a Gamma belief that grew from ``prior``, or from one
                change in the mean time between two visits.
            min_interval: Days after a visit before which the page is not taken again; after a
                visit that failed, its backoff decides.
            max_interval: Days after a visit from which the page is overdue, and goes before pages
                that are not, as far as budget and hosts allow.
        """
        pages = inputs.pages("page", page)
        self._pass_time(now)
        columns = inputs.NewPages.of(
            pages, importance, host, section, last_visit, (min_interval, max_interval), self._now
        )
        known = pages[pages < self._tables.pages.size]
        there = known[self._tables.pages["status"][known] != ABSENT]
        if there.size:
            raise ArgumentError(f"page: {there[0]} is in the frontier already")
        own = prior or self._prior
        before = inputs.prior("prior", own, pages.size)
        if isinstance(belief, Prior):
            inputs.belief("belief", belief, pages.size)
        elif belief is not None and belief.likelihood.shape[0] != pages.size:
            raise ArgumentError(f"belief: expected {pages.size} rows, one per page")
        self._tables = extend(self._tables, columns, self._settings, self._now)
        if not self._known:
            self._tables.shared["rate"] = 2.0 ** lowest_octave(pages.size / self._settings.budget)
        self._known += pages.size
        fill(self._tables, columns, before)
        if belief is not None:
            likelihood = self._likelihoods(belief, own, pages.size)
            self._tables.pages["likelihood"][pages] = likelihood
            self._tables.pages["counts"][pages] = (likelihood != likelihood[:, :1]).any(1)
        weigh_pages(self._tables, pages)
        self._new.append(pages)

    def _likelihoods(self, belief: Prior | Octaves, prior: Prior | None, pages: int) -> Likelihoods:
        """Return what earlier visits said about new pages."""
        if isinstance(belief, Octaves):
            return belief.shifted(self._first_octave).likelihood
        before = prior or Prior(PRIOR_SHAPE, PRIOR_SHAPE * self._mean_gap)
        return Octaves.of_gamma(self._first_octave, belief, before, pages).likelihood

    @property
    def _first_octave(self) -> int:
        rate = float(self._tables.shared["rate"][0])
        # Before the first page is added there is no rate yet.
        return round(math.log2(rate)) if rate > 0.0 else lowest_octave(1.0)

    def remove(self, page: ArrayLike) -> None:
        """Remove pages; their numbers may be used again."""
        pages = self._present("page", page)
        remove_pages(self._tables, pages)
        self._known -= pages.size

    def set_importance(self, page: ArrayLike, importance: ArrayLike) -> None:
        """Change the importance of pages."""
        pages = self._present("page", page)
        self._tables.pages["importance"][pages] = inputs.importances(importance, pages.size)
        reschedule(self._tables, pages, self._now)

    def set_intervals(
        self, page: ArrayLike, min_interval: ArrayLike, max_interval: ArrayLike
    ) -> None:
        """Change the days between two visits to pages; see `add`."""
        pages = self._present("page", page)
        low, high = inputs.checked_intervals((min_interval, max_interval), pages.size)
        self._tables.pages["min_interval"][pages] = low
        self._tables.pages["max_interval"][pages] = high
        reschedule(self._tables, pages, self._now)

    def set_budget(self, budget: float, now: float) -> None:
        """Change the visits per day from now on; what was credited before stays."""
        rate = inputs.rate("budget", budget)
        self._pass_time(now)
        self._settings = replace(self._settings, budget=rate)
        if self._known and self._tables.shared["slot_width"][0] < math.inf:
            # The price follows the budget at once: by itself it would, but slowly.
            self._tables.shared["schedule_price"][0] = 0.0
            self._reschedule_all(self._mean_gap / SLOTS_PER_GAP)

    def replace_prior(self, page: ArrayLike, prior: Prior | None) -> None:
        """Believe something else about pages before their visits; what visits taught stays.

        Args:
            page: The pages.
            prior: The new prior, with one element per page, or one for all; None for what is
                learned from other pages.
        """
        pages = self._present("page", page)
        replace_priors(self._tables, pages, *inputs.prior("prior", prior, pages.size))
        reschedule(self._tables, pages, self._now)

    def settle(self, now: float) -> None:
        """Schedule all pages now, as the first `take` after adding many would.

        With a million pages that takes a while, which a caller may prefer to spend earlier.
        """
        self._pass_time(now)
        if self._known:
            self._schedule_pages()

    # Visits

    def take(self, now: float, limit: int, *, host: ArrayLike | None = None) -> Ints:
        """Return the pages to visit now, the most valuable first, and lease them until reported.

        Never more than the budget pays for, than ``limit``, or than the hosts allow.

        Args:
            now: The present.
            limit: How many pages to return at most.
            host: Only pages of these hosts whose visit is worth the price; None for any host.
        """
        self._pass_time(now)
        gap = min(self._now - self._taken_at, self._settings.catch_up)
        saved = self._settings.budget * self._slack
        affordable = int(self._credit + 1e-9)
        if saved > 0.0:
            at_once = MAX_BURST * self._settings.budget * gap + 1.0
            affordable = min(affordable, int(max(at_once, self._credit - saved)))
        wanted = min(inputs.whole("limit", limit), affordable, self._known)
        if wanted <= 0:
            return np.empty(0, np.int64)
        self._schedule_pages()
        if host is None:
            must = min(max(int(self._credit - saved + 1e-9), 0), wanted)
            least = LEAST_WORTH if self._settings.spend == "worth" else 0.0
            taken = take_pages(self._tables, self._now, wanted, must, gap, self._known, least)
            self._save_or_spend(taken.size, saved)
        else:
            taken = take_from(self._tables, self.pages_of(host), self._now, wanted, gap)
        self._credit -= taken.size
        self._visits_since_rescheduling += taken.size
        self._taken_at = self._now
        return taken

    def _save_or_spend(self, taken: int, saved: float) -> None:
        """Move the price for saved budget up if much was spent, and down if little was."""
        price = self._tables.shared["saving_price"]
        if saved <= 0.0 or self._now - self._began < self._mean_gap:
            price[0] = 0.0
            return
        if price[0] == 0.0:
            price[0] = self.price
        budget, days = self._settings.budget, self._now - self._taken_at
        memory = max(self._mean_gap / 2.0, min(LONGEST_MEMORY, 4.0 * self._mean_gap))
        drift = (taken - budget * days) / (budget * memory)
        centre = CENTRING * days / memory * (self._credit / saved - 0.5)
        price[0] *= math.exp(min(max(drift - centre, -1.0), 1.0))

    @property
    def _slack(self) -> float:
        """Days of budget that may be saved; none in the first round, where all is unknown."""
        if self._now - self._began < self._mean_gap:
            return 0.0
        return min(self._settings.slack, MAX_SLACK * self._mean_gap)

    def report(
        self,
        page: ArrayLike,
        now: float,
        changed: ArrayLike,
        *,
        failed: ArrayLike = False,
        age: ArrayLike | None = None,
        pause: ArrayLike = 0.0,
    ) -> None:
        """Report the outcomes of visits, of pages that were not taken too.

        Args:
            page: The pages visited, without duplicates.
            now: When they were visited.
            changed: Whether they had changed since the last visit; ignored for first visits.
            failed: Whether the visit failed. A failed visit teaches nothing, and is retried with a
                backoff that doubles with each failure.
            age: Days since the page last changed, if the server dates it; NaN if not.
            pause: Days to leave a page alone at least whose visit failed.
        """
        pages = self._present("page", page)
        self._pass_time(now)
        report_visits(
            self._tables,
            pages,
            self._now,
            inputs.flags("changed", changed, pages.size),
            inputs.flags("failed", failed, pages.size),
            inputs.ages(age, pages.size),
            FIRST_RETRY * self._mean_gap,
            inputs.pauses(pause, pages.size),
        )

    def put_back(self, page: ArrayLike, now: float) -> None:
        """Put back pages that were taken and not visited, as if they had not been taken.

        Unlike a failed visit, this puts nobody behind others. The budget that `take` charged is
        refunded with `spend`.
        """
        pages = self._present("page", page)
        self._pass_time(now)
        put_back_pages(self._tables, pages, self._now)

    def release(self, page: ArrayLike, now: float) -> None:
        """Put back pages that were taken and not visited, and what they cost to the budget."""
        pages = self._present("page", page)
        self.put_back(pages, now)
        self._credit += pages.size

    def hold(self, page: ArrayLike) -> None:
        """Take pages that an earlier frontier had given out; the budget has paid for them."""
        hold_pages(self._tables, self._present("page", page))

    def signal(self, page: ArrayLike, now: float, keep: ArrayLike) -> None:
        """Multiply the pages' chance of being fresh by ``keep``, on evidence other than a visit.

        For example a sitemap's date, a feed or a push message. Signals multiply; a visit clears
        them.
        """
        pages = self._present("page", page)
        self._pass_time(now)
        share = inputs.shares("keep", keep, pages.size)
        column = self._tables.pages["keep"]
        column[pages] = np.maximum(column[pages] * share, MIN_KEEP)
        reschedule(self._tables, pages, self._now)

    def defer(self, host: ArrayLike, until: ArrayLike) -> None:
        """Visit no page of these hosts before ``until``, for example because of Retry-After."""
        hosts = inputs.hosts("host", host, self._tables.hosts.size)
        times = inputs.times("until", until, hosts.size)
        np.maximum.at(self._tables.hosts["open_at"], hosts, times)

    def limit_host(
        self, host: ArrayLike, *, delay: float | None = None, budget: float | None = None
    ) -> None:
        """Set limits for these hosts, for example from robots.txt; None leaves a limit as it is.

        An infinite budget is none.
        """
        hosts = inputs.hosts("host", host, self._tables.hosts.size)
        days = None if delay is None else inputs.delay("delay", delay)
        spacing = 0.0 if budget == math.inf else inputs.spacing("budget", budget)
        if days is not None:
            self._tables.hosts["delay"][hosts] = days
        if budget is not None:
            self._tables.hosts["spacing"][hosts] = spacing

    def spend(self, visits: int) -> None:
        """Charge requests beyond the visits taken, such as retries and redirects, to the budget.

        An overdraft is paid off before the next visits. A negative number refunds visits that were
        taken but not made.
        """
        number = as_number("visits", visits)
        self._credit -= math.copysign(inputs.whole("visits", abs(number)), number)

    # Queries

    def __len__(self) -> int:
        return self._known

    def __contains__(self, page: object) -> bool:
        status = self._tables.pages["status"]
        if not isinstance(page, int | np.integer) or not 0 <= page < status.size:
            return False
        return bool(status[page] != ABSENT)

    @property
    def affordable_at(self) -> float:
        """When the budget will pay for another visit; the present if it does already."""
        return self._now + max(1.0 - self._credit, 0.0) / self._settings.budget

    @property
    def price(self) -> float:
        """What a visit must be worth, importance times days; 0 before the first take."""
        return float(self._tables.shared["price"][0])

    def due(self, page: ArrayLike) -> Floats:
        """Return when visits to these pages will be worth the current price; infinity for never."""
        return due_times(self._tables, self._present("page", page), self._now)

    def host(self, page: ArrayLike) -> Ints:
        """Return the numbers of the pages' hosts; -1 for pages that are not in the frontier."""
        pages, size = inputs.pages("page", page), self._tables.pages.size
        if not size:
            return np.full(pages.size, -1)
        rows = self._tables.pages[np.minimum(pages, size - 1)]
        there = (pages < size) & (rows["status"] != ABSENT)
        return np.where(there, rows["host"], -1).astype(np.int64)

    def pages_of(self, host: ArrayLike) -> Ints:
        """Return the pages of these hosts."""
        wanted = np.zeros(self._tables.hosts.size, np.bool_)
        wanted[inputs.hosts("host", host, wanted.size)] = True
        rows = self._tables.pages
        return np.flatnonzero((rows["status"] != ABSENT) & wanted[rows["host"]])

    def all_pages(self) -> Ints:
        """Return all pages."""
        return np.flatnonzero(self._tables.pages["status"] != ABSENT)

    def last_visit(self, page: ArrayLike) -> Floats:
        """Return when the copies of pages were made; −∞ without a copy."""
        return self._tables.pages["last_visit"][self._present("page", page)].copy()

    def importance(self, page: ArrayLike) -> Floats:
        """Return the importance of pages."""
        return self._tables.pages["importance"][self._present("page", page)].copy()

    def belief(self, page: ArrayLike) -> Prior:
        """Return the Gammas with the mean and variance of what is believed about these pages."""
        weight = self._tables.pages["weight"][self._present("page", page)]
        return Prior(*gamma_of(self._first_octave, weight))

    def octaves(self, page: ArrayLike) -> Octaves:
        """Return what the visits to these pages said, for `add` in another frontier."""
        rows = self._tables.pages["likelihood"][self._present("page", page)]
        return Octaves(self._first_octave, rows)

    def calibration(self) -> tuple[float, float]:
        """Return the changes that recent visits found, and those that were expected of them.

        Recent ones count more, and each host starts with a few of both, as equal numbers.
        """
        hosts = self._tables.hosts
        return float(hosts["all_found"].sum()), float(hosts["all_expected"].sum())

    def expected_freshness(self, now: float) -> float:
        """Return the share of importance whose copies are expected to be fresh; 1 without pages."""
        self._pass_time(now)
        fresh, total = fresh_importance(self._tables, self._now)
        return fresh / total if total > 0.0 else 1.0

    # Saving

    def clocks(self, *, host: ArrayLike = (), section: ArrayLike = ()) -> tuple[Rows, Rows]:
        """Return how active hosts and sections have been lately, for `set_clocks`."""
        hosts = inputs.hosts("host", host, self._tables.hosts.size)
        sections = inputs.hosts("section", section, self._tables.sections.size)
        return (
            clocks_of(self._tables, self._tables.hosts[hosts]),
            clocks_of(self._tables, self._tables.sections[sections]),
        )

    def set_clocks(
        self, now: float, host: Ints, of_hosts: Rows, section: Ints, of_sections: Rows
    ) -> None:
        """Continue with the activity of hosts and sections that `clocks` returned earlier.

        What is too old or of another scale of time is left out. To be called after pages are added
        and before any is taken.
        """
        self._pass_time(now)
        if self._known:
            self._set_scale(self._mean_gap / SLOTS_PER_GAP)
            set_width(self._tables, np.concatenate([of_hosts, of_sections]), self._now)
            restore_hosts(self._tables, host, of_hosts, self._now)
            restore_bins(self._tables, self._tables.sections, section, of_sections, self._now)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the frontier to a file, atomically."""
        self._schedule_new()
        counters = [self._known, self._now, self._taken_at, self._credit, self._began]
        saving.save(
            path,
            self._tables,
            self._settings,
            self._prior,
            [*counters, self._visits_since_rescheduling],
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save` wrote; the frontier continues as the saved one would have."""
        saved = saving.load(path)
        frontier = cls(saved.settings.budget, prior=saved.prior)
        frontier._settings = saved.settings
        frontier._tables = saved.tables
        known, now, taken_at, credit, began, visits = saved.counters
        frontier._began = began
        frontier._known, frontier._visits_since_rescheduling = int(known), int(visits)
        frontier._now, frontier._taken_at, frontier._credit = now, taken_at, credit
        return frontier

    # Internals

    @property
    def _mean_gap(self) -> float:
        return max(self._known, 1) / self._settings.budget

    def _pass_time(self, now: float) -> None:
        """Credit the budget for the time since the last call; time never runs backwards."""
        time = inputs.time("now", now)
        if abs(time) * self._settings.budget > MAX_VISITS:
            raise ArgumentError(f"now: {time} is too far from 0 for the budget; move the origin")
        if self._now == -math.inf:
            self._now = self._taken_at = self._began = time
        budget, catch_up = self._settings.budget, self._settings.catch_up
        max_credit = budget * catch_up + 1.0
        # A pause earns no more than that, whatever may be saved.
        earned = min(budget * max(time - self._now, 0.0), max_credit)
        self._credit = min(self._credit + earned, max_credit + budget * self._slack)
        self._now = max(self._now, time)

    def _present(self, name: str, page: ArrayLike) -> Ints:
        pages = inputs.pages(name, page)
        size = self._tables.pages.size
        missing = (
            pages[
                (pages >= size)
                | (self._tables.pages["status"][np.minimum(pages, size - 1)] == ABSENT)
            ]
            if size
            else pages
        )
        if missing.size:
            raise ArgumentError(f"{name}: {missing[0]} is not in the frontier; add it first")
        return pages

    def _schedule_pages(self) -> None:
        """Schedule new pages, or all pages if the price or the scale of time has moved."""
        tables = self._tables
        width = self._mean_gap / SLOTS_PER_GAP
        tables.shared["early"] = 0.0 if self._known <= ALWAYS_READY else 1.0
        if tables.shared["slot_width"][0] == math.inf:
            self._reschedule_all(width)
        slots = (self._now / tables.shared["slot_width"][0]) - tables.shared["slot"][0]
        added = sum(pages.size for pages in self._new)
        fallen = (
            tables.shared["schedule_price"][0]
            < (1.0 - PRICE_FALL) * tables.shared["highest_price"][0]
        )
        if (
            not 1.0 / NEW_SCALE < tables.shared["slot_width"][0] / width < NEW_SCALE
            or slots > LONG_PAUSE
            or added > NEW_SHARE * self._known
            or (fallen and self._visits_since_rescheduling > MIN_VISITS * self._known)
        ):
            self._reschedule_all(width)
        self._schedule_new()

    def _schedule_new(self) -> None:
        for pages in self._new:
            still = pages[self._tables.pages["status"][pages] == NEW]
            schedule_each(self._tables, still, self._now)
        self._new.clear()

    def _reschedule_all(self, width: float) -> None:
        tables = self._tables
        self._set_scale(width)
        if not tables.shared["schedule_price"][0] > 0.0:
            tables.shared["price"][0] = tables.shared["schedule_price"][0] = self._balanced_price()
        schedule_all(tables, self._now)
        self._new.clear()
        self._visits_since_rescheduling = 0

    def _set_scale(self, width: float) -> None:
        """Restart timing wheel and activity if the mean time between visits is quite another."""
        tables = self._tables
        if not 1.0 / NEW_SCALE < tables.shared["slot_width"][0] / width < NEW_SCALE:
            tables.shared["slot_width"][0] = width
            bin_width = width * SLOTS_PER_GAP / BINS_PER_GAP
            tables.shared["bin_width"] = bin_width
            octaves = lowest_octave(width * SLOTS_PER_GAP) - self._first_octave
            if octaves:
                shift_octaves(tables, octaves)
            reset_activity(tables.hosts, self._now, bin_width)
            reset_activity(tables.sections, self._now, bin_width)

    def _balanced_price(self) -> float:
        """Return the price at which the pages are due as often as the budget pays for."""
        known = np.flatnonzero(self._tables.pages["status"] != ABSENT)
        sample = known[:: -(-known.size // PRICE_SAMPLE)]
        return balanced_price(
            self._tables, sample, self._settings.budget * sample.size / known.size
        )
