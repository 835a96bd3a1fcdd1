"""What a visit found: a response compared with the stored copy. Pure: no I/O, no clock."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from http import HTTPStatus
from urllib.parse import urlsplit

from recrawl.content.reader import Content, Reader
from recrawl.records import Fingerprint, Outcome, Page, Response, State, Validators

#: How often a page that was not found has to be not found again before it is given up.
CONFIRMATIONS = 2
#: How many "not modified" in a row are believed before the page is fetched in full.
FULL_EVERY = 20
#: Keys of ignored blocks that a page may have. A page that needs more is noise all over, and what
#: it says is compared as it is.
MAX_IGNORED = 500

_NOT_FOUND = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_SUCCESS = range(200, 300)
#: Empty responses in a row after which a page is believed to be empty.
_EMPTY_BELIEVED = 3
_FIRST_LOOK = 3
_DEEP = 2
#: The web is younger than this, in microseconds; a date before it is a clock that was never set.
_NO_WEB = 631_152_000_000_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a visit found, and the page after it.

    Attributes:
        page: The page as it is now.
        outcome: What was found.
        content: The new copy; None where the one there is remains.
        last_modified: When the server says the page changed last, in microseconds.
        problem: Why nothing was learned, in a few words; None if something was.
    """

    page: Page
    outcome: Outcome
    content: bytes | None = None
    last_modified: int | None = None
    problem: str | None = None


def compare(
    page: Page,
    response: Response,
    reader: Reader,
    previous: Content | bytes | None = None,
    *,
    confirmations: int = CONFIRMATIONS,
) -> Comparison:
    """Tell what a response says about a page.

    - An error teaches nothing: FAILED, one more failure in a row, all else as it was.
    - Not found (404, 410, or sent from deep inside the site to its front page): GONE. The page is
      MISSING until this was confirmed, then GONE. Failures in between neither confirm nor deny.
    - Not modified: UNCHANGED, with new validators where the response has some.
    - A body: FIRST without a copy to compare with; CHANGED if the fingerprints differ, or if the
      page had been missing; else UNCHANGED. What is the copy byte by byte is not read at all, so
      that a page has no fingerprint before a body came that differs. The validators are those of
      this response, always. The copy is replaced only if the page changed: what is equal to it by
      its fingerprint is current.

    Args:
        page: As it was before the visit.
        response: What came back.
        reader: Says what counts. If the copy was not read yet, or in another way, it is read now,
            so that another way of reading is no change of the page.
        previous: The copy, needed only for that (`wants_copy`); without it the outcome is FIRST.
        confirmations: How often a page has to be not found again before it is given up.
    """
    if response.error is not None:
        return _failed(page, response.error)
    if response.status in _NOT_FOUND or _is_sent_home(page.url, response.url):
        return _not_found(page, confirmations)
    if response.status == HTTPStatus.NOT_MODIFIED:
        return _not_modified(page, response)
    if response.status not in _SUCCESS or response.body is None:
        return _failed(page, f"the server answered {response.status} without a page")
    return _read_answer(page, response, response.body, reader, previous)


def wants_copy(page: Page, response: Response, reader: Reader) -> bool:
    """Whether `compare` needs the copy: its fingerprint was not made yet, or in another way."""
    known = page.fingerprint
    if page.body is None or response.body is None:
        return False
    if known is not None and known.kind == reader.kind:
        return False
    return digest_of(response.body) != page.body


def wants_full(page: Page, every: int = FULL_EVERY) -> bool:
    """Whether to fetch a page in full: some servers response "not modified" for ever."""
    return page.not_modified >= every


def wants_second_look(before: Page, after: Page) -> bool:
    """Whether to fetch a page again at once, to see whether it really changed.

    So it is at the first change that is found, unless the server, which had answered "not modified"
    the last time, says itself that there is a new version; and after 3, 6, 12, 24, … visits in a
    row that found a change: a page that seems never to stand still.

    >>> page = Page(0, "", "")
    >>> seen = [replace(page, streak=n, changes=n + 1) for n in range(30)]
    >>> [after.streak for after in seen if wants_second_look(page, after)]
    [0, 3, 6, 12, 24]
    """
    threes, rest = divmod(after.streak, _FIRST_LOOK)
    is_first = after.changes == 1 and not before.not_modified
    return is_first or (rest == 0 and threes.bit_count() == 1)


def second_look(
    page: Page,
    first: Response,
    second: Response,
    reader: Reader,
    previous: Content | bytes | None = None,
    *,
    confirmations: int = CONFIRMATIONS,
) -> Comparison:
    """Tell what two responses fetched in a row say: what differs between them is noise.

    If nothing but noise sets the page apart from its copy, it is UNCHANGED. If the two do not
    differ, or one is of no use, this is what `compare` says about the first.

    Args:
        page: As it was before both.
        first: What came back, and was taken for a change.
        second: What came back at once after that, unconditionally.
        reader: Says what counts.
        previous: The copy. Without it, what was found remains a change.
        confirmations: As for `compare`.
    """
    found = compare(page, first, reader, previous, confirmations=confirmations)
    again = compare(page, second, reader, previous, confirmations=confirmations)
    if Outcome.CHANGED not in {found.outcome, again.outcome} or not (first.body and second.body):
        return found
    if again.page.fingerprint is None or again.outcome in {Outcome.FAILED, Outcome.GONE}:
        return found
    here, there = (
        reader.read(body, response.header("content-type"))
        for body, response in ((first.body, first), (second.body, second))
    )
    learned = learn_noise(again.page, here, there)
    if learned is again.page:
        return found
    copy = _read(previous, second, reader)
    is_noise = copy is not None and copy.fingerprint(learned.ignored) == learned.fingerprint
    is_same = is_noise and page.state is State.ALIVE
    after = replace(page, ignored=learned.ignored, fingerprint=learned.fingerprint)
    outcome = Outcome.UNCHANGED if is_same else Outcome.CHANGED
    return _found(after, second, (second.body, digest_of(second.body)), outcome)


def learn_noise(page: Page, first: Content, second: Content) -> Page:
    """Give a page that ignores what differs between two contents; itself if there is no lesson."""
    ignored = page.ignored | first.noise(second)
    if ignored == page.ignored or len(ignored) > MAX_IGNORED:
        return page
    return replace(page, ignored=ignored, fingerprint=second.fingerprint(ignored))


def parse_date(value: str | None, now: int) -> int | None:
    """Read a Last-Modified in microseconds; None where it says nothing.

    Args:
        value: The header, in any form that is a date.
        now: A date in the future becomes this, in microseconds.

    >>> parse_date("Mon, 16 Nov 2026 02:57:00 GMT", 2 * 10**15)
    1794797820000000
    >>> parse_date("2026-11-16T02:57:00Z", 2 * 10**15)
    1794797820000000
    >>> parse_date("Thu, 01 Jan 1970 00:00:00 GMT", 2 * 10**15), parse_date("never", 0)
    (None, None)
    """
    text = (value or "").strip()
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = read(text)
            date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
            microseconds = round(date.timestamp()) * 1_000_000
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return min(microseconds, now) if microseconds >= _NO_WEB else None
    return None


def _read_answer(
    page: Page, response: Response, body: bytes, reader: Reader, previous: Content | bytes | None
) -> Comparison:
    """Compare a body with the copy; what is the same byte by byte need not be read."""
    digest = digest_of(body)
    if page.body is None or digest == page.body:
        outcome = _outcome(page, is_first=page.body is None, is_same=True)
        return _found(page, response, (body, digest), outcome)
    content = reader.read(body, response.header("content-type"))
    before, ignored = _before(page, response, reader, previous)
    if _is_suddenly_empty(page, body, content, before, reader):
        return _failed(page, "the response is empty")
    fingerprint = content.fingerprint(ignored)
    outcome = _outcome(page, is_first=before is None, is_same=before == fingerprint)
    after = replace(page, ignored=ignored, fingerprint=fingerprint)
    return _found(after, response, (body, digest), outcome)


def _outcome(page: Page, *, is_first: bool, is_same: bool) -> Outcome:
    if is_first:
        return Outcome.FIRST
    return Outcome.UNCHANGED if is_same and page.state is State.ALIVE else Outcome.CHANGED


def _failed(page: Page, problem: str) -> Comparison:
    return Comparison(replace(page, failures=page.failures + 1), Outcome.FAILED, problem=problem)


def _not_found(page: Page, confirmations: int) -> Comparison:
    """Count how often in a row; what failed in between is counted as well, but never decides."""
    times = page.failures + 1 if page.state is not State.ALIVE else 1
    state = State.GONE if times > confirmations else State.MISSING
    return Comparison(replace(page, state=state, failures=times, streak=0), Outcome.GONE)


def _not_modified(page: Page, response: Response) -> Comparison:
    if page.body is None:
        return _failed(page, "the server answered 'not modified', but there is no copy")
    told = _validators(response)
    kept = Validators(
        told.etag or page.validators.etag, told.last_modified or page.validators.last_modified
    )
    outcome = _outcome(page, is_first=False, is_same=True)
    after = _visited(page, response, outcome, kept, page.not_modified + 1, page.body)
    return Comparison(after, outcome, last_modified=parse_date(kept.last_modified, response.at))


def _found(
    page: Page, response: Response, found: tuple[bytes, bytes], outcome: Outcome
) -> Comparison:
    """Give the page after a body came with its digest, and the body if it is a new copy."""
    body, digest = found
    validators = _validators(response)
    is_copy = outcome is not Outcome.UNCHANGED or page.body is None
    return Comparison(
        _visited(page, response, outcome, validators, 0, digest if is_copy else page.body),
        outcome,
        body if is_copy and digest != page.body else None,
        last_modified=parse_date(validators.last_modified, response.at),
    )


def _visited(
    page: Page,
    response: Response,
    outcome: Outcome,
    validators: Validators,
    not_modified: int,
    body: bytes | None,
) -> Page:
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
    )


def digest_of(body: bytes) -> bytes:
    """Give the digest that a copy is stored under."""
    return blake2b(body, digest_size=16).digest()


def _validators(response: Response) -> Validators:
    return Validators(response.header("etag"), response.header("last-modified"))


def _before(
    page: Page, response: Response, reader: Reader, previous: Content | bytes | None
) -> tuple[Fingerprint | None, frozenset[bytes]]:
    """Give the copy's fingerprint as the reader makes it, and what is ignored in it."""
    known = page.fingerprint
    if known is not None and known.kind == reader.kind:
        return known, page.ignored
    copy = _read(previous, response, reader)
    # Lessons are about what another reader saw.
    ignored = page.ignored if known is None else frozenset[bytes]()
    return (None if copy is None else copy.fingerprint(ignored)), ignored


def _read(previous: Content | bytes | None, response: Response, reader: Reader) -> Content | None:
    if isinstance(previous, bytes):
        return reader.read(previous, response.header("content-type"))
    return previous if previous is not None and previous.kind == reader.kind else None


def _is_suddenly_empty(
    page: Page, body: bytes, content: Content, before: Fingerprint | None, reader: Reader
) -> bool:
    """Whether a page that had something to say says nothing: more often a hiccup than its will."""
    is_empty = not (body.strip() if reader.may_be_empty else content.texts)
    if not is_empty or before is None or page.failures >= _EMPTY_BELIEVED:
        return False
    return before.digest != content.fingerprint().digest


def _is_sent_home(asked: str, got: str) -> bool:
    """Whether a page deep inside a site led to the site's front page: it is not there any more."""
    if asked == got:
        return False
    page, end = urlsplit(asked), urlsplit(got)
    is_deep = len([part for part in page.path.split("/") if part]) >= _DEEP
    return is_deep and page.netloc == end.netloc and end.path in {"", "/"} and not end.query
