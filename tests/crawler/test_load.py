"""The frontier that is made from what the store knows."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from crawler.fakes import PER_SECOND, SECOND, MemoryStore, settings_of

from recrawl.crawler.build import load
from recrawl.crawler.load import load_frontier
from recrawl.crawler.settings import FIELDS
from recrawl.records import Outcome, Response, Visit
from recrawl.units import parse_rate

DAY = 86_400 * SECOND
NOW = 1_000 * DAY
A, B = "https://a.example", "https://b.example"


def test_beliefs_and_visits_come_from_the_store() -> None:
    store = MemoryStore(f"{A}/0", f"{A}/1", f"{A}/2")
    store.known[0] = replace(store.known[0], last_visit=NOW - DAY)
    store.known[1] = replace(store.known[1], last_visit=NOW - DAY)
    store.beliefs = {0: (6.0, 3.0), 1: (1.0, 400.0)}
    frontier = load_frontier(store, settings_of(), NOW)
    shape, time = frontier.frontier.belief([0, 1]).columns(2)
    assert shape[0] / time[0] == pytest.approx(6.0 / 3.0, rel=0.3)
    assert shape[1] / time[1] < 1.0 / 10.0
    frontier.frontier.spend(-3)
    # The page without a copy comes first, then the one that changes often.
    assert frontier.take(NOW, 2) == [2, 0]


@pytest.mark.parametrize(("budget", "taken"), [(0.5, []), (1.0, [0])])
def test_the_first_page_of_a_new_store_is_fetched_at_once_if_a_day_pays_for_it(
    budget: float, taken: list[int]
) -> None:
    assert load(MemoryStore(f"{A}/0"), settings_of(budget=budget), NOW).take(NOW, 1) == taken


def test_a_clock_that_was_put_back_does_no_harm() -> None:
    store = MemoryStore(f"{A}/0", f"{A}/1")
    store.known[0] = replace(store.known[0], last_visit=NOW + DAY)
    frontier = load_frontier(store, settings_of(), NOW)
    assert 0.0 <= frontier.frontier.expected_freshness(NOW / DAY) <= 0.5
    frontier.add([replace(store.known[0], number=7, last_visit=NOW + DAY)], NOW)
    assert len(frontier) == 3


@pytest.mark.parametrize("put_back", [0, 10 * DAY])
def test_a_pause_is_never_longer_than_it_was_whatever_the_clock_says(put_back: int) -> None:
    store = MemoryStore(f"{A}/0", f"{B}/0")
    busy = Response("", 503, NOW, error="the server answered 503")
    frontier = load_frontier(store, settings_of(), NOW)
    frontier.close("b.example", busy, 60.0)
    for what, learned in frontier.take_learned().items():
        store.keep(what, learned)
    store.known[0] = replace(store.known[0], failures=3)
    store.log = [Visit(store.known[0], Outcome.FAILED, busy)]
    now = NOW - put_back
    again = load_frontier(store, settings_of(), now)
    again.frontier.spend(-9)
    assert again.take(now + 39 * SECOND, 9) == []
    assert again.take(now + 41 * SECOND, 9) == [0]
    assert again.take(now + 61 * SECOND, 9) == [1]


def test_removing_a_page_that_is_not_there_does_nothing() -> None:
    frontier = load_frontier(MemoryStore(f"{A}/0", f"{A}/1"), settings_of(), NOW)
    frontier.remove([1, 99])
    assert (0 in frontier, 1 in frontier, len(frontier)) == (True, False, 1)
    frontier.remove([99])
    frontier.release([1, 99], NOW)


def test_a_deferred_host_is_passed_over_until_its_time() -> None:
    frontier = load_frontier(MemoryStore(f"{A}/0", f"{B}/0"), settings_of(), NOW)
    frontier.frontier.spend(-5)
    assert frontier.defer("a.example", NOW, 2.5) == NOW + 2_500_000
    assert frontier.take(NOW + 2 * SECOND, 5) == [1]
    assert frontier.take(NOW + 3 * SECOND, 5) == [0]


def test_a_page_in_a_hurry_is_visited_first_until_it_was() -> None:
    store = MemoryStore(*(f"{A}/{number}" for number in range(3)))
    for number, page in store.known.items():
        store.known[number] = replace(page, last_visit=NOW - (1 + number) * DAY)
    frontier = load_frontier(store, settings_of(min_interval=2 / 24), NOW)
    frontier.frontier.spend(-5)
    frontier.hurry(store.known[0])
    frontier.hurry(replace(store.known[0], number=99))
    assert [frontier.is_hurried(page) for page in (0, 1, 99)] == [True, False, False]
    assert frontier.take(NOW, 1) == [0]
    frontier.hurried([0, 1])
    assert not frontier.is_hurried(0)
    # Its usual limits apply again.
    frontier.release([0], NOW)
    assert frontier.take(NOW, 2)[0] == 2


def test_a_host_is_visited_at_the_delay_it_asked_for_last_if_that_is_above_the_usual() -> None:
    pages = [f"{A}/{number}" for number in range(9)]
    settings = settings_of(host_delay=1.0, budget=100 * PER_SECOND)

    def taken_in_ten_seconds(*delays: float) -> int:
        frontier = load_frontier(MemoryStore(*pages), settings, NOW)
        for delay in delays:
            frontier.limit_host("a.example", delay)
        return sum(len(frontier.take(NOW + n * SECOND // 10, 9)) for n in range(1, 101))

    assert taken_in_ten_seconds() == taken_in_ten_seconds(0.1) == 9
    assert taken_in_ten_seconds(5.0) == taken_in_ten_seconds(0.1, 5.0) == 2
    assert taken_in_ten_seconds(5.0, 0.1) == 9


@pytest.mark.parametrize("pages", [0, 3])
def test_what_is_loaded_knows_since_when(pages: int) -> None:
    store = MemoryStore(*(f"{A}/{number}" for number in range(pages)))
    frontier = load_frontier(store, settings_of(), NOW)
    assert (len(frontier), frontier.loaded_at, frontier.serial) == (pages, NOW, pages)


@pytest.mark.parametrize("year", [1970, 2026, 2200])
def test_the_largest_budget_can_be_used_at_any_time(year: int) -> None:
    largest = FIELDS["budget"].metadata["maximum"]
    settings = settings_of(budget=parse_rate(largest))
    now = round(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * SECOND
    frontier = load_frontier(MemoryStore(f"{A}/0"), settings, now)
    assert frontier.take(now + SECOND, 5) == [0]
