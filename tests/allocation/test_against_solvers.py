"""Every combination of limits, against general solvers and a bound that proves optimality."""

import numpy as np
import pytest
from allocation.problems import EVERY_LIMIT, KINDS, demand, random_problem, solve
from allocation.reference import Problem, excess, objective, sorted_poisson, upper_bound
from allocation.solvers import with_cvxpy, with_slsqp

from recrawl import Allocation, allocate

EXACT = 1e-9
#: A solver that ends further away than this was asked something else.
SAME_PROBLEM = 1e-6


def assert_sound(problem: Problem, plan: Allocation) -> None:
    """Limits are kept, and the numbers beside the rates are theirs."""
    assert excess(problem, plan.crawl_rate) <= EXACT
    assert plan.budget_used == pytest.approx(problem.costs @ plan.crawl_rate, rel=EXACT)
    freshness = problem.visits if problem.kind == "harmonic" else problem.kind
    plain = Problem(problem.change_rate, problem.budget, problem.importance, freshness)
    share = objective(plain, plan.crawl_rate) / problem.importance.sum()
    assert plan.freshness == pytest.approx(share, rel=EXACT)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@pytest.mark.parametrize("limits", EVERY_LIMIT)
@pytest.mark.parametrize("kind", KINDS)
def test_no_solver_finds_better(kind: str, limits: str, seed: int) -> None:
    problem = random_problem(kind, limits, seed, weighted=seed % 2 == 0)
    plan = solve(problem)
    assert_sound(problem, plan)
    theirs = with_slsqp(problem, seed) if kind == "periodic" else with_cvxpy(problem)
    ours, best = objective(problem, plan.crawl_rate), objective(problem, theirs)
    assert ours >= best - EXACT * abs(best)
    assert best >= ours - SAME_PROBLEM * abs(ours)


@pytest.mark.parametrize("limits", EVERY_LIMIT)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_better_can_exist(kind: str, limits: str) -> None:
    problem = random_problem(kind, limits, seed=len(limits), pages=40)
    plan = solve(problem)
    assert_sound(problem, plan)
    ours = objective(problem, plan.crawl_rate)
    bound = upper_bound(problem, plan.price)
    assert abs(bound - ours) <= EXACT * abs(bound)


@pytest.mark.parametrize("kind", KINDS)
def test_many_hosts_of_unequal_size(kind: str) -> None:
    rng = np.random.default_rng(6)
    change_rate, importance = demand(6, 3_000)
    problem = Problem(
        change_rate,
        300.0,
        importance,
        visits="periodic" if kind == "periodic" else "poisson",
        objective="harmonic" if kind == "harmonic" else "freshness",
        host=(200 * rng.random(3_000) ** 3).astype(np.int64),
        host_budget=rng.gamma(0.5, 10.0, 200),
    )
    plan = solve(problem)
    assert_sound(problem, plan)
    visits = np.bincount(problem.hosts, plan.crawl_rate, 200)
    assert 20 < np.isclose(visits, problem.host_limits, rtol=1e-9).sum() < 180
    bound = upper_bound(problem, plan.price)
    assert objective(problem, plan.crawl_rate) == pytest.approx(bound, rel=EXACT)


@pytest.mark.parametrize("budget", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("pages", [10, 1_000, 300_000])
def test_the_textbook_sorts_and_finds_the_same(pages: int, budget: float) -> None:
    change_rate, importance = demand(pages, pages)
    plan = allocate(change_rate, budget, importance=importance)
    rate, price = sorted_poisson(change_rate, budget, importance)
    assert plan.price == pytest.approx(price, rel=EXACT)
    np.testing.assert_allclose(plan.crawl_rate, rate, rtol=EXACT, atol=EXACT * rate.max())
    assert plan.budget_used == pytest.approx(budget, rel=EXACT)


@pytest.mark.parametrize("budget", [1e2, 1e5, 1e7])
@pytest.mark.parametrize("kind", ["periodic", "harmonic"])
def test_many_pages(kind: str, budget: float) -> None:
    change_rate, importance = demand(3, 250_000)
    visits = "periodic" if kind == "periodic" else "poisson"
    goal = "harmonic" if kind == "harmonic" else "freshness"
    problem = Problem(change_rate, budget, importance, visits, goal)
    plan = solve(problem)
    assert plan.budget_used == pytest.approx(budget, rel=EXACT)
    bound = upper_bound(problem, plan.price)
    assert objective(problem, plan.crawl_rate) == pytest.approx(bound, rel=EXACT)
