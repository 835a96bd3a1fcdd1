"""Decide how long to leave a page alone after a failed visit. Pure: no clock."""

from http import HTTPStatus

from recrawl.config.settings import Settings
from recrawl.records import MICROSECONDS_A_DAY, RESTING, Outcome, Page, State, Visit
from recrawl.store.rows import LastVisit, LoggedVisit

_SECOND = 1_000_000
_HOUR = 3_600 * _SECOND
#: After a failure a page is left alone for this long, and twice as long after each further one.
FIRST_PAUSE, MAX_PAUSE = 10 * _SECOND, 24 * _HOUR
MAX_DOUBLINGS = 16
#: A missing page is retried after as long as it has been missing, but no sooner than this; during
#: an outage within these limits.
MISSING_PAUSE = 300 * _SECOND
OUTAGE_PAUSE, MAX_OUTAGE_PAUSE = 60 * _SECOND, 6 * _HOUR
#: The same for a page that is suddenly empty, but no sooner than this.
EMPTY_PAUSE = _HOUR


def pause_after(visit: Visit, gone_time: int) -> int:
    """Return the minimum microseconds to leave a page alone after a failed visit.

    A Retry-After counts twice for the page that received it, and more with each failure: when the
    host opens again, other pages should get their turn first.

    Args:
        visit: The visit, with the page as it is after it.
        gone_time: How long a page must be missing to be gone, in microseconds.
    """
    response = visit.response
    if response.postponed or visit.is_refusal:
        return 0
    asked = 2 * round((response.retry_after or 0.0) * _SECOND)
    return _pause(visit.page, visit.outcome, response.status, response.at, gone_time, asked)


def earliest_retry(
    page: Page, last: LoggedVisit | LastVisit | None, settings: Settings
) -> int | None:
    """Return when a page whose last visit failed is retried, in microseconds; None for others.

    The log has no Retry-After, and does not know about hosts in backoff: the retry may be later.

    Args:
        page: The page.
        last: Its last visit, if there was one.
        settings: How long a page must be missing to be gone.
    """
    if last is None or page.failures == 0 or page.state in RESTING:
        return None
    gone_time = round(settings.gone_after_time * MICROSECONDS_A_DAY)
    return last.at + _pause(page, last.outcome, last.status, last.at, gone_time)


def _pause(
    page: Page, outcome: Outcome, status: int, at: int, gone_time: int, asked: int = 0
) -> int:
    missing = 0 if page.missing_since is None else at - page.missing_since
    if outcome is Outcome.GONE and page.state is State.MISSING:
        return max(min(max(missing, MISSING_PAUSE), gone_time - missing), 0)
    if outcome is not Outcome.FAILED:
        return 0
    if page.missing_since is not None and status == HTTPStatus.OK:
        return min(max(missing, EMPTY_PAUSE), MAX_PAUSE)
    if page.missing_since is not None and status:
        return min(max(missing, OUTAGE_PAUSE), MAX_OUTAGE_PAUSE)
    doublings = min(max(page.failures - 1, 0), MAX_DOUBLINGS)
    return min(max(FIRST_PAUSE, asked) << doublings, MAX_PAUSE)
