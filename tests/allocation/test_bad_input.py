"""What cannot be used is refused, naming the argument and the page or the value."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from recrawl import allocate, budget_for, freshness, freshness_curve, proportional, uniform
from recrawl.errors import ArgumentError

RATES = [1.0, 2.0, 3.0]


def refused(argument: str, *words: object) -> Any:  # noqa: ANN401
    """Expect an ArgumentError that begins with the argument and holds the words in order."""
    inner = ".*".join(rf"(?<![\w.]){re.escape(str(word))}(?![\w])" for word in words)
    return pytest.raises(ArgumentError, match=f"^{argument}: .*{inner}")


@pytest.mark.parametrize("bad", [np.nan, -1.0, np.inf, -np.inf])
@pytest.mark.parametrize("argument", ["importance", "cost", "min_rate"])
def test_a_column_holds_finite_numbers_none_negative(argument: str, bad: float) -> None:
    with refused(argument, "page 1", bad):
        allocate(RATES, 5.0, **{argument: [1.0, bad, 1.0]})  # type: ignore[arg-type]
    with refused(argument, bad):
        allocate(RATES, 5.0, **{argument: bad})  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [np.nan, -1.0, np.inf, -np.inf])
def test_change_rates_are_finite_and_not_negative(bad: float) -> None:
    for use in TAKES_CHANGE_RATES:
        with refused("change_rate", "page 2", bad):
            use([1.0, 2.0, bad])


TAKES_CHANGE_RATES: list[Callable[[Any], object]] = [
    lambda rates: allocate(rates, 5.0),
    lambda rates: uniform(rates, 5.0),
    lambda rates: proportional(rates, 5.0),
    lambda rates: freshness([1.0, 1.0, 1.0], rates),
    lambda rates: freshness_curve(rates, [5.0]),
    lambda rates: budget_for(0.5, rates),
]


def test_the_page_is_named_in_a_long_column() -> None:
    rates = np.ones(1_000_000)
    rates[[876_543, 987_654]] = np.nan
    with refused("change_rate", "page 876543", "nan"):
        allocate(rates, 5.0)


@pytest.mark.parametrize("bad", [np.nan, -0.5, -np.inf])
def test_the_highest_rate_may_be_infinite_only(bad: float) -> None:
    with refused("max_rate", "page 0", bad):
        allocate(RATES, 5.0, max_rate=[bad, 1.0, 1.0])
    with refused("max_rate", bad):
        allocate(RATES, 5.0, max_rate=bad)


@pytest.mark.parametrize("bad", [np.nan, -1.0, np.inf])
def test_a_budget_is_finite_and_not_negative(bad: float) -> None:
    for use in (allocate, uniform, proportional):
        with refused("budget", bad):
            use(RATES, bad)
    with refused("budgets?", bad):
        freshness_curve(RATES, [1.0, bad])


def test_a_visit_costs_something() -> None:
    with refused("cost", "page 2", 0.0):
        allocate(RATES, 5.0, cost=[1.0, 2.0, 0.0])
    with refused("cost", 0.0):
        allocate(RATES, 5.0, cost=0.0)


@pytest.mark.parametrize("argument", ["importance", "cost", "min_rate", "max_rate"])
@pytest.mark.parametrize("length", [0, 1, 2, 4])
def test_columns_are_as_long_as_there_are_pages(argument: str, length: int) -> None:
    with refused(argument, length, 3):
        allocate(RATES, 5.0, **{argument: np.ones(length)})  # type: ignore[arg-type]


def test_lengths_of_the_other_functions() -> None:
    with refused("crawl_rate", 2, 3):
        freshness([1.0, 1.0], RATES)
    with refused("importance", 2, 3):
        freshness([1.0, 1.0, 1.0], RATES, importance=[1.0, 1.0])
    for plain in (uniform, proportional):
        with refused("importance", 2, 3):
            plain(RATES, 5.0, importance=[1.0, 1.0])
    with refused("importance", 2, 3):
        budget_for(0.5, RATES, importance=[1.0, 1.0])


@pytest.mark.parametrize("bad", [np.nan, -1.0, np.inf])
def test_crawl_rates_are_finite_and_not_negative(bad: float) -> None:
    with refused("crawl_rate", "page 1", bad):
        freshness([1.0, bad, 1.0], RATES)


@pytest.mark.parametrize("rates", [1.0, [[1.0, 2.0]], "abc", ["a", "b"], [None, 1.0], [1j, 2.0]])
def test_change_rates_are_one_column_of_numbers(rates: Any) -> None:  # noqa: ANN401
    with refused("change_rate"):
        allocate(rates, 5.0)


@pytest.mark.parametrize("budget", ["five", None, [5.0, 6.0], 1j])
def test_a_budget_is_one_number(budget: Any) -> None:  # noqa: ANN401
    with refused("budget"):
        allocate(RATES, budget)


def test_lowest_above_highest_rate() -> None:
    with refused("min_rate", "page 2", 0.6, "max_rate", 0.5):
        allocate(RATES, 5.0, min_rate=[0.1, 0.5, 0.6], max_rate=0.5)
    with refused("min_rate", "page 1", 0.6, "max_rate", 0.5):
        allocate(RATES, 5.0, min_rate=0.6, max_rate=[1.0, 0.5, 0.4])


def test_lowest_rates_that_exceed_the_budget() -> None:
    with refused("min_rate", 6, "budget", 5):
        allocate(RATES, 5.0, min_rate=[1.0, 2.0, 3.0])
    with refused("min_rate", 5.4, "budget", 5):
        allocate(RATES, 5.0, min_rate=1.8)
    with refused("min_rate", 8, "budget", 5):
        allocate(RATES, 5.0, min_rate=[0.0, 0.0, 1.0], cost=[1.0, 1.0, 8.0])
    with refused("min_rate", 3, "budget", 0):
        allocate(RATES, 0.0, min_rate=1.0)


def test_lowest_rates_that_exceed_a_hosts_budget() -> None:
    with refused("min_rate", "host 1", 2, "host_budget", 1.5):
        allocate(RATES, 5.0, min_rate=1.0, host=[1, 0, 1], host_budget=[2.0, 1.5])
    with refused("min_rate", "host 0", 2, "host_budget", 1.5):
        allocate(RATES, 5.0, min_rate=[1.0, 1.0, 0.0], host=[0, 0, 1], host_budget=1.5)


def test_a_host_without_a_budget() -> None:
    with refused("host_budget", "host 2", "page 1"):
        allocate(RATES, 5.0, host=[0, 2, 1], host_budget=[1.0, 1.0])
    with refused("host_budget"):
        allocate(RATES, 5.0, host=[0, 2, 1])
    with refused("host"):
        allocate(RATES, 5.0, host_budget=[1.0, 1.0])


@pytest.mark.parametrize("bad", [np.nan, -1.0, -np.inf])
def test_host_budgets_are_not_negative(bad: float) -> None:
    with refused("host_budget", "host 1", bad):
        allocate(RATES, 5.0, host=[0, 0, 1], host_budget=[1.0, bad])
    with refused("host_budget", bad):
        allocate(RATES, 5.0, host=[0, 0, 1], host_budget=bad)


def test_hosts_are_whole_numbers_from_0_one_a_page() -> None:
    with refused("host", "page 1", -1):
        allocate(RATES, 5.0, host=[0, -1, 1], host_budget=1.0)
    for host in ([0, 1], [[0], [1], [0]], 0, [0.0, 1.0, 0.0], ["a", "b", "a"]):
        with refused("host"):
            allocate(RATES, 5.0, host=host, host_budget=1.0)


def test_unknown_names() -> None:
    with refused("visits", "'regular'", "poisson", "periodic"):
        allocate(RATES, 5.0, visits="regular")  # type: ignore[arg-type]
    with refused("objective", "'age'", "freshness", "harmonic"):
        allocate(RATES, 5.0, objective="age")  # type: ignore[arg-type]
    with refused("visits", "'regular'"):
        freshness([1.0, 1.0, 1.0], RATES, visits="regular")  # type: ignore[arg-type]
    for plain in (uniform, proportional):
        with refused("visits", "'regular'"):
            plain(RATES, 5.0, visits="regular")  # type: ignore[arg-type]


def test_the_harmonic_objective_needs_random_visits() -> None:
    with refused("objective", "harmonic", "poisson"):
        allocate(RATES, 5.0, visits="periodic", objective="harmonic")


@pytest.mark.parametrize("wanted", [np.nan, -0.1, 1.1, np.inf])
def test_a_freshness_is_a_share(wanted: float) -> None:
    with refused("freshness", wanted):
        budget_for(wanted, RATES)


def test_a_keyword_that_does_not_exist() -> None:
    with pytest.raises(TypeError, match="importence"):
        freshness_curve(RATES, [1.0], importence=1.0)
    with pytest.raises(TypeError, match="importence"):
        budget_for(0.5, RATES, importence=1.0)
