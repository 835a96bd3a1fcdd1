"""Budgets of hosts, nested in the budget of all."""

from dataclasses import replace

import numpy as np
import pytest
from allocation.problems import KINDS, demand, random_problem, solve
from allocation.reference import Problem, objective, page_gain

from recrawl import Allocation, allocate
from recrawl.kernels.jit import Bools, Floats

EXACT = 1e-9


def nested(kind: str, host_budget: float | list[float]) -> Problem:
    """Three hosts with twenty pages each, in no order."""
    change_rate, importance = demand(11, 60)
    host = np.random.default_rng(11).permutation(np.repeat([0, 1, 2], 20))
    return Problem(
        change_rate,
        30.0,
        importance,
        visits="periodic" if kind == "periodic" else "poisson",
        objective="harmonic" if kind == "harmonic" else "freshness",
        host=host,
        host_budget=host_budget,
    )


def alone(problem: Problem, pages: Bools, budget: float) -> Allocation:
    """Some of the pages, as if there were no hosts and no other pages."""
    return solve(
        replace(
            problem,
            change_rate=problem.change_rate[pages],
            importance=problem.importance[pages],
            budget=budget,
            host=None,
            host_budget=None,
        )
    )


def visits_by_host(problem: Problem, crawl_rate: Floats) -> list[float]:
    visits: list[float] = np.bincount(problem.hosts, crawl_rate, 3).tolist()
    return visits


@pytest.mark.parametrize("plenty", [30.0, 1e9, np.inf, [30.0, np.inf, 1e9]])
@pytest.mark.parametrize("kind", KINDS)
def test_a_budget_beyond_its_demand_changes_nothing(kind: str, plenty: float | list[float]) -> None:
    limited = nested(kind, plenty)
    one, other = solve(limited), alone(limited, np.ones(60, np.bool_), 30.0)
    np.testing.assert_allclose(one.crawl_rate, other.crawl_rate, rtol=EXACT, atol=1e-12)
    assert one.price == pytest.approx(other.price, rel=EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_host_has_its_own_price(kind: str) -> None:
    problem = nested(kind, [2.0, np.inf, np.inf])
    plan = solve(problem)
    full = problem.hosts == 0
    assert visits_by_host(problem, plan.crawl_rate)[0] == pytest.approx(2.0, rel=EXACT)
    gain = problem.importance * page_gain(kind, plan.crawl_rate, problem.change_rate)
    visited = plan.crawl_rate > 0
    own = gain[full & visited]
    assert own == pytest.approx(own[0], rel=1e-6)
    assert own[0] > 1.1 * plan.price
    assert (gain[full & ~visited] <= own[0] * (1 + 1e-6)).all()
    assert gain[~full & visited] == pytest.approx(plan.price, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_host_solves_its_own_problem_and_the_others_share_the_rest(kind: str) -> None:
    problem = nested(kind, [2.0, np.inf, np.inf])
    plan = solve(problem)
    for pages, budget in [(problem.hosts == 0, 2.0), (problem.hosts != 0, 28.0)]:
        own = alone(problem, pages, budget)
        np.testing.assert_allclose(plan.crawl_rate[pages], own.crawl_rate, rtol=1e-8, atol=1e-9)
    assert plan.price == pytest.approx(own.price, rel=EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_when_all_hosts_are_full_budget_is_left_over(kind: str) -> None:
    problem = nested(kind, [1.0, 2.0, 3.0])
    plan = solve(problem)
    assert visits_by_host(problem, plan.crawl_rate) == pytest.approx([1.0, 2.0, 3.0], rel=EXACT)
    assert plan.budget_used == pytest.approx(6.0, rel=EXACT)
    assert plan.price == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_hosts_that_allow_exactly_the_budget(kind: str) -> None:
    problem = nested(kind, [5.0, 10.0, 15.0])
    plan = solve(problem)
    assert visits_by_host(problem, plan.crawl_rate) == pytest.approx([5.0, 10.0, 15.0], rel=EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_a_host_that_allows_nothing_gets_nothing(kind: str) -> None:
    problem = nested(kind, [0.0, np.inf, np.inf])
    plan = solve(problem)
    assert (plan.crawl_rate[problem.hosts == 0] == 0.0).all()
    assert plan.budget_used == pytest.approx(30.0, rel=EXACT)
    rest = problem.hosts != 0
    others = alone(problem, rest, 30.0)
    np.testing.assert_allclose(plan.crawl_rate[rest], others.crawl_rate, rtol=1e-8, atol=1e-9)
    assert plan.price == pytest.approx(others.price, rel=EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_when_no_host_allows_anything_nothing_is_visited(kind: str) -> None:
    plan = solve(nested(kind, 0.0))
    assert (plan.crawl_rate == 0.0).all()
    assert (plan.budget_used, plan.freshness, plan.price) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_one_host_is_a_smaller_budget(kind: str) -> None:
    problem = replace(nested(kind, 7.0), host=np.zeros(60, np.int64))
    one, other = solve(problem), alone(problem, np.ones(60, np.bool_), 7.0)
    np.testing.assert_allclose(one.crawl_rate, other.crawl_rate, rtol=1e-8, atol=1e-9)
    assert one.price == 0.0
    assert one.budget_used == pytest.approx(7.0, rel=EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_one_number_stands_for_every_host(kind: str) -> None:
    one, other = solve(nested(kind, 6.0)), solve(nested(kind, [6.0, 6.0, 6.0]))
    assert one.crawl_rate.tolist() == other.crawl_rate.tolist()


def test_hosts_without_pages_are_no_trouble() -> None:
    crowded = allocate([1.0, 2.0], 5.0, host=[0, 1], host_budget=[1.0, 9.0])
    numbered = allocate([1.0, 2.0], 5.0, host=[3, 7], host_budget=[0, 0, 0, 1, 0, 0, 0, 9, 0])
    assert numbered.crawl_rate.tolist() == crowded.crawl_rate.tolist() == [1.0, 4.0]


def test_hosts_count_visits_and_the_budget_counts_cost() -> None:
    plan = allocate([1.0, 1.0, 1.0], 100.0, cost=[10.0, 10.0, 1.0], host=[0, 0, 1], host_budget=3.0)
    np.testing.assert_allclose(plan.crawl_rate, [1.5, 1.5, 3.0], rtol=1e-9)
    assert plan.budget_used == pytest.approx(33.0)
    assert plan.price == 0.0


@pytest.mark.parametrize("limits", ["host", "cost+host", "cost+host+min+max"])
@pytest.mark.parametrize("kind", KINDS)
def test_pages_sorted_by_host_or_not(kind: str, limits: str) -> None:
    mixed = random_problem(kind, limits, seed=9, pages=30)
    order = np.argsort(mixed.hosts, kind="stable")
    arguments = mixed.arguments()
    for name, value in arguments.items():
        if np.shape(value) == (30,):
            arguments[name] = np.asarray(value)[order]
    grouped = allocate(mixed.change_rate[order], mixed.budget, **arguments)
    plan = solve(mixed)
    np.testing.assert_allclose(grouped.crawl_rate, plan.crawl_rate[order], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("limits", ["none", "max", "host", "cost+host+min+max"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_price_is_what_more_budget_gains(kind: str, limits: str) -> None:
    """Also where limits bind; the slopes on both sides bracket it, as the optimum is concave."""
    problem = random_problem(kind, limits, seed=21, pages=30)
    here, budget, step = solve(problem), problem.budget, 1e-4 * problem.budget
    reached = []
    for shift in (-step, 0.0, step):
        moved = replace(problem, budget=budget + shift)
        reached.append(objective(moved, solve(moved).crawl_rate))
    before, after = np.diff(reached) / step
    noise = 1e-13 * max(map(abs, reached)) / step
    assert after - noise <= here.price <= before + noise
    assert before == pytest.approx(after, rel=0.02, abs=2 * noise)


@pytest.mark.parametrize("budget", [0.004, 0.01, 0.02, 0.03])
def test_one_page_of_one_host_visited_far_less_often_than_it_changes(budget: float) -> None:
    """With 37 changes between regular visits and more, prices no longer tell rates apart."""
    plan = allocate(
        [4.9], budget, importance=[4.0], visits="periodic", host=[0], host_budget=[0.02]
    )
    assert plan.crawl_rate[0] == pytest.approx(min(budget, 0.02), rel=EXACT)


def test_hosts_visited_far_less_often_than_they_change() -> None:
    plan = allocate(
        [5.1, 0.3, 9.1],
        0.08,
        importance=[0.7, 7.6, 0.3],
        visits="periodic",
        host=[0, 0, 2],
        host_budget=[0.03, 0.36, 0.12],
    )
    np.testing.assert_allclose(plan.crawl_rate, [0.0, 0.03, 0.05], rtol=EXACT, atol=1e-12)
    assert plan.price == pytest.approx(0.3 / 9.1, rel=EXACT)


@pytest.mark.parametrize("kind", ["poisson", "periodic"])
def test_full_hosts_with_ties_over_many_decades(kind: str) -> None:
    """Every page's first visit is worth the same, on every host."""
    change_rate = np.tile(10.0 ** np.arange(-6.0, 7.0), 3)
    problem = Problem(change_rate, 1.0, change_rate, visits=kind)
    problem.host = np.repeat([0, 1, 2], 13)
    problem.host_budget = [0.1, 0.2, 10.0]
    plan = solve(problem)
    visits = visits_by_host(problem, plan.crawl_rate)
    assert plan.budget_used == pytest.approx(1.0, rel=EXACT)
    assert visits[0] <= 0.1 * (1 + EXACT)
    assert visits[1] <= 0.2 * (1 + EXACT)
