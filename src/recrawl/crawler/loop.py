"""The loop: it brings clock, network and store together, and decides nothing."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import final

from recrawl.crawler.backoff import Backoff
from recrawl.crawler.discovery import Discovery
from recrawl.crawler.explain import PRICE
from recrawl.crawler.host_queues import HostQueues
from recrawl.crawler.load import Loaded, days
from recrawl.crawler.record import Recorder
from recrawl.crawler.settings import Settings
from recrawl.crawler.stats import Stats
from recrawl.crawler.store_thread import StoreThread
from recrawl.crawler.visit import Visitor
from recrawl.errors import RecrawlError
from recrawl.http.memory_budget import MemoryBudget
from recrawl.records import MICROSECONDS_A_DAY, SECONDS_A_DAY, Page, Response, State, Visit
from recrawl.store.rows import Spent

#: Pages waiting for a connection, for each connection there is.
AHEAD = 4
#: Pages of one host that may wait; then the host is passed over for some seconds.
LANE = 8
PASSED_OVER = 1.0
#: Visits are written together: so many, or those of so many seconds.
BATCH, GATHERED = 100, 0.05
#: No page is fetched while so many visits, or bytes of bodies, wait to be written.
BACKLOG, UNWRITTEN = 1_000, 10_000_000
#: The share of connections that hosts may have which did not response when they were asked last.
SUSPECTS = 0.5
#: Seconds between two looks at what is due, at most and at least.
LONGEST_NAP, SHORTEST_NAP = 1.0, 0.005
#: Seconds that fetches under way are given to end when the crawl stops.
GRACE = 5.0
#: Seconds between two looks at what others changed in the store, at sitemaps, and two views.
LOOK_EVERY, SITEMAPS_EVERY, NOTE_EVERY, VIEW_EVERY = 1.0, 5.0, 5.0, 0.5


def system_clock() -> int:
    """Give the time in microseconds since 1970."""
    return time.time_ns() // 1_000


@final
class Crawl:
    """Keep the copies fresh until stopped.

    ::

        frontier.take      which pages now: within the budget, and their hosts' patience
        visitor.visit      ask, compare, look twice if need be           -> Visit
        keeper.learn       what it teaches                               -> belief
        store.record       log, belief and copy in one transaction
        grower             pages that others add, sitemaps and links bring in

    Visits run side by side; what they found is written in order, by one thread. Killed at any
    moment, the crawl loses what was under way and nothing that was written.

    Args:
        loaded: The frontier of the store's pages.
        visitor: Who visits.
        shelf: Where everything is kept.
        settings: What to do.
        grower: Who brings in pages and evidence.
        host_delay: Gives the seconds that a host's robots.txt asks for.
        files: Counts requests beside those for pages: robots.txt and sitemaps, so far.
        room: Told of bodies that wait to be written.
        clock: The time in microseconds.
        watch: Called with the view now and then.
    """

    def __init__(
        self,
        loaded: Loaded,
        visitor: Visitor,
        shelf: StoreThread,
        settings: Settings,
        *,
        grower: Discovery,
        host_delay: Callable[[str], float],
        files: Callable[[], tuple[int, int]],
        room: MemoryBudget,
        clock: Callable[[], int] = system_clock,
        watch: Callable[[Stats], object] | None = None,
    ) -> None:
        self._loaded = loaded
        self._visitor = visitor
        self._shelf = shelf
        self._settings = settings
        self._grower = grower
        self._files = files
        self._room = room
        self._clock = clock
        self._watch = watch
        self._host_delay = host_delay
        self._delays: dict[str, float] = {}
        self._keeper = Recorder(loaded.frontier, shelf)
        suspects = max(round(SUSPECTS * settings.connections), 1)
        self._lanes = HostQueues(settings.host_connections, suspects)
        self._health = Backoff()
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed: BaseException | None = None
        self._finished: list[Visit] = []
        self._unwritten = 0
        self._counted = (0, 0)
        self._lost = 0
        self._wake = asyncio.Event()
        self._stopping = asyncio.Event()
        self._drained = asyncio.Event()
        self.view = Stats(clock(), settings.budget)

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """End soon: start nothing new, write what comes back within seconds."""
        self._stopping.set()
        self._wake.set()

    async def run(self, seconds: float | None = None) -> Stats:
        """Crawl until stopped, or for so many seconds."""
        loop = asyncio.get_running_loop()
        timer = None if seconds is None else loop.call_later(seconds, self.stop)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._fetch())
                group.create_task(self._keep())
                group.create_task(self._every(LOOK_EVERY, self._grower.look))
                group.create_task(self._every(SITEMAPS_EVERY, self._grower.read_sitemaps))
                group.create_task(self._every(NOTE_EVERY, self._note))
                group.create_task(self._show())
        except* RecrawlError as failed:
            raise failed.exceptions[0] from None
        finally:
            if timer is not None:
                timer.cancel()
            self._shelf.close()
        self._refresh_view()
        return self.view

    # Fetching

    async def _fetch(self) -> None:
        filling: asyncio.Task[None] | None = None
        try:
            while not self._stopping.is_set():
                self._wake.clear()
                # The store may be busy writing; what waits already is fetched meanwhile.
                if (filling is None or filling.done()) and (wanted := self._wanted()) > 0:
                    filling = asyncio.create_task(self._fill(wanted))
                    filling.add_done_callback(self._end)
                self._start()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._nap()):
                        await self._wake.wait()
            await self._end_fetches()
        finally:
            for task in (*self._tasks, *filter(None, [filling])):
                task.cancel()
            self._drained.set()
        if self._failed is not None:
            raise self._failed

    def _nap(self) -> float:
        """Seconds until the budget pays for another page, about."""
        a_visit = SECONDS_A_DAY / self._settings.budget
        return min(max(a_visit, SHORTEST_NAP), LONGEST_NAP)

    def _wanted(self) -> int:
        """How many pages to let wait beside those that do; many at once, as that is quicker."""
        if len(self._finished) > BACKLOG:
            return 0
        connections, waiting = self._settings.connections, self._lanes.waiting
        # Pages of hosts that hang may be all that waits: connections that are free need others.
        free = connections - len(self._tasks)
        return max(AHEAD * connections - waiting if 2 * waiting <= AHEAD * connections else 0, free)

    async def _fill(self, wanted: int) -> None:
        """Let due pages wait for their hosts."""
        now = self._clock()
        taken = self._loaded.frontier.take(days(now), wanted).tolist()
        if not taken:
            return
        # What was learned is on its way to the store before this, through the same thread.
        pages = await self._shelf.use(self._shelf.store.pages, taken)
        for number in taken:
            page = pages.get(number)
            if page is None or page.state is State.GONE:
                self._drop(number)
                continue
            self._lanes.add(page)
            if self._lanes.queued(page.host) >= LANE * self._settings.host_connections:
                self._pass_over(page.host, now, PASSED_OVER)
        self._wake.set()

    def _drop(self, number: int) -> None:
        """Forget a page that is not to be visited; somebody may have been quicker."""
        if number in self._loaded.frontier:
            self._loaded.frontier.remove([number])

    def _start(self) -> None:
        """Fetch waiting pages while there are connections."""
        while len(self._tasks) < self._settings.connections and self._unwritten < UNWRITTEN:
            page = self._lanes.next()
            if page is None:
                return
            task = asyncio.create_task(self._visit(page))
            self._tasks.add(task)
            task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failed = self._failed or task.exception()
            self.stop()

    async def _visit(self, page: Page) -> None:
        try:
            visit = await self._visitor.visit(page)
        finally:
            self._lanes.done(page.host)
            self._wake.set()
        self._finished.append(visit)
        self._count_unwritten(_size(visit))
        self._slow_down(page.host)
        self._lanes.suspect(page.host, is_suspect=_is_unanswered(visit.response))
        rest = self._health.rest(page.host, visit.response)
        if rest > 0.0:
            self._close(page.host, rest, visit.response)

    def _slow_down(self, host: str) -> None:
        """Let the frontier know what a host's robots.txt asks for."""
        delay = self._host_delay(host)
        if delay > self._delays.get(host, self._settings.host_delay):
            self._delays[host] = delay
            number = self._loaded.roster.host(host)
            self._loaded.frontier.limit_host(number, delay=delay / SECONDS_A_DAY)

    def _close(self, host: str, seconds: float, response: Response) -> None:
        """Leave a host alone; its pages that wait are tried another time."""
        self._pass_over(host, response.at, seconds)
        self.view.closed[host] = response.at + round(seconds * 1e6)
        frontier = self._loaded.frontier
        waiting = [page.number for page in self._lanes.drop(host) if page.number in frontier]
        if waiting:
            frontier.report(waiting, days(response.at), changed=False, failed=True)
            frontier.spend(-len(waiting))

    def _pass_over(self, host: str, now: int, seconds: float) -> None:
        number = self._loaded.roster.host(host)
        self._loaded.frontier.defer(number, days(now) + seconds / SECONDS_A_DAY)

    async def _end_fetches(self) -> None:
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=GRACE)
            self._lost = len(late)
            for task in late:
                task.cancel()

    # Keeping

    async def _keep(self) -> None:
        while not (self._drained.is_set() and not self._finished):
            if len(self._finished) < BATCH and not self._drained.is_set():
                await asyncio.sleep(GATHERED)
            if self._finished:
                await self._keep_batch()
        # What was asked for files, or for pages that did not come in time, is spent all the same.
        await self._keeper.keep([], self._spent())

    async def _keep_batch(self) -> None:
        batch, self._finished = self._finished, []
        known = [visit for visit in batch if not self._grower.removed(visit.page.number)]
        written = await self._keeper.keep(known, self._spent())
        for visit in written:
            self.view.count(visit)
        await self._grower.found(written)
        self._count_unwritten(-sum(map(_size, batch)))
        self._wake.set()

    def _count_unwritten(self, size: int) -> None:
        self._unwritten += size
        self._room.hold(size)

    def _spent(self) -> Spent:
        """Give the requests that no visit tells of, since it was asked last."""
        robots, files = self._files()
        before, self._counted = self._counted, (robots, files)
        self.view.robots, self.view.files = robots, files
        lost, self._lost = self._lost, 0
        return Spent(self._clock(), robots - before[0], files - before[1], lost)

    # Growing, and telling

    async def _every(self, seconds: float, do: Callable[[int], Awaitable[None]]) -> None:
        while not self._stopping.is_set():
            doing = asyncio.ensure_future(do(self._clock()))
            stopping = asyncio.ensure_future(self._stopping.wait())
            await asyncio.wait([doing, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not doing.done():
                doing.cancel()
                return
            doing.result()
            await self._doze(seconds)

    async def _note(self, _now: int) -> None:
        """Let other processes know what a visit is worth, so that they can say who is next."""
        set_meta = self._shelf.store.set_meta
        if self._loaded.frontier.price > 0.0:
            await self._shelf.use(set_meta, PRICE, repr(self._loaded.frontier.price))

    async def _show(self) -> None:
        while self._watch is not None and not self._drained.is_set():
            self._refresh_view()
            self._watch(self.view)
            await self._doze(VIEW_EVERY)

    async def _doze(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        if self._stopping.is_set():
            await asyncio.sleep(SHORTEST_NAP)

    def _refresh_view(self) -> None:
        view, frontier = self.view, self._loaded.frontier
        view.now = self._clock()
        view.under_way = len(self._tasks)
        view.expected_freshness = frontier.expected_freshness(days(view.now))
        view.price = frontier.price
        view.next_visit = round(frontier.affordable_at * MICROSECONDS_A_DAY)
        view.pages = len(frontier)
        view.closed = {host: until for host, until in view.closed.items() if until > view.now}


def _size(visit: Visit) -> int:
    return len(visit.response.body or b"")


def _is_unanswered(response: Response) -> bool:
    """Whether a host was asked, or was to be asked, and did not say a thing."""
    return response.status == 0 and response.error is not None and not response.permanent
