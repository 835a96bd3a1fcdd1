"""A soak: the real loop, frontier, discovery, recorder, gate and store, months in virtual time."""

import asyncio
import gc
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from crawler.fakes import crawl, settings_of
from crawler.soak_web import SoakWeb, seconds

from recrawl.clock import Clock
from recrawl.crawler import build
from recrawl.engine import engine as engine_module
from recrawl.engine import polling, upkeep
from recrawl.hosts import host_of
from recrawl.http.fetch import Fetcher
from recrawl.http.gate import Gate
from recrawl.http.host_pacing import HostPacing
from recrawl.http.limits import Limits
from recrawl.records import MICROSECONDS_A_DAY, SECONDS_A_DAY, Page, Response, State, Validators
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

#: A day in 2023, at midnight.
BEGIN = round(19_500 * MICROSECONDS_A_DAY)
#: Where files are kept in memory, so that months of transactions do not wait for a disk.
IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder that is made there has a name of its own
#: The loop looks around this many times less often, as months pass in minutes...
PERIODIC = 600.0
#: ...takes pages this many times a day, or one by one if there are fewer visits than that...
TAKES_PER_DAY = 250.0
#: ...and writes the visits of this many times together.
BATCH = 4.0
HOST_DELAY = 5.0
CONNECTIONS = 16
SAMPLES = 60
AGENT = "recrawl-test/1.0 (+https://example.org/bot)"


class SoakFetcher:
    """The real fetcher with its gate and rules, on a web in virtual time."""

    def __init__(self, web: SoakWeb, store: SqliteStore) -> None:
        self._web = web
        # The web's clock is set later.
        self._clock = Clock(wall=lambda: web.clock(), steady=lambda: web.clock() / 1e6)  # noqa: PLW0108
        self.pacing = HostPacing(HOST_DELAY, 1, connections=CONNECTIONS)
        self._made = Fetcher(
            AGENT,
            Gate(self.pacing, clock=self._clock),
            limits=Limits(connections=CONNECTIONS),
            recall=store.robots,
            remember=lambda _origin, found: store.remember_robots(found),
        )
        self._made.client = web  # type: ignore[assignment]

    @property
    def clock(self) -> Callable[[], int]:
        """Return the time in microseconds."""
        return self._web.clock

    @clock.setter
    def clock(self, clock: Callable[[], int]) -> None:
        self._web.clock = clock
        # A run that was stopped may have asked any host just now.
        self.pacing._asked_at = self._web.clock() / 1e6  # noqa: SLF001

    @property
    def robots(self) -> int:
        return self._made.robots.requests

    @property
    def files(self) -> int:
        return self._made.files

    def ahead(self, url: str) -> Callable[[], Awaitable[None]] | None:
        return self._made.ahead(url)

    async def fetch(self, page: Page, *, conditional: bool) -> Response:
        return await self._made.fetch(page, conditional=conditional)

    async def fetch_file(
        self,
        url: str,
        max_bytes: int,
        validators: Validators | None = None,
        *,
        stay_on_site: bool = False,
    ) -> Response:
        return await self._made.fetch_file(url, max_bytes, validators, stay_on_site=stay_on_site)

    async def named_sitemaps(self, url: str) -> tuple[str, ...] | None:
        return await self._made.named_sitemaps(url)


class Day(NamedTuple):
    """A day's requests for pages, and its budget."""

    number: int
    asked: int
    budget: float


@dataclass
class Soaked:
    """What came of a soak.

    Attributes:
        days: Each day on which the budget stays as it is.
        memory: Bytes of memory, from time to time.
        objects: Objects that Python keeps, likewise.
        lost: Pages that are there and that the store does not call alive, and what it has instead.
        unvisited: URLs of pages that are there and have no copy.
        complaints: What hosts complain about.
        wrongs: How many complaints there are in all.
        damage: What is wrong with the store.
    """

    days: list[Day] = field(default_factory=list)
    files: int = 0
    memory: list[int] = field(default_factory=list)
    objects: list[int] = field(default_factory=list)
    alive: int = 0
    lost: list[str] = field(default_factory=list)
    unvisited: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    wrongs: int = 0
    damage: list[str] = field(default_factory=list)

    def off_budget(self, share: float, requests: int = 3) -> list[Day]:
        """Return the days whose requests are further from the budget than a share of it.

        A few requests are always allowed, as midnight falls between visits.
        """
        return [
            day
            for day in self.days
            if abs(day.asked - day.budget) > max(share * day.budget, requests)
        ]


def growth(samples: Sequence[int]) -> float:
    """Return by what share the last quarter of samples is above the second quarter."""
    quarter = max(len(samples) // 4, 1)
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    return sorted(late)[len(late) // 2] / sorted(early)[len(early) // 2] - 1.0


def resident() -> int:
    """Return the memory that this process has now, in bytes; 0 where that is not known."""
    try:
        pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def looking_seldom(between: float) -> Iterator[None]:
    """Let the loop take pages once in some seconds, and do everything else less often still."""
    seldom = {
        (module, name): max(PERIODIC * value, BATCH * between)
        for module in (engine_module, upkeep)
        for name, value in vars(module).items()
        if name.isupper() and name.endswith("_EVERY")
    }
    seldom |= {(polling, "MIN_NAP"): between, (polling, "MAX_NAP"): between}
    seldom |= {(engine_module, "BATCH_SECONDS"): BATCH * between}
    usual = {(module, name): getattr(module, name) for module, name in seldom}
    try:
        for (module, name), value in seldom.items():
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in usual.items():
            setattr(module, name, value)


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Make a folder in memory, where there is such a thing."""
    where = IN_MEMORY if IN_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as folder:
        yield Path(folder)


def soak(
    path: Path,
    web: SoakWeb,
    budgets: Sequence[float],
    watch: Callable[[Soaked], None] = lambda _: None,
) -> Soaked:
    """Crawl a web to its last day; the budget changes with each run, and runs are equally long.

    Args:
        path: Of the store, which is made.
        web: What is crawled.
        budgets: Requests per day, one for each run.
        watch: Called with what has come of it so far, each time that memory is looked at.
    """
    result = Soaked()
    length = web.days / len(budgets)
    between = SECONDS_A_DAY / min(max(budgets), TAKES_PER_DAY)
    gc.freeze()  # What is there already would only slow down the samples.
    build.return_memory()  # As a run does.
    web.begin, web.host_delay = BEGIN, HOST_DELAY
    with SqliteStore.open(path, create=True) as store, looking_seldom(between):
        store.add((NewPage(url, host_of(url)) for url in web.seeds()), BEGIN)
        for url in web.sitemaps():
            store.sitemaps.add(url)
        store.narrow_cache()  # As a crawl does once it has begun.
        for number, budget in enumerate(budgets):
            settings = settings_of(
                budget=budget,
                first_fill="budget",
                host_delay=HOST_DELAY,
                host_connections=1,
                connections=CONNECTIONS,
            )
            fetcher = SoakFetcher(web, store)
            crawl(
                fetcher,
                store,
                settings,
                seconds=seconds(length),
                begin=BEGIN + round(number * length * MICROSECONDS_A_DAY),
                pacing=fetcher.pacing,
                during=lambda _: _sample(result, seconds(web.days / SAMPLES), watch),
            )
        _count_days(result, web, budgets)
        _count_pages(result, web, store)
        result.damage = list(store.check())
    gc.unfreeze()
    result.complaints, result.wrongs = web.complaints, web.wrongs
    return result


def _sample(result: Soaked, every: float, watch: Callable[[Soaked], None]) -> None:
    """Note the memory from time to time."""
    clock = asyncio.get_running_loop()
    gc.unfreeze()
    gc.collect()  # The crawl before this one: what is frozen is never collected.
    gc.freeze()

    def note() -> None:
        gc.collect()
        result.memory.append(resident())
        result.objects.append(len(gc.get_objects()))
        watch(result)
        clock.call_later(every, note)

    clock.call_later(every, note)


def _count_days(result: Soaked, web: SoakWeb, budgets: Sequence[float]) -> None:
    length = web.days / len(budgets)
    for day in range(int(web.days)):
        run = int(day / length)
        # A day on which the budget changes has two.
        if int((day + 1 - 1e-9) / length) == run:
            result.days.append(Day(day, web.asked[day], budgets[run]))
    result.files = sum(web.files.values())


def _count_pages(result: Soaked, web: SoakWeb, store: SqliteStore) -> None:
    there = web.alive_at_end()
    result.alive = len(there)
    for at in range(0, len(there), 500):
        urls = there[at : at + 500]
        known = store.pages_at(urls)
        result.lost += [
            f"{url}: {_described(known.get(url))}"
            for url in urls
            if url not in known or known[url].state is not State.ALIVE
        ]
        result.unvisited += [u for u in urls if u in known and known[u].body is None]


def _described(page: Page | None) -> str:
    """Return what is known of a page that should be alive."""
    if page is None:
        return "not in the store"
    last, since, again = (
        "never" if at is None else f"day {(at - BEGIN) / MICROSECONDS_A_DAY:.2f}"
        for at in (page.last_visit, page.missing_since, page.retry_at)
    )
    return (
        f"{page.state.name.lower()}, {page.visits} visits and {page.failures} failures, "
        f"last found {last}, missing since {since}, to be looked at {again}"
    )
