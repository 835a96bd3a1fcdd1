"""The promises an allocator of crawl rates keeps, as a suite that anyone can run on their own."""

from collections.abc import Callable
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
#: A numerical derivative is good to this share.
DERIVED = 1e-4


def check_allocator(allocator: Allocator, *, seed: int = 0) -> None:
    """Raise `ConformanceError` at the first promise that an allocator breaks.

    Args:
        allocator: Called as ``allocator(change_rate, budget, importance=…, visits=…)``.
        seed: Of the random problems.

    >>> from recrawl import allocate
    >>> check_allocator(allocate)
    """
    rng = np.random.default_rng(seed)
    for visits in ("poisson", "periodic"):
        for budget in (2.0, 40.0, 400.0):
            delta = rng.gamma(0.7, 2.0, PAGES)
            importance = rng.pareto(1.5, PAGES) + 0.1
            problem = _Problem(allocator, delta, budget, importance, visits)
            _check_rates(problem)
            _check_optimality(problem)
            _check_equivariance(problem, rng)
            _check_budgets(problem)
            _check_baselines(problem)


class _Problem:
    """A problem, and the allocator that is asked to solve it."""

    def __init__(
        self, allocator: Allocator, delta: Floats, budget: float, importance: Floats, visits: str
    ) -> None:
        self.allocator = allocator
        self.delta = delta
        self.budget = budget
        self.importance = importance
        self.visits = visits
        self.plan = self.solved()
        self.rates = np.asarray(self.plan.crawl_rate, np.float64)

    def solved(self, **changes: Any) -> Allocation:  # noqa: ANN401
        """Solve the problem with some of it changed."""
        given = {
            "change_rate": self.delta,
            "budget": self.budget,
            "importance": self.importance,
            **changes,
        }
        delta, budget = given.pop("change_rate"), given.pop("budget")
        return self.allocator(delta, budget, visits=self.visits, **given)

    def worth(self, rates: Floats) -> float:
        """Give the freshness of crawl rates."""
        return freshness(rates, self.delta, importance=self.importance, visits=self.visits)  # type: ignore[arg-type]

    def promise(self, kept: object, promise: str) -> None:
        """Raise unless the promise is kept."""
        if not kept:
            raise ConformanceError(f"budget {self.budget:g}, {self.visits} visits: {promise}")


def _check_rates(problem: _Problem) -> None:
    rates = problem.rates
    problem.promise(rates.shape == problem.delta.shape, "there is not one crawl rate a page")
    problem.promise(np.isfinite(rates).all(), "a crawl rate is not finite")
    problem.promise((rates >= 0).all(), "a crawl rate is negative")
    problem.promise(
        abs(rates.sum() - problem.budget) <= EXACT * problem.budget,
        f"the crawl rates add up to {rates.sum()}, not to the budget",
    )
    problem.promise(
        abs(problem.plan.freshness - problem.worth(rates)) <= EXACT,
        "its freshness is not that of its crawl rates",
    )


def _check_optimality(problem: _Problem) -> None:
    kind = kind_of(problem.visits, "freshness")
    gain = problem.importance * marginal(kind, problem.rates, problem.delta)
    price = problem.plan.multiplier
    visited = problem.rates > EXACT * problem.budget
    problem.promise(
        np.allclose(gain[visited], price, rtol=1e-5),
        "a visit more is worth more on one visited page than on another",
    )
    problem.promise(
        (gain[~visited] <= price * (1 + 1e-5)).all(),
        "a page is not visited though a visit there is worth more than elsewhere",
    )


def _check_equivariance(problem: _Problem, rng: np.random.Generator) -> None:
    order = rng.permutation(PAGES)
    shuffled = problem.solved(
        change_rate=problem.delta[order], importance=problem.importance[order]
    )
    scale = max(problem.budget, 1.0) * 1e-7
    problem.promise(
        np.allclose(shuffled.crawl_rate, problem.rates[order], rtol=1e-6, atol=scale),
        "pages in another order get other crawl rates",
    )
    weighted = problem.solved(importance=1000.0 * problem.importance)
    problem.promise(
        np.allclose(weighted.crawl_rate, problem.rates, rtol=1e-6, atol=scale),
        "importance in another unit gives other crawl rates",
    )
    hourly = problem.solved(change_rate=problem.delta / 24, budget=problem.budget / 24)
    problem.promise(
        np.allclose(24 * hourly.crawl_rate, problem.rates, rtol=1e-6, atol=scale),
        "time in another unit gives other crawl rates",
    )


def _check_budgets(problem: _Problem) -> None:
    more = problem.solved(budget=1.5 * problem.budget)
    problem.promise(
        (more.crawl_rate >= problem.rates * (1 - 1e-6) - 1e-7 * problem.budget).all(),
        "with more budget a page gets less",
    )
    step = 1e-4 * problem.budget
    above = problem.solved(budget=problem.budget + step).freshness
    below = problem.solved(budget=problem.budget - step).freshness
    slope = (above - below) / (2 * step) * problem.importance.sum()
    problem.promise(
        abs(slope - problem.plan.multiplier) <= DERIVED * slope,
        f"its multiplier is {problem.plan.multiplier}, but more budget brings {slope}",
    )


def _check_baselines(problem: _Problem) -> None:
    reached = problem.worth(problem.rates)
    for baseline in (uniform, proportional):
        plain = baseline(problem.delta, problem.budget).crawl_rate
        problem.promise(
            reached >= problem.worth(plain) - EXACT, f"it is worse than {baseline.__name__}"
        )
    by_importance = problem.importance / problem.importance.sum() * problem.budget
    problem.promise(
        reached >= problem.worth(by_importance) - EXACT, "it is worse than rates by importance"
    )
