"""The frontier: given the outcomes of visits, it returns the pages to visit next, on a budget."""

import math
import os
from dataclasses import replace
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike

from recrawl.errors import ArgumentError
from recrawl.estimation.belief import Prior
from recrawl.estimation.octaves import Likelihoods, Octaves, lowest_octave, start_near
from recrawl.estimation.signals import KINDS
from recrawl.kernels.jit import Floats, Ints
from recrawl.quantities import number as as_number
from recrawl.scheduling import inputs, saving
from recrawl.scheduling.budget import (
    CATCH_UP,
    NEW_HOST_SHARE,
    NEW_SHARE,
    SLACK,
    Budget,
)
from recrawl.scheduling.first_visits import take_free
from recrawl.scheduling.pooling import weigh_pages
from recrawl.scheduling.remembering import (
    clocks_of,
    restore_bins,
    restore_hosts,
    restore_rhythm,
    restore_trust,
    rhythm_of,
    set_width,
    trust_of,
)
from recrawl.scheduling.report import (
    FIRST_RETRY,
    put_back_pages,
    remove_pages,
    replace_priors,
    report_visits,
    reschedule,
)
from recrawl.scheduling.rescheduling import Rescheduling, first_octave, set_scale
from recrawl.scheduling.sharing import (
    count_filled,
    fill_left,
    share_spacings,
    take_best,
    waiting_among,
)
from recrawl.scheduling.signals import hear_signals, state_evidence
from recrawl.scheduling.state import (
    ABSENT,
    ASKED,
    DISCOVERED,
    FREE,
    NONE,
    TAKEN,
    FrontierSettings,
    Rows,
    empty_tables,
    extend,
    fill,
    rounded_up,
)
from recrawl.scheduling.take_from import hold_pages, take_from
from recrawl.scheduling.view import FrontierView

#: A Gamma belief without a prior started from one change in the mean time between two visits.
PRIOR_SHAPE = 1.0
#: Days after which half of what was learned is forgotten.
HALF_LIFE = 1_000.0


@final
class Frontier(FrontierView):
    """Chooses the pages to visit now, so that a budget of visits keeps copies as fresh as possible.

    Each page has a belief about its change rate (`recrawl.estimation.octaves`) that every visit
    updates. What a visit is worth is the freshness index of that belief
    (`recrawl.scheduling.due`); `take` returns the pages whose visits are worth most, as many as the
    budget pays for since the last take. Pages, hosts and sections are numbered from 0; times are in
    days, from any origin.

    Args:
        budget: Visits per day.
        prior: The belief about pages before their first visit; by default it is learned from other
            pages, and at first it is a mixture of shapes (`recrawl.estimation.rate_shapes`).
        half_life: Days after which half of what was learned is forgotten; None for never.
        host_delay: Days between two visits to a host.
        host_budget: Maximum visits per day to a host.
        neighbours: Whether a change found on one page counts as evidence about the other pages of
            its section and host (`recrawl.scheduling.neighbours`). How much it counts is learned.
        pooling: Whether pages without a prior of their own get one from the beliefs about the other
            pages of their section, their host and the fleet (`recrawl.scheduling.pooling`).
        rhythm: Whether visits follow the weekly rhythm of changes, if there is one
            (`recrawl.scheduling.rhythm`).
        slack: Days of budget that may be saved for times when visits are worth more, but never more
            than a third of the mean time between two visits. 0 spends steadily.
        spend: "worth" leaves budget unspent rather than make visits that are worth next to nothing;
            "all" spends it.
        catch_up: Days for which unspent budget is kept; older budget is lost, so that no burst
            follows a pause.
        new_share: The share of the budget for first visits to discovered pages
            (`recrawl.scheduling.first_visits`). They get more only if no other visit is worth it.
        new_host_share: The share of the budget for those of one host, unless it is the only one.
        first_fill: The maximum of free first visits per day, outside the budget.

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
        new_share: float = NEW_SHARE,
        new_host_share: float = NEW_HOST_SHARE,
        first_fill: float = 0.0,
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
            new_share=inputs.share("new_share", new_share),
            new_host_share=inputs.share("new_host_share", new_host_share),
            first_fill=inputs.delay("first_fill", first_fill),
        )
        super().__init__(empty_tables(self._settings), self._new_budget())
        self._prior = prior
        self._rescheduling = Rescheduling()

    def _new_budget(self) -> Budget:
        settings = self._settings
        return Budget(settings.budget, settings.catch_up, settings.slack)

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
        discovered: ArrayLike = False,
        free: ArrayLike = False,
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
                first unless they are ``discovered``. In an array, -inf means no copy.
            prior: The belief that forgetting returns to; by default the frontier's, or what is
                learned from other pages of the section, the host and the fleet.
            belief: What earlier visits taught about these pages; nothing by default. Octaves that
                `octaves` returned, or a Gamma belief that started from ``prior``, or from one
                change in the mean time between two visits.
            min_interval: Days after a visit before which the page is not taken again; after a
                failed visit, its backoff applies instead.
            max_interval: Days after a visit from which the page is overdue, and comes before
                pages that are not, as far as budget and hosts allow.
            discovered: Whether nobody asked for these pages, for example because a site links to
                them. Their first visits share a part of the budget, so that no site can take it.
            free: Whether their first visits are made outside the budget, as early as their hosts
                and ``first_fill`` allow. After a few failures they are like discovered pages.
        """
        pages = inputs.pages("page", page)
        self._budget.pass_time(now)
        columns = inputs.NewPages.of(
            pages,
            importance,
            host,
            section,
            last_visit,
            (min_interval, max_interval),
            self._payment(discovered, free, pages.size),
            self._now,
        )
        known = pages[pages < self._tables.pages.size]
        there = known[self._tables.pages["status"][known] != ABSENT]
        if there.size:
            raise ArgumentError(f"page: {there[0]} is already in the frontier")
        own = prior or self._prior
        before = inputs.prior("prior", own, pages.size)
        if isinstance(belief, Prior):
            inputs.belief("belief", belief, pages.size)
        elif belief is not None and belief.likelihood.shape[0] != pages.size:
            raise ArgumentError(f"belief: expected {pages.size} rows, one per page")
        self._tables = extend(self._tables, columns, self._settings, self._now)
        is_waiting = (columns.last_visit == -math.inf) & (columns.payment == DISCOVERED)
        waiting = int(np.count_nonzero(is_waiting))
        if not self._budget.pages:
            gap = max(pages.size - waiting, 1) / self._settings.budget
            usual = lowest_octave(gap)
            first = start_near(belief.first, gap) if isinstance(belief, Octaves) else usual
            self._tables.shared["rate"] = 2.0**first
        self._budget.pages += pages.size
        self._budget.waiting += waiting
        fill(self._tables, columns, before)
        if belief is not None:
            likelihood = self._likelihoods(belief, own, pages.size)
            self._tables.pages["likelihood"][pages] = likelihood
            self._tables.pages["counts"][pages] = (likelihood != likelihood[:, :1]).any(1)
        weigh_pages(self._tables, pages)
        self._rescheduling.add(pages)

    def _payment(self, discovered: ArrayLike, free: ArrayLike, pages: int) -> Floats:
        """Return how the first visits to new pages are paid for."""
        found = inputs.flags("discovered", discovered, pages)
        usual = np.where(found, DISCOVERED, ASKED)
        is_free = inputs.flags("free", free, pages) & (self._settings.first_fill > 0.0)
        return np.where(is_free, FREE, usual)

    def _likelihoods(self, belief: Prior | Octaves, prior: Prior | None, pages: int) -> Likelihoods:
        """Return the evidence of earlier visits about new pages."""
        if isinstance(belief, Octaves):
            return belief.shifted(first_octave(self._tables)).likelihood
        before = prior or Prior(PRIOR_SHAPE, PRIOR_SHAPE * self._budget.mean_gap)
        return Octaves.of_gamma(first_octave(self._tables), belief, before, pages).likelihood

    def remove(self, page: ArrayLike) -> None:
        """Remove pages; their numbers may be used again."""
        pages = self._present("page", page)
        self._budget.waiting -= waiting_among(self._tables, pages)
        remove_pages(self._tables, pages)
        self._budget.pages -= pages.size

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
        self._tables.pages["min_interval"][pages] = rounded_up(low)
        self._tables.pages["max_interval"][pages] = rounded_up(high)
        reschedule(self._tables, pages, self._now)

    def set_budget(self, budget: float, now: float) -> None:
        """Change the visits per day from now on; earlier credit is kept."""
        rate = inputs.rate("budget", budget)
        self._budget.pass_time(now)
        self._settings = replace(self._settings, budget=rate)
        self._budget.per_day = rate
        if self._budget.pages and self._tables.shared["slot_width"][0] < math.inf:
            # The price follows the budget at once: by itself it would do so only slowly.
            self._tables.shared["schedule_price"][0] = 0.0
            self._rescheduling.reschedule_all(self._tables, self._now, self._budget.mean_gap)

    def replace_prior(self, page: ArrayLike, prior: Prior | None) -> None:
        """Replace the prior of pages; what visits taught is kept.

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

        With a million pages that takes a while, and a caller may prefer to do it earlier.
        """
        self._budget.pass_time(now)
        if self._budget.pages:
            self._schedule()

    # Visits

    def take(self, now: float, limit: int, *, host: ArrayLike | None = None) -> Ints:
        """Return the pages to visit now, the most valuable first, and lease them until reported.

        Never more than the budget pays for, ``limit``, or what the hosts allow.

        Args:
            now: The present.
            limit: How many pages to return at most.
            host: Only pages of these hosts, and only if a visit is worth the price; None for any
                host.
        """
        self._budget.pass_time(now)
        wanted = inputs.whole("limit", limit)
        free = self._take_free(wanted) if host is None else np.empty(0, np.int64)
        allowance = self._budget.allowance(wanted - free.size)
        if allowance.most == 0:
            return free
        self._schedule()
        if host is None:
            taken = take_best(self._tables, self._settings, self._budget, allowance)
            self._budget.move_saving_price(self._tables.shared, taken.size)
        else:
            of, most, since = self.pages_of(host), allowance.most, allowance.since
            shares = share_spacings(self._tables, self._settings, self._budget.pages)
            taken = take_from(self._tables, of, self._now, most, since, *shares)
            filled = int(np.count_nonzero(self.is_free(taken)))
            self._fill(filled)
            self._budget.credit += filled
        self._budget.charge(taken.size)
        self._rescheduling.visits += taken.size
        return np.concatenate([free, taken]) if free.size else taken

    @property
    def has_free(self) -> bool:
        """Whether nothing but its host holds up a first visit that costs no budget."""
        return bool(self._tables.shared["turn"][0, 1] != NONE) and self._free_left() >= 1

    def _free_left(self) -> int:
        return int(fill_left(self._tables.shared, self._settings.first_fill, self._now))

    def _take_free(self, limit: int) -> Ints:
        """Take pages whose first visits cost the budget nothing."""
        left = min(self._free_left(), limit)
        may_have = self.has_free or (self._rescheduling.has_new and self._budget.pages)
        if left <= 0 or not may_have:
            return np.empty(0, np.int64)
        self._schedule()
        since = self._budget.allowance(0).since
        taken = take_free(self._tables, self._now, since, left)
        self._fill(taken.size)
        return taken

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
        """Report the outcomes of visits, also to pages that were not taken.

        Args:
            page: The pages visited, without duplicates.
            now: When they were visited.
            changed: Whether they had changed since the last visit; ignored for first visits.
            failed: Whether the visit failed. A failed visit teaches nothing, and is retried with
                exponential backoff.
            age: Days since the page last changed, if the server dates it; NaN if not.
            pause: The minimum days to leave a page alone whose visit failed.
        """
        pages = self._present("page", page)
        self._budget.pass_time(now)
        waiting = waiting_among(self._tables, pages) if self._budget.waiting else 0
        report_visits(
            self._tables,
            pages,
            self._now,
            inputs.flags("changed", changed, pages.size),
            inputs.flags("failed", failed, pages.size),
            inputs.ages(age, pages.size),
            FIRST_RETRY * self._budget.mean_gap,
            inputs.pauses(pause, pages.size),
        )
        if waiting:
            self._budget.waiting -= waiting - waiting_among(self._tables, pages)

    def postpone(self, page: ArrayLike, until: ArrayLike) -> None:
        """Visit pages whose last visit failed, before they were added, no earlier than ``until``.

        As after a reported failure, they come after pages that have not been tried.
        """
        pages = self._present("page", page)
        times = inputs.times("until", until, pages.size)
        self._tables.pages["failures"][pages] = 1
        self._tables.pages["due"][pages] = times
        reschedule(self._tables, pages, self._now)

    def put_back(self, page: ArrayLike, now: float) -> None:
        """Put back pages that were taken but not visited, as if they had not been taken.

        Unlike after a failed visit, they do not fall behind others. Refund the budget that `take`
        charged with `spend`.
        """
        pages = self._present("page", page)
        self._budget.pass_time(now)
        put_back_pages(self._tables, pages, self._now)

    def release(self, page: ArrayLike, now: float) -> None:
        """Put back pages that were taken but not visited, and refund what they cost."""
        pages = self._present("page", page)
        is_taken = self._tables.pages["status"][pages] == TAKEN
        is_free = self.is_free(pages)
        self.put_back(pages, now)
        self._budget.credit += int(np.count_nonzero(is_taken & ~is_free))
        self._fill(-int(np.count_nonzero(is_taken & is_free)))

    def hold(self, page: ArrayLike) -> None:
        """Take pages that an earlier frontier had handed out; the budget has paid for them."""
        hold_pages(self._tables, self._present("page", page))

    def signal(self, page: ArrayLike, now: float, kind: str = "sitemap") -> None:
        """Note signals that pages have changed, for example a sitemap's date or a push message.

        How reliable they are is learned from what visits find, for each host and kind of signal
        (`recrawl.scheduling.signals`).

        Args:
            page: The pages, each once per signal.
            now: The present.
            kind: Where the signals come from: "sitemap", "feed", "push" or "neighbour".
        """
        pages = np.atleast_1d(inputs.numbers_from_0("page", page))
        different = self._present("page", np.unique(pages))
        number = KINDS.index(inputs.one_of("kind", kind, KINDS))
        self._budget.pass_time(now)
        hear_signals(self._tables, pages, self._now, number)
        reschedule(self._tables, different, self._now)

    def evidence(self, page: ArrayLike, now: float, keep: ArrayLike) -> None:
        """Multiply the pages' chance of being fresh by ``keep``, on evidence of known strength.

        Evidence multiplies; a visit clears it. If its strength is not known, use `signal`.
        """
        pages = self._present("page", page)
        self._budget.pass_time(now)
        state_evidence(self._tables.pages, pages, inputs.shares("keep", keep, pages.size))
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

        An infinite budget means no limit.
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
        self._budget.credit -= math.copysign(inputs.whole("visits", abs(number)), number)

    def spend_free(self, visits: int) -> None:
        """Count requests beyond the free visits taken towards the limit of free visits."""
        number = as_number("visits", visits)
        self._fill(int(math.copysign(inputs.whole("visits", abs(number)), number)))

    def set_filled(self, visits: float) -> None:
        """Restore how many of the free visits of the last day count towards their limit."""
        self._tables.shared["filled"], self._tables.shared["filled_at"] = 0.0, self._now
        self._fill(inputs.whole("visits", visits))

    def _fill(self, visits: int) -> None:
        count_filled(self._tables.shared, self._settings.first_fill, self._now, visits)

    # Saving

    def clocks(self, *, host: ArrayLike = (), section: ArrayLike = ()) -> tuple[Rows, Rows]:
        """Return the recent activity of hosts and sections, for `set_clocks`."""
        hosts = inputs.hosts("host", host, self._tables.hosts.size)
        sections = inputs.hosts("section", section, self._tables.sections.size)
        return (
            clocks_of(self._tables, self._tables.hosts[hosts]),
            clocks_of(self._tables, self._tables.sections[sections]),
        )

    def set_clocks(
        self, now: float, host: Ints, of_hosts: Rows, section: Ints, of_sections: Rows
    ) -> None:
        """Restore the activity of hosts and sections that `clocks` returned earlier.

        Data that is too old, or on a different time scale, is left out. Call it after pages are
        added and before any is taken.
        """
        self._budget.pass_time(now)
        if self._budget.pages:
            set_scale(self._tables, self._now, self._budget.mean_gap)
            set_width(self._tables, np.concatenate([of_hosts, of_sections]), self._now)
            restore_hosts(self._tables, host, of_hosts, self._now)
            restore_bins(self._tables, self._tables.sections, section, of_sections, self._now)

    def signal_trust(self, host: ArrayLike) -> Rows:
        """Return the trust in the signals of hosts, for `set_signal_trust`."""
        return trust_of(self._tables, inputs.hosts("host", host, self._tables.hosts.size))

    def set_signal_trust(self, host: ArrayLike, trust: Rows) -> None:
        """Restore the trust in the signals of hosts that `signal_trust` returned earlier."""
        hosts = inputs.hosts("host", host, self._tables.hosts.size)
        restore_trust(self._tables, hosts, trust)

    def rhythm(self) -> Rows:
        """Return the weekly rhythm, for `set_rhythm`."""
        return rhythm_of(self._tables)

    def set_rhythm(self, rhythm: Rows) -> None:
        """Restore a weekly rhythm that `rhythm` returned earlier."""
        restore_rhythm(self._tables, rhythm, self._now)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the frontier to a file, atomically."""
        self._rescheduling.schedule_new(self._tables, self._now)
        budget = self._budget
        counters = [budget.pages, budget.now, budget.taken_at, budget.credit, budget.began]
        counters.append(self._rescheduling.visits)
        saving.save(path, self._tables, self._settings, self._prior, counters)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save` wrote; the frontier continues exactly like the saved one."""
        saved = saving.load(path)
        frontier = cls(saved.settings.budget, prior=saved.prior)
        frontier._settings = saved.settings
        frontier._tables = saved.tables
        known, now, taken_at, credit, began, visits = saved.counters.tolist()
        budget = frontier._new_budget()
        budget.pages, budget.credit = int(known), credit
        budget.now, budget.taken_at, budget.began = now, taken_at, began
        frontier._budget, frontier._rescheduling.visits = budget, int(visits)
        budget.waiting = waiting_among(frontier._tables, frontier.all_pages())
        return frontier

    # Internals

    def _schedule(self) -> None:
        budget = self._budget
        self._rescheduling.schedule(self._tables, budget.now, budget.mean_gap, budget.counted)
