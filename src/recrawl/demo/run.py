"""The demo: crawl the demo web over real HTTP into a real store, and compare with the truth."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from recrawl.config.settings import Settings
from recrawl.crawler.running import Beside, run_crawl
from recrawl.demo.ground_truth import (
    ENOUGH_VISITS,
    Curve,
    Verdicts,
    judge,
    rank_correlation,
    replayed,
    true_freshness,
)
from recrawl.demo.scenario import Scenario
from recrawl.demo.web import DemoWeb
from recrawl.engine.discovery.seeds import named_page
from recrawl.engine.stats import Stats
from recrawl.estimation.shown.evidence import read_evidence
from recrawl.estimation.shown.rates import ShownRates
from recrawl.kernels.jit import Floats, Ints
from recrawl.records import SECONDS_A_DAY, Outcome
from recrawl.store.sqlite import SqliteStore

#: Mean seconds between two visits to a page: the budget.
GAP = 10.0
#: Pages per second that are copied before the web begins to change.
FIRST_COPIES = 75.0
HOST_CONNECTIONS = 8
#: A run that ends this many seconds early was interrupted.
EARLY = 0.1
#: What recrawl is compared with: what most crawlers do, and the best possible.
UNIFORM, BEST = "uniform", "index-known"

_COPIED = (Outcome.FIRST, Outcome.CHANGED)


@dataclass(frozen=True, eq=False)
class Visits:
    """Visits, as columns.

    Attributes:
        page: The number of each visit's page.
        time: Seconds since pages began to change.
        outcome: Each visit's `Outcome`.
    """

    page: Ints
    time: Floats
    outcome: Ints

    def copies(self) -> tuple[Ints, Floats]:
        """Return the pages of which new copies were made, and when."""
        made = np.isin(self.outcome, _COPIED)
        return self.page[made], self.time[made]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The state of the demo at some time.

    Attributes:
        stats: The crawler's own statistics.
        seconds: How long the demo has been running.
        duration: How long it will run.
        ours: How fresh the copies really were so far.
        uniform: How fresh uniform crawling would have kept them, in the same scenario.
        best: How fresh the best possible policy would have, knowing every true rate.
    """

    stats: Stats
    seconds: float
    duration: float
    ours: Curve
    uniform: Curve
    best: Curve


@dataclass(frozen=True, eq=False)
class DemoResult:
    """The result of the demo.

    Attributes:
        final: The state at the end, with the same number of requests for all three policies.
        visits: The number of visits to each page.
        estimated: The crawler's estimates of the change rates, per second.
        true: The true change rates.
        correlation: Spearman's, for pages visited often enough; NaN if they are too few.
        verdicts: What visits reported, compared with the truth.
        urls: The pages' URLs.
    """

    final: Snapshot
    visits: Ints
    estimated: Floats
    true: Floats
    correlation: float
    verdicts: Verdicts
    urls: Sequence[str]

    @property
    def often(self) -> int:
        """The number of pages visited often enough to compare their rates."""
        return int(np.count_nonzero(self.visits >= ENOUGH_VISITS))


def run_demo(
    scenario: Scenario,
    store: str | os.PathLike[str],
    watch: Callable[[Snapshot], object] | None = None,
    serve: Callable[[Settings], Beside] | None = None,
) -> DemoResult:
    """Crawl the demo web while its pages change, and return the result.

    First all pages are copied before any changes, so that all policies start equal. Ctrl-C ends it
    early.

    Args:
        scenario: The pages and their changes.
        store: The path of the store to create.
        watch: Called periodically.
        serve: Returns what runs alongside the crawl while pages change, such as a dashboard.

    Raises:
        KeyboardInterrupt: It was interrupted before pages began to change.
    """
    pages, seconds = len(scenario.pages), scenario.seconds
    sweep = pages / FIRST_COPIES
    budget = pages / GAP
    rivals = _rivals(scenario, budget * seconds)
    with DemoWeb(scenario, time.time()) as web, SqliteStore.open(store, create=True) as opened:
        importance = [page.importance for page in scenario.pages]
        opened.add(map(named_page, web.urls, importance), time.time_ns() // 1_000)
        if _ran(run_crawl(_settings(store, FIRST_COPIES), seconds=sweep)) < sweep - EARLY:
            raise KeyboardInterrupt
        began = time.time()
        web.begin(began)

        def report(stats: Stats) -> None:
            if watch is not None:
                ours = _truth(scenario, read_visits(opened, web.urls, began), _since(stats, began))
                watch(Snapshot(stats, ours.seconds, seconds, ours, *rivals))

        settings = _settings(store, budget)
        stats = run_crawl(
            settings,
            seconds=seconds,
            watch=watch and report,
            beside=serve and serve(settings),
        )
        return _result(scenario, opened, web.urls, began, stats)


def read_visits(store: SqliteStore, urls: Sequence[str], began: float) -> Visits:
    """Read the visits from the store's log."""
    number = {url: index for index, url in enumerate(urls)}
    page, at, outcome = [], [], []
    for batch in store.visits():
        page += [number[url] for url in batch.column("url").to_pylist()]
        at.append(batch.column("at").to_numpy())
        outcome.append(batch.column("outcome").to_numpy())
    none = np.zeros(0, np.int64)
    times = np.concatenate([none, *at]) / 1e6 - began
    return Visits(np.array(page, np.int64), times, np.concatenate([none, *outcome]))


def _settings(store: str | os.PathLike[str], visits_per_second: float) -> Settings:
    return Settings(
        store=os.fspath(store),
        budget=visits_per_second * SECONDS_A_DAY,
        host_delay=0.0,
        host_connections=HOST_CONNECTIONS,
        allow_private=True,
        min_interval=0.0,
    )


def _ran(stats: Stats) -> float:
    """Return the duration of a run in seconds."""
    return (stats.now - stats.began) / 1e6


def _since(stats: Stats, began: float) -> float:
    return max(stats.now / 1e6 - began, EARLY)


def _truth(scenario: Scenario, seen: Visits, until: float) -> Curve:
    return true_freshness(scenario.world, *seen.copies(), until)


def _rivals(scenario: Scenario, visits: float) -> tuple[Curve, Curve]:
    return replayed(scenario.world, UNIFORM, visits), replayed(scenario.world, BEST, visits)


def _result(
    scenario: Scenario, store: SqliteStore, urls: Sequence[str], began: float, stats: Stats
) -> DemoResult:
    seen = read_visits(store, urls, began)
    ours = _truth(scenario, seen, _since(stats, began))
    # If it was interrupted, the other policies continue at the same pace to the end.
    rivals = _rivals(scenario, stats.requests * scenario.seconds / ours.seconds)
    visits = np.bincount(seen.page, minlength=len(urls))
    true = scenario.world.change_rate
    estimated = _estimated(store, urls)
    return DemoResult(
        final=Snapshot(stats, ours.seconds, scenario.seconds, ours, *rivals),
        visits=visits,
        estimated=estimated,
        true=true,
        correlation=rank_correlation(estimated, true, visits),
        verdicts=judge(scenario.world, seen.page, seen.time, seen.outcome),
        urls=urls,
    )


def _estimated(store: SqliteStore, urls: Sequence[str]) -> Floats:
    """Return the crawler's estimates of the change rates, per second."""
    fleet = store.fleet()
    rates = ShownRates(read_evidence(fleet.octaves), store.rate_prior())
    believed = dict(zip(fleet.url, rates.typical.tolist(), strict=True))
    return np.array([believed[url] for url in urls]) / SECONDS_A_DAY
