"""Pages on their way from the frontier to a lease, waiting for their hosts."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import final

from recrawl.clock import Clock
from recrawl.crawler.host_queues import HostQueues
from recrawl.crawler.load import CrawlFrontier
from recrawl.crawler.settings import Settings
from recrawl.crawler.store_thread import StoreThread
from recrawl.http.host_pacing import HostPacing
from recrawl.records import RESTING, Page, Response
from recrawl.service.crawl_delays import CrawlDelays
from recrawl.service.leasing import Wish

#: How often a request for a lease takes more pages from the frontier if hosts are not free.
MAX_TAKES = 4
#: Pages of one host that wait for it, and of one that has no delay.
MAX_QUEUED, MAX_QUEUED_AT_ONCE = 4, 1_024
#: Seconds for which a host is passed over as many of whose pages wait as may.
FULL_PAUSE = 5.0
#: The share of a lease's time that the delays between the pages of a host may take.
DELAYS_SHARE = 0.5
#: Real seconds between two looks whether a host is free for a request of our own.
TURN_EVERY = 0.1


@final
class PageQueue:
    """Takes pages from the frontier and passes them on when their hosts may be visited.

    A page that was taken is held until it is reported or given back. A host of which pages are out
    is not free before all of them have come back, and its delay has passed since.

    Args:
        frontier: The frontier of the store's pages.
        store: Knows the pages, and keeps the delays that hosts ask for.
        settings: The crawler's settings.
        clock: What delays go by.
        asked_at: When hosts that nothing is known about may last have been asked.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        store: StoreThread,
        settings: Settings,
        clock: Clock,
        asked_at: float,
    ) -> None:
        self._frontier = frontier
        self._store = store
        self._settings = settings
        self._clock = clock
        self._crawl_delays = CrawlDelays(store)
        self._pacing = HostPacing(self._usual_delay, connections=2**31, asked_at=asked_at)
        # A page waits for its host here however long that takes.
        self._queues = HostQueues(self._pacing, max_wait=math.inf, now=clock.seconds)
        #: Pages that wait for their host, are out, or are being reported.
        self._held: dict[int, Page] = {}
        #: Pages on their way from the frontier to a queue.
        self._taking: set[int] = set()

    # Pages

    def __contains__(self, number: int) -> bool:
        """Whether a page is held, or about to be."""
        return number in self._held or number in self._taking

    def __getitem__(self, number: int) -> Page:
        """Return a page that is held."""
        return self._held[number]

    async def take(self, wish: Wish, seconds: float) -> list[Page]:
        """Return pages that are due, as many as are wanted and may be visited now.

        Args:
            wish: What is wanted.
            seconds: How long they are going to be out at most.
        """
        picked: list[Page] = []
        by_host = Counter[str]()
        try:
            for _ in range(MAX_TAKES):
                self._pick(wish, seconds, picked, by_host)
                is_enough = len(picked) >= wish.limit
                has_hosts = wish.max_hosts is not None and len(by_host) >= wish.max_hosts
                if is_enough or has_hosts or not await self._fill(wish, len(picked)):
                    break
        except BaseException:
            # Nobody will visit them.
            self.give_back([page.number for page in picked], self._clock.now())
            raise
        return picked

    def hold(self, numbers: Sequence[int]) -> list[int]:
        """Hold pages that are out already; return those that are there."""
        for page in self._store.store.pages(numbers).values():
            self._held[page.number] = page
            self._pacing.start_visit(page.host)
        there = [number for number in numbers if number in self._held]
        if there:
            self._frontier.frontier.hold(there)
        return there

    async def _fill(self, wish: Wish, picked: int) -> bool:
        """Take pages from the frontier, and queue them; return whether there were any."""
        now = self._clock.now()
        taken = self._frontier.take(now, wish.limit - picked, wish.hosts)
        if not taken:
            return False
        self._taking.update(taken)
        try:
            # Whatever was learned is on its way to the store before this, by the same thread.
            pages = await self._store.call(self._store.store.pages, taken)
        except BaseException:
            self._frontier.release(taken, now)
            raise
        finally:
            self._taking.difference_update(taken)
        full: list[int] = []
        for number in taken:
            page = pages.get(number)
            if page is None or page.state in RESTING:
                self._frontier.remove([number])
            elif self._queues.queued(page.host) >= self._max_queued(page.host):
                full.append(number)
                self._frontier.defer(page.host, now, self._clock.wait(FULL_PAUSE))
            else:
                self._held[number] = page
                self._queues.add(page)
        self._frontier.release(full, now)
        return len(taken) > len(full)

    def _max_queued(self, host: str) -> int:
        return MAX_QUEUED if self._pacing.delay_of(host) > 0.0 else MAX_QUEUED_AT_ONCE

    def _pick(self, wish: Wish, seconds: float, picked: list[Page], by_host: Counter[str]) -> None:
        """Move queued pages to a lease, as far as their hosts may be visited now."""
        for host in list(by_host):
            self._pick_more(host, wish, seconds, picked, by_host)
        hosts = None if wish.hosts is None else iter(dict.fromkeys(wish.hosts))
        while len(picked) < wish.limit:
            if wish.max_hosts is not None and len(by_host) >= wish.max_hosts:
                return
            page = self._queues.next() if hosts is None else self._next_of(hosts)
            if page is None:
                return
            self._pick_one(page, picked, by_host)
            self._pick_more(page.host, wish, seconds, picked, by_host)

    def _pick_more(
        self, host: str, wish: Wish, seconds: float, picked: list[Page], by_host: Counter[str]
    ) -> None:
        """Pick as many pages of a host as whoever has the lease can visit in its time."""
        delay, most = self._pacing.delay_of(host), wish.pages_per_host
        if delay > 0.0:
            most = min(most, max(int(DELAYS_SHARE * seconds / delay), 1))
        while by_host[host] < most and len(picked) < wish.limit:
            page = self._queues.more_of(host)
            if page is None:
                return
            self._pick_one(page, picked, by_host)

    def _pick_one(self, page: Page, picked: list[Page], by_host: Counter[str]) -> None:
        if page.number in self._frontier:
            by_host[page.host] += 1
            picked.append(page)
        else:
            # It was removed while it was waiting.
            self._held.pop(page.number, None)
            self._queues.done(page.host)

    def _next_of(self, hosts: Iterable[str]) -> Page | None:
        found = (self._queues.next_of(host) for host in hosts)
        return next((page for page in found if page is not None), None)

    def let_go(self, numbers: Iterable[int]) -> None:
        """Hold pages no longer: they can be taken again."""
        for number in numbers:
            self._held.pop(number, None)

    def give_back(self, pages: Collection[int], now: int) -> None:
        """Release pages that were leased and not reported; somebody may have asked their hosts."""
        for number in pages:
            page = self._held.pop(number, None)
            if page is not None:
                self.free(page.host)
        self._frontier.release(pages, now)

    # Hosts

    def free(self, host: str) -> None:
        """Note that one of a host's pages is not on a lease any more: its delay begins."""
        self._pacing.start_request(host)
        self._pacing.end_request(host, self._clock.seconds())
        self._queues.done(host)

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        """Reserve a host for a request of our own, as if one of its pages were leased."""
        pacing, clock = self._pacing, self._clock
        while not (pacing.has_free_visit(host) and pacing.opens_at(host) <= clock.seconds()):  # noqa: ASYNC110
            # Nothing happens when a delay has passed.
            await asyncio.sleep(TURN_EVERY)
        self._pacing.start_visit(host)
        try:
            yield
        finally:
            self.free(host)

    def delay_of(self, host: str) -> float:
        """Return the seconds between two requests to a host: as set, or as robots.txt asks."""
        return self._pacing.delay_of(host)

    def _usual_delay(self, host: str) -> float:
        return max(self._settings.delay_of(host), self._crawl_delays.of(host))

    def note_delay(self, host: str, delay: float) -> None:
        """Note the delay that a host's robots.txt asks for."""
        if self._crawl_delays.note(host, min(delay, self._settings.max_crawl_delay)):
            self._pacing.set_delay(host, self._crawl_delays.of(host))

    def pace(self, host: str, response: Response) -> int | None:
        """Learn from a response how fast, and when, its host may be visited.

        Returns:
            Until when it is left alone, in microseconds; None if it is not.
        """
        seconds = self._pacing.backoff(host, response)
        self._frontier.limit_host(host, self.delay_of(host))
        self._queues.release()
        if seconds <= 0.0:
            return None
        until = self._frontier.close(host, response, seconds)
        dropped = [waiting.number for waiting in self._queues.drop(host)]
        self.let_go(dropped)
        self._frontier.release(dropped, response.at)
        self._pacing.close_host(host, response.status, seconds, self._clock.seconds())
        return until
