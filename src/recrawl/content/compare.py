"""Comparing a response with the stored copy: what a visit found. Pure: no I/O, no clock."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from urllib.parse import urlsplit

from recrawl.content.boxes import varied_boxes
from recrawl.content.history import History
from recrawl.content.outline import Block
from recrawl.content.reader import Content, Reader, is_same
from recrawl.content.template import SiteTemplate, Sketches
from recrawl.records import (
    Change,
    ChangeKind,
    Outcome,
    Page,
    Response,
    State,
    Validators,
    digest_of,
)
from recrawl.units import parse_http_date

#: How many "not modified" in a row are trusted before the page is fetched in full.
FULL_EVERY = 20
#: Keys of ignored blocks per page. A page that needs more is all noise and is compared as it is.
MAX_IGNORED = 500

_DAY = 86_400_000_000
#: A page that is gone is looked at again after as long as it has been missing, within these.
MIN_REST, MAX_REST = 14 * _DAY, 182 * _DAY
#: How long pages that are not found all at once, or are suddenly empty, are taken for an outage.
MAX_OUTAGE = 14 * _DAY

_NOT_FOUND = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_REFUSED = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS,
    }
)
_SUCCESS = range(200, 300)
#: Failures in a row after which an empty response is trusted, if they took as long as an outage.
_EMPTY_TRUSTED = 3
#: Changes in a row after which a page is first suspected of being noisy.
_SUSPICIOUS = 3
_DEEP = 2
#: Two fetches are in a row if this many times the time between them fit between two visits.
_IN_A_ROW = 20
#: 1990 in microseconds; an earlier date comes from a clock that was never set.
_BEFORE_THE_WEB = 631_152_000_000_000


@dataclass(frozen=True, slots=True)
class Patience:
    """When a page that is not found, or is refused, is left alone.

    Attributes:
        gone_after: A page is gone when it was not found this many times in a row...
        gone_time: ...over this many microseconds.
        refused_time: A refused page is looked at again after this many microseconds.
    """

    gone_after: int = 3
    gone_time: int = _DAY
    refused_time: int = 3 * _DAY


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a visit found, and the page after it.

    Attributes:
        page: The page after the visit.
        outcome: What was found.
        content: The new copy; None to keep the current one.
        last_modified: When the page last changed according to the server, in microseconds.
        problem: Why nothing was learned, in a few words; None if something was.
        change: How the page differs from its copy, if it does.
        varied: The boxes of links that differ from the copy, for the template of the site.
    """

    page: Page
    outcome: Outcome
    content: bytes | None = None
    last_modified: int | None = None
    problem: str | None = None
    change: Change | None = None
    varied: Sketches | None = None


def compare(
    page: Page,
    response: Response,
    reader: Reader,
    previous: Content | bytes | None = None,
    *,
    patience: Patience = Patience(),  # noqa: B008 - frozen
    outage: str | None = None,
    template: SiteTemplate | None = None,
    digest: bytes | None = None,
) -> Comparison:
    """Compare a response with the stored copy of a page.

    - A refusal (401, 403, 451, robots.txt, an address that is not public) teaches nothing either,
      and is no visit: the state is REFUSED, with the reason.
    - An error teaches nothing: FAILED, one more failure in a row, everything else unchanged.
    - Not found (404, 410, or a redirect from deep inside the site to its front page): GONE. The
      state is MISSING until this is confirmed several times and over some time, then GONE. Failures
      in between do not decide. During an outage, when the pages around are not found either, it is
      FAILED, and the state stays as it is.
    - Not modified: UNCHANGED, with new validators if the response has any.
    - A body: FIRST without a copy to compare with; CHANGED if the page's own content differs, or
      if the page had been missing; otherwise UNCHANGED. A body identical to the copy is not even
      parsed, so a page has no fingerprint until a different body arrives. The validators are always
      those of this response. The copy is replaced if the page changed, or what its site puts around
      it: otherwise the copy is current.

    Args:
        page: The page before the visit.
        response: The response.
        reader: Makes fingerprints. If that of the copy is missing or of another kind, it is made
            now, so that changing the kind is not a change of the page.
        previous: The copy. Without it, fingerprints decide, and if those cannot be compared the
            outcome is FIRST.
        patience: When a page that is not found, or is refused, is left alone.
        outage: The host or folder whose pages are all not found, if the page's is one.
        template: What is known of the site's template.
        digest: The digest of the whole body, where the response has only its beginning.
    """
    if is_refused(response):
        return _refused(page, response, patience)
    if response.error is not None:
        return _failed(page, response.error)
    if is_not_found(page, response):
        return _not_found(page, response.at, patience, outage)
    if response.is_not_modified:
        return _not_modified(page, response)
    if response.status not in _SUCCESS or response.body is None:
        return _failed(page, f"the server answered {response.status} without a page")
    found = response.body, digest or digest_of(response.body)
    return _compare_body(page, response, found, _Eyes(reader, template, previous))


def is_refused(response: Response) -> bool:
    """Whether the page may not be had: a retry within seconds is pointless, and impolite."""
    return response.permanent or response.status in _REFUSED


def is_not_found(page: Page, response: Response) -> bool:
    """Whether a response says that there is no such page."""
    if response.error is not None or is_refused(response):
        return False
    return response.status in _NOT_FOUND or _is_redirected_home(page.url, response.url)


def wants_copy(page: Page, response: Response) -> bool:
    """Whether `compare` needs the copy: the body differs from it."""
    if page.body is None or response.body is None:
        return False
    return digest_of(response.body) != page.body


def wants_full(page: Page, every: int = FULL_EVERY) -> bool:
    """Whether to fetch a page in full: some servers respond "not modified" forever."""
    return page.not_modified >= every


def wants_second_fetch(before: Page, after: Page) -> bool:
    """Whether to fetch a page again immediately, to see whether it really changed.

    True at the first change, unless the server, which responded "not modified" last time, says
    itself that there is a new version; and after 3, 6, 12, 24, … changes in a row, as some pages
    are different every time.

    >>> page = Page(0, "", "")
    >>> seen = [replace(page, streak=n, changes=n + 1) for n in range(30)]
    >>> [after.streak for after in seen if wants_second_fetch(page, after)]
    [0, 3, 6, 12, 24]
    """
    multiple, remainder = divmod(after.streak, _SUSPICIOUS)
    is_first = after.changes == 1 and not before.not_modified
    return is_first or (remainder == 0 and multiple.bit_count() == 1)


def compare_twice(
    page: Page,
    first: Response,
    second: Response,
    reader: Reader,
    previous: Content | bytes | None = None,
    *,
    patience: Patience = Patience(),  # noqa: B008 - frozen
    template: SiteTemplate | None = None,
    digests: tuple[bytes | None, ...] = (None, None),
) -> Comparison:
    """Compare two responses fetched in a row with the copy: what differs between them is noise.

    If the page differs from its copy only in noise, it is UNCHANGED. If the two do not differ, or
    one is not usable, the result is that of `compare` for the first.

    Args:
        page: The page before both fetches.
        first: The response that was taken for a change.
        second: The response to an unconditional request right after it.
        reader: Makes fingerprints.
        previous: The copy. Without it, the change stands.
        patience: As for `compare`.
        template: As for `compare`.
        digests: As for `compare`, of both bodies.
    """
    found, again = (
        compare(
            page, response, reader, previous, patience=patience, template=template, digest=digest
        )
        for response, digest in zip((first, second), digests, strict=True)
    )
    if Outcome.CHANGED not in {found.outcome, again.outcome} or not (first.body and second.body):
        return found
    if again.page.fingerprint is None or again.outcome in {Outcome.FAILED, Outcome.GONE}:
        return found
    if not _are_in_a_row(page, first, second):
        return found
    here, there = (
        reader.read(body, response.header("content-type"), template)
        for body, response in ((first.body, first), (second.body, second))
    )
    eyes = _Eyes(reader, template, previous)
    learned = learn_noise(page, here, there, eyes.copy(first))
    if learned is page:
        return found
    new = second.body, digests[1] or digest_of(second.body)
    if previous is None:
        return _found(learned, second, new, Outcome.CHANGED, found.change)
    before = replace(learned, fingerprint=None)
    return _compare_body(before, second, new, eyes, is_after_noise=True)


def _are_in_a_row(page: Page, first: Response, second: Response) -> bool:
    """Whether so little time is between two responses that the page has hardly changed in it."""
    before = first.at if page.last_visit is None else page.last_visit
    return _IN_A_ROW * (second.at - first.at) <= first.at - before


def learn_noise(page: Page, first: Content, second: Content, copy: Content | None = None) -> Page:
    """Return the page ignoring what differs between two contents; itself if nothing is learned.

    What is in the first as in the copy may have been edited just before the second.
    """
    steady = frozenset[bytes]() if copy is None else first.same_keys(copy)
    ignored = page.ignored | (first.noise(second) - steady)
    if ignored == page.ignored or len(ignored) > MAX_IGNORED:
        return page
    return replace(page, ignored=ignored, fingerprint=second.fingerprint(ignored))


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


@dataclass(frozen=True, slots=True)
class _Eyes:
    """What bodies are looked at with."""

    reader: Reader
    template: SiteTemplate | None
    previous: Content | bytes | None

    def read(self, body: bytes, response: Response) -> Content:
        """Read a body."""
        return self.reader.read(body, response.header("content-type"), self.template)

    def copy(self, response: Response) -> Content | None:
        """Read the copy, if it is there."""
        if isinstance(self.previous, bytes):
            return self.read(self.previous, response)
        known = self.previous
        return known if known is not None and known.kind == self.reader.kind else None


def _compare_body(
    page: Page,
    response: Response,
    found: tuple[bytes, bytes],
    eyes: _Eyes,
    *,
    is_after_noise: bool = False,
) -> Comparison:
    """Compare a body and its digest with the copy; if they are identical, without parsing."""
    body, digest = found
    if page.body is None or digest == page.body:
        outcome = _outcome(page, is_first=page.body is None, is_same=True)
        return _found(page, response, found, outcome)
    content = eyes.read(body, response)
    known = page.fingerprint
    if known is not None and known.kind != content.kind:
        # Keys learned with another kind of fingerprint do not apply.
        page = replace(page, ignored=frozenset(), suspects=b"", fingerprint=None)
    change, is_first = _difference(page, content, response, eyes)
    if not is_first and _is_suddenly_empty(page, response.at, body, content, eyes):
        since = response.at if page.missing_since is None else page.missing_since
        return _failed(page, "the response is empty", since)
    is_change = change is not None and change.kind is not ChangeKind.FURNITURE
    if is_change and change is not None and change.kind is ChangeKind.TEXT:
        is_change = change.share >= eyes.reader.min_change
    outcome = _outcome(page, is_first=is_first, is_same=not is_change)
    after = replace(page, fingerprint=content.fingerprint(page.ignored))
    copy = eyes.copy(response) if is_change else None
    if copy is None or content.is_exact:
        return _found(after, response, found, outcome, change)
    new, old = content.apart(copy, page.ignored)
    if not is_after_noise:
        after = _remember(after, content, copy, new, old)
    visited = _found(after, response, found, outcome, change)
    return replace(visited, varied=varied_boxes(new, old))


def _difference(
    page: Page, content: Content, response: Response, eyes: _Eyes
) -> tuple[Change | None, bool]:
    """Return how a content differs from the copy, and whether there is nothing to compare it to."""
    known, now = page.fingerprint, content.fingerprint(page.ignored)
    if known is not None and is_same(known, now):
        return (None if known == now else Change(ChangeKind.FURNITURE)), False
    copy = eyes.copy(response)
    if copy is not None:
        return content.difference(copy, page.ignored), False
    return (None if known is None else Change(ChangeKind.TEXT, 1.0)), known is None


def _remember(
    page: Page, content: Content, copy: Content, new: list[Block], old: list[Block]
) -> Page:
    """Return the page with what this change adds to its history; it may teach slow noise."""
    now = page.fingerprint
    if now is None:
        return page
    history = History.from_bytes(page.suspects)
    if not history.digests:
        was = copy.fingerprint(page.ignored).digest
        history, _ = history.after(was, (), ())
    history, learned = history.after(now.digest, new, old)
    ignored = page.ignored | learned
    if len(ignored) > MAX_IGNORED:
        return page
    return replace(
        page,
        suspects=history.to_bytes(),
        ignored=ignored,
        fingerprint=content.fingerprint(ignored) if learned else now,
    )


def _outcome(page: Page, *, is_first: bool, is_same: bool) -> Outcome:
    if is_first:
        return Outcome.FIRST
    return Outcome.UNCHANGED if is_same and page.state is State.ALIVE else Outcome.CHANGED


def _failed(page: Page, problem: str, missing_since: int | None = None) -> Comparison:
    since = page.missing_since if missing_since is None else missing_since
    after = replace(page, failures=page.failures + 1, missing_since=since)
    return Comparison(after, Outcome.FAILED, problem=problem)


def _refused(page: Page, response: Response, patience: Patience) -> Comparison:
    reason = response.error or f"the server answered {response.status}"
    retry_at = response.at + patience.refused_time
    after = replace(page, state=State.REFUSED, reason=reason, retry_at=retry_at)
    return Comparison(after, Outcome.FAILED, problem=reason)


def _not_found(page: Page, at: int, patience: Patience, outage: str | None) -> Comparison:
    """Count how often in a row, and for how long; failures in between count, but never decide."""
    since = at if page.missing_since is None else page.missing_since
    is_short = at - since < MAX_OUTAGE
    if outage is not None and is_short and page.state is not State.GONE:
        problem = f"not found, like most pages of {outage}"
        return _failed(page, problem, since)
    if page.state is State.ALIVE and is_short:
        # An outage may have been before; from here on the page alone is missing.
        since = at
    times = page.failures + 1 if page.state is not State.ALIVE else 1
    after = replace(page, failures=times, streak=0, missing_since=since, retry_at=None)
    if times < patience.gone_after or at - since < patience.gone_time:
        return Comparison(replace(after, state=State.MISSING), Outcome.GONE)
    retry_at = at + min(max(at - since, MIN_REST), MAX_REST)
    return Comparison(replace(after, state=State.GONE, retry_at=retry_at), Outcome.GONE)


def _not_modified(page: Page, response: Response) -> Comparison:
    if page.body is None:
        return _failed(page, "the server answered 'not modified', but there is no copy")
    new, old = _validators(response), page.validators
    validators = Validators(new.etag or old.etag, new.last_modified or old.last_modified)
    outcome = _outcome(page, is_first=False, is_same=True)
    after = visited_page(page, response, outcome, validators, page.not_modified + 1, page.body)
    last_modified = last_modified_at(validators.last_modified, response.at)
    return Comparison(after, outcome, last_modified=last_modified)


def _found(
    page: Page,
    response: Response,
    found: tuple[bytes, bytes],
    outcome: Outcome,
    change: Change | None = None,
) -> Comparison:
    """Return the result for a body and its digest, with the body if it is a new copy."""
    body, digest = found
    validators = _validators(response)
    is_copy = outcome is not Outcome.UNCHANGED or page.body is None or change is not None
    return Comparison(
        visited_page(page, response, outcome, validators, 0, digest if is_copy else page.body),
        outcome,
        body if is_copy and digest != page.body else None,
        last_modified=last_modified_at(validators.last_modified, response.at),
        change=change,
    )


def visited_page(
    page: Page,
    response: Response,
    outcome: Outcome,
    validators: Validators,
    not_modified: int,
    body: bytes | None,
) -> Page:
    """Return a page after a visit that found it."""
    changed = outcome is Outcome.CHANGED
    return replace(
        page,
        state=State.ALIVE,
        last_visit=response.at,
        validators=validators,
        body=body,
        visits=page.visits + 1,
        changes=page.changes + changed,
        streak=page.streak + 1 if changed else 0,
        not_modified=not_modified,
        failures=0,
        missing_since=None,
        retry_at=None,
        reason=None,
    )


def _validators(response: Response) -> Validators:
    return Validators(response.header("etag"), response.header("last-modified"))


def _is_suddenly_empty(page: Page, at: int, body: bytes, content: Content, eyes: _Eyes) -> bool:
    """Whether a page that had content has none: more often a fault of the server than an edit."""
    if body.strip() if eyes.reader.may_be_empty else content.texts:
        return False
    if page.failures >= _EMPTY_TRUSTED and at - (page.missing_since or at) >= MAX_OUTAGE:
        return False
    had = eyes.previous if page.fingerprint is None else page.fingerprint.digest
    return bool(had) and had != content.fingerprint().digest


def _is_redirected_home(url: str, final: str) -> bool:
    """Whether a page deep inside a site redirects to the front page: it no longer exists."""
    if url == final:
        return False
    page, end = urlsplit(url), urlsplit(final)
    is_deep = len([part for part in page.path.split("/") if part]) >= _DEEP
    return is_deep and page.netloc == end.netloc and end.path in {"", "/"} and not end.query
