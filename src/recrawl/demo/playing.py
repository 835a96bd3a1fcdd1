"""The demo: the little web is crawled over real HTTP into a real store, and the truth is told."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from recrawl.crawler.build import run_crawl
from recrawl.crawler.seeds import named_page
from recrawl.crawler.settings import Settings
from recrawl.crawler.stats import Stats
from recrawl.demo.history import History
from recrawl.demo.truth import (
    ENOUGH_VISITS,
    Curve,
    needless_copies,
    rank_correlation,
    replayed,
    true_freshness,
)
from recrawl.demo.web import LittleWeb
from recrawl.kernels.jit import Floats, Ints
from recrawl.records import SECONDS_A_DAY, Outcome
from recrawl.store.sqlite import SqliteStore

#: Mean seconds between two visits to a page: the budget.
GAP = 10.0
#: Pages a second that are copied before the web begins to change.
FIRST_COPIES = 75.0
HOST_CONNECTIONS = 8
#: A run that ends so many seconds early was ended by somebody.
EARLY = 0.1
#: What recrawl is compared with: what most crawlers do, and what cannot be bettered.
UNIFORM, BEST = "uniform", "index-known"

_COPIED = (Outcome.FIRST, Outcome.CHANGED)


@dataclass(frozen=True, eq=False)
class Seen:
    """Visits, as columns.

    Attributes:
        page: The number of the page in the little web.
        time: Seconds since it began.
        outcome: An `Outcome` each.
    """

    page: Ints
    time: Floats
    outcome: Ints

    def copies(self) -> tuple[Ints, Floats]:
        """Give the pages that new copies were made of, and when."""
        made = np.isin(self.outcome, _COPIED)
        return self.page[made], self.time[made]


@dataclass(frozen=True, eq=False)
class Sight:
    """How the demo stands.

    Attributes:
        view: What the crawler tells of itself.
        seconds: How long it has been going on, of how many in all.
        in_all: How many in all.
        ours: How fresh the copies really were, so far.
        uniform: How fresh uniform crawling would have kept them, on the same history.
        best: How fresh the best possible would have, which knows every true rate.
    """

    view: Stats
    seconds: float
    in_all: float
    ours: Curve
    uniform: Curve
    best: Curve


@dataclass(frozen=True, eq=False)
class Played:
    """What came of the demo.

    Attributes:
        sight: How it stood at the end; all three with the same number of requests.
        visits: How many each page had.
        estimated: The change rates that the crawler believes, a second.
        true: The true ones.
        correlation: Spearman's, for the pages visited often enough; NaN if these are too few.
        needless: When pages were taken for changed that had not: noise.
        urls: The pages' addresses.
    """

    sight: Sight
    visits: Ints
    estimated: Floats
    true: Floats
    correlation: float
    needless: Floats
    urls: Sequence[str]

    @property
    def often(self) -> int:
        """How many pages were visited often enough to compare their rates."""
        return int(np.count_nonzero(self.visits >= ENOUGH_VISITS))


def play(
    history: History,
    store: str | os.PathLike[str],
    watch: Callable[[Sight], object] | None = None,
) -> Played:
    """Crawl the little web while its pages live through a history, and tell what came of it.

    First all pages are copied while the web holds still, so that everybody who is compared begins
    alike. Ctrl-C ends it early.

    Args:
        history: What happens to the pages.
        store: Where to keep everything: a file that is not there yet.
        watch: Called now and then.

    Raises:
        KeyboardInterrupt: It was ended before the web began to change.
    """
    pages, seconds = len(history.pages), history.seconds
    sweep = pages / FIRST_COPIES
    budget = pages / GAP
    planned = _rivals(history, budget * seconds)
    with LittleWeb(history, time.time()) as web, SqliteStore.open(store, create=True) as reader:
        importance = [page.importance for page in history.pages]
        reader.add(map(named_page, web.urls, importance), time.time_ns() // 1_000)
        if _ran(run_crawl(_settings(store, FIRST_COPIES), seconds=sweep)) < sweep - EARLY:
            raise KeyboardInterrupt
        began = time.time()
        web.begin(began)

        def look(view: Stats) -> None:
            if watch is not None:
                ours = _truth(history, read_visits(reader, web.urls, began), _since(view, began))
                watch(Sight(view, ours.seconds, seconds, ours, *planned))

        view = run_crawl(_settings(store, budget), seconds=seconds, watch=watch and look)
        return _played(history, reader, web.urls, began, view)


def read_visits(store: SqliteStore, urls: Sequence[str], began: float) -> Seen:
    """Read from the log what was visited when."""
    number = {url: place for place, url in enumerate(urls)}
    page, at, outcome = [], [], []
    for batch in store.visits():
        page += [number[url] for url in batch.column("url").to_pylist()]
        at.append(batch.column("at").to_numpy())
        outcome.append(batch.column("outcome").to_numpy())
    none = np.zeros(0, np.int64)
    times = np.concatenate([none, *at]) / 1e6 - began
    return Seen(np.array(page, np.int64), times, np.concatenate([none, *outcome]))


def _settings(store: str | os.PathLike[str], visits_a_second: float) -> Settings:
    return Settings(
        store=os.fspath(store),
        budget=visits_a_second * SECONDS_A_DAY,
        host_delay=0.0,
        host_connections=HOST_CONNECTIONS,
        allow_private=True,
    )


def _ran(view: Stats) -> float:
    """Give how many seconds a run took."""
    return (view.now - view.began) / 1e6


def _since(view: Stats, began: float) -> float:
    return max(view.now / 1e6 - began, EARLY)


def _truth(history: History, seen: Seen, until: float) -> Curve:
    return true_freshness(history.world, *seen.copies(), until)


def _rivals(history: History, visits: float) -> tuple[Curve, Curve]:
    return replayed(history.world, UNIFORM, visits), replayed(history.world, BEST, visits)


def _played(
    history: History, store: SqliteStore, urls: Sequence[str], began: float, view: Stats
) -> Played:
    seen = read_visits(store, urls, began)
    ours = _truth(history, seen, _since(view, began))
    # Where it was ended early, the others go on at the same pace, and nobody looks.
    rivals = _rivals(history, view.requests * history.seconds / ours.seconds)
    visits = np.bincount(seen.page, minlength=len(urls))
    true = history.world.change_rate
    estimated = _estimated(store, urls)
    needless = needless_copies(history.world, *seen.copies())
    return Played(
        sight=Sight(view, ours.seconds, history.seconds, ours, *rivals),
        visits=visits,
        estimated=estimated,
        true=true,
        correlation=rank_correlation(estimated, true, visits),
        needless=needless[needless > 0.0],
        urls=urls,
    )


def _estimated(store: SqliteStore, urls: Sequence[str]) -> Floats:
    """Give the change rates that the crawler believes, a second."""
    fleet = store.fleet()
    believed = dict(zip(fleet.url, (fleet.shape / fleet.time).tolist(), strict=True))
    return np.array([believed[url] for url in urls]) / SECONDS_A_DAY
