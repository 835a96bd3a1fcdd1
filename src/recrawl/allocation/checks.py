"""A conformance suite for allocators, to run on your own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from recrawl.allocation.allocate import Allocation
from recrawl.allocation.baselines import proportional, uniform
from recrawl.allocation.freshness import freshness, marginal
from recrawl.allocation.inputs import kind_of
from recrawl.errors import ConformanceError
from recrawl.kernels.jit import Floats

Allocator = Callable[..., Allocation]
PAGES = 40
EXACT = 1e-9
#: The relative precision of a numerical derivative.
DERIVED = 1e-4


def check_allocator(allocator: Allocator, *, seed: int = 0) -> None:
    """Raise `ConformanceError` at the first property that an allocator violates.

    Args:
        allocator: Called as ``allocator(change_rate, budget, importance=…, visits=…)``.
        seed: Seed of the random problems.

    >>> from recrawl import allocate
    >>> check_allocator(allocate)
    """
    rng = np.random.default_rng(seed)
    for visits in ("poisson", "periodic"):
        for budget in (2.0, 40.0, 400.0):
            delta = rng.gamma(0.7, 2.0, PAGES)
            importance = rng.pareto(1.5, PAGES) + 0.1
            case = _Case(allocator, delta, budget, importance, visits)
            _check_rates(case)
            _check_optimality(case)
            _check_equivariance(case, rng)
            _check_budgets(case)
            _check_baselines(case)


@dataclass
class _Case:
    """A problem, and the allocator's solution."""

    allocator: Allocator
    delta: Floats
    budget: float
    importance: Floats
    visits: str

    def __post_init__(self) -> None:
        self.plan = self.solve()
        self.rates = np.asarray(self.plan.crawl_rate, np.float64)

    def solve(self, **changes: Any) -> Allocation:  # noqa: ANN401
        """Solve the problem, with some arguments changed."""
        given = {"importance": self.importance, "visits": self.visits, **changes}
        delta, budget = given.pop("delta", self.delta), given.pop("budget", self.budget)
        return self.allocator(delta, budget, **given)

    def freshness_of(self, rates: Floats) -> float:
        """Return the freshness of crawl rates."""
        return freshness(rates, self.delta, importance=self.importance, visits=self.visits)  # type: ignore[arg-type]

    def check(self, holds: object, failure: str) -> None:
        """Raise an error unless a property holds."""
        if not holds:
            raise ConformanceError(f"budget {self.budget:g}, {self.visits} visits: {failure}")


def _check_rates(case: _Case) -> None:
    rates = case.rates
    case.check(rates.shape == case.delta.shape, "there is not one crawl rate per page")
    case.check(np.isfinite(rates).all(), "a crawl rate is not finite")
    case.check((rates >= 0).all(), "a crawl rate is negative")
    case.check(
        abs(rates.sum() - case.budget) <= EXACT * case.budget,
        f"the crawl rates add up to {rates.sum()}, not to the budget",
    )
    case.check(
        abs(case.plan.freshness - case.freshness_of(rates)) <= EXACT,
        "its freshness is not that of its crawl rates",
    )


def _check_optimality(case: _Case) -> None:
    kind = kind_of(case.visits, "freshness")
    gain = case.importance * marginal(kind, case.rates, case.delta)
    price = case.plan.price
    visited = case.rates > EXACT * case.budget
    case.check(
        np.allclose(gain[visited], price, rtol=1e-5),
        "one more visit gains more on one visited page than on another",
    )
    case.check(
        (gain[~visited] <= price * (1 + 1e-5)).all(),
        "a page is not visited although a visit there gains more than elsewhere",
    )


def _check_equivariance(case: _Case, rng: np.random.Generator) -> None:
    order = rng.permutation(PAGES)
    shuffled = case.solve(delta=case.delta[order], importance=case.importance[order])
    scale = max(case.budget, 1.0) * 1e-7
    case.check(
        np.allclose(shuffled.crawl_rate, case.rates[order], rtol=1e-6, atol=scale),
        "pages in another order get other crawl rates",
    )
    weighted = case.solve(importance=1000.0 * case.importance)
    case.check(
        np.allclose(weighted.crawl_rate, case.rates, rtol=1e-6, atol=scale),
        "importance in another unit gives other crawl rates",
    )
    hourly = case.solve(delta=case.delta / 24, budget=case.budget / 24)
    case.check(
        np.allclose(24 * hourly.crawl_rate, case.rates, rtol=1e-6, atol=scale),
        "time in another unit gives other crawl rates",
    )


def _check_budgets(case: _Case) -> None:
    more = case.solve(budget=1.5 * case.budget)
    case.check(
        (more.crawl_rate >= case.rates * (1 - 1e-6) - 1e-7 * case.budget).all(),
        "with more budget a page gets less",
    )
    step = 1e-4 * case.budget
    above = case.solve(budget=case.budget + step).freshness
    below = case.solve(budget=case.budget - step).freshness
    slope = (above - below) / (2 * step) * case.importance.sum()
    case.check(
        abs(slope - case.plan.price) <= DERIVED * slope,
        f"its price is {case.plan.price}, but more budget gains {slope} per unit",
    )


def _check_baselines(case: _Case) -> None:
    reached = case.freshness_of(case.rates)
    for baseline in (uniform, proportional):
        plain = baseline(case.delta, case.budget).crawl_rate
        case.check(
            reached >= case.freshness_of(plain) - EXACT, f"it is worse than {baseline.__name__}"
        )
    by_importance = case.importance / case.importance.sum() * case.budget
    case.check(
        reached >= case.freshness_of(by_importance) - EXACT, "it is worse than rates by importance"
    )
