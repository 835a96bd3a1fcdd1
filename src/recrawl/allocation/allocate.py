"""How often to visit every page: the crawl rates that keep the copy freshest."""

from __future__ import annotations  # so that help() shows the names of types

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from recrawl.allocation import hosts, one_budget
from recrawl.allocation.freshness import marginal, mean_freshness
from recrawl.allocation.inputs import as_budget, as_column, as_hosts, as_rates, kind_of
from recrawl.allocation.price_search import PricePair
from recrawl.allocation.problem import Problem
from recrawl.errors import ArgumentError
from recrawl.kernels.grouping import Grouping, grouping, starts_if_grouped
from recrawl.kernels.jit import compiled
from recrawl.tabular import Tabular, spread

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from recrawl.kernels.jit import Bools, Floats, Ints

#: By what share minimum rates may exceed a budget, to allow for rounding.
SLACK = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Allocation(Tabular):
    """Crawl rates, and the freshness they achieve.

    Attributes:
        crawl_rate: Visits per day, one element per page.
        price: λ, what one more unit of budget would gain: d(Σ w F)/dB in raw importance; for
            harmonic, of its own objective. 0 if the budget is not used up; infinite for harmonic
            without a budget.
        freshness: The share of the copy that is fresh, weighted by importance: Σ w F / Σ w.
        budget_used: Σ cost · crawl_rate.
    """

    crawl_rate: Floats
    price: float
    freshness: float
    budget_used: float

    def columns(self) -> dict[str, Any]:
        """Return the crawl rates by the name of their column."""
        return {"crawl_rate": self.crawl_rate}

    def summary(self) -> str:
        """Return the number of pages, the freshness, and the distribution of crawl rates."""
        fresh = f"freshness {self.freshness:.4g}, budget used {self.budget_used:.4g}"
        return f"{self.crawl_rate.size:,} pages, {fresh}, visits per day: {spread(self.crawl_rate)}"

    def _charted(self) -> tuple[str, Any]:
        return "visits per day", self.crawl_rate


def allocate(
    change_rate: ArrayLike,
    budget: float,
    *,
    importance: ArrayLike | None = None,
    visits: Literal["poisson", "periodic"] = "poisson",
    objective: Literal["freshness", "harmonic"] = "freshness",
    cost: ArrayLike | None = None,
    host: ArrayLike | None = None,
    host_budget: ArrayLike | None = None,
    min_rate: ArrayLike = 0.0,
    max_rate: ArrayLike = np.inf,
) -> Allocation:
    """Return the crawl rates that keep the copy freshest within a budget. Exact, without a sort.

    Columns are arrays of NumPy, pyarrow, pandas, polars or DuckDB, lists, or one number for all.

    Args:
        change_rate: Δ, changes per day.
        budget: What visits may cost per day: Σ cost · crawl_rate ≤ budget.
        importance: w; 1 by default.
        visits: At random times, as in the paper, or at regular ones, which is better.
        objective: Freshness, or harmonic, which starves no page.
        cost: The cost of a visit to each page; 1 by default.
        host: Each page's host, numbered from 0.
        host_budget: Visits per day that each host allows: one number for all, or one per host.
        min_rate: The lowest crawl rate allowed.
        max_rate: The highest crawl rate allowed.

    A page that never changes, or does not matter, gets its lowest rate. So does one that changes so
    fast that a visit gains more elsewhere.

    Raises:
        ArgumentError: An argument cannot be used, or the limits cannot be met.

    >>> plan = allocate([1.0, 2.0, 3.0, 4.0, 5.0], budget=5.0, visits="periodic")
    >>> plan.crawl_rate.round(2)
    array([1.15, 1.36, 1.35, 1.14, 0.  ])
    >>> round(plan.freshness, 4)
    0.3739
    """
    kind = kind_of(visits, objective)
    delta = as_rates("change_rate", change_rate)
    size = delta.size
    problem = Problem(
        kind,
        delta,
        as_column("importance", 1.0 if importance is None else importance, size),
        as_column("cost", 1.0 if cost is None else cost, size, positive=True),
        as_column("min_rate", min_rate, size),
        as_column("max_rate", max_rate, size, infinite=True),
    )
    total = as_budget("budget", budget)
    _check_limits(problem, total)
    grouped = as_hosts(host, host_budget, size)
    if not size:
        return Allocation(np.empty(0), 0.0, 1.0, 0.0)
    if grouped is None:
        rates, price = _allocate_one_budget(problem, total)
    else:
        rates, price = _allocate_by_host(problem, total, *grouped)
    fresh = mean_freshness(kind, rates, problem.change_rate, problem.importance)
    used = rates @ problem.cost if problem.cost.size > 1 else rates.sum() * problem.cost[0]
    return Allocation(rates, price, fresh, float(used))


def _allocate_one_budget(problem: Problem, budget: float) -> tuple[Floats, float]:
    """Return crawl rates and their price, without regard to hosts."""
    if _is_used_up_by_min_rates(problem, budget):
        return _at_min_rates(problem)
    capped = problem.max_rate.size > 1 or problem.max_rate[0] < np.inf
    if capped and one_budget.demand(problem, 0.0)[0] <= budget:
        return one_budget.rates(problem, PricePair(0.0, 0.0, 1.0)), 0.0
    if not _can_gain(problem):
        return one_budget.rates(problem, PricePair(1.0, 1.0, 1.0)), 0.0
    prices = one_budget.meet_budget(problem, budget)
    return one_budget.rates(problem, prices), _mean(prices)


def _allocate_by_host(
    problem: Problem, budget: float, host: Ints, host_budget: Floats
) -> tuple[Floats, float]:
    """Return crawl rates within the hosts' budgets, and their price."""
    starts = starts_if_grouped(host, host_budget.size)
    by_host = None
    if starts is None:
        by_host = grouping(host, host_budget.size)
        starts = by_host.starts
        problem = _sorted(problem, by_host)
    needed = _min_visits_by_host(problem, starts)
    _check_host_limits(needed, host_budget)
    if _is_used_up_by_min_rates(problem, budget):
        open_ = np.repeat(needed < host_budget, np.diff(starts))
        rates, price = _at_min_rates(problem, open_)
    elif not _can_gain(problem):
        rates, price = one_budget.rates(problem, PricePair(1.0, 1.0, 1.0)), 0.0
    else:
        all_hosts = hosts.with_full_prices(problem, starts, host_budget)
        prices = hosts.meet_budget(problem, all_hosts, budget)
        rates, price = hosts.rates(problem, all_hosts, prices), _mean(prices)
    del problem  # the sorted columns, before the rates are copied
    return rates if by_host is None else by_host.unsorted(rates), price


def _sorted(problem: Problem, by_host: Grouping) -> Problem:
    by_page = iter(by_host.sorted(*(column for column in problem[1:] if column.size > 1)))
    return problem.with_columns(lambda _: next(by_page))


def _mean(prices: PricePair) -> float:
    return prices.high + prices.low_share * (prices.low - prices.high)


@compiled
def _can_gain(problem: Problem) -> bool:
    """Return whether any page both changes and matters."""
    for page in range(problem.change_rate.size):
        importance = problem.importance[page if problem.importance.size > 1 else 0]
        if problem.change_rate[page] > 0.0 and importance > 0.0:
            return True
    return False


def _is_used_up_by_min_rates(problem: Problem, budget: float) -> bool:
    return _cost_of_min_rates(problem) >= budget * (1.0 - SLACK)


def _cost_of_min_rates(problem: Problem) -> float:
    if problem.min_rate.size == 1 and problem.min_rate[0] == 0.0:
        return 0.0
    products = problem.min_rate * problem.cost
    return float(products.sum()) * (problem.change_rate.size if products.size == 1 else 1)


def _at_min_rates(problem: Problem, open_: Bools | None = None) -> tuple[Floats, float]:
    """Return the lowest rates, and what one more visit would gain where one is allowed."""
    rates = np.array(np.broadcast_to(problem.min_rate, problem.change_rate.shape))
    with np.errstate(divide="ignore"):
        gain = marginal(problem.kind, rates, problem.change_rate)
    gain = np.where(problem.importance > 0.0, gain, 0.0) * problem.importance / problem.cost
    more = rates < problem.max_rate
    return rates, float(gain[more if open_ is None else more & open_].max(initial=0.0))


def _check_limits(problem: Problem, budget: float) -> None:
    over = problem.min_rate > problem.max_rate
    if over.any():
        page = int(np.argmax(over))
        low = problem.min_rate[page if problem.min_rate.size > 1 else 0]
        high = problem.max_rate[page if problem.max_rate.size > 1 else 0]
        raise ArgumentError(f"min_rate: page {page} has {low}, above its max_rate of {high}")
    cost = _cost_of_min_rates(problem)
    if problem.change_rate.size and cost > budget * (1.0 + SLACK):
        raise ArgumentError(
            f"min_rate: the lowest rates cost {cost:.6g} per day, more than the budget of "
            f"{budget:.6g}"
        )


def _min_visits_by_host(problem: Problem, starts: Ints) -> Floats:
    """Return the sum of the lowest rates of each host's pages."""
    if problem.min_rate.size == 1:
        return np.diff(starts).astype(np.float64) * float(problem.min_rate[0])
    filled = starts[:-1] < starts[1:]
    needed = np.zeros(filled.size)
    needed[filled] = np.add.reduceat(problem.min_rate, starts[:-1][filled])
    return needed


def _check_host_limits(needed: Floats, host_budget: Floats) -> None:
    over = needed > host_budget * (1.0 + SLACK)
    if over.any():
        number = int(np.argmax(over))
        raise ArgumentError(
            f"min_rate: the lowest rates of host {number} add up to {needed[number]:.6g} per day, "
            f"more than its host_budget of {host_budget[number]:.6g}"
        )
