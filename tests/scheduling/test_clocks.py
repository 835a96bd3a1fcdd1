"""Clocks keep their rates, whatever ticks they are asked at."""

import numpy as np
import pytest
from scipy import stats

from recrawl.kernels.jit import Floats
from recrawl.scheduling.clocks import PoissonClock, RegularClock

Clock = PoissonClock | RegularClock


def times_of(clock: Clock, crawl_rate: Floats, tick: float, days: float) -> list[list[float]]:
    """Ask a clock tick by tick; give each page's visits."""
    times: list[list[float]] = [[] for _ in crawl_rate]
    for number in range(1, round(days / tick) + 1):
        now = number * tick
        page = clock.due(now)
        clock.visited(page, now, crawl_rate[page])
        for due in page.tolist():
            times[due].append(now)
    return times


def make(kind: str, crawl_rate: Floats) -> Clock:
    rng = np.random.default_rng(4)
    return PoissonClock(crawl_rate, rng) if kind == "poisson" else RegularClock(crawl_rate)


@pytest.mark.parametrize("kind", ["poisson", "regular"])
@pytest.mark.parametrize("tick", [0.01, 0.25])
def test_visits_come_at_the_crawl_rate(kind: str, tick: float) -> None:
    crawl_rate = np.repeat([0.05, 0.3, 1.0], 100)
    times = times_of(make(kind, crawl_rate), crawl_rate, tick, 200.0)
    counts = np.array([len(page) for page in times]).reshape(3, 100).sum(axis=1)
    expected = 200.0 * np.array([5.0, 30.0, 100.0])
    # Coarse ticks lose a random visit where two fall into one tick, and a third into the next.
    assert counts == pytest.approx(expected, rel=0.01, abs=4 * np.sqrt(expected.max()))


def test_random_gaps_are_exponential() -> None:
    crawl_rate = np.full(40, 2.0)
    times = times_of(make("poisson", crawl_rate), crawl_rate, 0.001, 50.0)
    gaps = np.concatenate([np.diff([0.0, *page]) for page in times])
    assert stats.kstest(gaps * 2.0, "expon").pvalue > 0.001


def test_regular_gaps_are_regular_and_begin_spread_evenly() -> None:
    crawl_rate = np.full(50, 0.5)
    times = times_of(make("regular", crawl_rate), crawl_rate, 0.01, 20.0)
    assert all(np.diff(page) == pytest.approx(2.0) for page in times)
    firsts = sorted(page[0] for page in times)
    assert firsts == pytest.approx(np.arange(1, 51) * 2.0 / 50, abs=0.06)


@pytest.mark.parametrize("kind", ["poisson", "regular"])
def test_at_rate_0_a_page_is_never_due(kind: str) -> None:
    clock = make(kind, np.array([0.0, 1.0]))
    assert 0 not in clock.due(1e300)
    clock.visited(np.array([1]), 5.0, np.array([0.0]))
    assert clock.due(1e300).size == 0


@pytest.mark.parametrize("kind", ["poisson", "regular"])
def test_an_early_visit_begins_a_gap_and_many_missed_ones_are_made_up_for_once(kind: str) -> None:
    clock = make(kind, np.array([1.0]))
    clock.visited(np.array([0]), 1e-9, np.array([1e-6]))
    assert clock.due(1.0).size == 0
    late = make(kind, np.full(200, 10.0))
    for now in (100.0, 100.001):
        assert late.due(now).size == 200
        late.visited(np.arange(200), now, np.full(200, 10.0))
    assert late.due(100.002).size <= 15


@pytest.mark.parametrize("kind", ["poisson", "regular"])
def test_a_crawl_rate_holds_for_the_gap_that_it_began(kind: str) -> None:
    clock = make(kind, np.full(500, 1.0))
    page = np.arange(500)
    clock.visited(page, 0.0, np.full(500, 0.01))
    assert clock.due(5.0).size < 50
    clock.visited(page, 5.0, np.full(500, 100.0))
    assert clock.due(5.1).size > 490
