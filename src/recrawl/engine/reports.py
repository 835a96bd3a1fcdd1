"""What another crawler reports about a visit, and what that says about the page."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

from recrawl.challenges import challenge_in_headers
from recrawl.content.comparison import last_modified_at, visited_page
from recrawl.errors import AddressError
from recrawl.records import (
    DISALLOWED,
    Fingerprint,
    Outcome,
    Page,
    Response,
    State,
    Validators,
    Visit,
)
from recrawl.urls import canonical

#: Fingerprints that other crawlers make, each in its own way; they are compared with one another.
REPORTED = "reported/1"
_SUCCESS = range(200, 300)


class Reading(Protocol):
    """What evaluates responses; `recrawl.fetching.visit.Visitor` is the real one."""

    async def read(self, page: Page, response: Response, *, again: bool = True) -> Visit:
        """Evaluate a response to a request for a page."""


@dataclass(frozen=True, slots=True)
class Report:
    """What another crawler reports about one visit.

    Attributes:
        page: The page's number.
        status: The HTTP status; 0 if there was no response.
        at: When the response arrived, in microseconds; None for just now.
        url: Where redirects ended; None for the page's own URL.
        headers: Headers of the response; validators and content type are used.
        body: The content, decompressed.
        digest: Instead of a body, a digest that is equal for contents that count as the same.
        changed: Instead of both, whether the page has changed since its last visit.
        error: Why there is no response, or none of use.
        disallowed: Whether robots.txt disallows the page.
        retry_after: Seconds that the server asked to wait.
        crawl_delay: Seconds between two requests that robots.txt asks for.
        requests: The number of requests it took, redirects included.
        seconds: How long it took.
        size: Bytes received; None for as many as the body has.
        truncated: Whether the body was cut off.
    """

    page: int
    status: int
    at: int | None = None
    url: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    digest: str | None = None
    changed: bool | None = None
    error: str | None = None
    disallowed: bool = False
    retry_after: float | None = None
    crawl_delay: float | None = None
    requests: int = 1
    seconds: float = 0.0
    size: int | None = None
    truncated: bool = False


def response_of(report: Report, page: Page, earliest: int, now: int) -> Response:
    """Return the response that a report is about.

    Args:
        report: The report.
        page: The page.
        earliest: When the page was leased, in microseconds: it was not visited before that.
        now: The present, in microseconds; it was not visited later.
    """
    at = now if report.at is None else min(max(report.at, earliest), now)
    size = len(report.body or b"") if report.size is None else report.size
    error = report.error or challenge_in_headers(report.headers)
    if report.disallowed:
        error = DISALLOWED
    elif report.status == 0 and error is None:
        error = "no response"
    return Response(
        url=_final_url(report.url, page),
        status=report.status,
        at=at,
        headers=report.headers,
        body=report.body,
        truncated=report.truncated,
        requests=0 if report.disallowed else report.requests,
        transferred=size,
        seconds=report.seconds,
        error=error,
        retry_after=report.retry_after,
        permanent=report.disallowed,
    )


def _final_url(reported: str | None, page: Page) -> str:
    """Return where redirects ended; the page's own URL if what was reported is none."""
    try:
        return page.url if reported is None else canonical(reported)
    except AddressError:
        return page.url


def is_clear(report: Report) -> bool:
    """Whether a report says what was found: a page that was needs to be told from its last copy.

    >>> is_clear(Report(17, 200, changed=True)), is_clear(Report(17, 200))
    (True, False)
    """
    is_found = report.status in _SUCCESS and not report.disallowed and report.error is None
    is_compared = report.body is not None or report.digest is not None or report.changed is not None
    return is_compared or not is_found


async def read_report(visitor: Reading, page: Page, report: Report, response: Response) -> Visit:
    """Return the visit that a report is about; bodies are read as those of our own crawl."""
    has_no_copy = page.body is None and page.last_visit is not None
    is_found = response.error is None and response.status in _SUCCESS and response.body is None
    if response.error is None and response.is_not_modified and has_no_copy:
        return _not_modified(page, response)
    if is_found:
        return _found(page, response, report)
    return await visitor.read(page, response, again=False)


def _not_modified(page: Page, response: Response) -> Visit:
    """Return a visit that found a page unchanged whose copy somebody else keeps."""
    new, old = _validators(response), page.validators
    validators = Validators(new.etag or old.etag, new.last_modified or old.last_modified)
    outcome = Outcome.UNCHANGED if page.state is State.ALIVE else Outcome.CHANGED
    after = visited_page(page, response, outcome, validators, page.not_modified + 1, None)
    return _visit(page, after, outcome, response, validators)


def _found(page: Page, response: Response, report: Report) -> Visit:
    """Return a visit that found a page, by what the report says of changes."""
    known, now = page.fingerprint, None
    changed = report.changed
    if report.digest is not None:
        digest = blake2b(report.digest.encode(), digest_size=16).digest()
        now = Fingerprint(REPORTED, digest)
        if changed is None and known is not None and known.kind == REPORTED:
            changed = known != now
    if page.last_visit is None or changed is None:
        outcome = Outcome.FIRST
    else:
        is_same = not changed and page.state is State.ALIVE
        outcome = Outcome.UNCHANGED if is_same else Outcome.CHANGED
    validators = _validators(response)
    after = visited_page(page, response, outcome, validators, 0, page.body, now)
    return _visit(page, after, outcome, response, validators)


def _visit(
    before: Page, after: Page, outcome: Outcome, response: Response, validators: Validators
) -> Visit:
    modified = last_modified_at(validators.last_modified, response.at)
    return Visit(after, outcome, response, before.last_visit, last_modified=modified)


def _validators(response: Response) -> Validators:
    return Validators(response.header("etag"), response.header("last-modified"))
