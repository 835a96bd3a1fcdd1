"""The frontier of the pages in the store, and how it is made from what the store knows."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict, final

import numpy as np

from recrawl.crawler.host_memory import FOLDER_CLOCK, HOST_CLOCK, pack_clocks, unpack_clocks
from recrawl.crawler.protocols import Storing
from recrawl.crawler.settings import Settings
from recrawl.estimation import Observations, Prior, fit_host_priors, fit_prior
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.records import MICROSECONDS_A_DAY, NO_TIME, SECONDS_A_DAY, Page, State, Visit
from recrawl.scheduling.frontier import CATCH_UP, Frontier
from recrawl.store.rows import Observed, PageTable

#: About how many observations the priors are learned from.
MAX_OBSERVATIONS = 200_000
#: With fewer observations than this the frontier's own prior is used.
MIN_OBSERVATIONS = 50
#: A prior has moved if the logarithms of its shape and time have, by this much together.
MIN_MOVE = 0.02


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

    @property
    def hosts(self) -> Mapping[str, int]:
        """The numbers of all hosts so far, by name."""
        return self._hosts

    @property
    def sections(self) -> Mapping[str, int]:
        """The numbers of all sections so far, by folder."""
        return self._sections

    def __len__(self) -> int:
        """How many hosts there are."""
        return len(self._hosts)

    def host(self, name: str) -> int:
        """Return a host's number."""
        return self._hosts.setdefault(name, len(self._hosts))

    def section(self, url: str) -> int:
        """Return the number of the folder that a page is in."""
        return self._sections.setdefault(folder_of(url), len(self._sections))


def folder_of(url: str) -> str:
    """Return the folder that a page is in.

    >>> folder_of("https://a.example/x/1")
    'https://a.example/x'
    """
    return url.rpartition("/")[0]


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
        observed: What the priors were learned from, until somebody takes it.
    """

    def __init__(
        self,
        frontier: Frontier,
        settings: Settings,
        ids: FrontierIds,
        priors: "Priors",
        serial: int,
        loaded_at: int,
        observed: Observed | None = None,
    ) -> None:
        self.frontier = frontier
        self.serial = serial
        self.loaded_at = loaded_at
        self.observed = observed
        self._ids = ids
        self._priors = priors
        self._settings = settings
        self._delays: dict[str, float] = {}
        self._active_hosts: set[str] = set()
        self._active_folders: set[str] = set()

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

    def hosts_of(self, pages: Ints) -> Ints:
        """Return the numbers of the pages' hosts; -1 for pages that are not there."""
        return self.frontier.host(pages)

    def use_priors(self, priors: "Priors", piece: int) -> Iterator[None]:
        """Replace the priors of pages where they have moved, some pages at a time.

        New pages get the new priors from the first piece on.
        """
        before, self._priors = self._priors, priors
        hosts = np.arange(len(self._ids))
        moved = hosts[_moved(before.of(hosts), priors.of(hosts))]
        pages = self.frontier.pages_of(moved)
        for start in range(0, pages.size, piece):
            some = pages[start : start + piece]
            on = self.hosts_of(some)
            prior = priors.of(on[on >= 0])
            if prior is not None:
                self.frontier.replace_prior(some[on >= 0], prior)
            yield

    def note_activity(self, visits: Iterable[Visit]) -> None:
        """Note which hosts and folders visits may have taught something about."""
        for visit in visits:
            self._active_hosts.add(visit.page.host)
            self._active_folders.add(folder_of(visit.page.url))

    def take_clocks(self) -> dict[str, dict[str, bytes]]:
        """Return how active hosts and folders have been, of those visited since the last call."""
        hosts = [name for name in self._active_hosts if name in self._ids.hosts]
        folders = [name for name in self._active_folders if name in self._ids.sections]
        self._active_hosts, self._active_folders = set(), set()
        of_hosts, of_folders = self.frontier.clocks(
            host=[self._ids.hosts[name] for name in hosts],
            section=[self._ids.sections[name] for name in folders],
        )
        return {
            HOST_CLOCK: pack_clocks(hosts, of_hosts),
            FOLDER_CLOCK: pack_clocks(folders, of_folders),
        }

    def restore_clocks(self, kept: Callable[[str], dict[str, bytes]], now: int) -> None:
        """Continue with the activity of hosts and folders that an earlier run kept."""
        of_hosts = unpack_clocks(kept(HOST_CLOCK), self._ids.hosts)
        of_folders = unpack_clocks(kept(FOLDER_CLOCK), self._ids.sections)
        self.frontier.set_clocks(days(now), *of_hosts, *of_folders)

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


def load_frontier(
    store: Storing, settings: Settings, now: int, catch_up: float = 0.0
) -> CrawlFrontier:
    """Make the frontier of all pages in the store, with what was learned about them.

    Args:
        store: Knows the pages.
        settings: The crawler's settings.
        now: The present, in microseconds.
        catch_up: Days for which unspent budget is kept at least.
    """
    frontier = Frontier(
        settings.budget,
        half_life=settings.half_life,
        host_delay=settings.host_delay / SECONDS_A_DAY,
        host_budget=settings.host_budget or None,
        neighbours=settings.neighbours,
        slack=settings.slack,
        spend=settings.spend,
        catch_up=max(CATCH_UP, catch_up),
    )
    ids = FrontierIds()
    fleet = store.fleet()
    if not fleet.number.size:
        return CrawlFrontier(frontier, settings, ids, Priors(), fleet.serial, now)
    hosts = np.array([ids.host(name) for name in fleet.hosts], np.int64)[fleet.host]
    sections = np.fromiter(map(ids.section, fleet.url), np.int64, fleet.number.size)
    observed = store.observations(MAX_OBSERVATIONS)
    prior, priors = learn_priors(observed, fleet, hosts)
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
    loaded = CrawlFrontier(frontier, settings, ids, priors, fleet.serial, now, observed)
    loaded.limit_hosts(fleet.hosts)
    if settings.neighbours:
        loaded.restore_clocks(store.kept, now)
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
    frontier.replace_prior([1], Prior(1.0, 1.0))
    frontier.due([0])
    frontier.expected_freshness(later)
    frontier.remove([0])


def _moved(before: Prior | None, after: Prior | None) -> Bools:
    """Return which hosts' priors are not what they were."""
    if after is None:
        return np.zeros(0, np.bool_)
    now = np.log(np.stack([after.shape, after.time]))
    if before is None:
        return np.ones(now.shape[1], np.bool_)
    was = np.log(np.stack([before.shape, before.time]))
    return np.asarray(np.abs(now - was).sum(0) > MIN_MOVE)


def learn_priors(log: Observed, fleet: PageTable, host: Ints) -> tuple[Prior | None, Priors]:
    """Learn a prior for each host: with one element per page of the fleet, and by host.

    Hosts with few pages get the prior of the whole fleet.
    """
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
    return fitted(seen, host)


def fitted(seen: Observations, host: Ints) -> tuple[Prior, Priors]:
    """Return the priors that observations lead to, given the host of each page.

    With one element per page, and by host; hosts without observations get the fleet's.
    """
    prior = fit_host_priors(seen, host)
    shape, time = prior.columns(host.size)
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
