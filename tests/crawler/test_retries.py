"""How long pages are left alone after visits that failed."""

import pytest

from recrawl.crawler.retries import pause_after
from recrawl.records import Outcome, Page, Response, State, Visit

SECOND = 1_000_000
HOUR, DAY = 3_600 * SECOND, 86_400 * SECOND
AT = 1_000 * DAY


def pause(
    outcome: Outcome,
    status: int,
    missing: int | None,
    failures: int = 1,
    state: State = State.ALIVE,
) -> float:
    """Return the seconds after a visit to a page that has been missing for some microseconds."""
    since = None if missing is None else AT - missing
    page = Page(0, "u", "h", state=state, failures=failures, missing_since=since)
    response = Response("u", status, AT, error="why")
    return pause_after(Visit(page, outcome, response), DAY) / SECOND


@pytest.mark.parametrize(
    ("status", "missing", "seconds"),
    [
        # Nothing is missing: the first failure.
        (0, None, 10.0),
        (200, None, 10.0),
        (503, None, 10.0),
        # Suddenly empty: after an hour, and then as long as it has been so, up to a day.
        (200, 0, 3_600.0),
        (200, 2 * HOUR, 7_200.0),
        (200, 9 * DAY, 86_400.0),
        # Away with the pages around it: after a minute, up to six hours.
        (404, 0, 60.0),
        (404, HOUR, 3_600.0),
        (404, 9 * DAY, 21_600.0),
        # Its host did not answer: that says nothing about the page.
        (0, 9 * DAY, 10.0),
    ],
)
def test_a_failure_is_followed_by_a_pause_of_its_kind(
    status: int, missing: int | None, seconds: float
) -> None:
    assert pause(Outcome.FAILED, status, missing) == seconds


@pytest.mark.parametrize(
    ("missing", "seconds"),
    [(0, 300.0), (HOUR, 3_600.0), (DAY - HOUR, 3_600.0), (DAY, 0.0), (2 * DAY, 0.0)],
)
def test_a_page_that_is_missing_is_looked_at_until_it_is_gone(missing: int, seconds: float) -> None:
    assert pause(Outcome.GONE, 404, missing, state=State.MISSING) == seconds


def test_pauses_double_with_each_failure_up_to_a_day() -> None:
    found = [pause(Outcome.FAILED, 500, None, failures) for failures in (1, 2, 5, 14, 15, 99)]
    assert found == [10.0, 20.0, 160.0, 81_920.0, 86_400.0, 86_400.0]


@pytest.mark.parametrize("outcome", [Outcome.FIRST, Outcome.CHANGED, Outcome.UNCHANGED])
def test_there_is_none_after_a_visit_that_found_the_page(outcome: Outcome) -> None:
    assert pause(outcome, 200, None) == 0.0
