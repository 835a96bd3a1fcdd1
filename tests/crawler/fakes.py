"""A crawl without threads, files or sockets: a web, a store and an executor in virtual time."""

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from virtual_time import run as run_in_virtual_time

from recrawl.clock import Clock
from recrawl.config.readers import site_readers
from recrawl.config.settings import Settings
from recrawl.crawler.build import CATCH_UP, load, recorder_of
from recrawl.engine.discovery.discovery import Discovery
from recrawl.engine.engine import Engine
from recrawl.engine.frontier import CrawlFrontier
from recrawl.engine.stats import Stats
from recrawl.engine.templates import Templates
from recrawl.errors import StoreError
from recrawl.estimation.shown.rates import RatePrior
from recrawl.fetching.client import patience_of
from recrawl.fetching.visit import Visitor
from recrawl.fetching.worker import Worker
from recrawl.hosts import host_of
from recrawl.http.host_pacing import HostPacing
from recrawl.http.memory_budget import MemoryBudget
from recrawl.kernels.jit import Ints
from recrawl.records import (
    NO_TIME,
    RESTING,
    Outcome,
    Page,
    Response,
    RobotsText,
    State,
    Validators,
    Visit,
)
from recrawl.store.rows import (
    Added,
    Edits,
    LastVisit,
    NewPage,
    Observed,
    PageTable,
    SitemapFile,
    Spent,
    Trouble,
)
from recrawl.store.sqlite import SqliteStore
from recrawl.store.thread import StoreThread

if TYPE_CHECKING:
    from crawler.soaking import SoakFetcher

P = ParamSpec("P")
T = TypeVar("T")

SECOND = 1_000_000
PER_SECOND = 86_400.0


class MemorySitemaps:
    """The sitemaps of a `MemoryStore`."""

    def __init__(self, spent: list[Spent]) -> None:
        self.files: dict[str, SitemapFile] = {}
        self._spent = spent
        self._scope = ""
        self._named_by: dict[str, str] = {}

    def add(self, url: str) -> None:
        self.files[url] = SitemapFile(url, host=host_of(url))

    def name(
        self, by: SitemapFile, urls: Sequence[str], limit: int, *, is_all: bool = False
    ) -> int:
        del limit
        named = [url for url in self.files if self._named_by.get(url) == by.url]
        for url in named if is_all else ():
            if url not in urls:
                del self.files[url]
        for url in urls:
            new = SitemapFile(url, root=by.root or by.url, host=host_of(url), depth=by.depth + 1)
            if self.files.setdefault(url, new) is new:
                self._named_by[url] = by.url
        return 0

    def all(self) -> list[SitemapFile]:
        return list(self.files.values())

    def due(self, now: int, limit: int) -> list[SitemapFile]:
        due = [one for one in self.files.values() if one.next_at is None or one.next_at <= now]
        return due[:limit]

    def note(self, found: SitemapFile) -> None:
        if found.url in self.files:
            self.files[found.url] = found

    def retry(self, scope: str) -> None:
        for url, one in self.files.items():
            if one.error is not None or self._scope != scope:
                self.files[url] = replace(one, next_at=None, validators=Validators())
        self._scope = scope

    def remove(self, urls: Iterable[str]) -> int:
        return sum(self.files.pop(url, None) is not None for url in urls)

    def requests(self, since: int) -> list[tuple[int, int]]:
        return [(one.at, one.sitemaps) for one in self._spent if one.at >= since and one.sitemaps]


class MemoryStore:
    """Everything that a crawl records, in lists and dictionaries."""

    def __init__(self, *urls: str) -> None:
        self.known: dict[int, Page] = {}
        self.bodies: dict[bytes, bytes] = {}
        self.beliefs: dict[int, tuple[float, float]] = {}
        self.octaves: dict[int, bytes] = {}
        self.log: list[Visit] = []
        self.spent: list[Spent] = []
        self.small: dict[str, str] = {}
        self.learned: dict[str, dict[str, bytes]] = {}
        self.templates: dict[str, bytes] = {}
        self.robots: list[RobotsText] = []
        self.sitemaps = MemorySitemaps(self.spent)
        self.removed: set[str] = set()
        self.asked: set[int] = set()
        self._edits: list[tuple[str, int, float]] = []
        self._next = 0
        self.add((NewPage(url, host_of(url)) for url in urls), 0)

    def page(self, url: str) -> Page:
        return next(page for page in self.known.values() if page.url == url)

    def outcomes(self, url: str) -> list[Outcome]:
        return [visit.outcome for visit in self.log if visit.page.url == url]

    def total(self) -> Spent:
        """Add up what was spent beside visits."""
        return Spent(
            0,
            sum(one.robots for one in self.spent),
            sum(one.sitemaps for one in self.spent),
            sum(one.lost for one in self.spent),
        )

    def remove(self, url: str) -> None:
        number = self.page(url).number
        self.removed.add(url)
        del self.known[number]
        self._edits.append(("removed", number, 0.0))

    def set_importance(self, url: str, importance: float) -> None:
        page = self.page(url)
        self.known[page.number] = replace(page, importance=importance)
        self._edits.append(("importance", page.number, importance))

    # What the crawler uses

    def add(self, pages: Iterable[NewPage], at: int) -> Added:
        del at
        by_url = {page.url: page for page in self.known.values()}
        for new in pages:
            if new.source == "user":
                self.removed.discard(new.url)
            elif new.url in self.removed:
                continue
            page = by_url.get(new.url)
            if page is None:
                given = (new.importance, new.initial_importance, 1.0)
                importance = next(one for one in given if one is not None)
                page = Page(self._next, new.url, new.host, importance, new.depth)
                self._edits.append(("added", self._next, 0.0))
                if new.source in ("user", "sitemap"):
                    self.asked.add(self._next)
                self._next += 1
            elif page.state in RESTING:
                state = State.MISSING if page.state is State.GONE else State.ALIVE
                page = replace(
                    page, state=state, failures=0, missing_since=None, retry_at=None, reason=None
                )
                self._edits.append(("revived", page.number, 0.0))
            self.known[page.number] = by_url[page.url] = page
        return Added(0, 0, 0)

    def changes_since(self, serial: int) -> Edits:
        new = self._edits[serial:]
        of = {kind: [number for one, number, _ in new if one == kind] for kind, _, _ in new}
        return Edits(
            len(self._edits),
            [self.known[number] for number in of.get("added", ()) if number in self.known],
            [self.known[number] for number in of.get("revived", ()) if number in self.known],
            of.get("removed", []),
            [(number, value) for kind, number, value in new if kind == "importance"],
            frozenset(self.asked),
        )

    def fleet(self) -> PageTable:
        pages = [page for page in self.known.values() if page.state not in RESTING]
        hosts = sorted({page.host for page in pages})
        nothing = (math.nan, math.nan)
        beliefs = np.array([self.beliefs.get(page.number, nothing) for page in pages])
        visits = [NO_TIME if page.last_visit is None else page.last_visit for page in pages]
        return PageTable(
            serial=len(self._edits),
            number=np.array([page.number for page in pages], np.int64),
            host=np.array([hosts.index(page.host) for page in pages], np.int64),
            hosts=hosts,
            url=[page.url for page in pages],
            importance=np.array([page.importance for page in pages]),
            shape=beliefs.reshape(-1, 2)[:, 0],
            time=beliefs.reshape(-1, 2)[:, 1],
            octaves=[self.octaves.get(page.number) for page in pages],
            last_visit=np.array(visits, np.int64),
            failures=np.array([page.failures for page in pages], np.int64),
            asked=np.array([page.number in self.asked for page in pages], np.bool_),
        )

    def meta(self, key: str) -> str | None:
        return self.small.get(key)

    def observations(self, about: int) -> Observed:
        del about
        none = np.zeros(0, np.int64)
        return Observed(none, none, np.zeros(0, np.bool_))

    def last_visits(self, numbers: Ints) -> Iterable[tuple[int, LastVisit]]:
        for number in numbers.tolist():
            found = [visit for visit in self.log if visit.page.number == number]
            if found:
                last = max(found, key=lambda visit: visit.response.at)
                yield number, LastVisit(last.response.at, last.outcome, last.response.status)

    def newest_visit(self) -> int | None:
        return max((visit.response.at for visit in self.log), default=None)

    def pages(self, numbers: Iterable[int]) -> dict[int, Page]:
        return {number: self.known[number] for number in numbers if number in self.known}

    def pages_at(self, urls: Iterable[str]) -> dict[str, Page]:
        wanted = set(urls)
        return {page.url: page for page in self.known.values() if page.url in wanted}

    def seed_hosts(self) -> list[str]:
        return sorted({page.host for page in self.known.values() if page.depth == 0})

    def record(
        self,
        visits: Sequence[Visit],
        spent: Spent | None = None,
        templates: Mapping[str, bytes] | None = None,
    ) -> None:
        self.templates.update(templates or {})
        # The crawl may not know yet that a page was removed.
        visits = [visit for visit in visits if visit.page.number in self.known]
        for visit in visits:
            self.known[visit.page.number] = visit.page
            if visit.belief is not None:
                self.beliefs[visit.page.number] = visit.belief
            if visit.octaves is not None:
                self.octaves[visit.page.number] = visit.octaves
            if visit.content is not None and visit.page.body is not None:
                self.bodies[visit.page.body] = visit.content
        self.log += [visit for visit in visits if not visit.is_refusal]
        self.spent += [] if spent is None else [spent]

    def template(self, host: str) -> bytes | None:
        return self.templates.get(host)

    def body(self, digest: bytes) -> bytes:
        if digest not in self.bodies:
            raise StoreError("there is no such copy")
        return self.bodies[digest]

    def check_not_moved(self) -> None:
        pass

    def keep(self, what: str, learned: Mapping[str, bytes]) -> None:
        self.learned.setdefault(what, {}).update(learned)

    def kept(self, what: str) -> dict[str, bytes]:
        return dict(self.learned.get(what, {}))

    def remember_robots(self, *files: RobotsText) -> None:
        self.robots += files

    def trouble(self) -> Trouble:
        states = Counter(page.state for page in self.known.values())
        failing = sum(
            page.failures > 0 and page.state is State.ALIVE for page in self.known.values()
        )
        return Trouble(states[State.MISSING], states[State.GONE], states[State.REFUSED], failing)

    def wake(self, now: int, again: int, limit: int) -> list[Page]:
        due = [
            page
            for page in self.known.values()
            if page.retry_at is not None and page.retry_at <= now
        ]
        due.sort(key=lambda page: page.retry_at or 0)
        after = {State.GONE: State.MISSING, State.REFUSED: State.ALIVE}
        for page in due[:limit]:
            self.known[page.number] = replace(
                page, state=after.get(page.state, page.state), retry_at=again, reason=None
            )
        return [self.known[page.number] for page in due[:limit]]

    def rate_prior(self) -> RatePrior:
        return RatePrior.from_text(self.meta("rate_prior"))

    def set_meta(self, key: str, value: str) -> None:
        self.small[key] = value


class ParsedHere:
    """Parses in this process: virtual time does not wait for others."""

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)


class VirtualExecutor(Executor):
    """Runs functions at once, or after the virtual seconds given for their name.

    A slow one does not hold up the others: only the crawl's own limits slow it down.
    """

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        future: Future[Any] = Future()
        loop = asyncio.get_running_loop()
        seconds = self._seconds.get(function.__name__, 0.0)

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*args, **kwargs))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is the caller's
                future.set_exception(error)

        if seconds > 0.0:
            loop.call_later(seconds, work)
        else:
            work()
        return future


@dataclass(frozen=True)
class Fetch:
    """A request that the web saw."""

    at: float
    url: str
    conditional: bool


Answer = str | bytes | Response


@dataclass
class FakeWeb:
    """Pages by URL, or a function of it; each answer takes some seconds of virtual time.

    An answer is a body, or a response whose time, URL and seconds are filled in. What there is no
    answer to is not found.
    """

    answers: dict[str, Answer] | Callable[[str], Answer | None]
    seconds: float | Callable[[str], float] = 0.01
    etags: bool = False
    before: Callable[[str], object] = lambda _url: None
    fetched: list[Fetch] = field(default_factory=list)
    in_flight: Counter[str] = field(default_factory=Counter)
    max_in_flight: Counter[str] = field(default_factory=Counter)
    files: int = 0
    robots: int = 0
    file_urls: list[str] = field(default_factory=list)
    kept_on_site: dict[str, bool] = field(default_factory=dict)
    named: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    clock: Callable[[], int] = lambda: 0
    robots_seconds: float = 0.0
    known: set[str] = field(default_factory=set)

    def times(self, url: str) -> list[float]:
        return [fetch.at for fetch in self.fetched if fetch.url == url]

    async def fetch(self, page: Page, *, conditional: bool) -> Response:
        now = asyncio.get_running_loop().time()
        self.fetched.append(Fetch(now, page.url, conditional))
        self.before(page.url)
        self.in_flight[page.host] += 1
        self.max_in_flight |= self.in_flight
        try:
            await asyncio.sleep(
                self.seconds if isinstance(self.seconds, float) else self.seconds(page.url)
            )
        finally:
            self.in_flight[page.host] -= 1
        return self._answer(page.url, page.validators if conditional else None)

    def ahead(self, url: str) -> Callable[[], Awaitable[None]] | None:
        """Read robots.txt, once per host, where that takes some time."""
        host = host_of(url)
        if not self.robots_seconds or host in self.known:
            return None

        async def read() -> None:
            await asyncio.sleep(self.robots_seconds)
            self.known.add(host)

        return read

    async def fetch_file(
        self,
        url: str,
        max_bytes: int,
        validators: Validators | None = None,
        *,
        stay_on_site: bool = False,
    ) -> Response:
        del max_bytes
        self.kept_on_site[url] = stay_on_site
        self.files += 1
        self.file_urls.append(url)
        await asyncio.sleep(0.01)
        return self._answer(url, validators)

    async def named_sitemaps(self, url: str) -> tuple[str, ...] | None:
        self.robots += 1
        await asyncio.sleep(0.01)
        return self.named.get(host_of(url), ())

    def _answer(self, url: str, validators: Validators | None) -> Response:
        found = self.answers.get(url) if isinstance(self.answers, dict) else self.answers(url)
        usual = Response(url, 404, self.clock(), seconds=0.01)
        if found is None:
            return usual
        if isinstance(found, Response):
            return replace(found, url=url, at=self.clock())
        body = found.encode() if isinstance(found, str) else found
        headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html"),)
        if self.etags:
            etag = f'"{hash(body)}"'
            headers += (("ETag", etag),)
            if validators is not None and validators.etag == etag:
                return replace(usual, status=304, headers=headers)
        return replace(usual, status=200, body=body, headers=headers, transferred=len(body))


def failure(error: str = "no connection", **changed: Any) -> Response:  # noqa: ANN401
    """Make a response that a host did not give."""
    return replace(Response("", 0, 0, error=error), **changed)


def settings_of(**changed: Any) -> Settings:  # noqa: ANN401
    usual: dict[str, Any] = {
        "budget": 10 * PER_SECOND,
        "host_delay": 0.0,
        "host_connections": 4,
        "connections": 8,
        "min_interval": 0.0,
        "slack": 0.0,
        "spend": "all",
    }
    return Settings(**(usual | changed))


@dataclass
class Running:
    """A crawl and its parts, for what happens while it runs."""

    engine: Engine
    frontier: CrawlFrontier
    pacing: HostPacing
    discovery: Discovery


def crawl(
    web: "FakeWeb | SoakFetcher",
    store: MemoryStore | SqliteStore,
    settings: Settings,
    *,
    seconds: float = 10.0,
    begin: int = 0,
    speed: float = 1.0,
    store_seconds: dict[str, float] | None = None,
    pacing: HostPacing | None = None,
    during: Callable[[Running], object] | None = None,
    watch: Callable[[Stats], object] | None = None,
    shown: Callable[[float], float] = lambda seconds: seconds,
) -> Stats:
    """Crawl for some seconds of a clock, from a time in microseconds on; 1 s takes 1 / speed s.

    After some real seconds, the system's clock shows what ``shown`` returns for them.
    """

    async def main() -> Stats:
        loop = asyncio.get_running_loop()
        start = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=begin)
        clock = Clock(
            speed, start=start, wall=lambda: round(shown(loop.time()) * SECOND), steady=loop.time
        )
        web.clock = clock.now
        frontier = load(store, settings, web.clock(), clock.passing(CATCH_UP) / PER_SECOND)
        thread = StoreThread(store, VirtualExecutor(store_seconds or {}))
        pool = ParsedHere()
        paced = pacing or HostPacing(
            settings.delay_of, settings.host_connections, connections=settings.connections
        )
        discovery = Discovery(frontier, thread, web, settings, pool)
        visitor = Visitor(
            web,
            site_readers(settings),
            store.body,
            settings.full_fetch_every,
            patience_of(settings),
            pool,
            follow_depth=settings.max_depth if settings.follow else 0,
            templates=Templates(store.template),
        )
        engine = Engine(
            frontier,
            recorder_of(settings, clock, frontier, thread, MemoryBudget(), visitor.templates),
            thread,
            settings,
            pacing=paced,
            discovery=discovery,
            clock=clock,
            watch=watch,
        )
        engine.count_requests(lambda: (web.robots, web.files))
        engine.employ(
            lambda queue, events: Worker(
                visitor, queue, settings.connections, web.ahead, events, clock.now
            )
        )
        if during is not None:
            during(Running(engine, frontier, paced, discovery))
        try:
            return await engine.run(seconds)
        finally:
            thread.close()

    return run_in_virtual_time(main())


def later(seconds: float, do: Callable[[], object]) -> Callable[[Running], object]:
    """Do something at a time of the run."""
    return lambda _running: asyncio.get_running_loop().call_later(seconds, do)
