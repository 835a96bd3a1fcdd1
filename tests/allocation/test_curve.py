"""Freshness over budget, what a freshness costs, and the freshness of given rates."""

import itertools
from typing import Any

import numpy as np
import pytest
from allocation.problems import (
    BUDGETS,
    EVERY_LIMIT,
    KINDS,
    ROWS,
    as_problem,
    demand,
    random_problem,
    solve,
)
from allocation.reference import page_value
from hypothesis import given
from hypothesis import strategies as st

from recrawl import allocate, budget_for, freshness, freshness_curve, proportional, uniform
from recrawl.errors import ArgumentError

VISITS: list[Any] = ["poisson", "periodic"]


@pytest.mark.parametrize("limits", ["none", "cost+host+min+max"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_curve_is_what_allocate_reaches(kind: str, limits: str) -> None:
    problem = random_problem(kind, limits, seed=5)
    budgets = problem.budget * np.array([[1.0, 2.0], [3.0, 40.0]])
    curve = freshness_curve(problem.change_rate, budgets, **problem.arguments())
    assert curve.shape == (2, 2)
    for budget, reached in zip(budgets.ravel(), curve.ravel(), strict=True):
        plan = allocate(problem.change_rate, float(budget), **problem.arguments())
        assert reached == pytest.approx(plan.freshness, rel=1e-12)


@pytest.mark.parametrize("visits", VISITS)
def test_the_curve_rises_ever_slower(visits: str) -> None:
    change_rate, importance = demand(4, 500)
    budgets = np.linspace(0.0, 2_000.0, 41)
    curve = freshness_curve(change_rate, budgets, importance=importance, visits=visits)
    slopes = np.diff(curve)
    assert curve[0] == 0.0
    assert (slopes > 0).all()
    assert (np.diff(slopes) < 0).all()
    assert curve[-1] > 0.7


@given(ROWS, BUDGETS, st.sampled_from(KINDS))
def test_the_budget_for_what_a_budget_reaches(
    rows: list[tuple[float, float]], budget: float, kind: str
) -> None:
    """To so many digits as freshness, near its end at 1, tells budgets apart."""
    problem = as_problem(rows, budget, kind)
    plan = solve(problem)
    found = budget_for(plan.freshness, problem.change_rate, **problem.arguments())
    nearby = solve(as_problem(rows, 1.001 * budget, kind)).freshness
    distinguishable = (nearby - plan.freshness) / 1e-3
    assert found == pytest.approx(budget, rel=max(1e-9, 1e-14 / distinguishable))


@pytest.mark.parametrize("limits", EVERY_LIMIT)
@pytest.mark.parametrize("kind", KINDS)
def test_the_budget_for_what_a_budget_reaches_under_limits(kind: str, limits: str) -> None:
    if kind == "harmonic" and "cost+host" in limits:
        limits = limits.replace("cost+", "")  # see the next test
    problem = random_problem(kind, limits, seed=8)
    plan = solve(problem)
    left_over = plan.price == 0.0
    wanted = plan.freshness * (1 - 1e-9) if left_over else plan.freshness
    found = budget_for(wanted, problem.change_rate, **problem.arguments())
    assert found == pytest.approx(plan.budget_used, rel=1e-4 if left_over else 1e-9)


def test_the_harmonic_objective_may_lose_freshness_with_more_budget() -> None:
    """A full host with unequal costs: more budget buys dear visits that help freshness less."""
    plans = [
        allocate(
            [0.1, 100.0],
            budget,
            cost=[1.0, 50.0],
            objective="harmonic",
            host=[0, 0],
            host_budget=1.0,
        )
        for budget in (15.0, 100.0)
    ]
    assert plans[1].freshness < plans[0].freshness


def test_the_least_budget_is_given() -> None:
    """Where limits leave budget over, what is used is what it costs."""
    given_limits: Any = {"max_rate": [0.5, 0.25]}
    most = allocate([1.0, 2.0], 100.0, **given_limits)
    assert most.budget_used == 0.75
    found = budget_for(most.freshness, [1.0, 2.0], **given_limits)
    assert found == pytest.approx(0.75, rel=1e-6)


def test_a_freshness_that_costs_nothing() -> None:
    assert budget_for(0.0, [1.0, 2.0]) == 0.0
    assert budget_for(0.5, [1.0, 0.0]) == 0.0
    assert budget_for(1.0, [0.0, 0.0]) == 0.0
    assert budget_for(1.0, []) == 0.0
    assert budget_for(1.0, [5.0, 0.0], importance=[0.0, 1.0]) == 0.0


def test_a_budget_beside_which_changes_are_few_is_found_or_refused() -> None:
    # One visit more to the second page is lost in rounding beside what the first one needs.
    lowest = [1e20, 0.0]
    found = budget_for(0.75, [0.0, 1.0], min_rate=lowest)
    assert found == pytest.approx(1e20)
    assert allocate([0.0, 1.0], found, min_rate=lowest).freshness >= 0.75


@pytest.mark.parametrize("visits", VISITS)
def test_a_freshness_that_lowest_rates_reach_costs_no_more(visits: str) -> None:
    """No smaller budget is possible at all, whatever is asked for."""
    found = budget_for(0.1, [1.0, 2.0], min_rate=0.5, visits=visits)
    assert found == pytest.approx(1.0, rel=1e-9)
    assert budget_for(0.9, [1.0, 2.0], min_rate=0.5, visits=visits) > 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_freshness_out_of_reach_is_refused(kind: str) -> None:
    problem = as_problem([(1.0, 1.0), (2.0, 3.0)], 1.0, kind, max_rate=1.0)
    arguments = problem.arguments()
    most = allocate([1.0, 2.0], 2.0, **arguments).freshness
    assert budget_for(0.99 * most, [1.0, 2.0], **arguments) < 2.0
    with pytest.raises(ArgumentError, match=rf"^freshness: .*{most:.3f}"):
        budget_for(1.01 * most, [1.0, 2.0], **arguments)
    hosts = {"host": [0, 0], "host_budget": 2.0}
    with pytest.raises(ArgumentError, match=r"^freshness"):
        budget_for(0.9, [1.0, 2.0], **hosts)


@pytest.mark.parametrize("visits", VISITS)
def test_perfect_freshness_is_out_of_reach(visits: str) -> None:
    """A page that changes is never fresh for certain, though floats round to 1."""
    with pytest.raises(ArgumentError, match=r"^freshness"):
        budget_for(1.0, [1.0, 2.0], visits=visits)


@pytest.mark.parametrize("visits", VISITS)
def test_nearly_perfect_freshness_has_a_price(visits: str) -> None:
    """1 − F → (Σ√Δ)²/(nB) at random visits, and half of that at regular ones."""
    found = budget_for(1.0 - 1e-8, [1.0, 4.0], visits=visits)
    per_budget = 9.0 / 2.0 if visits == "poisson" else 9.0 / 4.0
    assert found == pytest.approx(per_budget / 1e-8, rel=1e-5)


def test_a_budget_of_closed_form() -> None:
    """Ten pages with Δ = 1: F = p/(p + 1) = 0.9 at p = 9; regular visits do with less."""
    assert budget_for(0.9, np.ones(10)) == pytest.approx(90.0, rel=1e-9)
    assert budget_for(0.9, np.ones(10), visits="periodic") == pytest.approx(46.5, rel=0.01)


@pytest.mark.parametrize("visits", VISITS)
def test_freshness_is_the_formula(visits: str) -> None:
    rng = np.random.default_rng(0)
    p, d = 10.0 ** rng.uniform(-6, 6, (2, 3_000))
    p[:5], d[3:8] = 0.0, 0.0
    w = rng.random(3_000)
    expected = (w * page_value(visits, p, d)).sum() / w.sum()
    assert freshness(p, d, importance=w, visits=visits) == pytest.approx(expected, rel=1e-12)  # type: ignore[arg-type]
    for i in itertools.chain(range(10), [100, 1_000]):
        alone = freshness(p[i : i + 1], d[i : i + 1], visits=visits)  # type: ignore[arg-type]
        assert alone == pytest.approx(page_value(visits, p[i : i + 1], d[i : i + 1])[0], rel=1e-12)


def test_freshness_of_nothing_that_matters() -> None:
    assert freshness([0.0], [1.0], importance=[0.0]) == 1.0
    assert freshness([0.0], [0.0]) == 1.0
    assert freshness([0.0], [1.0]) == 0.0


@pytest.mark.parametrize("visits", VISITS)
def test_plain_ways(visits: Any) -> None:  # noqa: ANN401
    change_rate, importance = [1.0, 3.0, 0.0], [1.0, 2.0, 5.0]
    for plain, rates in ((uniform, [2.0, 2.0, 2.0]), (proportional, [1.5, 4.5, 0.0])):
        plan = plain(change_rate, 6.0, importance=importance, visits=visits)
        assert plan.crawl_rate.tolist() == rates
        expected = freshness(rates, change_rate, importance=importance, visits=visits)
        assert (plan.freshness, plan.budget_used) == (expected, 6.0)


def test_proportional_is_no_better_than_uniform() -> None:
    """Cho and Garcia-Molina's surprise: it holds for any rates."""
    for seed in range(20):
        change_rate, _ = demand(seed, 50)
        for visits in VISITS:
            by_rate = proportional(change_rate, 30.0, visits=visits).freshness
            assert by_rate <= uniform(change_rate, 30.0, visits=visits).freshness
