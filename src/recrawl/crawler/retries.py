"""How long a page is left alone after a visit that failed. Pure: a decision, and no clock."""

from http import HTTPStatus

from recrawl.records import Outcome, State, Visit

_SECOND = 1_000_000
_HOUR = 3_600 * _SECOND
#: After a failure a page is left alone for this long, and twice as long after each further one.
FIRST_PAUSE, MAX_PAUSE = 10 * _SECOND, 24 * _HOUR
MAX_DOUBLINGS = 16
#: A page that is not found is requested again after as long as it has been missing, but not before
#: this long, and during an outage at least this often.
MISSING_PAUSE = 300 * _SECOND
OUTAGE_PAUSE, MAX_OUTAGE_PAUSE = 60 * _SECOND, 6 * _HOUR
#: A page that is suddenly empty, too, but not before this long.
EMPTY_PAUSE = _HOUR


def pause_after(visit: Visit, gone_time: int) -> int:
    """Return for how many microseconds at least to leave a page alone after a failed visit.

    A Retry-After is twice as long for the page that brought it as for its host, and grows with
    each failure: when the host opens again, it is the turn of other pages.

    Args:
        visit: The visit, with the page as it is after it.
        gone_time: How long a page must be missing to be gone, in microseconds.
    """
    page, at = visit.page, visit.response.at
    if visit.response.postponed or visit.is_refusal:
        return 0
    missing = 0 if page.missing_since is None else at - page.missing_since
    if visit.outcome is Outcome.GONE and page.state is State.MISSING:
        return max(min(max(missing, MISSING_PAUSE), gone_time - missing), 0)
    if visit.outcome is not Outcome.FAILED:
        return 0
    if page.missing_since is not None and visit.response.status == HTTPStatus.OK:
        return min(max(missing, EMPTY_PAUSE), MAX_PAUSE)
    if page.missing_since is not None and visit.response.status:
        return min(max(missing, OUTAGE_PAUSE), MAX_OUTAGE_PAUSE)
    doublings = min(max(page.failures - 1, 0), MAX_DOUBLINGS)
    asked = 2 * round((visit.response.retry_after or 0.0) * _SECOND)
    return min(max(FIRST_PAUSE, asked) << doublings, MAX_PAUSE)
