"""The result of comparing a response with the copy of a page."""

from dataclasses import dataclass, replace

from recrawl.content.boilerplate.template import Sketches
from recrawl.records import (
    Change,
    Fingerprint,
    Outcome,
    Page,
    Response,
    State,
    Validators,
    quick,
)
from recrawl.units import parse_http_date

#: 1990 in microseconds; an earlier date is from a clock that was never set.
_BEFORE_THE_WEB = 631_152_000_000_000


@quick
@dataclass(frozen=True, slots=True)
class Comparison:
    """What a visit found, and the page after it.

    Attributes:
        page: The page after the visit.
        outcome: What was found.
        content: The new copy; None to keep the current one.
        last_modified: When the page last changed according to the server, in microseconds.
        problem: Why the visit failed, in a few words; None if it did not.
        change: How the page differs from its copy, if it does.
        varied: The boxes of links that differ from the copy, for the template of the site.
        was: The digest of the copy's content, if the page changed.
    """

    page: Page
    outcome: Outcome
    content: bytes | None = None
    last_modified: int | None = None
    problem: str | None = None
    change: Change | None = None
    varied: Sketches | None = None
    was: bytes | None = None


def failed(page: Page, problem: str, missing_since: int | None = None) -> Comparison:
    """Return the result of a failed visit."""
    since = page.missing_since if missing_since is None else missing_since
    after = replace(page, failures=page.failures + 1, missing_since=since)
    return Comparison(after, Outcome.FAILED, problem=problem)


def found_body(
    page: Page,
    response: Response,
    found: tuple[bytes, bytes],
    outcome: Outcome,
    change: Change | None = None,
) -> Comparison:
    """Return the result for a body and its digest, with the body if it is a new copy."""
    body, digest = found
    validators = validators_of(response)
    is_copy = outcome is not Outcome.UNCHANGED or page.body is None or change is not None
    return Comparison(
        visited_page(page, response, outcome, validators, 0, digest if is_copy else page.body),
        outcome,
        body if is_copy and digest != page.body else None,
        last_modified=last_modified_at(validators.last_modified, response.at),
        change=change,
    )


def not_modified(page: Page, response: Response) -> Comparison:
    """Return the result for "not modified", with new validators if the response has any."""
    if page.body is None:
        return failed(page, "the server answered 'not modified', but there is no copy")
    new, old = validators_of(response), page.validators
    validators = Validators(new.etag or old.etag, new.last_modified or old.last_modified)
    outcome = outcome_of(page, is_same=True)
    after = visited_page(page, response, outcome, validators, page.not_modified + 1, page.body)
    last_modified = last_modified_at(validators.last_modified, response.at)
    return Comparison(after, outcome, last_modified=last_modified)


def outcome_of(page: Page, *, is_same: bool) -> Outcome:
    """Return the outcome for a page with a copy that is the same, or not."""
    return Outcome.UNCHANGED if is_same and page.state is State.ALIVE else Outcome.CHANGED


def visited_page(
    page: Page,
    response: Response,
    outcome: Outcome,
    validators: Validators,
    not_modified: int,
    body: bytes | None,
    fingerprint: Fingerprint | None = None,
) -> Page:
    """Return a page after a visit that found it; with another fingerprint, if one is given."""
    changed = outcome is Outcome.CHANGED
    # Not `replace`, which takes ten times as long. Fields not listed are reset, such as failures.
    return Page(
        number=page.number,
        url=page.url,
        host=page.host,
        importance=page.importance,
        depth=page.depth,
        state=State.ALIVE,
        last_visit=response.at,
        validators=validators,
        fingerprint=page.fingerprint if fingerprint is None else fingerprint,
        ignored=page.ignored,
        suspects=page.suspects,
        body=body,
        visits=page.visits + 1,
        changes=page.changes + changed,
        streak=page.streak + 1 if changed else 0,
        not_modified=not_modified,
    )


def validators_of(response: Response) -> Validators:
    """Return the validators of a response."""
    return Validators(response.header("etag"), response.header("last-modified"))


def last_modified_at(value: str | None, now: int) -> int | None:
    """Return a Last-Modified header in microseconds, None if it is missing or implausible.

    Args:
        value: The header.
        now: Replaces a date in the future, in microseconds.

    >>> last_modified_at("Mon, 16 Nov 2026 02:57:00 GMT", 2 * 10**15)
    1794797820000000
    >>> last_modified_at("Thu, 01 Jan 1970 00:00:00 GMT", 2 * 10**15), last_modified_at("never", 0)
    (None, None)
    """
    date = parse_http_date(value)
    return min(date, now) if date is not None and date >= _BEFORE_THE_WEB else None
