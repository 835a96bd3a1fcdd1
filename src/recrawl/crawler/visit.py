"""One visit: fetch the page, compare, and fetch twice where a page seems to change every time."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import final

from recrawl.content.compare import (
    Comparison,
    compare,
    compare_twice,
    wants_copy,
    wants_full,
    wants_second_fetch,
)
from recrawl.content.reader import Reader
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
        reader: Makes fingerprints.
        stored_body: Returns the copy that is stored under a digest.
        full_every: After this many 304 responses in a row a page is fetched without conditions.
        gone_after: A page is retired after this many 404 or 410 responses in a row.
        parse_pool: Where long pages are parsed.
    """

    fetcher: Fetching
    reader: Reader
    stored_body: Callable[[bytes], bytes]
    full_every: int
    gone_after: int
    parse_pool: ParsePool

    async def visit(self, page: Page) -> Visit:
        """Visit a page and return what was found; nothing is recorded yet."""
        conditional = not wants_full(page, self.full_every)
        response = await self.fetcher.fetch(page, conditional=conditional)
        previous = self._copy(page) if wants_copy(page, response, self.reader) else None
        times = self.gone_after - 1
        found = await self.parse_pool.run(
            response.body, compare, page, response, self.reader, previous, confirmations=times
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
            second.body, compare_twice, page, first, second, self.reader, self._copy(page)
        )
        return _visit(page, both, found)

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
