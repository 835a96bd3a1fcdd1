"""What holds for every problem (STYLE.md's list, and some more)."""

import numpy as np
import pytest
from allocation.problems import BUDGETS, KINDS, ROWS, as_problem, solve, spread
from allocation.reference import objective, page_gain, sorted_poisson, upper_bound
from hypothesis import given
from hypothesis import strategies as st

from recrawl import allocate, freshness, proportional, uniform
from recrawl.kernels.jit import Bools, Floats

Rows = list[tuple[float, float]]
KIND = st.sampled_from(KINDS)
#: Prices of a bracket's two ends may differ by this much when the search ends.
ONE_PRICE = 1e-6
EXACT = 1e-9


def distinguishable(kind: str, rate: Floats, rows: Rows) -> Bools:
    """Where floats can distinguish the gains of different rates.

    With 30 or more changes between regular visits, a visit gains the same at any rate. How
    pages whose first visit is worth the same share what is left is then a matter of rounding.
    """
    change_rate = np.array([d for d, _ in rows])
    return rate > change_rate / 30 if kind == "periodic" else np.ones(rate.size, np.bool_)


def assert_same_rates(kind: str, rows: Rows, found: Floats, expected: Floats) -> None:
    clear, near = distinguishable(kind, expected, rows), EXACT * expected.sum()
    np.testing.assert_allclose(found[clear], expected[clear], rtol=EXACT, atol=near)
    assert found[~clear].sum() == pytest.approx(expected[~clear].sum(), rel=EXACT, abs=near)


@given(ROWS, BUDGETS, KIND)
def test_rates_are_not_negative_and_spend_the_budget(rows: Rows, budget: float, kind: str) -> None:
    plan = solve(as_problem(rows, budget, kind))
    assert (plan.crawl_rate >= 0).all()
    assert plan.crawl_rate.sum() == pytest.approx(budget, rel=1e-12)
    assert plan.budget_used == pytest.approx(budget, rel=1e-12)
    assert 0.0 < plan.freshness < 1.0


@given(ROWS, BUDGETS, KIND)
def test_one_more_visit_gains_the_same_everywhere(rows: Rows, budget: float, kind: str) -> None:
    problem = as_problem(rows, budget, kind)
    plan = solve(problem)
    gain = problem.importance * page_gain(kind, plan.crawl_rate, problem.change_rate)
    visited = plan.crawl_rate > 0
    assert gain[visited] == pytest.approx(plan.price, rel=ONE_PRICE)
    assert (gain[~visited] <= plan.price * (1 + ONE_PRICE)).all()


@given(ROWS, BUDGETS, KIND)
def test_nothing_better_can_exist(rows: Rows, budget: float, kind: str) -> None:
    problem = as_problem(rows, budget, kind)
    plan = solve(problem)
    bound = upper_bound(problem, plan.price)
    assert objective(problem, plan.crawl_rate) == pytest.approx(bound, rel=EXACT)


@given(ROWS, BUDGETS)
def test_the_textbook_sorts_and_finds_the_same(rows: Rows, budget: float) -> None:
    problem = as_problem(rows, budget)
    plan = solve(problem)
    rate, price = sorted_poisson(problem.change_rate, budget, problem.importance)
    assert_same_rates("poisson", rows, plan.crawl_rate, rate)
    assert plan.price == pytest.approx(price, rel=EXACT)


@given(ROWS, BUDGETS, KIND, st.randoms(use_true_random=False))
def test_another_order_of_pages(rows: Rows, budget: float, kind: str, random: object) -> None:
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    plan = solve(as_problem(rows, budget, kind))
    other = solve(as_problem([rows[i] for i in order], budget, kind))
    shuffled = [rows[i] for i in order]
    assert_same_rates(kind, shuffled, other.crawl_rate, plan.crawl_rate[order])
    assert other.freshness == pytest.approx(plan.freshness, rel=EXACT)


@given(ROWS, BUDGETS, KIND, spread(6))
def test_another_unit_of_importance(rows: Rows, budget: float, kind: str, unit: float) -> None:
    plan = solve(as_problem(rows, budget, kind))
    other = solve(as_problem([(d, unit * w) for d, w in rows], budget, kind))
    assert_same_rates(kind, rows, other.crawl_rate, plan.crawl_rate)
    assert other.price == pytest.approx(unit * plan.price, rel=EXACT)
    assert other.freshness == pytest.approx(plan.freshness, rel=EXACT)


@given(ROWS, BUDGETS, KIND, spread(6))
def test_another_unit_of_time(rows: Rows, budget: float, kind: str, unit: float) -> None:
    plan = solve(as_problem(rows, budget, kind))
    other = solve(as_problem([(unit * d, w) for d, w in rows], unit * budget, kind))
    assert_same_rates(kind, rows, other.crawl_rate / unit, plan.crawl_rate)
    assert other.price == pytest.approx(plan.price / unit, rel=EXACT)
    assert other.freshness == pytest.approx(plan.freshness, rel=EXACT)


@given(ROWS, BUDGETS, KIND, spread(6))
def test_another_unit_of_cost(rows: Rows, budget: float, kind: str, unit: float) -> None:
    plan = solve(as_problem(rows, budget, kind))
    other = solve(as_problem(rows, unit * budget, kind, cost=np.full(len(rows), unit)))
    assert_same_rates(kind, rows, other.crawl_rate, plan.crawl_rate)
    assert other.budget_used == pytest.approx(unit * budget, rel=EXACT)
    assert other.price == pytest.approx(plan.price / unit, rel=EXACT)


@given(ROWS, BUDGETS, st.sampled_from(["poisson", "periodic"]))
def test_never_worse_than_plain_ways(rows: Rows, budget: float, visits: str) -> None:
    problem = as_problem(rows, budget, visits)
    d, w = problem.change_rate, problem.importance
    best = solve(problem).freshness
    for plain in (uniform, proportional):
        assert best >= plain(d, budget, importance=w, visits=visits).freshness - 1e-12  # type: ignore[arg-type]
    by_importance = w / w.sum() * budget
    assert best >= freshness(by_importance, d, importance=w, visits=visits) - 1e-12  # type: ignore[arg-type]


@given(ROWS, BUDGETS, KIND, st.floats(1.0, 100.0))
def test_more_budget_lowers_no_rate(rows: Rows, budget: float, kind: str, times: float) -> None:
    less = solve(as_problem(rows, budget, kind))
    more = solve(as_problem(rows, times * budget, kind))
    clear = distinguishable(kind, less.crawl_rate, rows)
    assert (more.crawl_rate >= less.crawl_rate * (1 - EXACT) - EXACT * budget)[clear].all()
    assert more.price <= less.price * (1 + EXACT)


@given(ROWS, BUDGETS, KIND)
def test_the_price_is_what_more_budget_gains(rows: Rows, budget: float, kind: str) -> None:
    """The optimum is concave in the budget, so its derivative lies between two slopes.

    They are apart by at most 2·step, since no page's demand falls slower than as 1/√price.
    """
    step = 1e-3
    below, here, above = (
        solve(as_problem(rows, budget * (1 + part), kind)) for part in (-step, 0.0, step)
    )
    reached = [
        objective(as_problem(rows, budget, kind), plan.crawl_rate) for plan in (below, here, above)
    ]
    before, after = np.diff(reached) / (budget * step)
    noise = 1e-13 * max(map(abs, reached)) / (budget * step)
    assert after - noise <= here.price <= before + noise
    assert before - after <= 2.1 * step * here.price + 2 * noise


@given(ROWS, BUDGETS)
def test_regular_visits_are_better(rows: Rows, budget: float) -> None:
    regular = solve(as_problem(rows, budget, "periodic"))
    assert regular.freshness > solve(as_problem(rows, budget, "poisson")).freshness


@given(ROWS, BUDGETS)
def test_the_harmonic_objective_starves_no_page(rows: Rows, budget: float) -> None:
    harmonic = solve(as_problem(rows, budget, "harmonic"))
    assert (harmonic.crawl_rate > 0).all()
    assert harmonic.freshness <= solve(as_problem(rows, budget)).freshness + 1e-12


@given(ROWS, BUDGETS, KIND)
def test_a_page_twice_gets_its_rate_twice(rows: Rows, budget: float, kind: str) -> None:
    once = solve(as_problem(rows, budget, kind))
    twice = solve(as_problem(rows + rows, 2 * budget, kind))
    assert_same_rates(kind, rows + rows, twice.crawl_rate, np.tile(once.crawl_rate, 2))


@given(ROWS, BUDGETS, KIND, st.floats(0.1, 3.0))
def test_a_limit_is_kept_and_the_others_share_what_it_frees(
    rows: Rows, budget: float, kind: str, cap: float
) -> None:
    cap *= budget / len(rows)
    free = solve(as_problem(rows, budget, kind))
    capped = solve(as_problem(rows, budget, kind, max_rate=cap))
    assert (capped.crawl_rate <= cap * (1 + EXACT)).all()
    below = (capped.crawl_rate < cap * (1 - EXACT)) & distinguishable(kind, free.crawl_rate, rows)
    assert (capped.crawl_rate >= free.crawl_rate * (1 - EXACT) - EXACT * budget)[below].all()
    assert capped.budget_used == pytest.approx(min(budget, cap * len(rows)), rel=EXACT)


@given(ROWS, BUDGETS, KIND, st.integers(0, 10).map(lambda tenths: tenths / 10))
def test_a_minimum_is_kept_and_the_others_pay_for_it(
    rows: Rows, budget: float, kind: str, floor: float
) -> None:
    floor *= budget / len(rows)
    free = solve(as_problem(rows, budget, kind))
    floored = solve(as_problem(rows, budget, kind, min_rate=floor))
    assert (floored.crawl_rate >= floor * (1 - EXACT)).all()
    clear = distinguishable(kind, floored.crawl_rate, rows)
    above = (floored.crawl_rate > floor * (1 + EXACT)) & clear
    assert (floored.crawl_rate <= free.crawl_rate * (1 + EXACT) + EXACT * budget)[above].all()
    assert floored.budget_used == pytest.approx(budget, rel=EXACT)


def test_what_is_given_is_left_alone_and_may_be_of_any_kind() -> None:
    change_rate, importance = np.array([1.0, 2.0, 3.0]), np.array([3, 2, 1])
    change_rate.setflags(write=False)
    importance.setflags(write=False)
    expected = allocate(change_rate, 4.0, importance=importance).crawl_rate
    assert allocate([1, 2, 3], 4, importance=[3, 2, 1]).crawl_rate.tolist() == expected.tolist()
    strided = np.repeat(change_rate, 2)[::2]
    narrow = np.array([3, 2, 1], np.float32)
    assert allocate(strided, 4.0, importance=narrow).crawl_rate.tolist() == expected.tolist()
    hosts = np.array([0, 1, 0], np.uint8)
    plan = allocate(change_rate, 4.0, importance=importance, host=hosts, host_budget=[9, 9])
    np.testing.assert_allclose(plan.crawl_rate, expected, rtol=1e-12)
