"""The public suite passes the package's allocator, and finds what is broken in others."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recrawl import Allocation, allocate, check_allocator, freshness, proportional, uniform
from recrawl.errors import ConformanceError
from recrawl.kernels.jit import Floats


@pytest.mark.parametrize("seed", range(5))
def test_allocate_keeps_its_promises(seed: int) -> None:
    check_allocator(allocate, seed=seed)


def test_limits_that_do_not_bind_break_no_promise() -> None:
    def limited(change_rate: Floats, budget: float, **given: Any) -> Allocation:  # noqa: ANN401
        host = np.arange(change_rate.size) % 3
        return allocate(
            change_rate, budget, **given, max_rate=budget, host=host, host_budget=budget
        )

    check_allocator(limited)


def changed(change: Callable[[Floats], Floats]) -> Callable[..., Allocation]:
    """The right allocation with other rates, honest about their freshness where there is any."""

    def broken(change_rate: Floats, budget: float, **given: Any) -> Allocation:  # noqa: ANN401
        plan = allocate(change_rate, budget, **given)
        rate = change(plan.crawl_rate)
        usable = np.where(rate > 0, rate, 0.0)
        fresh = freshness(usable, change_rate, **given)
        return Allocation(rate, plan.price, fresh, float(rate.sum()))

    return broken


def ignores_importance(
    change_rate: Floats,
    budget: float,
    *,
    importance: Floats | None = None,
    visits: Any = "poisson",  # noqa: ANN401
) -> Allocation:
    plan = allocate(change_rate, budget, visits=visits)
    fresh = freshness(plan.crawl_rate, change_rate, importance=importance, visits=visits)
    return replace(plan, freshness=fresh)


def ignores_visits(
    change_rate: Floats,
    budget: float,
    *,
    importance: Floats | None = None,
    visits: Any = "poisson",  # noqa: ANN401
) -> Allocation:
    plan = allocate(change_rate, budget, importance=importance)
    fresh = freshness(plan.crawl_rate, change_rate, importance=importance, visits=visits)
    return replace(plan, freshness=fresh)


def boasts(change_rate: Floats, budget: float, **given: Any) -> Allocation:  # noqa: ANN401
    plan = allocate(change_rate, budget, **given)
    return replace(plan, freshness=min(1.01 * plan.freshness, 1.0))


def misprices(change_rate: Floats, budget: float, **given: Any) -> Allocation:  # noqa: ANN401
    plan = allocate(change_rate, budget, **given)
    return replace(plan, price=plan.price / given["importance"].sum())


def starts_anew_each_day(change_rate: Floats, budget: float, **given: Any) -> Allocation:  # noqa: ANN401
    """Visits no page more often than once a day, in whatever unit."""
    return allocate(change_rate, budget, **given, max_rate=max(1.0, 2 * budget / change_rate.size))


def starved(rate: Floats) -> Floats:
    """What the least visited page gets, given to the most visited one."""
    kept = rate.copy()
    least = np.flatnonzero(rate > 0)[np.argmin(rate[rate > 0])]
    kept[rate.argmax()] += kept[least]
    kept[least] = 0.0
    return kept


def in_debt(rate: Floats) -> Floats:
    kept = rate.copy()
    kept[rate.argmin()] -= 1e-3
    kept[rate.argmax()] += 1e-3
    return kept


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (uniform, "gains more"),
        (proportional, "gains more"),
        (ignores_importance, "gains more"),
        (ignores_visits, "gains more"),
        (changed(np.sort), "gains more"),
        (changed(starved), "gains more"),
        (changed(lambda rate: 1.001 * rate), "not to the budget"),
        (changed(lambda rate: 0.999 * rate), "not to the budget"),
        (changed(in_debt), "negative"),
        (changed(lambda rate: np.where(rate > 0, rate, np.nan)), "not finite"),
        (boasts, "its freshness"),
        (misprices, "gains more|price"),
        (starts_anew_each_day, "gains more"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_broken_promises_are_found(broken: Callable[..., Allocation], message: str) -> None:
    with pytest.raises(ConformanceError, match=message):
        check_allocator(broken)


def test_too_few_rates_are_found() -> None:
    def short(change_rate: Floats, budget: float, **given: Any) -> Allocation:  # noqa: ANN401
        plan = allocate(change_rate, budget, **given)
        return replace(plan, crawl_rate=plan.crawl_rate[:-1])

    with pytest.raises(ConformanceError, match="one crawl rate per page"):
        check_allocator(short)


def test_an_allocator_that_looks_at_the_order_of_pages_is_found() -> None:
    """The first call is right, so that only the pages in another order show the fault."""
    calls = 0

    def forgetful(change_rate: Floats, budget: float, **given: Any) -> Allocation:  # noqa: ANN401
        nonlocal calls
        calls += 1
        plan = allocate(change_rate, budget, **given)
        return plan if calls == 1 else replace(plan, crawl_rate=np.sort(plan.crawl_rate))

    with pytest.raises(ConformanceError, match="another order"):
        check_allocator(forgetful)


@pytest.mark.parametrize(
    ("argument", "message"), [("importance", "importance in another unit"), ("time", "time in")]
)
def test_an_allocator_that_depends_on_units_is_found(argument: str, message: str) -> None:
    """It decides by absolute numbers: right for the first problem, wrong in another unit."""

    def absolute(change_rate: Floats, budget: float, **given: Any) -> Allocation:  # noqa: ANN401
        plan = allocate(change_rate, budget, **given)
        odd = given["importance"].max() > 50 if argument == "importance" else budget < 1.0
        return replace(plan, crawl_rate=plan.crawl_rate[::-1]) if odd else plan

    with pytest.raises(ConformanceError, match=message):
        check_allocator(absolute)


def test_an_allocator_that_takes_from_pages_when_there_is_more_is_found() -> None:
    def greedy(change_rate: Floats, budget: float, **given: Any) -> Allocation:  # noqa: ANN401
        plan = allocate(change_rate, budget, **given)
        return changed(starved)(change_rate, budget, **given) if budget == 3.0 else plan

    with pytest.raises(ConformanceError, match="more budget"):
        check_allocator(greedy)


def test_an_allocator_that_writes_to_its_arguments_is_found() -> None:
    def careless(change_rate: Floats, budget: float, **given: Any) -> Allocation:  # noqa: ANN401
        plan = allocate(change_rate, budget, **given)
        change_rate[:] = np.sort(change_rate)
        return plan

    with pytest.raises(ConformanceError):
        check_allocator(careless)
