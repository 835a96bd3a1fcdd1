"""One visit: ask for the page, compare, and look twice where a page seems never to stand still."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol, final

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
from recrawl.errors import StoreError
from recrawl.records import Outcome, Page, Response, Visit


class Fetching(Protocol):
    """Who asks servers for pages."""

    async def fetch(self, page: Page, *, conditional: bool) -> Response:
        """Ask for a page; what servers do wrong is a response, never an exception."""
        ...


@final
@dataclass(frozen=True)
class Visitor:
    """Visits pages.

    Attributes:
        fetcher: Who asks servers.
        reader: What counts as a page's content.
        stored_body: Gives the copy that is stored under a digest.
        full_every: After so many "not modified" in a row a page is asked for without conditions.
        gone_after: A page is retired after so many "not found" in a row.
        room: Where pages are read.
    """

    fetcher: Fetching
    reader: Reader
    stored_body: Callable[[bytes], bytes]
    full_every: int
    gone_after: int
    room: ParsePool

    async def visit(self, page: Page) -> Visit:
        """Visit a page and say what was found; nothing is kept yet."""
        conditional = not wants_full(page, self.full_every)
        response = await self.fetcher.fetch(page, conditional=conditional)
        previous = self._copy(page) if wants_copy(page, response, self.reader) else None
        times = self.gone_after - 1
        found = await self.room.read(
            response.body, compare, page, response, self.reader, previous, confirmations=times
        )
        if found.outcome is Outcome.CHANGED and wants_second_fetch(page, found.page):
            return await self._look_again(page, response, found)
        return _visit(page, response, found)

    async def _look_again(self, page: Page, first: Response, found: Comparison) -> Visit:
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
        found = await self.room.read(
            second.body, compare_twice, page, first, second, self.reader, self._copy(page)
        )
        return _visit(page, both, found)

    def _copy(self, page: Page) -> bytes | None:
        """Find the copy; None if it is damaged, or was removed with its page a moment ago."""
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
