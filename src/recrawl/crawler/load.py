"""The frontier, made from what the store knows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from recrawl.crawler.settings import Settings
from recrawl.estimation import Observations, Prior, fit_host_priors, fit_prior
from recrawl.kernels.jit import Floats, Ints
from recrawl.records import MICROSECONDS_A_DAY, NO_TIME, SECONDS_A_DAY, Page
from recrawl.scheduling.frontier import Frontier
from recrawl.store.rows import Fleet
from recrawl.store.sqlite import SqliteStore

#: About how many visits the priors are learned from.
LEARNED_FROM = 200_000
#: With fewer observations than this there is no prior but the frontier's own.
ENOUGH = 50


@final
class Roster:
    """The numbers by which the frontier knows hosts and sections.

    >>> roster = Roster()
    >>> [roster.host("a.example"), roster.host("b.example"), roster.host("a.example")]
    [0, 1, 0]
    >>> [roster.section("https://a.example/x/1"), roster.section("https://a.example/x/2")]
    [0, 0]
    """

    def __init__(self) -> None:
        self._hosts: dict[str, int] = {}
        self._sections: dict[str, int] = {}

    def host(self, name: str) -> int:
        """Give a host's number."""
        return self._hosts.setdefault(name, len(self._hosts))

    def section(self, url: str) -> int:
        """Give the number of the folder that a page stands in."""
        return self._sections.setdefault(url.rpartition("/")[0], len(self._sections))

    def known(self, name: str) -> int | None:
        """Give a host's number if it has one."""
        return self._hosts.get(name)


def days(at: int) -> float:
    """Give a moment on the frontier's scale.

    >>> days(86_400_000_000)
    1.0
    """
    return at / MICROSECONDS_A_DAY


@dataclass(frozen=True)
class Priors:
    """What is believed of a page before its first visit, by its host.

    Attributes:
        fleet: For hosts that nobody knows; None while there is too little to learn from.
        by_host: Shape and time for the others, by the host's number.
    """

    fleet: Prior | None = None
    by_host: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    def of(self, hosts: Sequence[int] | Ints) -> Prior | None:
        """Give a prior with an element for each host; None leaves it to the frontier."""
        if self.fleet is None:
            return None
        usual = (float(self.fleet.shape), float(self.fleet.time))  # type: ignore[arg-type]
        pairs = np.array([self.by_host.get(int(host), usual) for host in hosts]).reshape(-1, 2)
        return Prior(pairs[:, 0], pairs[:, 1])


@dataclass(frozen=True)
class Loaded:
    """A frontier, and what belongs to it.

    Attributes:
        frontier: Of the store's pages.
        roster: The numbers by which it knows hosts and sections.
        priors: For pages that are new.
        serial: What to ask the store with for edits made since.
    """

    frontier: Frontier
    roster: Roster
    priors: Priors
    serial: int


def load_frontier(store: SqliteStore, settings: Settings, now: int) -> Loaded:
    """Make the frontier of all pages in the store, with what was learned of them."""
    frontier = Frontier(
        settings.budget,
        half_life=settings.half_life,
        host_delay=settings.host_delay / SECONDS_A_DAY,
        host_budget=settings.host_budget or None,
        neighbours=settings.neighbours,
    )
    roster = Roster()
    fleet = store.fleet()
    if not fleet.number.size:
        return Loaded(frontier, roster, Priors(), fleet.serial)
    hosts = np.array([roster.host(name) for name in fleet.hosts], np.int64)[fleet.host]
    sections = np.fromiter(map(roster.section, fleet.url), np.int64, fleet.number.size)
    prior, priors = learn_priors(store, fleet, hosts)
    frontier.add(
        fleet.number,
        now=days(now),
        importance=fleet.importance,
        host=hosts,
        section=sections,
        last_visit=_last_visits(fleet, now),
        prior=prior,
        belief=_beliefs(fleet, prior or Prior(1.0, fleet.number.size / settings.budget)),
    )
    frontier.settle(days(now))
    return Loaded(frontier, roster, priors, fleet.serial)


def warm_up(settings: Settings) -> None:
    """Load the frontier's kernels, or compile them if this is the first time.

    That takes a moment, or some seconds, in which no response would be heard if it came to that
    during the crawl.
    """
    frontier = Frontier(settings.budget, half_life=settings.half_life)
    frontier.add([0, 1, 2, 3], now=0.0, host=[0, 0, 1, 1], last_visit=[0.0, 0.0, 0.0, -math.inf])
    later = 4.0 / settings.budget
    taken = frontier.take(later, 4)
    frontier.report(taken, later, changed=True, age=0.5 * later)
    frontier.signal([0], later, 0.5)
    frontier.limit_host([0], delay=0.0)
    frontier.defer([0], later)
    frontier.set_importance([0], 2.0)
    frontier.due([0])
    frontier.expected_freshness(later)
    frontier.remove([0])


def add_pages(loaded: Loaded, pages: Sequence[Page], now: int) -> None:
    """Take in pages that were added while the crawl runs."""
    hosts = [loaded.roster.host(page.host) for page in pages]
    present = days(now)
    loaded.frontier.add(
        [page.number for page in pages],
        now=present,
        importance=[page.importance for page in pages],
        host=hosts,
        section=[loaded.roster.section(page.url) for page in pages],
        last_visit=[
            -math.inf if page.last_visit is None else min(days(page.last_visit), present)
            for page in pages
        ],
        prior=loaded.priors.of(hosts),
    )


def learn_priors(store: SqliteStore, fleet: Fleet, host: Ints) -> tuple[Prior | None, Priors]:
    """Learn a prior for each host: with an element for each page of the fleet, and by host.

    Hosts with few pages are given the fleet's, in which all hosts are one.
    """
    log = store.observations(LEARNED_FROM)
    place = np.minimum(np.searchsorted(fleet.number, log.page), fleet.number.size - 1)
    ours = (log.elapsed > 0) & (fleet.number[place] == log.page)
    if int(ours.sum()) < ENOUGH:
        return None, Priors()
    seen = Observations.of(
        log.elapsed[ours] / MICROSECONDS_A_DAY,
        log.changed[ours],
        page=place[ours],
        pages=fleet.number.size,
    )
    prior = fit_host_priors(seen, host)
    shape, time = prior.columns(fleet.number.size)
    numbers, first = np.unique(host, return_index=True)
    pairs = zip(shape[first].tolist(), time[first].tolist(), strict=True)
    by_host = dict(zip(numbers.tolist(), pairs, strict=True))
    return prior, Priors(fit_prior(seen), by_host)


def _beliefs(fleet: Fleet, prior: Prior) -> Prior:
    """Give what is believed: what visits taught, and the prior where there were none."""
    shape, time = prior.columns(fleet.number.size)
    known = ~np.isnan(fleet.shape)
    return Prior(np.where(known, fleet.shape, shape), np.where(known, fleet.time, time))


def _last_visits(fleet: Fleet, now: int) -> Floats:
    """Give times on the frontier's scale; a clock that was put back cannot make them future."""
    times = np.minimum(fleet.last_visit, now) / MICROSECONDS_A_DAY
    return np.where(fleet.last_visit == NO_TIME, -math.inf, times)
