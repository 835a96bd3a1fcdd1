"""Visit a page: fetch it, compare it, and fetch it again if it seems to change every time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, final

from recrawl.challenges import challenge_in_body
from recrawl.content.absence import Patience, is_not_found, is_trusted
from recrawl.content.compare import compare, wants_full
from recrawl.content.comparison import failed
from recrawl.content.html.no_text import has_no_text
from recrawl.content.html.sign_in import has_password, is_elsewhere, is_sign_in, without_query
from recrawl.content.reader import Reader
from recrawl.content.reading import (
    Reading,
    beginnings,
    is_harmless,
    read_response,
    read_twice,
)
from recrawl.content.second_fetch import wants_second_fetch
from recrawl.engine.protocols import Fetching, Parsing
from recrawl.engine.templates import Templates
from recrawl.errors import RecrawlError, StoreError
from recrawl.fetching.lookalikes import Lookalikes
from recrawl.fetching.outages import Outages
from recrawl.fetching.second_fetch import SecondFetches
from recrawl.http.host_pacing import TOO_EXPENSIVE
from recrawl.http.memory_budget import MemoryBudget
from recrawl.parsing.pool import TooExpensiveError, log_parse_error
from recrawl.records import Outcome, Page, Response, Visit, digest_of


class _ParseError(Exception):
    """A page cannot be parsed; the message says why."""


@final
@dataclass(frozen=True)
class Visitor:
    """Visits pages.

    Attributes:
        fetcher: The HTTP client.
        reader: Makes fingerprints; one reader, or a function of the URL.
        stored_body: Returns the copy that is stored under a digest.
        full_every: After this many 304 responses in a row, a page is fetched unconditionally.
        patience: When to give up on pages that are not found or refused.
        parse_pool: Where pages are parsed, unless they are cheap.
        outages: Hosts and folders that are down.
        follow_depth: Links are followed from pages fewer links than this from a seed.
        memory: Accounts for the bodies that are being parsed.
        templates: What pages have in common with others of their host.
        second_fetches: Whether second fetches are worthwhile.
        copy_url: Returns where the copy of a page came from, by its number; None if that is not
            known.
        alike: Pages that suddenly have the same content.
        redirected: Pages that are suddenly redirected to the same place.
    """

    fetcher: Fetching
    reader: Reader | Callable[[str], Reader]
    stored_body: Callable[[bytes], bytes]
    full_every: int
    patience: Patience
    parse_pool: Parsing
    outages: Outages = field(default_factory=Outages)
    follow_depth: int = 0
    memory: MemoryBudget | None = None
    templates: Templates = field(default_factory=Templates)
    second_fetches: SecondFetches = field(default_factory=SecondFetches)
    copy_url: Callable[[int], str | None] = lambda _number: None
    alike: Lookalikes = field(default_factory=Lookalikes)
    redirected: Lookalikes = field(default_factory=Lookalikes)

    async def visit(self, page: Page) -> Visit:
        """Visit a page and return what was found; nothing is recorded yet."""
        conditional = not wants_full(page, self.full_every)
        response = await self.fetcher.fetch(page, conditional=conditional)
        return await self.read(page, response)

    async def read(self, page: Page, response: Response, *, again: bool = True) -> Visit:
        """Evaluate a response to a request for a page; nothing is recorded yet.

        Args:
            page: The page.
            response: The response.
            again: Whether the page may be fetched a second time.
        """
        body = response.body
        if body is not None and response.error is None and self._is_sign_in(page, response, body):
            why = f"redirected to a sign-in page, {without_query(response.url)}"
            return self._set_aside(page, response, why)
        digest = None if body is None or response.error is not None else digest_of(body)
        if digest is None or not self._is_read(page, digest):
            return self._unread_visit(page, response, digest)
        try:
            reading = await self._read(page, (response,), (digest,), self._copy(page))
        except _ParseError as error:
            return self._failed(page, response, str(error))
        is_change = reading.found.outcome is Outcome.CHANGED
        mistaken = self._mistaken(page, response, reading) if is_change else None
        if mistaken is not None:
            return self._set_aside(page, response, mistaken)
        if again and is_change and self._wants_second_fetch(page, reading):
            return await self._fetch_again(page, response, reading)
        return _visit(page, response, reading, body, digest)

    def _is_read(self, page: Page, digest: bytes) -> bool:
        """Whether a body needs parsing: it differs from the copy, or is a first copy to learn from.

        A first copy is parsed for its links, and while little is known about its site.
        """
        if page.body is not None:
            return digest != page.body
        return page.depth < self.follow_depth or self.templates.is_young(page.host)

    def _unread_visit(self, page: Page, response: Response, digest: bytes | None) -> Visit:
        """Evaluate a response that need not be parsed, as most need not."""
        found = compare(
            page,
            response,
            self._reader_of(page),
            patience=self.patience,
            outage=self._outage(page, response),
            digest=digest,
        )
        return _visit(page, response, Reading(found, None if found.content is None else 0))

    def _wants_second_fetch(self, page: Page, reading: Reading) -> bool:
        """Whether to fetch a page again: it is likely to have noise, or it is suspicious."""
        after = reading.found.page
        if not wants_second_fetch(page, after):
            return False
        return after.changes > 1 or self.second_fetches.is_worthwhile(page.host)

    async def _fetch_again(self, page: Page, first: Response, reading: Reading) -> Visit:
        """Fetch a page again: what differs between the two responses is noise."""
        with self._held(len(first.body or b""), waits=True):
            second = await self.fetcher.fetch(page, conditional=False)
        both = replace(
            second,
            requests=first.requests + second.requests,
            transferred=first.transferred + second.transferred,
            seconds=first.seconds + second.seconds,
        )
        if second.error is not None or second.body is None or challenge_in_body(second.body):
            only = replace(
                first,
                requests=both.requests,
                transferred=both.transferred,
                seconds=both.seconds,
                retry_after=second.retry_after,
            )
            return _visit(page, only, reading, first.body)
        try:
            digests = digest_of(first.body or b""), digest_of(second.body)
            again = await self._read(page, (first, second), digests, self._copy(page))
        except _ParseError as error:
            return self._failed(page, both, str(error))
        taught = bool(again.found.page.ignored - reading.found.page.ignored)
        self.second_fetches.note(page.host, taught=taught)
        kept = 0 if again.copy == 0 else 1
        return _visit(page, both, again, (first, second)[kept].body, digests[kept])

    async def _read(
        self,
        page: Page,
        responses: tuple[Response, ...],
        digests: tuple[bytes, ...],
        previous: bytes | None,
    ) -> Reading:
        """Compare one or two responses with the copy; in the pool, if that could take long.

        Raises:
            _ParseError: They cannot be parsed.
        """
        function: Callable[..., Reading] = read_response if len(responses) == 1 else read_twice
        follow = page.depth < self.follow_depth
        reader = self._reader_of(page)
        rules: dict[str, Any] = {
            "patience": self.patience,
            "follow": follow,
            "digests": digests,
            "template": self.templates.of(page.host),
        }
        if len(responses) == 1:
            rules["outage"] = self._outage(page, responses[0])
        try:
            if is_harmless(previous, *(response.body for response in responses)):
                return function(page, *responses, reader, previous, **rules)
            # The rest of the copy is no longer needed.
            short, previous = beginnings(responses, reader, previous)
            with self._held(_size(responses, short, previous)):
                return await self.parse_pool.run(function, page, *short, reader, previous, **rules)
        except RecrawlError:
            raise
        except Exception as error:  # noqa: BLE001 - no page may end the crawl, at every restart too
            is_costly = isinstance(error, TooExpensiveError)
            why = TOO_EXPENSIVE if is_costly else log_parse_error(page.url, error)
            if page.body is not None or follow:
                raise _ParseError(why) from None
            # It was parsed only for the template of its site; it is a copy in any case.
            return function(page, *responses, reader, previous, **rules | {"template": None})

    @contextmanager
    def _held(self, size: int, *, waits: bool = False) -> Iterator[None]:
        """Account for bodies while they are parsed, or wait for others."""
        if self.memory is not None:
            self.memory.hold(size, waits=waits)
        try:
            yield
        finally:
            if self.memory is not None:
                self.memory.hold(-size, waits=waits)

    def _failed(self, page: Page, response: Response, why: str) -> Visit:
        """Return a failed visit, although there was a response."""
        failed = replace(response, body=None, error=why)
        return _visit(page, failed, Reading(compare(page, failed, self._reader_of(page))))

    def _is_sign_in(self, page: Page, response: Response, body: bytes) -> bool:
        """Whether a page is redirected to a sign-in page, and not just gone."""
        if response.url == page.url or is_not_found(page, response):
            return False
        return is_sign_in(page.url, response.url, body)

    def _mistaken(self, page: Page, response: Response, reading: Reading) -> str | None:
        """Return why a page that seems to have changed is another one; None if it is itself.

        Its content, or where it is redirected to, is suddenly that of others that differed before;
        or it is redirected to a form for a password, as it was not before.
        """
        after, at = reading.found.page, response.at
        why = None
        was, now = reading.found.was, after.fingerprint
        if was is not None and now is not None and self.alike.are_alike(page, was, now.digest, at):
            why = f"suddenly the same as other pages of {page.host}"
        copied_from = self.copy_url(page.number) or page.url
        if is_elsewhere(page.url, response.url) and is_elsewhere(copied_from, response.url):
            shown = without_query(response.url)
            if self.redirected.are_alike(page, page.url.encode(), shown.encode(), at):
                why = f"redirected to {shown}, like other pages of {page.host}"
            if has_password(response.body or b"") and not has_password(self._copy(page) or b""):
                why = f"redirected to a form for a password, {shown}"
        return None if is_trusted(page, at) else why

    def _set_aside(self, page: Page, response: Response, why: str) -> Visit:
        """Return a failed visit: what was found is not the page, which keeps its copy."""
        since = response.at if page.missing_since is None else page.missing_since
        aside = replace(response, body=None, error=why)
        return _visit(page, aside, Reading(failed(page, why, since)))

    def _outage(self, page: Page, response: Response) -> str | None:
        """Return the host or folder that is down, if that is why the page is not found."""
        if page.last_visit is None or response.error is not None:
            return None
        missing = is_not_found(page, response)
        self.outages.note(page, response.at, missing=missing)
        return self.outages.around(page, response.at) if missing else None

    def _reader_of(self, page: Page) -> Reader:
        return self.reader if isinstance(self.reader, Reader) else self.reader(page.url)

    def _copy(self, page: Page) -> bytes | None:
        """Return the copy; None if it is corrupt, or was just removed with its page."""
        with suppress(StoreError):
            return None if page.body is None else self.stored_body(page.body)
        return None


def _size(
    responses: tuple[Response, ...], short: tuple[Response, ...], previous: bytes | None
) -> int:
    """Return the bytes that bodies take in memory while their beginnings are parsed."""
    parts = [part for whole, part in zip(responses, short, strict=True) if part is not whole]
    bodies = [previous, *(response.body for response in (*responses, *parts))]
    return sum(len(body) for body in bodies if body)


def _visit(
    before: Page,
    response: Response,
    reading: Reading,
    body: bytes | None = None,
    digest: bytes | None = None,
) -> Visit:
    """Return the visit; the body is the new copy.

    That is so even if it counts as unchanged: it may differ all the same, and the copy should be
    what was fetched last.

    Args:
        before: The page before the visit.
        response: The response.
        reading: What was found in it.
        body: The body that was parsed, if any; otherwise the response's body, if any, is the copy.
        digest: The digest of that body.
    """
    found, page, is_copy = reading.found, reading.found.page, reading.copy is not None
    if body is None:
        body = response.body
    elif found.outcome is Outcome.UNCHANGED and not is_copy:
        is_copy = digest != before.body
        page = replace(page, body=digest)
    content = body if is_copy else None
    return Visit(
        page=page,
        outcome=found.outcome,
        response=response
        if response.error == found.problem
        else replace(response, error=found.problem),
        previous=before.last_visit,
        content=content,
        last_modified=found.last_modified,
        links=reading.links,
        change=found.change,
        sketches=reading.sketches,
        no_text=content is not None and has_no_text(content, response.header("content-type")),
    )
