"""Leases: which pages are out to be visited, and until when. Pure: time is an argument."""

import heapq
from array import array
from collections import OrderedDict
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
    #: The page was never on this lease.
    NOT_LEASED = "not_leased"
    #: There is no such page, or no such lease, or it ended too long ago.
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
        done: Those that have been.
        key: The key that the client gave its request for it, if any.
    """

    id: str
    granted: float
    deadline: float
    pages: set[int] = field(default_factory=set)
    done: set[int] = field(default_factory=set)
    key: str | None = None

    @property
    def granted_pages(self) -> set[int]:
        """All pages that were granted."""
        return self.pages | self.done


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
        done: Iterable[int] = (),
    ) -> Lease:
        """Note that pages are out on a new lease, of which others may have been reported.

        Raises:
            ArgumentError: There is such a lease, or a page is out already.
        """
        granted = Lease(lease, now, deadline, set(pages), set(done), key)
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
        known.done.update(settled)
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


@final
class EndedLeases:
    """Which pages were on leases that ended before all of them were reported.

    Reports may come late, and count only for pages that were on the lease.

    Args:
        keep_for: How long after its end a lease is remembered.
        max_pages: How many pages are remembered; the lease that ended first is forgotten first.

    >>> ended = EndedLeases(keep_for=10.0, max_pages=3)
    >>> ended.add("a", [1, 2], now=0.0), ended.add("b", [3], now=5.0)
    (None, None)
    >>> 2 in ended.pages_of("a"), 3 in ended.pages_of("a"), ended.pages_of("c")
    (True, False, None)
    >>> ended.forget(now=9.0), ended.forget(now=10.0), ended.pages_of("a")
    ([], ['a'], None)
    """

    def __init__(self, keep_for: float, max_pages: int) -> None:
        self._keep_for = keep_for
        self._max_pages = max_pages
        self._remembered = 0
        #: By id: when it ended, and its pages. They are many, and rarely looked for.
        self._leases: OrderedDict[str, tuple[float, array[int]]] = OrderedDict()

    def add(self, lease: str, pages: Collection[int], now: float) -> None:
        """Remember the pages of a lease that ended."""
        self._remembered += len(pages)
        self._leases[lease] = now, array("q", pages)

    def pages_of(self, lease: str) -> Collection[int] | None:
        """Return the pages of a lease; None if it is not remembered."""
        known = self._leases.get(lease)
        return None if known is None else set(known[1])

    def forget(self, now: float) -> list[str]:
        """Forget what ended too long ago, or is too much; return the ids of these leases."""
        forgotten = []
        while self._leases:
            lease, (ended, pages) = next(iter(self._leases.items()))
            if now - ended < self._keep_for and self._remembered <= self._max_pages:
                break
            del self._leases[lease]
            self._remembered -= len(pages)
            forgotten.append(lease)
        return forgotten
