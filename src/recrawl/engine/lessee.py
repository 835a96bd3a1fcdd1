"""What an engine asks of a lessee of our own, and what it tells it."""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, Protocol

from recrawl.records import Visit


class Events(NamedTuple):
    """Callbacks from a worker to whoever lends it pages.

    Attributes:
        found: Called with each visit; returns the numbers of pages that were queued and are not
            any more, as their host is left alone.
        wake: Called when there may be something to do: pages to add, visits to start.
        is_full: Whether so much is unwritten that nothing should be visited.
    """

    found: Callable[[Visit], Collection[int]]
    wake: Callable[[], object]
    is_full: Callable[[], bool]


class Lessee(Protocol):
    """What visits the pages of an engine: a `Worker` in its process, or several in others."""

    @property
    def in_flight(self) -> int:
        """How many visits are in flight."""

    @property
    def opens_at(self) -> float:
        """When the next host with a queued page may be visited, by the crawl's clock."""

    @property
    def failed(self) -> BaseException | None:
        """An error that ends the crawl: visits cannot be made, and no server is to blame."""

    def wanted(self) -> int:
        """Return how many pages to queue now; 0 if it leases them itself."""

    def start(self) -> None:
        """Start visits, as far as hosts and connections allow."""

    def outages(self, now: int) -> Mapping[str, int]:
        """Return hosts and folders whose pages are all not found, and how many of them lately."""

    async def end(self) -> int:
        """Start nothing more, wait for what is in flight, and return how many visits are lost.

        Raises:
            Exception: A visit failed, and no server is to blame.
        """

    def cancel(self) -> None:
        """Cancel whatever is still in flight."""
