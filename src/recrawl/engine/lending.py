"""Lend pages to other crawlers, and learn from what they report."""

import asyncio
import logging
import math
import re
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias, final

from recrawl.clock import Clock
from recrawl.config.settings import Settings
from recrawl.engine.crawl_delays import CrawlDelays
from recrawl.engine.engine import Engine
from recrawl.engine.lease_rows import LeaseRows
from recrawl.engine.leases import Answer, Lease, Leased, LeaseRequest, Leases
from recrawl.engine.reports import Reading, Report, is_clear, read_report, response_of
from recrawl.records import Page, Response, Visit
from recrawl.store.access import LeaseRow, ServiceTables
from recrawl.store.thread import StoreThread

LOGGER = logging.getLogger("recrawl.crawler")

#: Real seconds between two checks for expired leases.
LEASES_EVERY = 1.0
#: The deadline of a lease that has none, in microseconds.
NO_DEADLINE = 2**62

#: A page, and the response that it had by somebody's report.
_Visited: TypeAlias = tuple[Page, Report, Response]
#: The id of a lease: when it was granted, and what nobody can guess.
_LEASE = re.compile(r"([0-9a-f]{1,16})-[0-9a-f]{16}")


@final
class Lending:
    """Lends an engine's pages to other crawlers and to processes of our own.

    - A page is on one lease at most. A lease that ends is released: its pages are not failed,
      nothing is learned, and the budget is returned.
    - A host whose pages are on a lease is on no other, and not before its delay has passed since
      the last report: whoever has the lease keeps the delay between its pages.
    - Leases are in the store before they are granted, and reports before they are answered. Those
      of our own processes, which end with this one, are in memory only.

    Args:
        engine: Whose pages are lent.
        store: Where everything is recorded.
        tables: Where leases are kept; used by the store's thread.
        visitor: Reads the bodies that are reported.
        settings: The crawler's settings.
        clock: The clock for leases.
        crawl_delays: The delays that hosts ask for, as crawlers reported them.

    Attributes:
        leases: The leases that have not ended.
    """

    def __init__(
        self,
        engine: Engine,
        store: StoreThread,
        tables: ServiceTables,
        visitor: Reading,
        settings: Settings,
        clock: Clock,
        crawl_delays: CrawlDelays,
    ) -> None:
        self._engine = engine
        self._queue = engine.queue
        self._frontier = engine.frontier
        self._store = store
        self._tables = tables
        self._visitor = visitor
        self._settings = settings
        self._clock = clock
        self._crawl_delays = crawl_delays
        self._keyed = asyncio.Lock()
        self._reporting: set[int] = set()
        self._lease_rows = LeaseRows(store, tables)
        self.leases = Leases()
        engine.lent = self._lent

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Expire leases while the block, in which the engine runs, does."""
        between = self._clock.passing(LEASES_EVERY)
        task = asyncio.create_task(self._engine.upkeep.every(between, self.upkeep))
        task.add_done_callback(self._note_failure)
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
            await self.upkeep(self._clock.now())

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._engine.fail(error)

    def _lent(self) -> int:
        """Return how many pages are with crawlers that are not processes of our own."""
        return sum(len(one.pages) for one in self.leases if one.deadline < NO_DEADLINE)

    # Leases

    async def lease(self, request: LeaseRequest) -> Leased:
        """Lease pages that are due, as many as are wanted and may be visited now.

        A request that is repeated with its key, even while the first is being granted, gets the
        same lease.
        """
        if request.key is None:
            return await self._lease(request)
        async with self._keyed:
            self._end_leases(self._clock.now())
            known = self.leases.requested(request.key)
            if known is not None:
                return self._leased(known, sorted(known.pages))
            return await self._lease(request)

    async def _lease(self, request: LeaseRequest) -> Leased:
        self._end_leases(self._clock.now())
        seconds = self._settings.lease_time if request.seconds is None else request.seconds
        is_own = math.isinf(seconds)
        lent = [] if self._engine.is_full else await self._queue.lend(request, seconds)
        now = self._clock.now()
        deadline = NO_DEADLINE if is_own else now + round(seconds * 1e6)
        numbers = [page.number for page in lent]
        name = f"{now:x}-{secrets.token_hex(8)}"
        lease = self.leases.grant(name, numbers, now, deadline, request.key)
        if numbers and not is_own:
            self._lease_rows.add(LeaseRow(name, request.key, now, deadline, tuple(numbers)))
            await self._lease_rows.write()
        return self._leased(lease, numbers)

    def _leased(self, lease: Lease, numbers: Sequence[int]) -> Leased:
        pages = [self._queue[number] for number in numbers]
        delays = [self._engine.pacing.delay_of(page.host) for page in pages]
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

    def release(self, lease: str) -> int:
        """End a lease early; return how many of its pages had not been reported."""
        known = self.leases.get(lease)
        if known is None:
            return 0
        now, pages = self._clock.now(), self.leases.settle(lease, list(known.pages))
        if known.deadline < NO_DEADLINE:
            self._lease_rows.end(known, now)
        self._queue.give_back(pages, now)
        return len(pages)

    def _end_leases(self, now: int) -> None:
        for lease in self.leases.end(now):
            LOGGER.info("a lease expired with %d pages", len(lease.pages))
            self._engine.stats.ended_leases += 1
            self._lease_rows.end(lease, now)
            self._queue.give_back(lease.pages, now)

    async def upkeep(self, now: int) -> None:
        """Expire leases, and forget those that ended long ago."""
        self._end_leases(now)
        self._lease_rows.forget(now)
        await self._lease_rows.write()

    # Reports

    def returned(self, lease: str, visit: Visit, delay: float) -> None:
        """Take a visit that a process of our own made to a page that it has leased.

        Args:
            lease: The lease.
            visit: The visit.
            delay: Seconds between two requests that the page's host asks for.
        """
        number, host = visit.page.number, visit.page.host
        if not self.leases.settle(lease, [number]):
            LOGGER.warning("a visit to %s is ignored: it is on no lease", visit.page.url)
            return
        self._queue.hosts.back(host)
        self._engine.pacing.set_delay(host, delay)
        self._engine.note(visit)

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
            await self._engine.record(visits)
        finally:
            self._reporting.difference_update(settled, late)
        seen = set[int]()
        found = [
            self._answer(one.page, settled, answers, seen) if is_clear(one) else Answer.UNCLEAR
            for one in reports
        ]
        self._engine.stats.reports.update(found)
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
        visited = []
        for page in [self._queue[number] for number in numbers]:
            self._queue.hosts.back(page.host)
            visited.append(self._pace(page, reports[page.number], granted))
        return visited

    def _pace(self, page: Page, report: Report, granted: int) -> _Visited:
        host, pacing = page.host, self._engine.pacing
        response = response_of(report, page, granted, self._clock.now())
        if report.crawl_delay is not None:
            delay = min(report.crawl_delay, self._settings.max_crawl_delay)
            if self._crawl_delays.note(host, delay):
                pacing.set_delay(host, delay)
        self._engine.pace(host, response)
        # No gate of ours has seen the response.
        pacing.close_host(host, response.status, response.retry_after, self._clock.seconds())
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


def _granted(lease: str) -> int | None:
    """Return when a lease was granted, in microseconds; None if it is not one of ours.

    >>> _granted("ff-0123456789abcdef"), _granted("0xff-0123456789abcdef")
    (255, None)
    """
    found = _LEASE.fullmatch(lease)
    return None if found is None else int(found[1], 16)
