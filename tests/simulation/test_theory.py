"""Replays of Poisson worlds against the formulas for them."""

import numpy as np
import pytest
from simulation.plain import AtRates

from recrawl import allocate, freshness
from recrawl.simulation.policies import policy_named
from recrawl.simulation.replay import replay
from recrawl.simulation.world import World


@pytest.mark.parametrize("regular", [False, True])
def test_visits_at_given_rates_keep_the_copy_as_fresh_as_the_formula_says(regular: bool) -> None:
    """p/(p + Δ) at random times, (p/Δ)(1 − e^(−Δ/p)) at regular ones.

    Ticks delay visits by 0.005 days, at most 0.8 % of a gap; copies that are fresh at first add
    about a gap's staleness to 300 days; the standard error is 0.2 %.
    """
    rng = np.random.default_rng(5)
    change_rate, crawl_rate = rng.uniform(0.1, 2.0, 2_000), rng.uniform(0.2, 1.5, 2_000)
    importance = rng.uniform(0.5, 1.5, 2_000)
    world = World.poisson(change_rate, days=300.0, importance=importance, seed=6)
    policy = AtRates(crawl_rate, regular)
    score = replay(world, policy, float(crawl_rate.sum()), tick=0.01, seed=7)
    visits = "periodic" if regular else "poisson"
    expected = freshness(crawl_rate, change_rate, importance=importance, visits=visits)  # type: ignore[arg-type]
    assert score.freshness == pytest.approx(expected, rel=0.005)
    assert score.budget_used == pytest.approx(1.0, abs=0.01)


def test_mean_age_at_regular_visits_is_what_the_formula_says() -> None:
    """The integral of the age over a gap T is ∫ (T − s)²/2 · Δe^(−Δs) ds."""
    delta, gap = 0.7, 2.0
    world = World.poisson(np.full(3_000, delta), days=60.0, seed=1)
    policy = AtRates(np.full(3_000, 1 / gap), regular=True)
    score = replay(world, policy, 3_000 / gap, tick=0.01)
    x = delta * gap
    expected = (x * x / 2 - x + 1 - np.exp(-x)) / (delta * delta * gap)
    assert score.mean_age == pytest.approx(expected, rel=0.02)


def test_experiment_2_of_the_paper() -> None:
    """100 pages, Δ ~ U[0, 1], 80 visits a day; means of 50 draws, of 40 days each."""
    names = ("poisson-known", "uniform", "index-known")
    fresh = {name: np.empty(50) for name in names}
    limits = np.empty((50, 3))
    for draw in range(50):
        rate = np.random.default_rng(draw).random(100)
        world = World.poisson(rate, days=40.0, seed=draw)
        for name in names:
            fresh[name][draw] = replay(world, policy_named(name), 80.0, seed=draw).freshness
        alike = freshness(np.full(100, 0.8), rate, visits="periodic")
        best = allocate(rate, 80.0).freshness, allocate(rate, 80.0, visits="periodic").freshness
        limits[draw] = best[0], alike, best[1]
    means = {name: float(fresh[name].mean()) for name in names}
    assert means == pytest.approx(
        {"poisson-known": 0.659, "uniform": 0.758, "index-known": 0.773}, abs=0.01
    )
    # Copies are fresh at first, which in 40 days brings up to 0.01.
    assert list(means.values()) == pytest.approx(limits.mean(axis=0), abs=0.01)


def test_the_index_is_as_good_as_the_best_regular_visits_and_better_than_the_rest() -> None:
    rng = np.random.default_rng(2)
    rate, importance = rng.lognormal(-1.0, 1.5, 300), rng.pareto(1.5, 300) + 0.1
    world = World.poisson(rate, days=150.0, importance=importance, seed=3)
    score = {
        name: replay(world, policy_named(name), 100.0).freshness
        for name in ("index-known", "regular-known", "poisson-known", "uniform", "proportional")
    }
    best = allocate(rate, 100.0, importance=importance, visits="periodic").freshness
    assert score["index-known"] == pytest.approx(best, abs=0.01)
    assert score["regular-known"] == pytest.approx(best, abs=0.01)
    assert score["index-known"] > max(score["poisson-known"], score["uniform"])
    assert score["proportional"] < score["uniform"]


def test_what_the_frontier_learns_is_as_good_as_the_best_regular_visits() -> None:
    """Where pages change at constant rates, it is within 0.5 % of knowing them in the end.

    The first third of the window is for learning, in which a page has 100 visits on average; after
    50 it is within 1 %. What is left of chance is some 0.2 %.
    """
    rng = np.random.default_rng(5)
    rate, importance = rng.lognormal(-2.0, 1.0, 300), rng.pareto(2.5, 300) + 0.5
    world = World.poisson(rate, days=600.0, importance=importance, seed=7)
    score = replay(world, policy_named("index"), budget=150.0)
    best = allocate(rate, 150.0, importance=importance, visits="periodic").freshness
    third = score.curve.size // 3
    assert 1.0 - score.curve[third:].mean() > 0.995 * best
