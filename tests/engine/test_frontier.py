"""The frontier that is made from what the store knows."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from crawler.fakes import PER_SECOND, SECOND, MemoryStore, settings_of

from recrawl.config.settings import FIELDS
from recrawl.config.site_tables import read_sites
from recrawl.crawler.build import load
from recrawl.engine.frontier import CrawlFrontier, days, load_frontier
from recrawl.records import Outcome, Page, Response, State, Visit
from recrawl.scheduling.remembering import WEEK, untold
from recrawl.store.kept.host_memory import (
    COUNTS,
    FOLDER_CLOCK,
    HOST_CLOCK,
    HOST_PAUSE,
    RHYTHM,
    SIGNAL_TRUST,
    SITEMAP_TRUST,
    THE_FLEET,
    hosts_left_alone,
    pack_rows,
    trust_in_sitemaps,
)
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
    assert (
        load(MemoryStore(f"{A}/0"), settings_of(budget=budget, first_fill="budget"), NOW).take(
            NOW, 1
        )
        == taken
    )


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


def test_a_page_that_is_out_is_not_taken_again_though_it_is_removed_and_added() -> None:
    store = MemoryStore(f"{A}/0", f"{A}/1")
    frontier = load_frontier(store, settings_of(), NOW)
    frontier.frontier.spend(-9)
    assert sorted(frontier.take(NOW, 9)) == sorted(frontier.out) == [0, 1]
    pages = list(store.known.values())
    # Adding what is there does nothing; adding what was removed does not bring it back early.
    frontier.add(pages, NOW, first=True)
    frontier.remove([0, 1])
    frontier.add([*pages, pages[0]], NOW + DAY, first=True)
    assert frontier.take(NOW + DAY, 9) == []
    assert (frontier.end_visit(0), frontier.end_visit(0), frontier.out) == (True, False, {1})
    frontier.release([1, 1, 0, 99], NOW + DAY)
    assert frontier.take(NOW + DAY, 9) == [1]


def test_a_page_that_is_not_there_to_be_visited_costs_nothing() -> None:
    settings = settings_of(first_fill="budget")
    frontier = load_frontier(MemoryStore(f"{A}/0", f"{A}/1"), settings, NOW)
    frontier.frontier.spend(-1)
    (first,) = frontier.take(NOW, 9)
    frontier.drop(first, NOW)
    assert (first in frontier, frontier.out) == (False, set())
    assert frontier.take(NOW, 9) == [1 - first]


@pytest.mark.parametrize(("importance", "usable"), [(1e100, 1e60), (-1.0, 0.0)])
def test_one_page_of_an_importance_that_nobody_can_use_does_no_harm(
    importance: float, usable: float
) -> None:
    store = MemoryStore(f"{A}/0", f"{A}/1")
    store.set_importance(f"{A}/0", importance)
    frontier = load_frontier(store, settings_of(), NOW)
    frontier.add([replace(store.known[0], number=7)], NOW)
    frontier.set_importance(1, importance)
    frontier.set_importance(99, importance)
    assert len(frontier) == 3
    assert set(frontier.frontier.importance([0, 1, 7])) == {usable}


def test_a_page_that_is_removed_while_its_failure_is_read_does_no_harm() -> None:
    store = MemoryStore(f"{A}/0", f"{A}/1")
    store.known[0] = replace(store.known[0], failures=3)
    gone = Response(f"{A}/0", 503, NOW, error="the server answered 503")
    store.log = [Visit(store.known[0], Outcome.FAILED, gone)]
    fleet = store.fleet()
    del store.known[0]
    store.fleet = lambda: fleet  # type: ignore[method-assign]
    assert len(load_frontier(store, settings_of(), NOW)) == 2


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


def with_copies(*urls: str, days: float = 1.0) -> MemoryStore:
    store = MemoryStore(*urls)
    for number, page in store.known.items():
        store.known[number] = replace(page, last_visit=NOW - round(days * DAY))
    return store


def loaded(store: MemoryStore, **changed: Any) -> CrawlFrontier:  # noqa: ANN401
    frontier = load_frontier(store, settings_of(**changed), NOW)
    frontier.frontier.spend(-20)
    return frontier


def test_a_host_that_did_not_answer_is_tried_by_the_next_run_and_one_that_did_is_not() -> None:
    frontier = load_frontier(MemoryStore(f"{A}/0", f"{B}/0"), settings_of(), NOW)
    none = Response("", 0, NOW, error="no connection")
    assert frontier.close("a.example", none, 60.0) == NOW + 60 * SECOND
    assert frontier.take_learned()[HOST_PAUSE] == {}
    frontier.close("a.example", replace(none, retry_after=5.0), 60.0)
    frontier.close("b.example", Response("", 503, NOW), 30.0)
    kept = frontier.take_learned()[HOST_PAUSE]
    assert hosts_left_alone(kept, NOW + SECOND) == {"a.example": 59.0, "b.example": 29.0}
    # What was returned once is not returned again.
    assert frontier.take_learned()[HOST_PAUSE] == {}
    store = MemoryStore(f"{B}/0")
    store.keep(HOST_PAUSE, kept)
    again = load_frontier(store, settings_of(), NOW + SECOND)
    # The other host has no page any more.
    assert again.left_alone == {"b.example": NOW + 30 * SECOND}


def test_what_was_learned_is_of_hosts_and_folders_that_were_visited() -> None:
    store = with_copies(f"{A}/x/0", f"{A}/y/0", f"{B}/0")
    frontier = loaded(store)
    assert set(map(len, frontier.take_learned().values())) == {0}
    strange = Page(9, "https://c.example/0", "c.example")
    visits = [
        Visit(page, Outcome.UNCHANGED, Response("", 200, NOW)) for page in (store.known[0], strange)
    ]
    frontier.note_activity(visits)
    learned = frontier.take_learned()
    assert {what: list(rows) for what, rows in learned.items() if rows} == {
        HOST_CLOCK: ["a.example"],
        FOLDER_CLOCK: [f"{A}/x"],
        SIGNAL_TRUST: ["a.example"],
        RHYTHM: [THE_FLEET],
    }
    assert set(map(len, frontier.take_learned().values())) == {0}


def test_pages_of_some_hosts_are_taken() -> None:
    frontier = loaded(MemoryStore(f"{A}/0", f"{B}/0", f"{A}/1"))
    assert frontier.take(NOW, 9, ["c.example"]) == []
    assert frontier.take(NOW, 9, ["b.example", "c.example"]) == [1]
    assert sorted(frontier.take(NOW, 9)) == [0, 2]


def test_the_frontier_goes_on_when_the_clock_is_set_back() -> None:
    """It had come to a day after the start: a host closed for an hour opens an hour later."""
    frontier = loaded(with_copies(f"{A}/0", f"{B}/0"))
    frontier.take(NOW + DAY, 0)
    frontier.take(NOW, 0)
    assert frontier.defer("a.example", NOW, 3_600.0) == NOW + DAY // 24
    frontier.frontier.spend(-20)
    assert frontier.take(NOW + DAY // 24 - SECOND, 9) == [1]
    assert frontier.take(NOW + DAY // 24 + SECOND, 9) == [0]


def test_pages_that_were_not_fetched_are_taken_again() -> None:
    frontier = loaded(MemoryStore(f"{A}/0", f"{A}/1"))
    assert len(frontier.take(NOW, 9)) == 2
    frontier.release([1, 99], NOW)
    assert frontier.take(NOW, 9) == [1]


@pytest.mark.parametrize(
    ("changed", "first", "taken"),
    [
        # It was visited two hours ago, and may be visited after one or three.
        ({"min_interval": 1 / 24}, False, True),
        ({"min_interval": 3 / 24}, False, False),
        ({"min_interval": 3 / 24}, True, True),
    ],
)
def test_a_page_that_is_added_has_the_limits_of_the_settings(
    changed: dict[str, float], first: bool, taken: bool
) -> None:
    frontier = loaded(MemoryStore(f"{B}/0"), **changed)
    assert frontier.take(NOW, 1) == [0]
    page = Page(7, f"{A}/7", "a.example", last_visit=NOW - DAY // 12)
    frontier.add([page], NOW, first=first)
    assert (7 in frontier.take(NOW, 1)) == taken


def test_a_missing_page_that_is_added_comes_first() -> None:
    pages = [Page(number, f"{A}/{number}", "a.example", last_visit=NOW - DAY) for number in (7, 8)]
    frontier = loaded(MemoryStore(f"{B}/0"))
    frontier.take(NOW, 1)
    frontier.add([pages[0], replace(pages[1], state=State.MISSING)], NOW)
    assert frontier.take(NOW, 1) == [8]


def test_sites_have_their_own_delay_and_budget() -> None:
    pages = [f"{host}/{number}" for host in (A, B) for number in range(20)]
    tables = {"host": {"a.example": {"delay": "5s"}, "b.example": {"budget": "86400/day"}}}
    settings = replace(settings_of(budget=100 * PER_SECOND), sites=read_sites(tables))
    frontier = load_frontier(MemoryStore(*pages), settings, NOW)
    times = [NOW + tenth * SECOND // 10 for tenth in range(1, 101)]
    numbers = [number for at in times for number in frontier.take(at, 9)]
    found = Counter("a" if number < 20 else "b" for number in numbers)
    assert found["a"] == 2
    assert 9 <= found["b"] <= 12


def test_retries_of_pages_that_failed_are_restored() -> None:
    """One after another failure waits; those without an answer, and without a log, do not."""
    store = with_copies(*(f"{A}/{number}" for number in range(4)))
    busy, none = (
        Response("", 503, NOW - SECOND, error="busy"),
        Response("", 0, NOW - SECOND, error="no"),
    )
    for number in range(3):
        store.known[number] = replace(store.known[number], failures=1)
    store.log = [
        Visit(store.known[0], Outcome.FAILED, busy),
        Visit(store.known[1], Outcome.FAILED, none),
    ]
    frontier = loaded(store)
    assert sorted(frontier.take(NOW, 9)) == [1, 2, 3]
    # Ten seconds after it failed.
    assert frontier.take(NOW + 8 * SECOND, 9) == []
    assert frontier.take(NOW + 9 * SECOND, 9) == [0]


def test_what_an_earlier_run_learned_is_known_again() -> None:
    trust, rhythm = untold(2), np.ones(1, WEEK)
    trust["right"] += 3.0
    trust["seen"] += np.arange(1.0, 3.0)[:, None] * 4.0
    for name in WEEK.names or ():
        rhythm[name] = np.arange(1.0, 1.0 + rhythm[name].size).reshape(rhythm[name].shape)
    store = with_copies(f"{A}/x/0", f"{B}/0")
    # Newer data about the same host counts.
    store.keep(
        SITEMAP_TRUST,
        {f"{name}.example": np.array([(9.0, 2.0)], COUNTS).tobytes() for name in "ab"},
    )
    store.keep(SIGNAL_TRUST, pack_rows(["b.example", "gone.example"], trust))
    store.keep(RHYTHM, pack_rows([THE_FLEET], rhythm))
    found = load_frontier(store, settings_of(), NOW).frontier
    expected = np.concatenate([trust_in_sitemaps(np.array([(9.0, 2.0)], COUNTS)), trust[:1]])
    assert found.signal_trust([0, 1]).tobytes() == expected.tobytes()
    assert found.rhythm().tobytes() == rhythm.tobytes()


@pytest.mark.parametrize("neighbours", [True, False])
def test_activity_of_neighbours_is_known_again_if_it_is_used(neighbours: bool) -> None:
    store = with_copies(*(f"{A}/x/{number}" for number in range(5)))
    before = loaded(store)
    before.frontier.report([0, 1, 2], days(NOW), changed=True)
    visits = [Visit(store.known[n], Outcome.CHANGED, Response("", 200, NOW)) for n in range(3)]
    before.note_activity(visits)
    for what, rows in before.take_learned().items():
        store.keep(what, rows)
    again = load_frontier(store, settings_of(neighbours=neighbours), NOW)
    clocks = [frontier.frontier.clocks(host=[0], section=[0]) for frontier in (before, again)]
    is_known = [bool((old == new).all()) for old, new in zip(*clocks, strict=True)]
    assert is_known == [neighbours] * 2


def test_a_host_that_comes_later_has_its_own_delay() -> None:
    sites = read_sites({"host": {"b.example": {"delay": "5s"}}})
    settings = replace(settings_of(budget=100 * PER_SECOND), sites=sites)
    frontier = load_frontier(MemoryStore(f"{A}/0"), settings, NOW)
    frontier.add([Page(n, f"{B}/{n}", "b.example") for n in range(1, 9)], NOW)
    times = [NOW + tenth * SECOND // 10 for tenth in range(1, 101)]
    assert len([number for at in times for number in frontier.take(at, 9) if number]) == 2
