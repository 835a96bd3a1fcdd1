"""How long pages are left alone after visits that failed."""

from dataclasses import replace
from typing import Any

import pytest

from recrawl.config.settings import Settings
from recrawl.engine.retries import earliest_retry, pause_after
from recrawl.records import Outcome, Page, Response, State, Visit
from recrawl.store.rows import LastVisit

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


def test_a_pause_the_server_asked_for_counts_twice_for_the_page() -> None:
    page = Page(0, "u", "h", failures=1)

    def pause_of(**changed: Any) -> float:  # noqa: ANN401
        response = replace(Response("u", 503, AT, error="why"), **changed)
        return pause_after(Visit(page, Outcome.FAILED, response), DAY) / SECOND

    assert [pause_of(retry_after=asked) for asked in (None, 0.0, 4.0, 30.5)] == [
        10.0,
        10.0,
        10.0,
        61.0,
    ]
    assert pause_of(retry_after=90_000.0) == 86_400.0
    # The page was not requested, so nothing is known about it.
    assert pause_of(postponed=True) == 0.0


def test_there_is_none_after_a_refusal() -> None:
    page = Page(0, "u", "h", failures=1, state=State.REFUSED)
    visit = Visit(page, Outcome.FAILED, Response("u", 403, AT, error="why"))
    assert visit.is_refusal
    assert pause_after(visit, DAY) == 0


def test_a_missing_page_whose_host_fails_is_retried_like_any_other() -> None:
    assert pause(Outcome.FAILED, 0, HOUR, state=State.MISSING) == 10.0


def test_the_retry_of_a_page_follows_from_its_last_visit_in_the_log() -> None:
    failed = Page(0, "u", "h", failures=2)
    missing = replace(failed, state=State.MISSING, missing_since=AT - HOUR)
    settings = Settings(gone_after_time=1.5 / 24)
    no_answer, not_found = LastVisit(AT, Outcome.FAILED, 0), LastVisit(AT, Outcome.GONE, 404)
    assert earliest_retry(failed, no_answer, settings) == AT + 20 * SECOND
    # It would be gone half an hour later.
    assert earliest_retry(missing, not_found, settings) == AT + HOUR // 2
    assert earliest_retry(missing, not_found, Settings()) == AT + HOUR


def test_there_is_no_retry_of_a_page_that_did_not_fail_or_rests() -> None:
    failed, last = Page(0, "u", "h", failures=2), LastVisit(AT, Outcome.FAILED, 500)
    assert earliest_retry(failed, None, Settings()) is None
    assert earliest_retry(replace(failed, failures=0), last, Settings()) is None
    for state in (State.GONE, State.REFUSED):
        assert earliest_retry(replace(failed, state=state), last, Settings()) is None
