"""Pages on their way to be fetched, a lane a host, so that no host holds up another."""

from collections import deque
from typing import final

from recrawl.records import Page


@final
class HostQueues:
    """Pages that wait for a free connection of their host; hosts take turns.

    Hosts that did not response when they were asked last are suspected of not answering this time,
    and have only some of the connections among them.

    Args:
        host_connections: How many pages of a host may be under way at once. A host that hangs
            keeps so many connections and no more.
        max_suspects: How many pages of all suspected hosts may be under way at once.

    >>> lanes = HostQueues(host_connections=1)
    >>> for number, host in enumerate(["slow", "slow", "quick"]):
    ...     lanes.add(Page(number, f"https://{host}/{number}", host))
    >>> [page.number for page in iter(lanes.next, None)]
    [0, 2]
    >>> lanes.done("slow")
    >>> lanes.next().number
    1
    """

    def __init__(self, host_connections: int, max_suspects: int = 1) -> None:
        self._host_connections = host_connections
        self._max_suspects = max_suspects
        self._waiting: dict[str, deque[Page]] = {}
        self._under_way: dict[str, int] = {}
        #: Hosts that have a page waiting and a connection free, in order of their turns.
        self._ready: deque[str] = deque()
        #: Hosts that would be ready if they were not suspected.
        self._held_back: deque[str] = deque()
        self._suspects: set[str] = set()
        #: Pages of suspected hosts that are under way.
        self._suspected = 0
        self.waiting = 0

    def add(self, page: Page) -> None:
        """Let a page wait for its host."""
        lane = self._waiting.setdefault(page.host, deque())
        lane.append(page)
        self.waiting += 1
        if len(lane) == 1 and self._has_room(page.host):
            self._ready.append(page.host)

    def next(self) -> Page | None:
        """Give the next page that may be fetched, which is under way from now on."""
        while self._ready:
            host = self._ready.popleft()
            if host not in self._suspects or self._suspected < self._max_suspects:
                return self._take(host)
            self._held_back.append(host)
        return None

    def _take(self, host: str) -> Page:
        lane = self._waiting[host]
        page = lane.popleft()
        self.waiting -= 1
        self._under_way[host] = self._under_way.get(host, 0) + 1
        self._suspected += host in self._suspects
        if not lane:
            del self._waiting[host]
        elif self._has_room(host):
            self._ready.append(host)
        return page

    def done(self, host: str) -> None:
        """Say that one of the host's pages is not under way any more."""
        had_room = self._has_room(host)
        self._under_way[host] -= 1
        self._suspected -= host in self._suspects
        if not self._under_way[host]:
            del self._under_way[host]
        self._let_on()
        if not had_room and host in self._waiting:
            self._ready.append(host)

    def suspect(self, host: str, *, is_suspect: bool) -> None:
        """Say whether a host is one that does not response, or that it is not any more."""
        if is_suspect != (host in self._suspects):
            under_way = self._under_way.get(host, 0)
            self._suspected += under_way if is_suspect else -under_way
            (self._suspects.add if is_suspect else self._suspects.remove)(host)
            if host in self._held_back:
                self._held_back.remove(host)
                self._ready.append(host)
            self._let_on()

    def drop(self, host: str) -> list[Page]:
        """Give back the pages that wait for a host, which does not want to be asked now."""
        lane = self._waiting.pop(host, None)
        if lane is None:
            return []
        for hosts in (self._ready, self._held_back):
            if host in hosts:
                hosts.remove(host)
        self.waiting -= len(lane)
        return list(lane)

    def queued(self, host: str) -> int:
        """How many pages of a host wait."""
        return len(self._waiting.get(host, ()))

    def _let_on(self) -> None:
        """Let as many suspected hosts be ready as there is room for."""
        for _ in range(min(self._max_suspects - self._suspected, len(self._held_back))):
            self._ready.append(self._held_back.popleft())

    def _has_room(self, host: str) -> bool:
        return self._under_way.get(host, 0) < self._host_connections
