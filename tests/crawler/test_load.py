"""The frontier that is made from what the store knows."""

from dataclasses import replace

import numpy as np
import pytest
from crawler.fakes import PER_SECOND, SECOND, MemoryStore, settings_of

from recrawl.crawler.build import load
from recrawl.crawler.load import MIN_OBSERVATIONS, Priors, learn_priors, load_frontier
from recrawl.estimation import Prior
from recrawl.store.rows import Observed

DAY = 86_400 * SECOND
NOW = 1_000 * DAY
A, B = "https://a.example", "https://b.example"


class ObservedStore(MemoryStore):
    """A store with observations: changes on one host, none on the other."""

    def __init__(self, observed: int, pages: int = 40) -> None:
        super().__init__(*(f"{host}/{page}" for host in (A, B) for page in range(pages)))
        self._observed = observed
        self._pages = pages

    def observations(self, about: int) -> Observed:
        assert about == 200_000
        page = np.arange(self._observed) % (2 * self._pages)
        order = np.argsort(page, kind="stable")
        changed = page < self._pages
        elapsed = np.full(self._observed, DAY)
        return Observed(page[order], elapsed, changed[order])


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


def test_priors_are_learned_by_host_where_there_is_enough_to_learn_from() -> None:
    store = ObservedStore(800)
    fleet = store.fleet()
    prior, priors = learn_priors(store.observations(200_000), fleet, fleet.host)
    assert prior is not None
    assert priors.fleet is not None
    by_host = {host: shape / time for host, (shape, time) in priors.by_host.items()}
    assert by_host[0] > 3 * by_host[1]
    few = ObservedStore(MIN_OBSERVATIONS - 1)
    assert learn_priors(few.observations(200_000), few.fleet(), few.fleet().host) == (
        None,
        Priors(),
    )
    enough = ObservedStore(MIN_OBSERVATIONS)
    assert (
        learn_priors(enough.observations(200_000), enough.fleet(), enough.fleet().host)[0]
        is not None
    )


def test_observations_of_pages_that_were_removed_are_left_out() -> None:
    store = ObservedStore(MIN_OBSERVATIONS)
    store.remove(f"{A}/0")
    assert learn_priors(store.observations(200_000), store.fleet(), store.fleet().host) == (
        None,
        Priors(),
    )


def test_an_unknown_host_gets_the_prior_of_the_fleet() -> None:
    priors = Priors(Prior(1.0, 5.0), {3: (2.0, 4.0)})
    found = priors.of([3, 4])
    assert found is not None
    shape, time = found.columns(2)
    assert (shape.tolist(), time.tolist()) == ([2.0, 1.0], [4.0, 5.0])
    assert Priors().of([3]) is None


def test_removing_a_page_that_is_not_there_does_nothing() -> None:
    frontier = load_frontier(MemoryStore(f"{A}/0", f"{A}/1"), settings_of(), NOW)
    frontier.remove([1, 99])
    assert (0 in frontier, 1 in frontier, len(frontier)) == (True, False, 1)
    frontier.remove([99])
    frontier.give_back([1, 99], NOW)


def test_a_deferred_host_is_passed_over_until_its_time() -> None:
    frontier = load_frontier(MemoryStore(f"{A}/0", f"{B}/0"), settings_of(), NOW)
    frontier.frontier.spend(-5)
    assert frontier.defer("a.example", NOW, 2.5) == NOW + 2_500_000
    assert frontier.take(NOW + 2 * SECOND, 5) == [1]
    assert frontier.take(NOW + 3 * SECOND, 5) == [0]


def test_a_host_is_only_slowed_down() -> None:
    pages = [f"{A}/{number}" for number in range(9)]
    settings = settings_of(host_delay=1.0, budget=100 * PER_SECOND)

    def taken_in_ten_seconds(*delays: float) -> int:
        frontier = load_frontier(MemoryStore(*pages), settings, NOW)
        for delay in delays:
            frontier.limit_host("a.example", delay)
        return sum(len(frontier.take(NOW + n * SECOND // 10, 9)) for n in range(1, 101))

    assert taken_in_ten_seconds() == taken_in_ten_seconds(0.1) == 9
    assert taken_in_ten_seconds(5.0) == taken_in_ten_seconds(5.0, 0.1) == 2


@pytest.mark.parametrize("pages", [0, 3])
def test_what_is_loaded_knows_since_when(pages: int) -> None:
    store = MemoryStore(*(f"{A}/{number}" for number in range(pages)))
    frontier = load_frontier(store, settings_of(), NOW)
    assert (len(frontier), frontier.loaded_at, frontier.serial) == (pages, NOW, pages)
