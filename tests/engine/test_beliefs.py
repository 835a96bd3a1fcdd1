"""What visits said about pages, in the store and out of it again; priors from other pages."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from crawler.fakes import FakeWeb, MemoryStore, crawl, settings_of
from crawler.restarting import Fleet, Run
from hypothesis import given
from hypothesis import strategies as st
from site_server import page_about

from recrawl.engine.beliefs import (
    MIN_OBSERVATIONS,
    pack_octaves,
    stored_octaves,
    unpack_octaves,
)
from recrawl.engine.frontier import CrawlFrontier, load_frontier
from recrawl.estimation.octaves import OCTAVES, Octaves
from recrawl.estimation.shown.evidence import ROW
from recrawl.records import Page
from recrawl.store.rows import Observed

DAY = 86_400_000_000
BUSY, QUIET = "https://busy.example", "https://quiet.example"
NOTHING = [1.0] * OCTAVES


class ObservedStore(MemoryStore):
    """A store with observations: changes on one host, none on the other."""

    def __init__(self, observed: int, pages: int = 40) -> None:
        super().__init__(*(f"{host}/{page}" for host in (BUSY, QUIET) for page in range(pages)))
        self._observed = observed
        self._pages = pages

    def observations(self, about: int) -> Observed:
        assert about == 200_000
        page = np.arange(self._observed) % (2 * self._pages)
        order = np.argsort(page, kind="stable")
        changed = page < self._pages
        return Observed(page[order], np.full(self._observed, DAY), changed[order])


def mean_rates(frontier: CrawlFrontier, pages: list[int]) -> list[float]:
    shape, time = frontier.frontier.belief(pages).columns(len(pages))
    return [float(rate) for rate in shape / time]


@given(
    st.lists(st.lists(st.floats(0.0, 1.0), min_size=OCTAVES, max_size=OCTAVES), min_size=1).filter(
        lambda rows: all(max(row) > 1e-3 for row in rows)
    )
)
def test_what_is_packed_comes_back(rows: list[list[float]]) -> None:
    table = np.array(rows, np.float32)
    packed = pack_octaves(Octaves(-9, table))
    assert {len(one) for one in packed} == {ROW.itemsize} == {2 + 2 * OCTAVES}
    found = unpack_octaves(packed, -9)
    exact = table / table.max(1, keepdims=True)
    assert found.likelihood == pytest.approx(exact, rel=1e-3, abs=1e-7)


def test_damaged_bytes_say_nothing_and_each_page_has_its_own_grid() -> None:
    quiet = np.exp(-(2.0 ** (np.arange(OCTAVES) - 9.0)))[None]
    (low,), (high,) = pack_octaves(Octaves(-9, quiet)), pack_octaves(Octaves(-7, quiet))
    found = unpack_octaves([low, None, b"short", bytes(ROW.itemsize), high], -9).likelihood
    assert found[0] == pytest.approx(quiet[0] / quiet.max(), rel=1e-3, abs=1e-7)
    assert found[1].tolist() == found[2].tolist() == found[3].tolist() == NOTHING
    # Rates that are two octaves higher mean four times as much time without a change.
    assert found[4, 2:] == pytest.approx(found[0, :-2], rel=2e-2, abs=1e-3)


def test_gamma_beliefs_of_older_stores_are_converted_and_not_forgotten() -> None:
    store = ObservedStore(800)
    store.beliefs = {0: (5.0, 5.0), 1: (0.3, 90.0)}
    fleet = store.fleet()
    likelihood = stored_octaves(fleet, store.observations, fleet.host, 1.0).likelihood
    rates = 2.0 ** (np.arange(OCTAVES) - 9.0)
    assert rates[likelihood[0].argmax()] == pytest.approx(1.0, rel=0.5)
    assert likelihood[1].argmax() == 0
    assert likelihood[1, -1] < 1e-6
    assert likelihood[2].tolist() == NOTHING
    # With too few observations to learn from, they grew from one change in the mean gap.
    few = ObservedStore(MIN_OBSERVATIONS - 1)
    few.beliefs = {0: (1.0, 1.0)}
    fleet = few.fleet()
    octaves = stored_octaves(fleet, few.observations, fleet.host, 1.0)
    assert octaves.likelihood[0].tolist() == NOTHING


def test_visits_at_the_same_time_teach_no_prior() -> None:
    store = ObservedStore(800)
    store.beliefs = {0: (5.0, 5.0)}
    fleet, observed = store.fleet(), store.observations(200_000)
    usual = stored_octaves(fleet, lambda _about: observed, fleet.host, 1.0)
    elapsed = np.append(observed.elapsed, [0, -DAY])
    page, changed = np.append(observed.page, [79, 79]), np.append(observed.changed, [True, True])
    some = Observed(page, elapsed, changed)
    found = stored_octaves(fleet, lambda _about: some, fleet.host, 1.0)
    assert found.likelihood.tolist() == usual.likelihood.tolist()


def test_observations_of_pages_that_are_not_there_any_more_teach_no_prior() -> None:
    store = ObservedStore(800)
    store.beliefs = {20: (5.0, 5.0)}
    observed = store.observations(200_000)
    # The first pages and the last were removed; those between keep their numbers.
    for number in (*range(10), *range(70, 80)):
        del store.known[number]
    fleet = store.fleet()
    left = (observed.page >= 10) & (observed.page < 70)
    kept = Observed(observed.page[left], observed.elapsed[left], observed.changed[left])
    found = stored_octaves(fleet, lambda _about: observed, fleet.host, 1.0)
    expected = stored_octaves(fleet, lambda _about: kept, fleet.host, 1.0)
    assert found.likelihood.tolist() == expected.likelihood.tolist()


@pytest.mark.parametrize(("observed", "is_learned"), [(49, False), (50, True)])
def test_fifty_observations_are_enough_to_learn_a_prior(observed: int, is_learned: bool) -> None:
    """The shortest of times counts."""
    store = ObservedStore(observed, pages=observed)
    store.beliefs = {0: (1.0, 1.0)}
    fleet, log = store.fleet(), store.observations(200_000)
    some = Observed(log.page, np.ones(observed, np.int64), log.changed)
    octaves = stored_octaves(fleet, lambda _about: some, fleet.host, 1.0)
    assert (octaves.likelihood[0].tolist() != NOTHING) == is_learned


def test_the_grid_of_rates_is_that_of_the_latest_visits() -> None:
    store = MemoryStore(*(f"{BUSY}/{page}" for page in range(3)))
    for number, first in enumerate((-3, 2, -1)):
        (store.octaves[number],) = pack_octaves(Octaves(first, np.ones((1, OCTAVES), np.float32)))
    fleet = store.fleet()
    assert stored_octaves(fleet, store.observations, fleet.host, 1e-6).first == 2
    assert unpack_octaves([]).first == 0
    assert unpack_octaves([store.octaves[2]]).first == -1


def test_a_restarted_run_believes_what_it_did_before() -> None:
    urls = [f"{host}/{page}" for host in (BUSY, QUIET) for page in range(20)]
    store = MemoryStore(*urls)
    settings = settings_of(budget=40.0)
    frontier = load_frontier(store, settings, 0)
    for day in range(12):
        frontier.frontier.report(range(40), float(day), [page < 20 for page in range(40)])
    for number, one in enumerate(pack_octaves(frontier.frontier.octaves(range(40)))):
        store.octaves[number] = one
        store.known[number] = replace(store.known[number], last_visit=11 * DAY)
    again = load_frontier(store, settings, 11 * DAY)
    before, after = mean_rates(frontier, [*range(40)]), mean_rates(again, [*range(40)])
    assert after == pytest.approx(before, rel=0.05)
    assert after[0] > 20 * after[20]


def test_a_crawl_learns_while_it_runs() -> None:
    """Two hosts, of which one changes all the time; a page that comes later is known as theirs."""
    web = FakeWeb(
        lambda url: page_about(f"Number {web.clock() // DAY if url.startswith(BUSY) else 0}.")
    )
    store = MemoryStore(*(f"{host}/{page}" for host in (BUSY, QUIET) for page in range(8)))
    found: list[list[float]] = []

    def look(running: CrawlFrontier) -> None:
        new = [Page(n, f"{url}/new", url[8:]) for n, url in [(100, BUSY), (101, QUIET)]]
        running.add(new, 60 * DAY)
        found.append(mean_rates(running, [100, 101]))

    crawl(
        web,
        store,
        settings_of(budget=8.0),
        seconds=60 * 86_400.0,
        speed=86_400.0,
        during=lambda running: asyncio.get_running_loop().call_later(59.0, look, running.frontier),
    )
    ((busy, quiet),) = found
    assert busy > 1.5 * quiet


def test_a_run_that_restarts_is_as_fresh_as_one_that_does_not() -> None:
    """The benchmark `restarts` has more pages, days and fleets."""
    fleets = [Fleet.drawn(hosts=6, pages=10, days=40.0, seed=seed) for seed in range(2)]
    steady = np.mean([Run(fleet, budget=12.0).freshness() for fleet in fleets])
    restarted = np.mean([Run(fleet, 12.0, restart_every=4.0).freshness() for fleet in fleets])
    # Both are means over the same changes; what is left is luck in the order of visits.
    assert abs(steady - restarted) < 0.02
