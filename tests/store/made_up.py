"""Visits made up for the tests of the store."""

from dataclasses import replace

from recrawl.records import (
    Change,
    ChangeKind,
    Fingerprint,
    Outcome,
    Page,
    Response,
    State,
    Validators,
    Visit,
    digest_of,
)
from recrawl.store.rows import NewPage

NOON = 1_767_268_800_000_000
HOUR = 3_600_000_000
HEADERS = (("Content-Type", "text/html; charset=utf-8"), ("X-Odd", "a\udcff"), ("x-odd", "b"))


def address(number: int) -> str:
    return f"https://host{number % 3}.example/page/{number}"


def new_pages(count: int) -> list[NewPage]:
    return [NewPage(address(i), f"host{i % 3}.example") for i in range(count)]


def found(page: Page, content: bytes, at: int, outcome: Outcome = Outcome.CHANGED) -> Visit:
    """Make a visit that brought new content."""
    after = replace(
        page,
        state=State.ALIVE,
        last_visit=at,
        validators=Validators('"é\udcff"', "Thu, 01 Jan 2026 12:00:00 GMT"),
        fingerprint=Fingerprint("text/1", digest_of(content + b"!")),
        body=digest_of(content),
        ignored=frozenset([b"key", b""]) if len(content) % 2 else frozenset(),
        suspects=content[:1],
        visits=page.visits + 1,
        changes=page.changes + (outcome is Outcome.CHANGED),
    )
    response = Response(
        page.url, 200, at, HEADERS, content, requests=2, transferred=len(content), seconds=0.25
    )
    change = Change(ChangeKind.TEXT, 0.25) if outcome is Outcome.CHANGED else None
    return Visit(
        after,
        outcome,
        response,
        page.last_visit,
        (0.5, 2.0),
        content,
        at - HOUR,
        change=change,
    )


def unchanged(page: Page, at: int) -> Visit:
    """Make a visit with the response "not modified"."""
    after = replace(page, last_visit=at, visits=page.visits + 1, not_modified=page.not_modified + 1)
    return Visit(after, Outcome.UNCHANGED, Response(page.url, 304, at), page.last_visit, (0.5, 3.0))


def failed(page: Page, at: int) -> Visit:
    """Make a visit without a response."""
    after = replace(page, failures=page.failures + 1)
    response = Response(page.url, 0, at, error="timed out after 60 s", seconds=60.0)
    return Visit(after, Outcome.FAILED, response, page.last_visit)


def refused(page: Page, at: int, reason: str, requests: int = 0) -> Visit:
    """Make what comes of a page that is refused."""
    after = replace(page, state=State.REFUSED, reason=reason, retry_at=at + HOUR)
    response = Response(page.url, 0, at, error=reason, requests=requests)
    return Visit(after, Outcome.FAILED, response, page.last_visit)


def gone(page: Page, at: int) -> Visit:
    """Make a visit after which the page is gone."""
    return Visit(replace(page, state=State.GONE), Outcome.GONE, Response(page.url, 404, at))
