"""One visit: fetch the page, compare, and fetch twice where a page seems to change every time."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import final

from recrawl.content.compare import (
    Comparison,
    Patience,
    compare,
    compare_twice,
    is_not_found,
    wants_copy,
    wants_full,
    wants_second_fetch,
)
from recrawl.content.reader import Reader
from recrawl.crawler.outages import Outages
from recrawl.crawler.parse_pool import ParsePool
from recrawl.crawler.protocols import Fetching
from recrawl.errors import StoreError
from recrawl.records import Outcome, Page, Response, Visit


@final
@dataclass(frozen=True)
class Visitor:
    """Visits pages.

    Attributes:
        fetcher: The HTTP client.
        reader: Makes fingerprints, of all pages or as a function of the URL.
        stored_body: Returns the copy that is stored under a digest.
        full_every: After this many 304 responses in a row a page is fetched without conditions.
        patience: When pages that are not found, or refused, are left alone.
        parse_pool: Where long pages are parsed.
        outages: Hosts and folders whose pages are all not found.
    """

    fetcher: Fetching
    reader: Reader | Callable[[str], Reader]
    stored_body: Callable[[bytes], bytes]
    full_every: int
    patience: Patience
    parse_pool: ParsePool
    outages: Outages = field(default_factory=Outages)

    async def visit(self, page: Page) -> Visit:
        """Visit a page and return what was found; nothing is recorded yet."""
        conditional = not wants_full(page, self.full_every)
        response = await self.fetcher.fetch(page, conditional=conditional)
        reader = self._reader_of(page)
        previous = self._copy(page) if wants_copy(page, response, reader) else None
        found = await self.parse_pool.run(
            response.body,
            compare,
            page,
            response,
            reader,
            previous,
            patience=self.patience,
            outage=self._outage(page, response),
        )
        if found.outcome is Outcome.CHANGED and wants_second_fetch(page, found.page):
            return await self._fetch_again(page, response, found)
        return _visit(page, response, found)

    async def _fetch_again(self, page: Page, first: Response, found: Comparison) -> Visit:
        """Fetch twice in a row: what differs between the two is noise."""
        second = await self.fetcher.fetch(page, conditional=False)
        both = replace(
            second,
            requests=first.requests + second.requests,
            transferred=first.transferred + second.transferred,
            seconds=first.seconds + second.seconds,
        )
        if second.error is not None or second.body is None:
            return _visit(page, replace(first, requests=both.requests), found)
        found = await self.parse_pool.run(
            second.body,
            compare_twice,
            page,
            first,
            second,
            self._reader_of(page),
            self._copy(page),
        )
        return _visit(page, both, found)

    def _outage(self, page: Page, response: Response) -> str | None:
        """Return the host or folder that is away, if the page is not found because of that."""
        if page.last_visit is None or response.error is not None:
            return None
        missing = is_not_found(page, response)
        self.outages.note(page, response.at, missing=missing)
        return self.outages.around(page, response.at) if missing else None

    def _reader_of(self, page: Page) -> Reader:
        return self.reader if isinstance(self.reader, Reader) else self.reader(page.url)

    def _copy(self, page: Page) -> bytes | None:
        """Return the copy; None if it is damaged, or was just removed with its page."""
        with suppress(StoreError):
            return None if page.body is None else self.stored_body(page.body)
        return None


def _visit(before: Page, response: Response, found: Comparison) -> Visit:
    return Visit(
        page=found.page,
        outcome=found.outcome,
        response=response
        if response.error == found.problem
        else replace(response, error=found.problem),
        previous=before.last_visit,
        content=found.content,
        last_modified=found.last_modified,
    )
