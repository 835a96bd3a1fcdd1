"""Pages that wait for their hosts: one queue per host, so that no host holds up another."""

import heapq
import math
import time
from collections import deque
from collections.abc import Callable
from typing import final

from recrawl.http.host_pacing import HostPacing
from recrawl.records import Page

#: Queued pages per connection.
QUEUED_PER_CONNECTION = 8
#: Queued pages of one host, per connection to it, at which its queue is full. It is more than the
#: queues are filled to in total; otherwise a crawl of a single host would pause.
MAX_QUEUED = 16
#: Seconds for which the frontier skips a host whose queue is full.
FULL_PAUSE = 1.0
#: Seconds until a host that a worker of this process is asking is looked at again, to be lent.
BUSY_PAUSE = 0.1
#: Seconds that a page waits in its queue for its host's delay; if it takes longer, the visit is
#: postponed and the page goes back to the frontier.
MAX_WAIT = 5.0


@final
class HostQueue:
    """Pages that wait for their hosts, which take turns.

    Args:
        pacing: Decides how many pages of a host, and of suspects, may be in flight.
        connections: Pages in flight, over all hosts.
        host_connections: Pages in flight per host. A host that hangs keeps that many connections
            and no more.
        max_wait: Seconds that a page waits here for its host's delay to pass, before a worker in
            this process gets it all the same, and postpones it.
        now: Returns the monotonic time, in seconds.

    Attributes:
        waiting: How many pages are queued.

    >>> queue = HostQueue(HostPacing())
    >>> for number, host in enumerate(["slow", "slow", "quick"]):
    ...     queue.add(Page(number, f"https://{host}/{number}", host))
    >>> [page.number for page in iter(queue.next, None)]
    [0, 2]
    >>> queue.done("slow")
    >>> queue.next().number
    1
    """

    def __init__(
        self,
        pacing: HostPacing,
        connections: int = 1,
        host_connections: int = 1,
        *,
        max_wait: float = MAX_WAIT,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pacing = pacing
        self._max_waiting = QUEUED_PER_CONNECTION * connections
        self._max_queued = MAX_QUEUED * host_connections
        self._connections = connections
        self._queues: dict[str, deque[Page]] = {}
        #: Hosts that have a queued page and may have another visit, in order of their turns.
        self._ready: deque[str] = deque()
        #: Suspects that would be ready if suspects had a connection free.
        self._held_back: deque[str] = deque()
        #: Hosts that would be ready if their delay had passed, and when that is; the heap may also
        #: hold stale entries.
        self._opening: list[tuple[float, str]] = []
        self._closed: set[str] = set()
        self._max_wait = max_wait
        self._now = now
        self.waiting = 0

    @property
    def wants_more(self) -> bool:
        """Whether so few pages are queued that more should be added."""
        return 2 * self.waiting <= self._max_waiting

    def wanted(self, in_flight: int) -> int:
        """Return how many pages to add; many at a time, as that is faster."""
        refill = self._max_waiting - self.waiting if self.wants_more else 0
        # All queued pages may be of hosts that hang: free connections need others.
        return max(refill, self._connections - in_flight)

    def is_full(self, host: str) -> bool:
        """Whether the queue of a host is full."""
        return len(self._queues.get(host, ())) >= self._max_queued

    def queued(self, host: str) -> int:
        """Return how many pages of a host are queued."""
        return len(self._queues.get(host, ()))

    def add(self, page: Page) -> None:
        """Queue a page."""
        self._queue(page.host).append(page)
        self._added(page.host)

    def add_first(self, page: Page) -> None:
        """Put a page that was in flight at the head of its host's queue."""
        self._queue(page.host).appendleft(page)
        self._added(page.host)

    def _queue(self, host: str) -> deque[Page]:
        return self._queues.setdefault(host, deque())

    def _added(self, host: str) -> None:
        self.waiting += 1
        if len(self._queues[host]) == 1 and self._pacing.has_free_visit(host):
            self._ready.append(host)

    @property
    def opens_at(self) -> float:
        """When the first delay that a queued page waits for ends; infinity for none."""
        return self._opening[0][0] if self._opening else math.inf

    def next(self) -> Page | None:
        """Return the next page to visit in this process; it is in flight from now on."""
        return self._next(self._now() + self._max_wait, to_lend=False)

    def next_to_lend(self) -> Page | None:
        """Return the next page to lend to another process; it is in flight from now on."""
        return self._next(math.inf, to_lend=True)

    def _next(self, longest: float, *, to_lend: bool) -> Page | None:
        now = self._now()
        while self._opening and self._opening[0][0] <= now:
            host = heapq.heappop(self._opening)[1]
            if host in self._closed:
                self._closed.discard(host)
                self._ready.append(host)
        while self._ready:
            host = self._ready.popleft()
            if host not in self._queues or not self._pacing.has_free_visit(host):
                # A stale entry: the host's pages were dropped, and any it has now came later.
                continue
            opens_at = self._pacing.opens_at(host)
            if self._pacing.is_held_back(host):
                self._held_back.append(host)
            elif now < opens_at <= longest:
                self._close(host, opens_at)
            elif to_lend and not self._pacing.may_lend(host, now):
                # A worker in this process is asking it.
                self._close(host, now + BUSY_PAUSE)
            else:
                return self._take(host)
        return None

    def _close(self, host: str, until: float) -> None:
        """Pass over a host until some time."""
        self._closed.add(host)
        heapq.heappush(self._opening, (until, host))

    def next_of(self, host: str) -> Page | None:
        """Return the next page of a host to lend, if it may be; it is in flight from now on."""
        pacing = self._pacing
        if host not in self._queues or pacing.is_held_back(host):
            return None
        may_lend = pacing.has_free_visit(host) and pacing.may_lend(host, self._now())
        return self._take(host) if may_lend else None

    def more_of(self, host: str) -> Page | None:
        """Return another page of a host, for the lease that has the one that `next` returned."""
        return self._take(host) if host in self._queues else None

    def _take(self, host: str) -> Page:
        queue = self._queues[host]
        page = queue.popleft()
        self.waiting -= 1
        self._pacing.start_visit(host)
        if not queue:
            del self._queues[host]
        elif self._pacing.has_free_visit(host):
            self._ready.append(host)
        return page

    def done(self, host: str) -> None:
        """Note that one of a host's pages is no longer in flight."""
        was_ready = self._pacing.has_free_visit(host)
        self._pacing.end_visit(host)
        self.release()
        if not was_ready and host in self._queues:
            self._ready.append(host)

    def back(self, host: str) -> None:
        """Note that one of a host's pages is no longer lent: its delay begins."""
        self._pacing.take_back(host, self._now())
        self._pacing.end_visit(host)
        self.release()
        if host in self._queues and self._pacing.has_free_visit(host):
            self._ready.append(host)

    def release(self) -> None:
        """Make hosts ready that no longer need to be held back."""
        for _ in range(len(self._held_back)):
            host = self._held_back.popleft()
            waits = self._pacing.is_held_back(host)
            (self._held_back if waits else self._ready).append(host)

    def drop(self, host: str) -> list[Page]:
        """Remove and return the queued pages of a host."""
        queue = self._queues.pop(host, None)
        if queue is None:
            return []
        # It stays in line, as searching thousands of hosts takes long; `next` skips it.
        self._closed.discard(host)
        self.waiting -= len(queue)
        return list(queue)
