"""Pages between the frontier and their visit: they wait for their hosts, or are out."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import final

from recrawl.clock import Clock
from recrawl.config.settings import Settings
from recrawl.engine.frontier import CrawlFrontier
from recrawl.engine.host_queue import FULL_PAUSE, MAX_QUEUED, MAX_WAIT, HostQueue
from recrawl.engine.leases import LeaseRequest
from recrawl.http.host_pacing import HostPacing
from recrawl.records import RESTING, Page
from recrawl.store.thread import StoreThread

#: How often a request for a lease takes more pages from the frontier if hosts are not free.
MAX_TAKES = 4
#: The share of a lease's time that the delays between the pages of a host may take.
DELAYS_SHARE = 0.5


@final
class PageQueue:
    """Takes pages from the frontier and passes them on when their hosts may be asked.

    A page that was taken is held until its visit is recorded or it is given back: nobody else gets
    it meanwhile. A host whose pages are lent is asked by nobody else, and not before its delay has
    passed since the last of them came back.

    Args:
        frontier: The frontier of the store's pages.
        store: Knows the pages.
        settings: The crawler's settings.
        clock: The clock for delays.
        pacing: Decides when a host may be asked.

    Attributes:
        hosts: The pages that wait for their hosts.
    """

    def __init__(
        self,
        frontier: CrawlFrontier,
        store: StoreThread,
        settings: Settings,
        clock: Clock,
        pacing: HostPacing,
    ) -> None:
        self._frontier = frontier
        self._store = store
        self._clock = clock
        self._pacing = pacing
        self._max_queued = MAX_QUEUED * settings.host_connections
        self.hosts = HostQueue(
            pacing,
            settings.connections,
            settings.host_connections,
            max_wait=clock.passing(MAX_WAIT),
            now=clock.seconds,
        )
        #: Pages that wait for their host, are out, or whose visit is not recorded yet.
        self._held: dict[int, Page] = {}
        #: Pages on their way from the frontier to a queue.
        self._taking: set[int] = set()

    def __contains__(self, number: int) -> bool:
        """Whether a page is held, or about to be."""
        return number in self._held or number in self._taking

    def __getitem__(self, number: int) -> Page:
        """Return a page that is held."""
        return self._held[number]

    async def add(self, taken: Sequence[int], now: int, max_queued: int = 0) -> None:
        """Queue pages that were taken from the frontier.

        Args:
            taken: Their numbers.
            now: When they were taken, in microseconds.
            max_queued: Pages of a host at which its queue is full, if more than usual.
        """
        self._taking.update(taken)
        try:
            # Everything learned so far goes to the store before this, through the same thread.
            pages = await self._store.call(self._store.store.pages, taken)
        except BaseException:
            self._frontier.release(taken, now)
            raise
        finally:
            self._taking.difference_update(taken)
        full = max(self._max_queued, max_queued)
        for number in taken:
            page = pages.get(number)
            if page is None or page.state in RESTING:
                self._frontier.drop(number, now)
                continue
            self._held[number] = page
            self.hosts.add(page)
            if self.hosts.queued(page.host) >= full:
                self._frontier.defer(page.host, now, self._clock.wait(FULL_PAUSE))

    def let_go(self, numbers: Iterable[int]) -> None:
        """Hold pages no longer: they can be taken again."""
        for number in numbers:
            self._held.pop(number, None)

    def drop(self, host: str) -> list[int]:
        """Let go of the pages that wait for a host, and return them."""
        dropped = [page.number for page in self.hosts.drop(host)]
        self.let_go(dropped)
        return dropped

    # Lending

    async def lend(self, request: LeaseRequest, seconds: float) -> list[Page]:
        """Return pages that are due, as many as are wanted and may be visited now.

        Args:
            request: What is wanted.
            seconds: How long they are going to be out at most.
        """
        picked: list[Page] = []
        by_host = Counter[str]()
        try:
            for _ in range(MAX_TAKES):
                self._pick(request, seconds, picked, by_host)
                is_enough = len(picked) >= request.limit
                has_hosts = request.max_hosts is not None and len(by_host) >= request.max_hosts
                if is_enough or has_hosts or not await self._fill(request, len(picked)):
                    break
        except BaseException:
            # Nobody will visit them.
            self.give_back([page.number for page in picked], self._clock.now())
            raise
        return picked

    async def _fill(self, request: LeaseRequest, picked: int) -> bool:
        """Take pages from the frontier, and queue them; return whether there were any."""
        now = self._clock.now()
        taken = self._frontier.take(now, request.limit - picked, request.hosts)
        if taken:
            await self.add(taken, now, request.pages_per_host)
        return bool(taken)

    def _pick(
        self, request: LeaseRequest, seconds: float, picked: list[Page], by_host: Counter[str]
    ) -> None:
        """Move queued pages to a lease, as far as their hosts may be asked now."""
        for host in list(by_host):
            self._pick_more(host, request, seconds, picked, by_host)
        hosts = None if request.hosts is None else iter(dict.fromkeys(request.hosts))
        while len(picked) < request.limit:
            if request.max_hosts is not None and len(by_host) >= request.max_hosts:
                return
            page = self.hosts.next_to_lend() if hosts is None else self._next_of(hosts)
            if page is None:
                return
            self._pick_one(page, picked, by_host)
            self._pick_more(page.host, request, seconds, picked, by_host)

    def _pick_more(
        self,
        host: str,
        request: LeaseRequest,
        seconds: float,
        picked: list[Page],
        by_host: Counter[str],
    ) -> None:
        """Pick as many pages of a host as whoever has the lease can visit in its time."""
        delay, most = self._pacing.delay_of(host), request.pages_per_host
        if delay > 0.0:
            most = int(min(most, max(DELAYS_SHARE * seconds / delay, 1.0)))
        while by_host[host] < most and len(picked) < request.limit:
            page = self.hosts.more_of(host)
            if page is None:
                return
            self._pick_one(page, picked, by_host)

    def _pick_one(self, page: Page, picked: list[Page], by_host: Counter[str]) -> None:
        if page.number in self._frontier:
            by_host[page.host] += 1
            picked.append(page)
            self._pacing.lend(page.host)
        else:
            # It was removed while it was waiting.
            self._held.pop(page.number, None)
            self._frontier.release([page.number], self._clock.now())
            self.hosts.done(page.host)

    def _next_of(self, hosts: Iterable[str]) -> Page | None:
        found = (self.hosts.next_of(host) for host in hosts)
        return next((page for page in found if page is not None), None)

    def lend_again(self, host: str) -> None:
        """Note that whoever has pages of a host follows a redirect to it, as if it were another."""
        self._pacing.start_visit(host)
        self._pacing.lend(host)

    def hold(self, numbers: Sequence[int]) -> list[int]:
        """Hold pages that are out already; return those that are there."""
        for page in self._store.store.pages(numbers).values():
            self._held[page.number] = page
            self._pacing.start_visit(page.host)
            self._pacing.lend(page.host)
        there = [number for number in numbers if number in self._held]
        self._frontier.hold(there)
        return there

    def give_back(self, pages: Collection[int], now: int) -> None:
        """Release pages that were lent and not reported; somebody may have asked their hosts."""
        for number in pages:
            page = self._held.pop(number, None)
            if page is not None:
                self.hosts.back(page.host)
        self._frontier.release(pages, now)
