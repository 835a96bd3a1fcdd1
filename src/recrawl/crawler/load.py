"""The frontier of the pages in the store, and how it is made from what the store knows."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict, final

import numpy as np

from recrawl.crawler.protocols import Storing
from recrawl.crawler.settings import Settings
from recrawl.estimation import Observations, Prior, fit_host_priors, fit_prior
from recrawl.kernels.jit import Floats, Ints
from recrawl.records import MICROSECONDS_A_DAY, NO_TIME, SECONDS_A_DAY, Page, State
from recrawl.scheduling.frontier import Frontier
from recrawl.store.rows import PageTable

#: About how many observations the priors are learned from.
MAX_OBSERVATIONS = 200_000
#: With fewer observations than this the frontier's own prior is used.
MIN_OBSERVATIONS = 50


@final
class FrontierIds:
    """The numbers by which the frontier knows hosts and sections.

    >>> ids = FrontierIds()
    >>> [ids.host("a.example"), ids.host("b.example"), ids.host("a.example")]
    [0, 1, 0]
    >>> [ids.section("https://a.example/x/1"), ids.section("https://a.example/x/2")]
    [0, 0]
    """

    def __init__(self) -> None:
        self._hosts: dict[str, int] = {}
        self._sections: dict[str, int] = {}

    def host(self, name: str) -> int:
        """Return a host's number."""
        return self._hosts.setdefault(name, len(self._hosts))

    def section(self, url: str) -> int:
        """Return the number of the folder that a page is in."""
        return self._sections.setdefault(url.rpartition("/")[0], len(self._sections))


def days(at: float) -> float:
    """Return a time in microseconds as the frontier's days.

    >>> days(86_400_000_000)
    1.0
    """
    return at / MICROSECONDS_A_DAY


@dataclass(frozen=True)
class Priors:
    """What is believed about a page before its first visit, by host.

    Attributes:
        fleet: For unknown hosts; None while there is too little to learn from.
        by_host: Shape and time for the others, by the host's number.
    """

    fleet: Prior | None = None
    by_host: Mapping[int, tuple[float, float]] = field(default_factory=dict)

    def of(self, hosts: Sequence[int] | Ints) -> Prior | None:
        """Return a prior with one element per host; None leaves it to the frontier."""
        if self.fleet is None:
            return None
        usual = (float(self.fleet.shape), float(self.fleet.time))  # type: ignore[arg-type]
        pairs = np.array([self.by_host.get(int(host), usual) for host in hosts]).reshape(-1, 2)
        return Prior(pairs[:, 0], pairs[:, 1])


@final
class CrawlFrontier:
    """The frontier in the crawler's terms: hosts by name, times in microseconds, delays in seconds.

    Args:
        frontier: The frontier of the store's pages.
        settings: Delays and budgets of hosts, and intervals of pages.
        ids: The numbers by which it knows hosts and sections.
        priors: For new pages.
        serial: What to ask the store with for edits made since.
        loaded_at: When its budget began to add up, in microseconds.
    """

    def __init__(
        self,
        frontier: Frontier,
        settings: Settings,
        ids: FrontierIds,
        priors: "Priors",
        serial: int,
        loaded_at: int,
    ) -> None:
        self.frontier = frontier
        self.serial = serial
        self.loaded_at = loaded_at
        self._ids = ids
        self._priors = priors
        self._settings = settings
        self._delays: dict[str, float] = {}

    def __len__(self) -> int:
        """How many pages are kept fresh."""
        return len(self.frontier)

    def __contains__(self, page: int) -> bool:
        return page in self.frontier

    def add(self, pages: Sequence[Page], now: int, *, first: bool = False) -> None:
        """Add pages while the crawl runs.

        Args:
            pages: The pages, none of them in the frontier.
            now: The present, in microseconds.
            first: Whether to visit them as early as those without a copy. A page that was not
                found comes first in any case: one look tells.
        """
        hosts = [self._ids.host(page.host) for page in pages]
        present = days(now)
        self.frontier.add(
            [page.number for page in pages],
            now=present,
            importance=[page.importance for page in pages],
            host=hosts,
            section=[self._ids.section(page.url) for page in pages],
            last_visit=[
                -math.inf
                if first or _comes_first(page)
                else min(days(page.last_visit or 0), present)
                for page in pages
            ],
            prior=self._priors.of(hosts),
            **_intervals(self._settings, [page.url for page in pages]),
        )
        self.limit_hosts({page.host for page in pages})

    def remove(self, pages: Iterable[int]) -> None:
        """Remove those of the pages that are there."""
        present = [page for page in pages if page in self.frontier]
        if present:
            self.frontier.remove(present)

    def take(self, now: int, limit: int) -> list[int]:
        """Return the pages to visit now, most valuable first."""
        taken: list[int] = self.frontier.take(days(now), limit).tolist()
        return taken

    def give_back(self, pages: Iterable[int], now: int) -> None:
        """Return pages that were taken but not fetched; they cost nothing."""
        present = [page for page in pages if page in self.frontier]
        if present:
            self.frontier.put_back(present, days(now))
            self.frontier.spend(-len(present))

    def defer(self, host: str, now: int, seconds: float) -> int:
        """Take no page of a host for some seconds; return until when, in microseconds."""
        until = now + round(seconds * 1e6)
        self.frontier.defer(self._ids.host(host), days(until))
        return until

    def limit_hosts(self, hosts: Iterable[str]) -> None:
        """Set the delays and budgets that the settings have for these hosts, if not done yet."""
        if not self._settings.sites.sets("delay", "budget"):
            return
        for host in hosts:
            if host in self._delays:
                continue
            site = self._settings.site_of(f"https://{host}/")
            self._delays[host] = site.delay
            is_usual = site.budget == self._settings.host_budget
            self.frontier.limit_host(
                self._ids.host(host),
                delay=site.delay / SECONDS_A_DAY,
                budget=None if is_usual else site.budget or math.inf,
            )

    def limit_host(self, host: str, delay: float) -> None:
        """Slow a host down to a delay that is longer than the one in force."""
        if delay > self._delays.get(host, self._settings.host_delay):
            self._delays[host] = delay
            self.frontier.limit_host(self._ids.host(host), delay=delay / SECONDS_A_DAY)


def _comes_first(page: Page) -> bool:
    """Whether a page has no copy, or was not there when it was last asked for."""
    return page.last_visit is None or page.state is State.MISSING


def load_frontier(store: Storing, settings: Settings, now: int) -> CrawlFrontier:
    """Make the frontier of all pages in the store, with what was learned about them."""
    frontier = Frontier(
        settings.budget,
        half_life=settings.half_life,
        host_delay=settings.host_delay / SECONDS_A_DAY,
        host_budget=settings.host_budget or None,
        neighbours=settings.neighbours,
    )
    ids = FrontierIds()
    fleet = store.fleet()
    if not fleet.number.size:
        return CrawlFrontier(frontier, settings, ids, Priors(), fleet.serial, now)
    hosts = np.array([ids.host(name) for name in fleet.hosts], np.int64)[fleet.host]
    sections = np.fromiter(map(ids.section, fleet.url), np.int64, fleet.number.size)
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
        **_intervals(settings, fleet.url),
    )
    loaded = CrawlFrontier(frontier, settings, ids, priors, fleet.serial, now)
    loaded.limit_hosts(fleet.hosts)
    frontier.settle(days(now))
    return loaded


class _Intervals(TypedDict):
    min_interval: Floats | float
    max_interval: Floats | float


def _intervals(settings: Settings, urls: Sequence[str]) -> _Intervals:
    """Return the limits on the time between two visits to each page, in days."""
    if not settings.sites.sets("min_interval", "max_interval"):
        low, high = settings.min_interval, settings.max_interval
        return {"min_interval": low, "max_interval": high or math.inf}
    limits = np.array([settings.site_of(url).limits for url in urls]).reshape(-1, 2)
    return {"min_interval": limits[:, 0], "max_interval": limits[:, 1]}


def warm_up(settings: Settings) -> None:
    """Load the frontier's kernels, or compile them if this is the first time.

    That can take seconds, in which the event loop would be blocked.
    """
    frontier = Frontier(settings.budget, half_life=settings.half_life)
    frontier.add([0, 1, 2, 3], now=0.0, host=[0, 0, 1, 1], last_visit=[0.0, 0.0, 0.0, -math.inf])
    later = 4.0 / settings.budget
    taken = frontier.take(later, 4)
    frontier.report(taken, later, changed=True, age=0.5 * later)
    frontier.put_back(taken, later)
    frontier.signal([0], later, 0.5)
    frontier.limit_host([0], delay=0.0)
    frontier.defer([0], later)
    frontier.set_importance([0], 2.0)
    frontier.due([0])
    frontier.expected_freshness(later)
    frontier.remove([0])


def learn_priors(store: Storing, fleet: PageTable, host: Ints) -> tuple[Prior | None, Priors]:
    """Learn a prior for each host: with one element per page of the fleet, and by host.

    Hosts with few pages get the prior of the whole fleet.
    """
    log = store.observations(MAX_OBSERVATIONS)
    index = np.minimum(np.searchsorted(fleet.number, log.page), fleet.number.size - 1)
    ours = (log.elapsed > 0) & (fleet.number[index] == log.page)
    if int(ours.sum()) < MIN_OBSERVATIONS:
        return None, Priors()
    seen = Observations.of(
        log.elapsed[ours] / MICROSECONDS_A_DAY,
        log.changed[ours],
        page=index[ours],
        pages=fleet.number.size,
    )
    prior = fit_host_priors(seen, host)
    shape, time = prior.columns(fleet.number.size)
    numbers, first = np.unique(host, return_index=True)
    pairs = zip(shape[first].tolist(), time[first].tolist(), strict=True)
    by_host = dict(zip(numbers.tolist(), pairs, strict=True))
    return prior, Priors(fit_prior(seen), by_host)


def _beliefs(fleet: PageTable, prior: Prior) -> Prior:
    """Return what visits taught, and the prior where there were none."""
    shape, time = prior.columns(fleet.number.size)
    known = ~np.isnan(fleet.shape)
    return Prior(np.where(known, fleet.shape, shape), np.where(known, fleet.time, time))


def _last_visits(fleet: PageTable, now: int) -> Floats:
    """Return days; a clock that was put back cannot put a visit into the future."""
    times = np.minimum(fleet.last_visit, now) / MICROSECONDS_A_DAY
    return np.where(fleet.last_visit == NO_TIME, -math.inf, times)
