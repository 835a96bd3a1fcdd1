"""What an engine asks of a store; `recrawl.store.sqlite.SqliteStore` is the real one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from recrawl.estimation.shown.rates import RatePrior
from recrawl.kernels.jit import Ints
from recrawl.records import Page, RobotsText, Visit
from recrawl.store.protocols import Sitemaps
from recrawl.store.rows import (
    Added,
    Edits,
    LastVisit,
    NewPage,
    Observed,
    PageTable,
    Spent,
    Trouble,
)


class Storing(Protocol):
    """The store; `recrawl.store.sqlite.SqliteStore` documents the methods."""

    @property
    def sitemaps(self) -> Sitemaps:
        """Sitemaps and feeds."""

    def add(self, pages: Iterable[NewPage], at: int) -> Added:
        """Add pages."""

    def changes_since(self, serial: int) -> Edits:
        """Return the edits since a serial."""

    def fleet(self) -> PageTable:
        """Return all pages that are visited."""

    def last_visits(self, numbers: Ints) -> Iterable[tuple[int, LastVisit]]:
        """Yield the last visit to each of some pages."""

    def meta(self, key: str) -> str | None:
        """Return a small value."""

    def newest_visit(self) -> int | None:
        """Return when the newest visit was made."""

    def observations(self, about: int) -> Observed:
        """Return about so many observations."""

    def pages(self, numbers: Iterable[int]) -> dict[int, Page]:
        """Return pages by number."""

    def pages_at(self, urls: Iterable[str]) -> dict[str, Page]:
        """Return pages by URL."""

    def record(
        self,
        visits: Sequence[Visit],
        spent: Spent | None = None,
        templates: Mapping[str, bytes] | None = None,
    ) -> None:
        """Write visits, and the templates they taught, in one transaction."""

    def trouble(self) -> Trouble:
        """Return how many pages are in trouble."""

    def wake(self, now: int, again: int, limit: int) -> list[Page]:
        """Return gone and refused pages to check again."""

    def check_not_moved(self) -> None:
        """Raise `StoreError` if the file was removed or replaced since it was opened."""

    def keep(self, what: str, learned: Mapping[str, bytes]) -> None:
        """Store what was learned about hosts or folders."""

    def kept(self, what: str) -> dict[str, bytes]:
        """Return what was learned about hosts or folders."""

    def rate_prior(self) -> RatePrior:
        """Return what a run last believed about change rates before a page's own visits."""

    def remember_robots(self, *files: RobotsText) -> None:
        """Store robots.txt files."""

    def seed_hosts(self) -> list[str]:
        """Return the hosts of pages that a user added."""

    def set_meta(self, key: str, value: str) -> None:
        """Store a value by name."""
