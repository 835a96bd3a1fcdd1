"""A crawl of simulated pages that is restarted now and then, or not."""

import math
from dataclasses import dataclass, replace

import numpy as np
from crawler.fakes import MemoryStore, settings_of

from recrawl.crawler.build import load
from recrawl.engine.beliefs import pack_octaves
from recrawl.engine.frontier import CrawlFrontier, days
from recrawl.kernels.jit import Floats, Ints
from recrawl.store.rows import NewPage

DAY = 86_400_000_000
#: Days between two looks at what is due.
TICK = 0.125


@dataclass
class Fleet:
    """Pages of hosts that differ, some there from the beginning and some that come later.

    Attributes:
        host: The host of each page.
        arrival: The day on which each page is added.
        changes: The days on which each page changes.
        days: How long it all takes.
    """

    host: Ints
    arrival: Floats
    changes: list[Floats]
    days: float

    @classmethod
    def drawn(cls, hosts: int, pages: int, days: float, seed: int) -> "Fleet":
        """Draw some fleet: the mean rates of hosts are spread over three powers of ten."""
        rng = np.random.default_rng(seed)
        host = np.repeat(np.arange(hosts), pages)
        mean = 10.0 ** rng.uniform(-2.5, 0.5, hosts)
        rate = mean[host] * rng.gamma(2.0, 0.5, host.size)
        # It begins with a few pages, and finds the others in the first third of the time.
        arrival = np.sort(rng.uniform(0.0, 1.0, host.size) ** 2)[rng.permutation(host.size)]
        arrival = np.maximum(arrival - 1e-3, 0.0) * days / 3.0
        changes = [np.sort(rng.uniform(0.0, days, rng.poisson(one * days))) for one in rate]
        return cls(host, arrival, changes, days)

    def urls(self) -> list[str]:
        return [f"https://h{host}.example/{page}" for page, host in enumerate(self.host)]


@dataclass
class Run:
    """One crawl of a fleet."""

    fleet: Fleet
    budget: float
    restart_every: float = math.inf

    def __post_init__(self) -> None:
        self.store = MemoryStore()
        self.visits: list[list[float]] = [[] for _ in self.fleet.changes]

    def freshness(self) -> float:
        """Crawl, and return the share of the pages' time in which their copies were current."""
        self._crawl()
        fresh = total = 0.0
        for changes, visits, arrival in zip(
            self.fleet.changes, self.visits, self.fleet.arrival, strict=True
        ):
            ends = [*visits[1:], self.fleet.days]
            for begin, end in zip(visits, ends, strict=False):
                later = changes[np.searchsorted(changes, begin, "right") :]
                fresh += min(end, later[0] if later.size else math.inf) - begin
            total += self.fleet.days - arrival
        return fresh / total

    def _crawl(self) -> None:
        settings = settings_of(budget=self.budget, neighbours=False)
        frontier = load(self.store, settings, 0)
        added, started = 0, 0.0
        order = np.argsort(self.fleet.arrival, kind="stable")
        urls = self.fleet.urls()
        for now in np.arange(TICK, self.fleet.days, TICK):
            come = int(np.searchsorted(self.fleet.arrival[order], now, "right"))
            if come > added:
                self._add(frontier, [urls[page] for page in order[added:come]], now)
                added = come
            self._visit(frontier, now)
            # What is left of the budget is nothing to speak of now.
            if now - started >= self.restart_every:
                frontier = load(self.store, settings, round(now * DAY))
                started = now

    def _add(self, frontier: CrawlFrontier, urls: list[str], now: float) -> None:
        before = len(self.store.known)
        self.store.add([NewPage(url, url.split("/")[2]) for url in urls], round(now * DAY))
        new = [self.store.known[number] for number in range(before, len(self.store.known))]
        frontier.add(new, round(now * DAY))

    def _visit(self, frontier: CrawlFrontier, now: float) -> None:
        for number in frontier.take(round(now * DAY), 10_000):
            page = self.store.known[number]
            place = int(page.url.rpartition("/")[2])
            changes, changed = self.fleet.changes[place], False
            if page.last_visit is not None:
                last = page.last_visit / DAY
                changed = bool(np.searchsorted(changes, now) > np.searchsorted(changes, last))
            frontier.frontier.report([number], days(round(now * DAY)), [changed])
            self.store.octaves[number] = pack_octaves(frontier.frontier.octaves([number]))[0]
            self.store.known[number] = replace(page, last_visit=round(now * DAY))
            self.visits[place].append(float(now))
