"""A scheduler for other crawlers: it decides which page is next and fetches none itself.

It takes pages from the frontier, queues them by host and learns from visits with the same parts as
`recrawl.crawler.loop.Crawl`; in between, other crawlers have the pages on leases.
"""

import asyncio
import logging
import math
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias, final

from recrawl.clock import Clock
from recrawl.crawler.discovery import Discovery
from recrawl.crawler.frontier_memory import FrontierMemory
from recrawl.crawler.load import CrawlFrontier, days
from recrawl.crawler.record import Recorder
from recrawl.crawler.settings import Settings
from recrawl.crawler.stats import Stats
from recrawl.crawler.store_thread import StoreThread
from recrawl.crawler.upkeep import Upkeep
from recrawl.crawler.visit import Visitor
from recrawl.crawler.waking import Waking
from recrawl.errors import RecrawlError, StoreError
from recrawl.http.memory_budget import MemoryBudget
from recrawl.records import Page, Response, Visit
from recrawl.scheduling.leases import Lease, Leases
from recrawl.service.lease_rows import LeaseRows
from recrawl.service.leasing import Answer, Leased, Wish
from recrawl.service.page_queue import PageQueue
from recrawl.service.reports import Report, is_clear, read_report, response_of
from recrawl.store.access import LeaseRow, ServiceTables
from recrawl.store.rows import Spent

LOGGER = logging.getLogger("recrawl.service")

#: Real seconds between two checks for expired leases.
LEASES_EVERY = 1.0

#: A page, and the response that it had by somebody's report.
_Visited: TypeAlias = tuple[Page, Report, Response]
#: The id of a lease: when it was granted, and what nobody can guess.
_LEASE = re.compile(r"([0-9a-f]{1,16})-[0-9a-f]{16}")


@final
class Scheduler:
    """Leases pages to other crawlers and learns from what they report.

    - A page is on one lease at most. A lease that ends is released: its pages are not failed,
      nothing is learned, and the budget is returned.
    - A host whose pages are on a lease is on no other, and not before its delay has passed since
      the last report: whoever has the lease keeps the delay between its pages.
    - Leases are in the store before they are granted, and reports before they are answered.

    Args:
        frontier: The frontier of the store's pages.
        store: Where everything is recorded.
        tables: Where leases are kept; used by the store's thread.
        visitor: Reads the bodies that are reported.
        discovery: Brings in pages and evidence.
        settings: The crawler's settings.
        clock: What budget, delays and leases go by.
        asked_at: When hosts that nothing is known about may last have been asked.

    Attributes:
        leases: The leases that have not ended.
        stats: Counts of this run.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        store: StoreThread,
        tables: ServiceTables,
        visitor: Visitor,
        discovery: Discovery,
        settings: Settings,
        clock: Clock,
        asked_at: float = -math.inf,
    ) -> None:
        self._frontier = frontier
        self._store = store
        self._tables = tables
        self._visitor = visitor
        self._discovery = discovery
        self._settings = settings
        self._clock = clock
        self._queue = PageQueue(frontier, store, settings, clock, asked_at)
        self._recorder = Recorder(
            frontier,
            store,
            MemoryBudget(),
            visitor.patience.gone_time,
            clock.passing,
            visitor.templates,
        )
        self._waking = Waking(frontier, store, settings.budget)
        self._memory = FrontierMemory(frontier, store)
        self._writing = asyncio.Lock()
        self._keyed = asyncio.Lock()
        self._reporting: set[int] = set()
        self._lease_rows = LeaseRows(store, tables)
        self._stopping = asyncio.Event()
        self._failed: BaseException | None = None
        self.leases = Leases()
        self.stats = Stats(frontier.loaded_at, settings.budget, closed={**frontier.left_alone})

    # Leases

    async def lease(self, wish: Wish) -> Leased:
        """Lease pages that are due, as many as are wanted and may be visited now.

        A wish that is repeated with its key, even while the first is being granted, gets the same
        lease.
        """
        if wish.key is None:
            return await self._lease(wish)
        async with self._keyed:
            self._end_leases(self._clock.now())
            known = self.leases.requested(wish.key)
            if known is not None:
                return self._leased(known, sorted(known.pages))
            return await self._lease(wish)

    async def _lease(self, wish: Wish) -> Leased:
        self._end_leases(self._clock.now())
        seconds = self._settings.lease_time if wish.seconds is None else wish.seconds
        picked = await self._queue.take(wish, seconds)
        now = self._clock.now()
        deadline = now + round(seconds * 1e6)
        numbers = [page.number for page in picked]
        name = f"{now:x}-{secrets.token_hex(8)}"
        lease = self.leases.grant(name, numbers, now, deadline, wish.key)
        if numbers:
            self._lease_rows.add(LeaseRow(name, wish.key, now, deadline, tuple(numbers)))
            await self._lease_rows.write()
        return self._leased(lease, numbers)

    def _leased(self, lease: Lease, numbers: Sequence[int]) -> Leased:
        pages = [self._queue[number] for number in numbers]
        delays = [self._queue.delay_of(page.host) for page in pages]
        return Leased(lease.id, round(lease.deadline), pages, delays)

    def restore(self, rows: Iterable[LeaseRow], visited: Callable[[LeaseRow], set[int]]) -> None:
        """Continue with the leases that an earlier process granted.

        Args:
            rows: The leases.
            visited: Returns those of a lease's pages that were visited since it was granted.
        """
        now = self._clock.now()
        for row in sorted(rows, key=lambda row: row.deadline):
            if row.deadline <= now:
                self._lease_rows.restore(row)
                continue
            done = visited(row)
            pages = [
                number for number in row.pages if number in self._frontier and number not in done
            ]
            there = self._queue.hold(pages)
            others = set(row.pages).difference(there)
            if there:
                self.leases.grant(row.id, there, row.granted_at, row.deadline, row.key, others)
            else:
                self._lease_rows.drop(row.id)

    async def release(self, lease: str) -> int:
        """End a lease early; return how many of its pages had not been reported."""
        known = self.leases.get(lease)
        if known is None:
            return 0
        now, pages = self._clock.now(), self.leases.settle(lease, list(known.pages))
        self._lease_rows.end(known, now)
        self._queue.give_back(pages, now)
        return len(pages)

    def _end_leases(self, now: int) -> None:
        for lease in self.leases.end(now):
            LOGGER.info("a lease expired with %d pages", len(lease.pages))
            self.stats.ended_leases += 1
            self._lease_rows.end(lease, now)
            self._queue.give_back(lease.pages, now)

    # Reports

    async def report(self, lease: str, reports: Sequence[Report]) -> list[Answer]:
        """Learn from visits, and return what became of each report once it is written.

        A report that is repeated, or comes late, does no harm: what is known already, or is being
        found out by somebody else, is left alone.
        """
        now = self._clock.now()
        self._end_leases(now)
        known = self.leases.get(lease)
        granted = _granted(lease) if known is None else round(known.granted)
        if granted is None or granted > now:
            return [Answer.UNKNOWN] * len(reports)
        clear = [report for report in reports if is_clear(report)]
        on_lease = self.leases.settle(lease, [report.page for report in clear])
        if known is not None and not known.pages:
            self._lease_rows.drop(lease)
        settled, late = set(on_lease), list[int]()
        self._reporting.update(settled)
        try:
            others = [report.page for report in clear if report.page not in settled]
            first = {report.page: report for report in reversed(clear)}
            visited = self._paced(on_lease, first, granted)
            try:
                answers = await self._late(lease, known, granted, others, late)
                visits = await self._read(visited, late, first, granted)
            except BaseException:
                # They are on no lease any more, and what was found is lost: they are due again,
                # unless they are reported once more.
                if known is not None and not known.pages:
                    self._lease_rows.end(known, now)
                self._queue.let_go(on_lease)
                self._frontier.release([*on_lease, *late], self._clock.now())
                raise
            await self._record(visits)
        finally:
            self._reporting.difference_update(settled, late)
        seen = set[int]()
        found = [
            self._answer(one.page, settled, answers, seen) if is_clear(one) else Answer.UNCLEAR
            for one in reports
        ]
        self.stats.reports.update(found)
        return found

    @staticmethod
    def _answer(page: int, settled: set[int], answers: dict[int, Answer], seen: set[int]) -> Answer:
        is_again = page in seen
        seen.add(page)
        answer = Answer.RECORDED if page in settled else answers[page]
        return Answer.DUPLICATE if is_again and answer is Answer.RECORDED else answer

    async def _late(
        self,
        lease: str,
        known: Lease | None,
        granted: int,
        numbers: Sequence[int],
        late: list[int],
    ) -> dict[int, Answer]:
        """Decide about reports of pages that are not on the lease, or not any more.

        Pages of the lease that nobody has visited since, or is about to, are taken, and added to
        ``late``.
        """
        if not numbers:
            return {}
        leased = self._lease_rows.pages_of(lease) if known is None else known.granted_pages
        visited = await self._store.call(self._tables.visited_since, numbers, granted)
        answers = {}
        for number in dict.fromkeys(numbers):
            is_known = number in self._frontier
            if leased is not None and number not in leased:
                answers[number] = Answer.NOT_LEASED if is_known else Answer.UNKNOWN
            elif number in visited or number in self._reporting:
                answers[number] = Answer.DUPLICATE
            elif number in self._queue:
                answers[number] = Answer.SUPERSEDED
            elif leased is None or not is_known:
                answers[number] = Answer.UNKNOWN
            else:
                answers[number] = Answer.RECORDED
                late.append(number)
        if late:
            self._frontier.hold(late)
            # This was refunded when the lease expired.
            self._frontier.frontier.spend(len(late))
            self._reporting.update(late)
        return answers

    def _paced(
        self, numbers: Sequence[int], reports: Mapping[int, Report], granted: int
    ) -> list[_Visited]:
        """Return the responses that pages of a lease had, and pace their hosts by them."""
        pages = [self._queue[number] for number in numbers]
        visited = []
        for page in pages:
            self._queue.free(page.host)
            visited.append(self._pace(page, reports[page.number], granted))
        return visited

    def _pace(self, page: Page, report: Report, granted: int) -> _Visited:
        host = page.host
        response = response_of(report, page, granted, self._clock.now())
        if report.crawl_delay is not None:
            self._queue.note_delay(host, report.crawl_delay)
        until = self._queue.pace(host, response)
        if until is not None:
            self.stats.closed[host] = until
        return page, report, response

    async def _read(
        self,
        visited: list[_Visited],
        late: Sequence[int],
        reports: Mapping[int, Report],
        granted: int,
    ) -> list[Visit]:
        """Return the visits that reports are about, those that came late included."""
        if late:
            there = await self._store.call(self._store.store.pages, late)
            visited += [
                self._pace(page, reports[number], granted) for number, page in there.items()
            ]
        return [await read_report(self._visitor, *one) for one in visited]

    async def _record(self, visits: Sequence[Visit]) -> None:
        """Write visits together with those of other reports that wait."""
        for visit in visits:
            self._recorder.add(visit)
        async with self._writing:
            if self._recorder:
                await self._record_batch()

    async def _record_batch(self) -> None:
        batch = self._recorder.take_batch()
        # From here on the pages can be taken again.
        self._queue.let_go(visit.page.number for visit in batch)
        try:
            written = await self._recorder.write(batch, Spent(self._clock.now()))
        except StoreError as error:
            self._fail(error)
            raise
        for visit in written:
            self.stats.count(visit)
        self._waking.settle(written)
        if self._settings.neighbours:
            self._frontier.note_activity(written)
        await self._discovery.learn(written)
        self._recorder.release(batch)

    # Hosts

    def delay_of(self, host: str) -> float:
        """Return the seconds between two requests to a host: as set, or as robots.txt asks."""
        return self._queue.delay_of(host)

    def turn(self, host: str) -> AbstractAsyncContextManager[None]:
        """Reserve a host for a request of our own, as if one of its pages were leased."""
        return self._queue.turn(host)

    # From time to time

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Stop soon."""
        self._stopping.set()

    def set_budget(self, budget: float) -> None:
        """Change the requests per day from now on."""
        self._frontier.frontier.set_budget(budget, days(self._clock.now()))
        self._waking.set_budget(budget)
        self.stats.set_budget(budget, self._clock.now())

    async def run(self) -> None:
        """Do periodic work until stopped."""
        await self._memory.publish_settings(self.stats.budget, self._settings)
        upkeep, discovery = Upkeep(self._clock, self._stopping), self._discovery
        between = self._clock.passing(LEASES_EVERY)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(upkeep.every(between, self._keep_leases))
                upkeep.start(group, discovery, self._waking, self._memory, self._count_trouble)
        except* RecrawlError as failed:
            raise failed.exceptions[0] from None
        await self._memory.keep(self._clock.now())
        await self._memory.publish(self._clock.now())
        await self._keep_leases(self._clock.now())
        if self._failed is not None:
            raise self._failed

    async def _keep_leases(self, now: int) -> None:
        """Expire leases, and forget those that ended long ago."""
        self._end_leases(now)
        self.stats.now = now
        self.stats.in_flight = self.leases.out
        self._lease_rows.forget(now)
        await self._lease_rows.write()

    async def _count_trouble(self, _now: int) -> None:
        self.stats.trouble = await self._store.call(self._store.store.trouble)

    def _fail(self, error: BaseException) -> None:
        self._failed = self._failed or error
        self.stop()


def _granted(lease: str) -> int | None:
    """Return when a lease was granted, in microseconds; None if it is not one of ours.

    >>> _granted("ff-0123456789abcdef"), _granted("0xff-0123456789abcdef")
    (255, None)
    """
    found = _LEASE.fullmatch(lease)
    return None if found is None else int(found[1], 16)
