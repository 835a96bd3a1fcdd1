"""The search for a price, step by step and on demands that mislead it."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from allocation.problems import KINDS, random_problem, solve

from recrawl.allocation import hosts, one_budget
from recrawl.allocation.price_search import MAX_STEPS, PricePair, narrow, new_bracket, price_pair

Demand = Callable[[float], tuple[float, float]]


def search(demand: Demand, start: float, budget: float = 1.0) -> tuple[PricePair, int]:
    """Return the prices found, and the number of steps taken."""
    bracket, price, steps = new_bracket(), start, 0
    while price > 0.0:
        price = narrow(bracket, price, *demand(price), budget)
        steps += 1
        assert steps <= MAX_STEPS
    return price_pair(bracket, budget), steps


def mixed(demand: Demand, prices: PricePair) -> float:
    low, high = demand(prices.low)[0], demand(prices.high)[0]
    return prices.low_share * low + (1.0 - prices.low_share) * high


@pytest.mark.parametrize(
    ("demand", "fall", "following"),
    [
        (2.0, 2.0, (4 / 3) ** 2),  # Newton's step in 1/√price
        (2.0, 0.0, 16.0),  # no slope
        (2.0, np.inf, 16.0),  # a slope too steep to be true
        (2.0, np.nan, 16.0),
        (4.0, 1.0, 16.0),  # the step leads beyond 1/√price = 0
        (2.0, 0.505, 16.0),  # or too close to it
        (0.5, 0.25, 1 / 4),
        (0.5, 0.0, 1 / 16),
        (0.5, 0.01, 1 / 16),  # too far
        (1.0, 1.0, 0.0),  # the budget is met
    ],
)
def test_the_second_price(demand: float, fall: float, following: float) -> None:
    assert narrow(new_bracket(), 1.0, demand, fall, 1.0) == pytest.approx(following)


@pytest.mark.parametrize("fall", [1e-9, np.inf, np.nan, -0.001])
def test_a_step_that_leaves_the_bracket_is_replaced_by_its_middle(fall: float) -> None:
    bracket = new_bracket()
    narrow(bracket, 1.0, 2.0, 1.0, 1.0)
    assert narrow(bracket, 4.0, 0.99, fall, 1.0) == pytest.approx(2.0)


def test_a_line_takes_few_steps() -> None:
    prices, steps = search(
        lambda price: (3.0 / math.sqrt(price) - 2.0, 1.5 / math.sqrt(price)), 7.0
    )
    assert steps <= 4
    assert prices.low <= 1.0 <= prices.high
    assert prices.high == pytest.approx(prices.low, rel=1e-6)


@pytest.mark.parametrize("times", [0.1, 0.7, 3.0, 100.0, 1e6])
def test_a_wrong_slope_costs_steps_only(times: float) -> None:
    def demand(price: float) -> tuple[float, float]:
        return 3.0 / math.sqrt(price) - 2.0, times * 1.5 / math.sqrt(price)

    prices, steps = search(demand, 7.0)
    assert mixed(demand, prices) == pytest.approx(1.0, rel=1e-12)
    assert steps <= 40


@pytest.mark.parametrize("fall", [0.0, 1e-3, 1.0, 1e3, np.nan])
def test_a_jump_is_shared(fall: float) -> None:
    """No price meets the budget; a third of the upper demand and two of the lower do."""
    prices, steps = search(lambda price: (3.0 if price <= 0.3 else 0.0, fall), 7.0)
    assert prices.low <= 0.3 <= prices.high
    assert prices.high == pytest.approx(prices.low, rel=1e-14)
    assert prices.low_share == pytest.approx(1 / 3)
    assert steps <= 130


def test_steps_that_hardly_get_anywhere_are_mixed_with_halving() -> None:
    """A slope far too steep leads in steps of a few percent, from a bracket of twelve decades."""
    bracket, steps = new_bracket(), 0
    narrow(bracket, 1e-6, 2.0, 25.0, 1.0)
    price = narrow(bracket, 1e6, 0.2, 25.0, 1.0)
    while price > 0.0:
        price = narrow(bracket, price, 2.0 if price <= 1.0 else 0.2, 25.0, 1.0)
        steps += 1
    found = price_pair(bracket, 1.0)
    assert found.high == pytest.approx(found.low, rel=1e-14)
    assert steps <= 200


def test_demand_that_no_price_brings_to_the_budget() -> None:
    always_more, steps = search(lambda _: (2.0, 0.0), 1.0)
    assert (always_more.low, always_more.low_share, steps) == (np.inf, 1.0, MAX_STEPS)
    always_less, _ = search(lambda _: (0.5, 0.0), 1.0)
    assert always_less.low == always_less.high > 0.0
    assert always_less.low_share == 0.0


@pytest.mark.parametrize("limits", ["none", "max", "cost", "host", "cost+host", "min+host"])
@pytest.mark.parametrize("kind", KINDS)
def test_few_passes_over_the_pages(kind: str, limits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slopes are right: Newton's method needs few of them."""
    calls = 0
    module = hosts if "host" in limits else one_budget
    demand: Callable[..., tuple[float, float]] = module.demand

    def counted(*given: object) -> tuple[float, float]:
        nonlocal calls
        calls += 1
        return demand(*given)

    monkeypatch.setattr(module, "demand", counted)
    for seed in range(5):
        solve(random_problem(kind, limits, seed, pages=300))
    assert calls <= 5 * (20 if kind == "periodic" else 8)


def test_a_host_that_allows_no_more_than_its_lowest_rates_has_no_price(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    with_full_prices = hosts.with_full_prices

    def recorded(*given: object) -> hosts.Hosts:
        found.append(with_full_prices(*given))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(hosts, "with_full_prices", recorded)
    problem = random_problem("poisson", "host", seed=1)
    problem.host_budget = [0.0, 1.0, np.inf, 1e9]
    plan = solve(problem)
    assert found[0].low[[0, 2]].tolist() == [np.inf, 0.0]
    assert found[0].low_share[0] == 0.0
    assert plan.crawl_rate[problem.hosts == 0].tolist() == [0.0] * (problem.hosts == 0).sum()
