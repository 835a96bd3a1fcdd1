"""A year of pages of which some are gone, forbidden or long, killed twice: does it ever stall?

The crawl is the real one, over HTTP, by a clock that runs fast. What its store says is compared
with what the web serves whenever it is killed, and at the end.
"""

import argparse
import logging
import math
import multiprocessing
import random
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from benchmarks.history_server import SharedClock, server_process
from benchmarks.report import Figure, load_note, markdown, write_section
from benchmarks.sizes import sized
from benchmarks.troubled_web import BEGIN, DAY, Kind, TroubledPage, Web, serve, troubled_web
from recrawl.config.settings import Settings
from recrawl.engine.retries import earliest_retry
from recrawl.inspect.explain import Explanation, Price, explain
from recrawl.inspect.status import price_of
from recrawl.records import State
from recrawl.store.kept.host_memory import closed_hosts
from recrawl.store.sqlite import SqliteStore

PAGE = "reference/store.md"
PAGES, DAYS, SEEDS = sized((600, 365.0, 3), (20, 20.0, 1))
KILLS = 2
#: Days between two visits to a page that the budget pays for, on average.
GAP = 14.0
#: Days of the clock in a real second.
SPEED = sized(2.0, 10.0)
#: A page should be read after this many times its interval.
LATE = 3.0
#: Real seconds between two looks at the clock, and beyond the end that a run may take.
LOOK, GRACE = 0.25, 30.0
#: Pages that are printed.
MAX_TOLD = 10
HEADINGS = [
    "web",
    "visits",
    "share of the budget",
    "runs that ended by themselves",
    "requested while under way",
    "unread, and no reason is shown",
    "unread, though served",
    "of these, long",
]


def run(arguments: Sequence[str] = ()) -> list[Figure]:
    """Crawl several webs for a year each, and write the table; some ten minutes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks troubled-year", description=__doc__)
    parser.add_argument("--pages", type=int, default=PAGES, help="pages of a web")
    parser.add_argument("--days", type=float, default=DAYS, help="days of the clock")
    parser.add_argument("--webs", type=int, default=SEEDS, help="webs, one after another")
    parser.add_argument("--speed", type=float, default=SPEED, help="days in a real second")
    options = parser.parse_args(arguments)
    lived = []
    with Console(stderr=True).status("crawling") as status:
        for seed in range(1, options.webs + 1):
            status.update(f"crawling web {seed} of {options.webs}")
            web = Web(options.pages, options.days, seed, free_port())
            lived.append(live(web, options.speed))
            _tell(seed, lived[-1])
    usual = (PAGES, DAYS, SEEDS)
    if (options.pages, options.days, options.webs) == usual:
        _write(lived)
    return [figure for seed, one in enumerate(lived, 1) for figure in one.figures(f"web {seed}")]


class Unread(NamedTuple):
    """A page that has not been read for longer than it should.

    Attributes:
        page: The page.
        at: When that was found, in days.
        age: Days since it was read; infinity for never.
        interval: Days between two visits at the price of a visit.
        has_reason: Whether `recrawl show` says why.
        is_served: Whether the server has served it for all of this time, and no check is planned.
        why: What `recrawl show` says.
    """

    page: TroubledPage
    at: float
    age: float
    interval: float
    has_reason: bool
    is_served: bool
    why: str


@dataclass
class Year:
    """What came of a year.

    Attributes:
        visits: Visits in the log.
        share: Requests, as a share of the budget.
        ended: How often the crawl ended by itself.
        twice: Requests for a page that had another under way.
        trespasses: Requests for pages that robots.txt disallows.
        unread: Pages that were not read when they should have been.
        logged: Errors in its log.
    """

    visits: int = 0
    share: float = 0.0
    ended: int = 0
    twice: int = 0
    trespasses: int = 0
    unread: list[Unread] = field(default_factory=list)
    logged: list[str] = field(default_factory=list)

    @property
    def unexplained(self) -> list[Unread]:
        """Pages that are unread, and no reason is shown."""
        return [one for one in self.unread if not one.has_reason]

    @property
    def served(self) -> list[Unread]:
        """Pages that are unread, though the server has them."""
        return [one for one in self.unread if one.is_served]

    def cells(self) -> list[str]:
        """Return the cells of a table."""
        long = sum(one.page.kind is Kind.LONG for one in self.served)
        numbers = self.ended, self.twice, len(self.unexplained), len(self.served), long
        return [f"{self.visits:,}", f"{self.share:.0%}", *map(str, numbers)]

    def figures(self, name: str) -> list[Figure]:
        """Return the figures with their bars."""
        return [
            Figure(f"{name}: runs that ended by themselves", self.ended, 0),
            Figure(f"{name}: requests for a page under way", self.twice, 0),
            Figure(f"{name}: requests that robots.txt disallows", self.trespasses, 0),
            Figure(f"{name}: errors logged", len(self.logged), 0),
            Figure(f"{name}: unread, and no reason is shown", len(self.unexplained), 0),
            Figure(f"{name}: unread, though served", len(self.served), 0),
        ]


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def live(web: Web, speed: float) -> Year:
    """Crawl a web for its days, killed `KILLS` times, and judge what is in the store."""
    pages, days, seed, port = web
    served = troubled_web(web)
    counts = multiprocessing.get_context("spawn").Array("q", [0, 0])
    year = Year()
    rng = random.Random(seed)  # noqa: S311 - kill times, not secrets
    parts = [number + rng.uniform(0.7, 1.3) for number in range(KILLS)]
    kills = [part / (KILLS + 1) * days for part in parts]
    with (
        tempfile.TemporaryDirectory() as folder,
        server_process(serve, web, counts, port=port) as clock,
    ):
        store, log = Path(folder) / "recrawl.db", Path(folder) / "log"
        clock.set(BEGIN, 0.0)
        crawl = Crawl(str(store), str(log), pages, days, speed)
        crawl.add(served)
        prices = list[tuple[float, Price]]()
        for end in (*kills, days):
            year.ended += crawl.live_until(end, clock, prices)
            year.unread += late_pages(store, served, (clock.now() - BEGIN) / DAY, prices)
        with SqliteStore.open(store) as opened:
            year.visits = opened.totals().visits
            year.share = opened.spent(0).requests / (pages / GAP * days)
        year.logged = [
            line for line in log.read_text("utf-8").splitlines() if line.startswith("ERROR")
        ]
    year.twice, year.trespasses = counts[:]
    return year


@dataclass(frozen=True)
class Crawl:
    """A crawl in a process of its own, that is killed and goes on.

    Attributes:
        store: The store's file.
        log: Where its log goes.
        pages: How many pages there are.
        days: When it ends.
        speed: Days in a real second.
    """

    store: str
    log: str
    pages: int
    days: float
    speed: float

    def add(self, web: Sequence[TroubledPage]) -> None:
        """Add the pages of a web."""
        from recrawl import Crawler

        with Crawler(self.store) as crawler:
            crawler.add(page.url for page in web)

    def live_until(self, end: float, clock: SharedClock, prices: list[tuple[float, Price]]) -> bool:
        """Crawl until a day; the crawl is killed, unless it is the last. The clock then stops.

        Args:
            end: The day.
            clock: What time it is.
            prices: Where the price of a visit is noted, with the day.

        Returns:
            Whether the crawl ended by itself, or did not end when it should.
        """
        process = multiprocessing.get_context("spawn").Process(target=self.crawl, args=(clock,))
        process.start()
        is_last, stop = end >= self.days, BEGIN + end * DAY
        grace = GRACE * self.speed * DAY if is_last else 0.0
        while process.is_alive() and clock.now() < stop + grace:
            with SqliteStore.open(self.store) as store:
                price = price_of(store, is_now=True)
            if price is not None:
                prices.append(((clock.now() - BEGIN) / DAY, price))
            time.sleep(LOOK)
        was_alive = process.is_alive()
        process.kill()
        process.join()
        clock.set(min(clock.now(), BEGIN + self.days * DAY), 0.0)
        return was_alive or process.exitcode != 0 if is_last else not was_alive

    def crawl(self, clock: SharedClock) -> None:
        """Crawl to the end, by a clock that starts where it was stopped."""
        from recrawl import Clock, Crawler

        logging.basicConfig(filename=self.log, format="%(levelname)s %(message)s")
        begin = clock.now()
        start = datetime.fromtimestamp(begin, UTC)
        budget = f"{self.pages / GAP}/day"
        with Crawler(
            self.store, clock=Clock(start=start), budget=budget, allow_private=True
        ) as crawler:
            # The clock starts late: loading everything takes a while.
            crawler.run(0.0)
            clock.set(begin, self.speed * DAY)
            crawler.clock = Clock(self.speed * DAY, start=start)
            crawler.run(BEGIN + self.days * DAY - begin)


def late_pages(
    store: Path, web: Sequence[TroubledPage], day: float, prices: Sequence[tuple[float, Price]]
) -> list[Unread]:
    """Return the pages that should have been read, by what `recrawl show` says of them."""
    return [
        found
        for page, shown in zip(web, explanations(store, len(web), day, prices), strict=True)
        if (found := _unread(page, shown, day)) is not None
    ]


def explanations(
    store: Path, pages: int, day: float, prices: Sequence[tuple[float, Price]]
) -> Iterator[Explanation]:
    """Yield what `recrawl show` says of each page, at the highest price since its last visit.

    The price moves from day to day, and a page whose visits are worth little more than that waits
    for a day on which they are.
    """
    now, settings = round((BEGIN + day * DAY) * 1e6), Settings()
    with SqliteStore.open(store) as opened:
        closed = closed_hosts(opened.kept, now)
        for page in opened.pages(range(pages)).values():
            last = next(iter(opened.history(page.number, 1)), None)
            since = 0.0 if page.last_visit is None else (page.last_visit / 1e6 - BEGIN) / DAY
            met = [price for at, price in prices if at >= since]
            price = max(met, key=lambda one: one.value, default=None)
            yield explain(
                page,
                opened.belief(page.number),
                price,
                now,
                settings.site_of(page.url).limits,
                earliest_retry(page, last, settings),
                closed.get(page.host),
            )


def _unread(page: TroubledPage, shown: Explanation, day: float) -> Unread | None:
    """Return a page that has not been read for `LATE` times its interval, or None."""
    rate, known = shown.crawl_rate, shown.page
    interval = GAP if rate is None else math.inf if rate == 0.0 else 1.0 / rate
    if known.state in (State.GONE, State.REFUSED):
        # Whatever its interval was: if the server has it, it is to be read again.
        interval = GAP
    age = math.inf if shown.elapsed is None else shown.elapsed
    limit = LATE * interval
    if min(age, day) <= limit:
        return None
    has_reason = (
        known.state is not State.ALIVE
        or known.failures > 0
        or known.retry_at is not None
        or (shown.closed_until or 0) > shown.now
    )
    days = [day - limit * share / 100 for share in range(101)]
    is_planned = known.state in (State.GONE, State.REFUSED) and (known.retry_at or 0) > shown.now
    is_served = not is_planned and not any(map(page.is_away, days))
    return Unread(page, day, age, interval, has_reason, is_served, shown.why())


def _tell(seed: int, year: Year) -> None:
    """Print what was not as it should be."""
    kinds = Counter(one.page.kind.value for one in year.unread if one.has_reason)
    print(f"web {seed}: {year.cells()}; unread for a reason: {dict(kinds)}", flush=True)
    for line in year.logged[:5]:
        print(f"  {line}")
    found = {one.page: one for one in (*year.unexplained, *year.served)}
    for one in list(found.values())[:MAX_TOLD]:
        print(
            f"  day {one.at:.0f}: {one.page.kind.value} {one.page.url} unread for {one.age:.0f} "
            f"days, at an interval of {one.interval:.1f}: {one.why}"
        )


def _write(lived: Sequence[Year]) -> None:
    rows = [[str(seed), *year.cells()] for seed, year in enumerate(lived, 1)]
    note = (
        f"{PAGES} pages each, {DAYS:.0f} days, a visit per page every {GAP:g} days; killed "
        f"(`kill -9`) {KILLS} times. A page is unread if its last successful visit was more than "
        f"{LATE:g} times its interval ago, at the highest price since, when the run was killed or "
        "at the end. *Served* means that the server had it for all of that time, and that it is "
        f"not gone or refused with a check that `recrawl show` announces. {load_note()}"
    )
    write_section(PAGE, "troubled-year", f"{markdown(HEADINGS, rows)}\n\n{note}")
