"""Handle pages that cannot be fetched: refused, missing, gone, or in an outage."""

from dataclasses import dataclass, replace
from http import HTTPStatus
from urllib.parse import urlsplit

from recrawl.challenges import is_challenge
from recrawl.content.comparison import Comparison, failed
from recrawl.records import DISALLOWED, NOT_A_PAGE, Outcome, Page, Response, State, Validators

_DAY = 86_400_000_000
#: A page that is gone is checked again after as long as it has been missing, within these limits.
MIN_REST, MAX_REST = 14 * _DAY, 182 * _DAY
#: How long it counts as an outage if pages are suddenly all missing, or empty.
MAX_OUTAGE = 14 * _DAY

#: Failures in a row after which a page that looks wrong is trusted, if they took that long.
_TRUSTED = 3
#: The beginning of the error of a page in an outage.
OUTAGE = "not found, like most pages"
_NOT_FOUND = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_REFUSED = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS,
    }
)
#: The number of folders from which a page is deep inside its site.
_DEEP = 2


@dataclass(frozen=True, slots=True)
class Patience:
    """When to give up on a page that is not found or refused.

    Attributes:
        gone_after: A page is gone when it was not found this many times in a row...
        gone_time: ...over this many microseconds.
        refused_time: A refused page is checked again after this many microseconds.
        drops_refused: Whether the copy of a page that is refused by its server or robots.txt is
            dropped.
    """

    gone_after: int = 3
    gone_time: int = _DAY
    refused_time: int = 3 * _DAY
    drops_refused: bool = False


def is_trusted(page: Page, at: int) -> bool:
    """Whether a page has looked wrong so often, and for so long, that it is taken as it is."""
    return page.failures >= _TRUSTED and at - (page.missing_since or at) >= MAX_OUTAGE


def is_refused(response: Response) -> bool:
    """Whether access to the page is refused: a retry within seconds is pointless, and impolite.

    A challenge is about us, not about the page.
    """
    is_denied = response.status in _REFUSED and not is_challenge(response.error)
    return response.permanent or is_denied


def is_not_found(page: Page, response: Response) -> bool:
    """Whether a response says that there is no such page."""
    if response.error is not None or is_refused(response):
        return False
    return response.status in _NOT_FOUND or _is_redirected_home(page.url, response.url)


def refused(page: Page, response: Response, patience: Patience) -> Comparison:
    """Return the result for a refused page: it rests, with the reason."""
    reason = response.error or f"the server answered {response.status}"
    # What is not a page is unlikely to become one.
    rest = MAX_REST if reason.startswith(NOT_A_PAGE) else patience.refused_time
    retry_at = response.at + rest
    after = replace(page, state=State.REFUSED, reason=reason, retry_at=retry_at)
    is_denied = response.status in _REFUSED or reason == DISALLOWED
    if patience.drops_refused and is_denied and page.body is not None:
        after = without_copy(after)
    return Comparison(after, Outcome.FAILED, problem=reason)


def without_copy(page: Page) -> Page:
    """Return a page whose copy is not kept; what is known of its changes is."""
    return replace(
        page,
        last_visit=None,
        validators=Validators(),
        fingerprint=None,
        body=None,
        streak=0,
        not_modified=0,
    )


def not_found(page: Page, at: int, patience: Patience, outage: str | None) -> Comparison:
    """Count how often in a row, and for how long; failures in between count, but do not decide."""
    since = at if page.missing_since is None else page.missing_since
    is_short = at - since < MAX_OUTAGE
    if outage is not None and is_short and page.state is not State.GONE:
        problem = f"{OUTAGE} of {outage}"
        return failed(page, problem, since)
    if page.state is State.ALIVE and is_short:
        # There may have been an outage before; from now on only this page is missing.
        since = at
    times = page.failures + 1 if page.state is not State.ALIVE else 1
    after = replace(page, failures=times, streak=0, missing_since=since, retry_at=None)
    if times < patience.gone_after or at - since < patience.gone_time:
        return Comparison(replace(after, state=State.MISSING), Outcome.GONE)
    retry_at = at + min(max(at - since, MIN_REST), MAX_REST)
    return Comparison(replace(after, state=State.GONE, retry_at=retry_at), Outcome.GONE)


def _is_redirected_home(url: str, final: str) -> bool:
    """Whether a page deep inside a site redirects to the front page: it no longer exists."""
    if url == final:
        return False
    page, end = urlsplit(url), urlsplit(final)
    is_deep = len([part for part in page.path.split("/") if part]) >= _DEEP
    return is_deep and page.netloc == end.netloc and end.path in {"", "/"} and not end.query
