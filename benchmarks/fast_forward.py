"""Months of recorded pages, crawled over real HTTP by a clock that runs fast, and judged.

The recordings tell which version of its content a page had at any time. What the crawl believes
of change rates, and how stale its copies were, are compared with that.
"""

import os
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from scipy import stats

from benchmarks.history_server import History, SharedClock, history_server, read_histories
from benchmarks.report import Figure, markdown, write_section
from benchmarks.sizes import AbsentError, sized
from recrawl.kernels.jit import Floats
from recrawl.records import Outcome
from recrawl.store.sqlite import SqliteStore

PAGE = "explanation/what-counts-as-a-change.md"
BESIDE = Path(__file__).parents[2] / "shared" / "page-histories"
FILE = "histories.parquet"
DAY = 86_400.0
#: Days between two visits to a page that the budgets pay for, on average.
GAPS = sized((7.0, 14.0), (14.0,))
#: Visits in a real second, and at most so many days: more would leave little machines behind.
VISITS_A_SECOND, MAX_DAYS = sized((2.5, 1.0), (5.0, 10.0))
#: Pages, of those recorded; None for all.
PAGES = sized(None, 4)
#: Orders of the pages that round-robin is tried in.
ORDERS = sized(200, 2)
HEADINGS = [
    "a visit per page every",
    "visits",
    "false changes",
    "missed changes",
    "rates, estimated / true",
    "rank correlation",
    "stale copies",
    "if only changes made copies",
    "round-robin",
    "budget used",
]


def folder() -> Path:
    """Return the folder of the recordings: ``RECRAWL_PAGE_HISTORIES``, or next to the project."""
    return Path(os.environ.get("RECRAWL_PAGE_HISTORIES", BESIDE))


def run() -> list[Figure]:
    """Crawl the recordings on each budget, and write the table; some fifteen minutes."""
    path = folder() / FILE
    if not path.is_file():
        raise AbsentError(f"no {FILE} in {folder()}; set RECRAWL_PAGE_HISTORIES to its folder")
    console = Console(stderr=True)
    with console.status("reading recordings") as status, history_server(path) as clock:
        histories = read_histories(path)[:PAGES]
        scores = []
        for gap in GAPS:
            status.update(f"crawling: a visit per page every {gap:g} days")
            scores.append(crawl(histories, clock, gap))
    rows = [[f"{gap:g} days", *score.cells()] for gap, score in zip(GAPS, scores, strict=True)]
    note = (
        f"{len(histories)} pages, {window(histories).days:.0f} days. *Visits* and the two columns "
        "after it count visits after the first of each page. *Stale* is the share of the time, "
        "from the end of the first round of all pages, in which a copy was not of the current "
        "version. Round-robin makes as many requests, with a copy at each; this is the mean of "
        f"{ORDERS} orders of the pages. Less than the whole budget is used if a machine is too "
        "slow for the clock."
    )
    write_section(PAGE, "fast-forward", f"{markdown(HEADINGS, rows)}\n\n{note}")
    return [
        figure
        for gap, score in zip(GAPS, scores, strict=True)
        for figure in score.figures(f"every {gap:g} d")
    ]


class Window(NamedTuple):
    """The time that is crawled, in seconds since 1970."""

    begin: float
    end: float

    @property
    def days(self) -> float:
        """How long it is."""
        return (self.end - self.begin) / DAY


def window(histories: list[History]) -> Window:
    """Return the time from the first recording to the last."""
    return Window(min(page.at[0] for page in histories), max(page.at[-1] for page in histories))


class Seen(NamedTuple):
    """A successful visit in the log: when, which recording was served, and what was made of it."""

    at: float
    recording: int
    outcome: Outcome
    requests: int


@dataclass(frozen=True)
class Crawled:
    """What a crawl left in its store, for each page."""

    visits: list[list[Seen]]
    rates: Floats
    requests: int
    paid: float


@dataclass(frozen=True)
class Score:
    """A crawl, judged by the recordings.

    Attributes:
        visits: Visits after the first of each page.
        false: Those that found a change where there was no new version.
        unchanged: How many had no new version to find.
        missed: Those that found none where there was one.
        rates: The sum of estimated change rates, as a share of the true ones.
        correlation: Spearman's rank correlation of the two, over all pages.
        stale: The share of the time in which copies were stale...
        found: ...if only the changes that were found had made copies...
        round_robin: ...and if pages had been visited in turn.
        spent: The share of the budget that was used: less if this machine was too slow.
    """

    visits: int
    false: int
    unchanged: int
    missed: int
    rates: float
    correlation: float
    stale: float
    found: float
    round_robin: float
    spent: float

    def cells(self) -> list[str]:
        """Return the cells of a table."""
        return [
            f"{self.visits:,}",
            f"{self.false} of {self.unchanged:,}",
            f"{self.missed} of {self.visits - self.unchanged:,}",
            f"{self.rates:.2f}",
            f"{self.correlation:.2f}",
            f"{self.stale:.1%}",
            f"{self.found:.1%}",
            f"{self.round_robin:.1%}",
            f"{self.spent:.0%}",
        ]

    def figures(self, name: str) -> list[Figure]:
        """Return the figures with their bars."""
        return [
            Figure(f"{name}: estimated / true rates", self.rates, 0.7, at_least=True),
            Figure(f"{name}: estimated / true rates", self.rates, 1.5),
            Figure(f"{name}: rank correlation", self.correlation, 0.6, at_least=True),
            Figure(f"{name}: stale / round-robin", self.stale / self.round_robin, 1.0),
            Figure(f"{name}: share of the budget used", self.spent, 0.97, at_least=True),
        ]


def crawl(
    histories: list[History], clock: SharedClock, gap: float, store: Path | None = None
) -> Score:
    """Crawl the recordings with a visit per page every ``gap`` days; a store is kept if given."""
    with tempfile.TemporaryDirectory() as scratch:
        path = store or Path(scratch) / "recrawl.db"
        return judged(histories, crawled(histories, clock, gap, path), gap)


def crawled(histories: list[History], shared: SharedClock, gap: float, path: Path) -> Crawled:
    """Crawl with the real crawler, store and fetcher; return what the store has."""
    from recrawl import Clock, Crawler

    budget = len(histories) / gap
    speed = DAY * min(VISITS_A_SECOND / budget, MAX_DAYS)
    begin, end = window(histories)
    with Crawler(path, budget=f"{budget}/day", allow_private=True) as crawler:
        crawler.add(history.url for history in histories)
        # The clock starts late: the first run of all compiles, which takes a while.
        crawler.run(0.0)
        shared.set(begin, speed)
        crawler.clock = Clock(speed, start=datetime.fromtimestamp(begin, UTC))
        counted = crawler.run(end - begin)
        table = crawler.store.fleet()
        rates = dict(zip(table.url, (table.shape / table.time).tolist(), strict=True))
        logged: dict[str, list[Seen]] = {history.url: [] for history in histories}
        by_url = {history.url: history for history in histories}
        for batch in crawler.store.visits():
            for row in batch.to_pylist():
                if row["outcome"] != Outcome.FAILED:
                    logged[row["url"]].append(_seen(row, by_url[row["url"]]))
        _check_copies(crawler.store, by_url, logged)
    return Crawled(
        [logged[history.url] for history in histories],
        np.array([rates[history.url] for history in histories]),
        counted.requests,
        budget * (end - begin) / DAY,
    )


def _seen(row: dict[str, object], history: History) -> Seen:
    """Return a visit with the recording that was served, which its digest tells."""
    at, outcome = float(row["at"]) / 1e6, Outcome(row["outcome"])  # type: ignore[arg-type]
    guess = history.index(at)
    same = [n for n, digest in enumerate(history.digest) if digest == row["sha1"]]
    recording = min(same, key=lambda number: abs(number - guess))
    return Seen(at, recording, outcome, int(row["requests"]))  # type: ignore[call-overload]


def _check_copies(
    store: SqliteStore, histories: dict[str, History], logged: dict[str, list[Seen]]
) -> None:
    """Make sure that copies are of the last visits, as staleness is judged by that.

    After a second fetch the copy is one of the two, and the log has the other's digest.
    """
    for copy in store.copies():
        url, body = copy.page.url, copy.response.body or b""
        last = logged[url][-1]
        digest = sha1(body, usedforsecurity=False).digest()
        if last.requests == 1 and digest != histories[url].digest[last.recording]:
            raise SystemExit(f"the copy of {url} is not what its last visit found")


def judged(histories: list[History], found: Crawled, gap: float) -> Score:
    """Compare what a crawl found with what was there."""
    begin, end = window(histories)
    later = Window(begin + gap * DAY, end)
    truth = np.array([_changes(page, begin, end) for page in histories]) / window(histories).days
    pairs = [
        (
            seen.outcome is Outcome.CHANGED,
            page.version[last.recording] != page.version[seen.recording],
        )
        for page, visits in zip(histories, found.visits, strict=True)
        for last, seen in pairwise(visits)
    ]
    return Score(
        visits=len(pairs),
        false=sum(called and not real for called, real in pairs),
        unchanged=sum(not real for _, real in pairs),
        missed=sum(real and not called for called, real in pairs),
        rates=float(found.rates.sum() / truth.sum()),
        correlation=float(stats.spearmanr(found.rates, truth).statistic),
        stale=_stale(histories, found, later, frozenset(Outcome)),
        found=_stale(histories, found, later, frozenset({Outcome.FIRST, Outcome.CHANGED})),
        round_robin=_round_robin(histories, found.requests, window(histories), later),
        spent=found.requests / found.paid,
    )


def _changes(page: History, begin: float, end: float) -> int:
    """Return how often a page has a new version in a time."""
    versions = page.version[page.index(begin) : page.index(end) + 1]
    return sum(one != other for one, other in pairwise(versions))


def _stale(
    histories: list[History], found: Crawled, judged: Window, copied: frozenset[Outcome]
) -> float:
    """Return the share of the time in which copies were not of the version in force.

    Args:
        histories: What was there.
        found: What was visited.
        judged: The time that counts.
        copied: Outcomes of the visits that made a copy.
    """
    total = 0.0
    for page, visits in zip(histories, found.visits, strict=True):
        copies = [seen for seen in visits if seen.outcome in copied]
        total += stale_time(
            page,
            np.array([seen.at for seen in copies]),
            np.array([page.version[seen.recording] for seen in copies]),
            judged,
        )
    return total / (len(histories) * (judged.end - judged.begin))


def stale_time(page: History, at: Floats, version: Floats, judged: Window) -> float:
    """Return for how many seconds the copies made at some times were stale, or not there."""
    edges = np.unique(np.clip([judged.begin, *at, *page.at, judged.end], *judged))
    middle = (edges[:-1] + edges[1:]) / 2.0
    in_force = np.array(page.version)[np.maximum(np.searchsorted(page.at, middle) - 1, 0)]
    last = np.searchsorted(at, middle) - 1
    is_stale = (last < 0) | (version[np.maximum(last, 0)] != in_force)
    return float(np.diff(edges)[is_stale].sum())


def _round_robin(histories: list[History], requests: int, whole: Window, judged: Window) -> float:
    """Return the share of the time in which copies are stale if pages are visited in turn."""
    rng = np.random.default_rng(0)
    every = (whole.end - whole.begin) / requests
    shares = []
    for _ in range(ORDERS):
        total = 0.0
        for page, place in zip(histories, rng.permutation(len(histories)), strict=True):
            at = np.arange(whole.begin + place * every, whole.end, len(histories) * every)
            version = np.array([page.version[page.index(one)] for one in at])
            total += stale_time(page, at, version, judged)
        shares.append(total / (len(histories) * (judged.end - judged.begin)))
    return float(np.mean(shares))
