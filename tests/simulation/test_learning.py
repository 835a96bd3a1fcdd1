"""What policies learn, and how the crawl rates of random clocks follow it."""

from typing import Any

import numpy as np
import pytest
from estimation.worlds import mixed_log
from simulation.plain import AtRates

from recrawl import allocate
from recrawl.estimation import LLN, MLE, SA, Estimator, GammaFilter, MomentMatching, Prior, estimate
from recrawl.kernels.jit import Bools, Floats, Ints
from recrawl.scheduling.clocks import PoissonClock
from recrawl.simulation.policies import policy_named
from recrawl.simulation.policies.learning import Learner, Solved, Updated, gamma_learner
from recrawl.simulation.policies.random_clocks import Clocked, optimum_for_all
from recrawl.simulation.policy import PageSet, Run
from recrawl.simulation.replay import replay
from recrawl.simulation.world import World


def learned(learner: Learner, *, asks: int) -> Floats:
    """Feed a log in pieces, asking for the rates after each."""
    log = mixed_log(7, pages=60, rows=1_000)
    for rows in np.array_split(np.arange(log.page.size), asks):
        learner.observe(log.page[rows], log.elapsed[rows], log.changed[rows], log.crawl_rate[rows])
        rate = learner.rate()
    return rate


def estimated(method: Estimator[Any], *, rated: bool) -> Floats:
    log = mixed_log(7, pages=60, rows=1_000)
    crawl_rate = log.crawl_rate if rated else None
    found = estimate(log.page, log.elapsed, log.changed, crawl_rate=crawl_rate, method=method)
    rates = np.full(60, np.nan)
    rates[found.page] = found.rate
    return rates


@pytest.mark.parametrize("method", [LLN(), SA()])
def test_folding_in_pieces_is_folding_at_once(method: Estimator[Any]) -> None:
    rate, expected = learned(Updated(method, 60), asks=40), estimated(method, rated=True)
    seen = ~np.isnan(expected)
    np.testing.assert_allclose(rate[seen], expected[seen], rtol=1e-9)


def test_the_prior_has_the_mean_crawl_rate() -> None:
    learner = gamma_learner(60, 4.0)
    assert learner.rate() == pytest.approx(np.full(60, 0.25))
    expected = estimated(GammaFilter(Prior(0.5, 2.0)), rated=False)
    seen = ~np.isnan(expected)
    np.testing.assert_allclose(learned(learner, asks=40)[seen], expected[seen], rtol=1e-9)


@pytest.mark.parametrize("method", [MLE(), MomentMatching()])
def test_solving_pages_with_news_is_solving_all(method: Estimator[Any]) -> None:
    """Rows come one page at a time here, in batches without repetition as in a replay."""
    log = mixed_log(7, pages=60, rows=1_000)
    learner = Solved(method, 60)
    for row in range(log.page.size):
        one = slice(row, row + 1)
        learner.observe(log.page[one], log.elapsed[one], log.changed[one], log.crawl_rate[one])
        if row % 50 == 0:
            learner.rate()
    rate, expected = learner.rate(), estimated(method, rated=False)
    rows = np.bincount(log.page, minlength=60)
    few, many = (rows > 0) & (rows < 50), rows >= 50
    np.testing.assert_allclose(rate[few], expected[few], rtol=1e-6)
    assert (rate[rows == 0] == 0.0).all()
    # With at most 2 % of its rows unheard, an estimate moves by about as much.
    np.testing.assert_allclose(rate[many], expected[many], rtol=0.1)


def test_pseudo_gaps_smooth() -> None:
    """One gap of half a day with a change and one without: ln 2 a half day, as the authors say."""
    learner = Solved(MLE(), 3, pseudo_gap=0.5)
    assert learner.rate() == pytest.approx(np.full(3, np.log(2.0) / 0.5))
    learner.observe(np.array([1]), np.array([3.0]), np.array([False]), np.array([np.nan]))
    # 0.5 / (e^(0.5 Δ) − 1) = 3.5
    assert learner.rate()[1] == pytest.approx(2.0 * np.log1p(0.5 / 3.5))


def test_no_page_is_given_up() -> None:
    """2 % of the mean crawl rate, 2, is the least change rate, and the least crawl rate."""
    change_rate, importance = np.array([0.0, 0.01, 1.0, 9.0]), np.array([1.0, 1.0, 1.0, 1e-6])
    rates = optimum_for_all(change_rate, 8.0, importance)
    best = allocate([0.04, 0.04, 1.0, 9.0], 8.0, importance=importance).crawl_rate
    assert best[3] == 0.0
    assert rates == pytest.approx(np.maximum(best, 0.04) * 8.0 / 8.04)
    assert optimum_for_all(np.zeros(4), 8.0, np.ones(4)) == pytest.approx(np.full(4, 2.0))


class Noting:
    """A learner that keeps what it hears, and estimates by LLN."""

    def __init__(self, pages: int) -> None:
        self.rows: list[tuple[int, float, bool, float]] = []
        self._learner = Updated(LLN(), pages)

    def observe(self, page: Ints, elapsed: Floats, changed: Bools, crawl_rate: Floats) -> None:
        columns = (page.tolist(), elapsed.tolist(), changed.tolist(), crawl_rate.tolist())
        self.rows += zip(*columns, strict=True)
        self._learner.observe(page, elapsed, changed, crawl_rate)

    def rate(self) -> Floats:
        return self._learner.rate()


def test_a_gaps_crawl_rate_is_the_one_it_began_with_and_what_is_told() -> None:
    """Gaps are exponential at that rate, and so E[pI] = Δ E[1 − I] holds while rates change."""
    change_rate = np.repeat([0.2, 0.5, 1.0, 2.0], 100)
    learner = Noting(400)
    planned = []

    def plan(rate: Floats) -> Floats:
        planned.append(optimum_for_all(rate, 400.0, np.ones(400)))
        return planned[-1]

    class Policy:
        name, keeps_budget, knows_rates = "noting", False, False

        def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Run:
            del pages, budget, tick
            return Clocked(learner, plan, np.ones(400), np.random.default_rng(seed))

    world = World.poisson(change_rate, days=60.0, seed=1)
    replay(world, Policy(), 400.0, tick=0.02)
    page, elapsed, changed, crawl_rate = (
        np.array(column) for column in zip(*learner.rows, strict=True)
    )
    first = np.unique(page, return_index=True)[1]
    assert (crawl_rate[first] == 1.0).all()
    assert np.unique(crawl_rate).size > 1_000
    assert all(row.sum() == pytest.approx(400.0) for row in planned)
    for rate in (0.2, 0.5, 1.0, 2.0):
        rows = change_rate[page] == rate
        terms = crawl_rate[rows] * changed[rows] - rate * ~changed[rows]
        # Gaps that the window's end cuts off are long ones, which found no change or are slow.
        assert abs(terms.mean()) < 4 * terms.std() / np.sqrt(terms.size) + 0.03 * rate
    totals = np.bincount(page, elapsed, 400)
    assert (totals <= 60.0 + 1e-9).all()


def run_of(name: str, world: World, budget: float) -> Run:
    pages = PageSet(world.importance, world.host, world.section, world.change_rate, world.days)
    return policy_named(name).start(pages, budget, tick=0.25, seed=1)


def test_explore_commit_explores_alike_and_then_sticks_to_the_optimum() -> None:
    """100 rounds of 4 days: 40 days explore. Half of the pages never change."""
    change_rate = np.repeat([0.0, 0.3], 300)
    world = World.poisson(change_rate, days=400.0, seed=2)
    run = run_of("explore-commit", world, 150.0)
    visits = {"explore": np.zeros(600), "commit": np.zeros(600)}
    last = np.zeros(600)
    for number in range(1, 1_601):
        now = 0.25 * number
        page = run.take(now, 0)
        # What changed is drawn here: a Poisson page since its last visit.
        rng = np.random.default_rng(number)
        changed = rng.random(page.size) < -np.expm1(-change_rate[page] * (now - last[page]))
        last[page] = now
        run.report(page, now, changed)
        visits["explore" if now < 40.0 else "commit"][page] += 1
    explored = visits["explore"].reshape(2, 300).sum(axis=1)
    assert explored == pytest.approx(np.full(2, 3_000), abs=4 * np.sqrt(3_000))
    committed = visits["commit"].reshape(2, 300).sum(axis=1) / 360.0
    expected = optimum_for_all(change_rate, 150.0, np.ones(600)).reshape(2, 300).sum(axis=1)
    # Ten visits tell a rate of 0.3 to some 40 %, and the optimum is flat.
    assert committed == pytest.approx(expected, rel=0.1)


def test_lambdacrawl_visits_at_the_harmonic_rates_of_what_it_learned() -> None:
    """The pseudo-gaps add one change to the 60 or more of a page."""
    change_rate = np.repeat([0.2, 1.0, 5.0], 100)
    importance = np.tile([1.0, 4.0], 150)
    world = World.poisson(
        change_rate, days=300.0, importance=importance, host=np.arange(300), seed=2
    )
    score = replay(world, policy_named("lambdacrawl"), 300.0, tick=0.05)
    best = allocate(change_rate, 300.0, importance=importance, objective="harmonic").crawl_rate
    group = np.repeat([0, 2, 4], 100) + np.tile([0, 1], 150)
    found = np.bincount(group, score.host_visits) / 300.0
    assert found == pytest.approx(np.bincount(group, best), rel=0.1)


@pytest.mark.parametrize("name", ["paper-lln", "paper-mle", "paper-gamma", "paper-sa"])
def test_the_papers_policy_comes_to_the_optimum_where_pages_change_often(name: str) -> None:
    """With some 100 visits a page all estimators know the rates well."""
    rng = np.random.default_rng(8)
    change_rate = rng.uniform(0.3, 1.5, 150)
    world = World.poisson(change_rate, days=100.0, seed=9)
    best = allocate(change_rate, 200.0)
    score = replay(world, policy_named(name), 200.0, tick=0.04)
    known = replay(world, AtRates(best.crawl_rate, regular=False), 200.0, tick=0.04)
    assert score.freshness == pytest.approx(known.freshness, abs=0.03)


def test_clocks_of_known_rates_are_those_of_the_allocation() -> None:
    rng = np.random.default_rng(1)
    change_rate, importance = rng.uniform(0.1, 2.0, 60), rng.uniform(0.5, 2.0, 60)
    world = World.poisson(
        change_rate, days=500.0, importance=importance, host=np.arange(60), seed=1
    )
    best = allocate(change_rate, 30.0, importance=importance).crawl_rate
    found = replay(world, policy_named("poisson-known"), 30.0, seed=3).host_visits / 500.0
    assert (np.abs(found - best) <= 5 * np.sqrt(best / 500.0)).all()
    best = allocate(change_rate, 30.0, importance=importance, visits="periodic").crawl_rate
    found = replay(world, policy_named("regular-known"), 30.0, seed=3).host_visits / 500.0
    assert found == pytest.approx(best, abs=1.01 / 500.0)


def test_the_poisson_clock_draws_from_where_it_is_told() -> None:
    one, same = (PoissonClock(np.ones(5), np.random.default_rng(1)).due(1.0) for _ in range(2))
    assert one.tolist() == same.tolist()
