"""Numbers of any size, and the corners; warnings are errors in all tests."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from allocation.problems import KINDS, any_problem, as_problem, demand, solve
from allocation.reference import (
    Problem,
    exact_objective,
    exact_optimum,
    excess,
    objective,
    upper_bound,
)
from mpmath import mp, mpf

from recrawl import Allocation, allocate, freshness, freshness_curve, proportional, uniform
from recrawl.allocation import hosts, one_budget
from recrawl.allocation.formulas import (
    HARMONIC,
    PERIODIC,
    POISSON,
    harmonic_demand,
    periodic_demand,
    poisson_demand,
)
from recrawl.allocation.freshness import marginal
from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Floats

EXACT = 1e-9
BUDGETS = [1e-12, 1e-3, 1.0, 1e6, 1e12]


def decades(seed: int, pages: int = 6) -> tuple[Floats, Floats]:
    """Rates and importances over 24 decades."""
    rng = np.random.default_rng(seed)
    return 10.0 ** rng.uniform(-12, 12, pages), 10.0 ** rng.uniform(-12, 12, pages)


def problem_of(kind: str, change_rate: Floats, budget: float, importance: Floats) -> Problem:
    rows = list(zip(change_rate.tolist(), importance.tolist(), strict=True))
    return as_problem(rows, budget, kind)


def assert_sane(problem: Problem, plan: Allocation) -> None:
    assert np.isfinite(plan.crawl_rate).all()
    assert excess(problem, plan.crawl_rate) <= EXACT
    assert 0.0 <= plan.freshness <= 1.0
    assert plan.price >= 0.0
    assert plan.price < np.inf or problem.kind == "harmonic"
    assert 0.0 <= plan.budget_used <= problem.budget * (1 + EXACT)


def assert_optimal(problem: Problem, plan: Allocation) -> None:
    """Compare with the optimum in extended precision."""
    d, w = problem.change_rate, problem.importance
    assert_sane(problem, plan)
    assert plan.budget_used == pytest.approx(problem.budget, rel=1e-12)
    best, price = exact_optimum(problem.kind, d, problem.budget, w)
    reached = exact_objective(problem.kind, plan.crawl_rate, d, w)
    assert float(abs(best - reached) / abs(best)) <= EXACT
    assert plan.price == pytest.approx(float(price), rel=1e-6)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_24_decades_in_one_problem(kind: str, budget: float) -> None:
    for seed in range(2):
        change_rate, importance = decades(seed)
        problem = problem_of(kind, change_rate, budget, importance)
        assert_optimal(problem, solve(problem))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_importance_in_proportion_to_the_rate(kind: str, budget: float) -> None:
    """Every page's first visit is worth the same, up to rounding."""
    for seed in range(2):
        change_rate, _ = decades(seed)
        problem = problem_of(kind, change_rate, budget, 0.7 * change_rate)
        assert_optimal(problem, solve(problem))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("kind", ["poisson", "periodic"])
def test_exact_ties_share_in_proportion_to_the_rate(kind: str, budget: float) -> None:
    change_rate = 2.0 ** np.arange(-40.0, 41.0, 10.0)
    problem = problem_of(kind, change_rate, budget, change_rate)
    plan = solve(problem)
    expected = change_rate / change_rate.sum() * budget
    np.testing.assert_allclose(plan.crawl_rate, expected, rtol=1e-6)
    assert plan.budget_used == pytest.approx(budget, rel=1e-12)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_one_page_gets_all(kind: str, budget: float) -> None:
    for change_rate in (1e-12, 1.0, 1e12):
        problem = problem_of(kind, np.array([change_rate]), budget, np.array([3.0]))
        plan = solve(problem)
        assert plan.crawl_rate[0] == pytest.approx(budget, rel=1e-12)
        assert_optimal(problem, plan)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_equal_pages_get_equal_rates(kind: str, budget: float) -> None:
    for change_rate in (1e-12, 1.0, 1e12):
        same = np.full(7, change_rate)
        plan = solve(problem_of(kind, same, budget, np.full(7, 1e-3)))
        np.testing.assert_allclose(plan.crawl_rate, budget / 7, rtol=1e-12)


@pytest.mark.parametrize("kind", ["poisson", "periodic"])
def test_no_budget_buys_nothing(kind: str) -> None:
    problem = as_problem([(1.0, 2.0), (4.0, 1.0), (0.0, 3.0)], 0.0, kind)
    plan = solve(problem)
    assert plan.crawl_rate.tolist() == [0.0, 0.0, 0.0]
    assert (plan.budget_used, plan.freshness) == (0.0, 0.5)
    assert plan.price == pytest.approx(2.0)  # of the best first visit, w/Δ


def test_no_budget_for_the_harmonic_objective() -> None:
    plan = solve(as_problem([(1.0, 2.0), (4.0, 2.0), (0.0, 4.0)], 0.0, "harmonic"))
    assert plan.crawl_rate.tolist() == [0.0, 0.0, 0.0]
    assert (plan.freshness, plan.price) == (0.5, np.inf)


@pytest.mark.parametrize("kind", ["poisson", "periodic"])
def test_no_budget_beside_a_host_that_allows_nothing(kind: str) -> None:
    """The first visit would go to the best page that may be visited at all."""
    limits = {"host": np.array([0, 1]), "host_budget": [0.0, 9.0]}
    problem = as_problem([(1.0, 2.0), (4.0, 1.0)], 0.0, kind, **limits)
    assert solve(problem).price == pytest.approx(0.25)
    problem.budget = 1e-9
    assert solve(problem).price == pytest.approx(0.25)


@pytest.mark.parametrize("kind", KINDS)
def test_a_budget_beyond_all_limits_is_not_used_up(kind: str) -> None:
    change_rate, importance = demand(2, 20)
    problem = problem_of(kind, change_rate, 1e9, importance)
    plan = solve(replace(problem, max_rate=2.0))
    assert plan.crawl_rate.tolist() == [2.0] * 20
    assert (plan.price, plan.budget_used) == (0.0, 40.0)


@pytest.mark.parametrize("rest", [(0.0, 1.0), (1.0, 0.0)])
@pytest.mark.parametrize("kind", KINDS)
def test_budget_is_left_over_when_only_the_useless_could_have_more(
    kind: str, rest: tuple[float, float]
) -> None:
    """Only a page that never changes, or does not matter, is without a highest rate."""
    problem = as_problem([(1.0, 1.0), rest], 10.0, kind, max_rate=[1.0, np.inf])
    plan = solve(problem)
    assert plan.crawl_rate.tolist() == [1.0, 0.0]
    assert (plan.price, plan.budget_used) == (0.0, 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_budget_that_the_limits_just_use_up(kind: str) -> None:
    change_rate, importance = demand(2, 20)
    problem = replace(problem_of(kind, change_rate, 40.0, importance), max_rate=2.0)
    np.testing.assert_allclose(solve(problem).crawl_rate, 2.0, rtol=EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_minimum_rates_that_just_use_the_budget_up(kind: str) -> None:
    change_rate, importance = demand(2, 20)
    problem = replace(problem_of(kind, change_rate, 4.0, importance), min_rate=0.2)
    plan = solve(problem)
    np.testing.assert_allclose(plan.crawl_rate, 0.2, rtol=EXACT)
    assert_sane(problem, plan)
    bound = upper_bound(problem, plan.price)
    assert objective(problem, plan.crawl_rate) == pytest.approx(bound, rel=EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_minimum_and_maximum_leave_no_choice(kind: str) -> None:
    fixed = np.array([0.5, 0.0, 1.5])
    problem = as_problem([(1.0, 1.0), (2.0, 1.0), (3.0, 0.0)], 9.0, kind)
    plan = solve(replace(problem, min_rate=fixed, max_rate=fixed))
    assert plan.crawl_rate.tolist() == fixed.tolist()
    assert plan.budget_used == 2.0


@pytest.mark.parametrize("budget", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", KINDS)
def test_pages_that_never_change_or_do_not_matter_get_nothing(kind: str, budget: float) -> None:
    rows = [(0.0, 5.0), (1.0, 1.0), (2.0, 0.0), (3.0, 1.0), (0.0, 0.0)]
    problem = as_problem(rows, budget, kind)
    plan = solve(problem)
    assert plan.crawl_rate[[0, 2, 4]].tolist() == [0.0, 0.0, 0.0]
    assert_optimal(problem, plan)
    assert plan.freshness >= 5.0 / 7.0
    floored = solve(replace(problem, budget=budget + 0.5, min_rate=0.1))
    assert floored.crawl_rate[[0, 2, 4]].tolist() == [0.1, 0.1, 0.1]


@pytest.mark.parametrize("rows", [[(0.0, 1.0)] * 3, [(1.0, 0.0)] * 3, [(0.0, 0.0)]])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_to_gain_costs_nothing(kind: str, rows: list[tuple[float, float]]) -> None:
    host = np.zeros(len(rows), np.int64)
    for limits in ({}, {"max_rate": 2.0}, {"host": host, "host_budget": 1.0}):
        plan = solve(as_problem(rows, 5.0, kind, **limits))
        assert plan.crawl_rate.tolist() == [0.0] * len(rows)
        assert (plan.freshness, plan.price, plan.budget_used) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("budget", [0.0, 5.0])
@pytest.mark.parametrize("kind", KINDS)
def test_no_pages(kind: str, budget: float) -> None:
    none = np.empty(0)
    plan = solve(Problem(none, budget, none, *settings(kind)))
    assert plan.crawl_rate.shape == (0,)
    assert (plan.freshness, plan.price, plan.budget_used) == (1.0, 0.0, 0.0)
    hosted = allocate(none, budget, host=np.empty(0, np.int64), host_budget=[1.0, 2.0])
    assert hosted.crawl_rate.shape == (0,)


def settings(kind: str) -> tuple[str, str]:
    return (
        "periodic" if kind == "periodic" else "poisson",
        "harmonic" if kind == "harmonic" else "freshness",
    )


def test_no_pages_for_the_other_functions() -> None:
    assert freshness([], []) == 1.0
    assert uniform([], 5.0).crawl_rate.size == proportional([], 5.0).crawl_rate.size == 0
    assert freshness_curve([], [0.0, 1.0]).tolist() == [1.0, 1.0]
    assert freshness_curve([1.0], []).tolist() == []


def test_plain_ways_with_pages_that_never_change() -> None:
    assert proportional([0.0, 0.0], 5.0).freshness == 1.0
    assert proportional([0.0, 2.0], 2.0).crawl_rate.tolist() == [0.0, 2.0]
    assert uniform([0.0, 2.0], 4.0).freshness == 0.75


@pytest.mark.parametrize("kind", KINDS)
def test_any_problem(kind: str) -> None:
    for seed in range(60):
        problem = any_problem(kind, seed)
        plan = solve(problem)
        assert_sane(problem, plan)
        reached = objective(problem, plan.crawl_rate)
        if reached > -np.inf:  # pages that limits keep from any visit are worth −∞ to harmonic
            assert upper_bound(problem, plan.price) == pytest.approx(reached, rel=EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_150_decades(kind: str) -> None:
    for change_rate, importance, budget in itertools.product([1e-75, 1.0, 1e75], repeat=3):
        problem = as_problem([(change_rate, importance), (1.0, 1.0)], budget, kind)
        plan = solve(problem)
        assert_sane(problem, plan)
        assert plan.budget_used == pytest.approx(budget, rel=EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_the_ends_of_the_floats_give_rates_or_are_refused(kind: str) -> None:
    """What a float cannot carry may be refused, but never turns into NaN."""
    ends = [5e-324, 1e-200, 1.0, 1e200, 1e308]
    for change_rate, importance, budget in itertools.product(ends, repeat=3):
        problem = as_problem([(change_rate, importance), (1.0, 1.0)], budget, kind)
        try:
            plan = solve(problem)
        except ArgumentError:
            continue
        assert_sane(problem, plan)
        assert plan.budget_used == pytest.approx(budget, rel=EXACT)


@pytest.fixture
def small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first price is computed from a sample in smaller problems than usual."""
    monkeypatch.setattr(one_budget, "SAMPLE", 1_000)
    monkeypatch.setattr(hosts, "SAMPLE", 1_000)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("kind", KINDS)
def test_one_page_among_many_matters(kind: str) -> None:
    """It is not in the sample that the first price is computed from."""
    for page in (1, 1_001, 2_999):
        importance = np.zeros(3_000)
        importance[page] = 1.0
        problem = Problem(np.ones(3_000), 3.0, importance, *settings(kind))
        plan = solve(problem)
        assert plan.crawl_rate[page] == pytest.approx(3.0, rel=1e-12)
        assert np.count_nonzero(plan.crawl_rate) == 1


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_that_misleads(kind: str) -> None:
    """Every fourth page is of the same kind, and the sample holds no other."""
    change_rate = np.tile([1e-9, 1e6, 1.0, 1e-3], 1_000)
    importance = np.tile([1e-9, 1.0, 1e6, 1.0], 1_000)
    problem = Problem(change_rate, 1e4, importance, *settings(kind))
    plan = solve(problem)
    assert plan.budget_used == pytest.approx(1e4, rel=EXACT)
    bound = upper_bound(problem, plan.price)
    assert objective(problem, plan.crawl_rate) == pytest.approx(bound, rel=EXACT)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("kind", KINDS)
def test_first_hosts_that_mislead(kind: str) -> None:
    """The sample's hosts cannot use their share of the budget at any price."""
    change_rate, importance = demand(4, 3_000)
    host = np.arange(3_000) // 5
    allowed = np.where(np.arange(600) < 300, 1e-3, np.inf)
    problem = Problem(change_rate, 2_000.0, importance, *settings(kind), host=host)
    problem.host_budget = allowed
    plan = solve(problem)
    assert plan.budget_used == pytest.approx(2_000.0, rel=EXACT)
    bound = upper_bound(problem, plan.price)
    assert objective(problem, plan.crawl_rate) == pytest.approx(bound, rel=EXACT)


@pytest.mark.parametrize("visits", ["poisson", "periodic"])
@pytest.mark.parametrize("host", [None, [0, 0]])
def test_a_budget_beyond_what_a_price_can_tell_gives_numbers(
    visits: Literal["poisson", "periodic"], host: list[int] | None
) -> None:
    """At the lowest prices the demand of such pages is infinite, as far as floats can tell."""
    budgets: Any = {} if host is None else {"host": host, "host_budget": [1e120]}
    found = allocate([1e-60, 1e-60], 1e120, visits=visits, **budgets)
    assert np.isfinite(found.crawl_rate).all()
    assert (found.crawl_rate > 0.0).all()
    assert found.budget_used <= 1e120 * (1.0 + 1e-9)
    assert found.freshness == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("kind", "exact"),
    [
        (POISSON, lambda x: 1 / (1 + x) ** 2),
        (PERIODIC, lambda x: 1 - mp.exp(-1 / x) * (1 + 1 / x)),
        (HARMONIC, lambda x: 1 / (x * (1 + x))),
    ],
)
def test_marginals_have_thirteen_digits(kind: int, exact: Callable[[Any], Any]) -> None:
    """Compare dF/dp at Δ = 1 with the formulas in extended precision."""
    crawl_rate = np.geomspace(1e-3, 1e6, 1_001)
    found = marginal(kind, crawl_rate, np.ones(crawl_rate.size))
    with mp.workdps(60):
        wanted = [float(exact(mpf(rate))) for rate in crawl_rate.tolist()]
    assert found == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize(
    ("kind", "demanded"),
    [(POISSON, poisson_demand), (PERIODIC, periodic_demand), (HARMONIC, harmonic_demand)],
)
@pytest.mark.parametrize("price", [1e-9, 1e-3, 0.1, 0.3])
@pytest.mark.parametrize("change_rate", [0.01, 0.5, 2.0])
def test_demand_pays_its_price_and_falls_as_it_says(
    kind: int, demanded: Callable[..., tuple[float, float]], price: float, change_rate: float
) -> None:
    rate, fall = demanded(1.0, change_rate, price)
    gained = marginal(kind, np.array([rate]), np.array([change_rate]))
    assert gained[0] == pytest.approx(price, rel=1e-9)
    step = 1e-5
    above, below = (demanded(1.0, change_rate, price * np.exp(by))[0] for by in (step, -step))
    assert fall == pytest.approx((below - above) / (2.0 * step), rel=1e-6)


@pytest.mark.parametrize("demanded", [poisson_demand, periodic_demand])
@pytest.mark.parametrize(("importance", "change_rate"), [(1.0, 4.0), (0.0, 1.0), (1.0, 0.0)])
def test_where_no_visit_pays_there_is_no_demand_and_no_fall(
    demanded: Callable[..., tuple[float, float]], importance: float, change_rate: float
) -> None:
    with np.errstate(all="ignore"):
        assert demanded(np.float64(importance), np.float64(change_rate), 0.5) == (0.0, 0.0)
