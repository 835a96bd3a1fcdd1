"""Leases: which pages are out to be visited, and until when. Pure: time is an argument."""

import heapq
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import final

from recrawl.errors import ArgumentError
from recrawl.records import Page


class Answer(StrEnum):
    """The result of a report."""

    #: It is written, and learned from.
    RECORDED = "recorded"
    #: It had been before.
    DUPLICATE = "duplicate"
    #: It is too late: the lease has ended, and the page is with somebody else.
    SUPERSEDED = "superseded"
    #: There is no such page, or no such lease.
    UNKNOWN = "unknown"
    #: The page was found, and neither body nor digest nor anything else says whether it changed.
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Leased:
    """Pages for a crawler to visit.

    Attributes:
        id: The lease's id.
        deadline: When it ends, in microseconds.
        pages: The pages.
        delays: Seconds between two requests, for the host of each page.
    """

    id: str
    deadline: int
    pages: list[Page]
    delays: list[float]


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    """What a crawler asks for.

    Attributes:
        limit: How many pages at most.
        max_hosts: Of how many hosts at most; None for any number.
        pages_per_host: How many of one host at most.
        hosts: Only of these hosts; None for any.
        seconds: For how long; None for the usual time, infinity for as long as the lessee, a
            process of ours, lives.
        key: The same for a request that is repeated because it was not answered.
    """

    limit: int = 100
    max_hosts: int | None = None
    pages_per_host: int = 1
    hosts: Collection[str] | None = None
    seconds: float | None = None
    key: str | None = None


@dataclass(slots=True)
class Lease:
    """Pages that are out to be visited.

    Attributes:
        id: Its id.
        granted: When it was granted.
        deadline: When it ends.
        pages: The pages that have been neither reported nor released yet.
        done: How many of its pages have been.
        key: The key that the client gave its request for it, if any.
    """

    id: str
    granted: float
    deadline: float
    pages: set[int] = field(default_factory=set)
    done: int = 0
    key: str | None = None


@final
class Leases:
    """Which pages are out, and on which lease; a page is on one lease at most.

    A lease whose deadline has passed ends: its pages must be released, as if they had never been
    taken.

    >>> leases = Leases()
    >>> leases.grant("a", [1, 2], now=0.0, deadline=5.0).pages
    {1, 2}
    >>> leases.settle("a", [1, 3]), leases.settle("a", [1])
    ([1], [])
    >>> [(lease.id, sorted(lease.pages)) for lease in leases.end(now=5.0)]
    [('a', [2])]
    >>> leases.settle("a", [2]), len(leases)
    ([], 0)
    """

    def __init__(self) -> None:
        self._leases: dict[str, Lease] = {}
        self._lease_of: dict[int, Lease] = {}
        self._by_key: dict[str, Lease] = {}
        self._deadlines: list[tuple[float, str]] = []

    def __len__(self) -> int:
        """How many leases have pages that are out."""
        return len(self._leases)

    def __iter__(self) -> Iterator[Lease]:
        return iter(self._leases.values())

    def __contains__(self, page: object) -> bool:
        """Whether a page is out."""
        return page in self._lease_of

    @property
    def out(self) -> int:
        """How many pages are out."""
        return len(self._lease_of)

    def get(self, lease: str) -> Lease | None:
        """Return a lease that has not ended, or None."""
        return self._leases.get(lease)

    def requested(self, key: str) -> Lease | None:
        """Return the lease that was requested with a key, if it has not ended."""
        return self._by_key.get(key)

    def grant(
        self,
        lease: str,
        pages: Iterable[int],
        now: float,
        deadline: float,
        key: str | None = None,
    ) -> Lease:
        """Note that pages are out on a new lease.

        Raises:
            ArgumentError: There is such a lease, or a page is out already.
        """
        granted = Lease(lease, now, deadline, set(pages), key=key)
        if lease in self._leases:
            raise ArgumentError(f"lease: {lease} is there already")
        if not granted.pages.isdisjoint(self._lease_of):
            raise ArgumentError("pages: some of them are out already")
        if not granted.pages:
            return granted
        self._leases[lease] = granted
        self._lease_of.update(dict.fromkeys(granted.pages, granted))
        if key is not None:
            self._by_key[key] = granted
        heapq.heappush(self._deadlines, (deadline, lease))
        return granted

    def settle(self, lease: str, pages: Iterable[int]) -> list[int]:
        """Note that pages are no longer out; return those that were out on this lease."""
        known = self._leases.get(lease)
        if known is None:
            return []
        settled = [page for page in dict.fromkeys(pages) if page in known.pages]
        known.pages.difference_update(settled)
        known.done += len(settled)
        for page in settled:
            del self._lease_of[page]
        if not known.pages:
            self._forget(known)
        return settled

    def end(self, now: float) -> list[Lease]:
        """Return the leases whose deadline has passed, with the pages that were still out."""
        ended = []
        while self._deadlines and self._deadlines[0][0] <= now:
            _, name = heapq.heappop(self._deadlines)
            known = self._leases.get(name)
            if known is not None:
                for page in known.pages:
                    del self._lease_of[page]
                self._forget(known)
                ended.append(known)
        return ended

    def _forget(self, lease: Lease) -> None:
        del self._leases[lease.id]
        if lease.key is not None and self._by_key.get(lease.key) is lease:
            del self._by_key[lease.key]
