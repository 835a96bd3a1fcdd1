"""What a run counts."""

import math
from dataclasses import replace

import pytest

from recrawl.cli.render.run import as_object, spending
from recrawl.engine.stats import HostTimes, Stats
from recrawl.records import Outcome, Page, Response, State, Visit

HOUR = 3_600_000_000


def visit(host: str, seconds: float, requests: int = 1) -> Visit:
    url = f"http://{host}/"
    response = Response(url, 200, 1, requests=requests, seconds=seconds)
    return Visit(Page(1, url, host), Outcome.FIRST, response)


def test_the_five_slowest_hosts_are_listed_by_their_mean() -> None:
    stats = Stats(began=0, budget=1.0)
    for number in range(7):
        stats.count(visit(f"{number}.example", seconds=float(number)))
        stats.count(visit(f"{number}.example", seconds=float(number) + 1.0))
    stats.count(visit("not-asked.example", seconds=100.0, requests=0))
    assert [host for host, _ in stats.slowest()] == [f"{n}.example" for n in (6, 5, 4, 3, 2)]
    assert stats.slowest()[0][1] == HostTimes(responses=2, seconds=13.0)
    assert stats.slowest()[0][1].mean == 6.5


def test_a_run_that_begins_has_counted_nothing() -> None:
    counted = vars(Stats(began=0, budget=1.0)) | {"budget": 0.0, "trouble": None}
    assert [name for name, value in counted.items() if value] == []


@pytest.mark.parametrize(("hours", "used"), [(5, None), (6, 1.0), (12, 0.5), (0, None)])
def test_the_share_of_the_budget_waits_until_it_allows_a_request(
    hours: int, used: float | None
) -> None:
    stats = Stats(began=HOUR, budget=4.0, now=(hours + 1) * HOUR)
    stats.count(visit("a.example", seconds=1.0))
    assert stats.budget_used == used
    shown = f"{used:.1%}".replace("%", " %") if used else "(budget: 4/day)"
    assert shown in spending(stats)
    assert as_object(stats)["budget_used"] == used


def test_the_share_of_a_budget_that_changes_counts_what_each_allowed() -> None:
    stats = Stats(began=HOUR, budget=24.0, now=HOUR, budget_since=HOUR)
    stats.set_budget(48.0, 3 * HOUR)
    stats.set_budget(12.0, 4 * HOUR)
    stats.now = 6 * HOUR
    stats.requests = 4
    # Two hours at 1 per hour, one at 2, two at a half.
    assert stats.budget_used == pytest.approx(4 / (2 + 2 + 1))
    assert stats.budget == 12.0


def test_no_more_pages_are_not_modified_than_unchanged() -> None:
    """A page that was not found and is back is a change, whatever its server answers."""
    stats = Stats(began=0, budget=1.0)
    for outcome in (Outcome.UNCHANGED, Outcome.CHANGED):
        page = Page(1, "http://a.example/", "a.example")
        stats.count(Visit(page, outcome, Response(page.url, 304, 1, requests=1)))
    assert (stats.outcomes[Outcome.UNCHANGED], stats.not_modified) == (1, 1)


@pytest.mark.parametrize(
    ("seconds", "bucket"),
    [
        *((0.0, 0.01), (0.02, 0.025), (0.05, 0.05), (0.07, 0.1), (0.2, 0.25), (0.3, 0.5)),
        *((0.9, 1.0), (2.0, 2.5), (3.0, 5.0), (6.0, 10.0), (11.0, 30.0), (31.0, math.inf)),
    ],
)
def test_responses_are_counted_in_the_smallest_bucket_that_holds_them(
    seconds: float, bucket: float
) -> None:
    """The bounds are those of the histogram that others query."""
    stats = Stats(began=0, budget=1.0)
    stats.count(visit("a.example", seconds))
    assert (dict(stats.times), stats.seconds) == ({bucket: 1}, seconds)


def test_visits_add_up() -> None:
    stats = Stats(began=0, budget=1.0)
    page = Page(1, "http://a.example/", "a.example")
    found = Response(page.url, 200, 1, requests=2, transferred=700, seconds=1.5)
    refused = Visit(replace(page, state=State.REFUSED), Outcome.FAILED, found)
    for one in (Visit(page, Outcome.FIRST, found), Visit(page, Outcome.CHANGED, found), refused):
        stats.count(one)
        assert stats.newest is one
    assert (stats.visits, stats.refused, stats.not_modified) == (2, 1, 0)
    assert (stats.requests, stats.transferred, stats.seconds) == (6, 2_100, 4.5)
    stats.count(refused)
    assert stats.refused == 2


def test_a_host_without_a_response_has_taken_no_time() -> None:
    assert HostTimes().mean == 0.0
