"""How often every page should be visited: the crawl rates that keep the copy freshest."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from recrawl.allocation import hosts, one_budget
from recrawl.allocation.freshness import marginal, share_fresh
from recrawl.allocation.inputs import as_column, as_hosts, as_number, as_rates, kind_of
from recrawl.allocation.pages import Pages, made_of
from recrawl.allocation.price_search import Mix
from recrawl.errors import ArgumentError
from recrawl.kernels.grouping import Grouping, grouping, starts_if_grouped
from recrawl.kernels.jit import Bools, Floats, Ints, compiled

#: How much more than a budget its minimum rates may be, for rounding.
SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class Allocation:
    """Crawl rates, and what they are worth.

    Attributes:
        crawl_rate: Visits a day, one a page.
        multiplier: What one more unit of budget would bring: d(Σ w F)/dB in raw importance; of its
            own objective for harmonic. 0 if the budget is not used up; infinite for harmonic
            without a budget.
        freshness: The share of the copy that is fresh, weighted by importance, Σ w F / Σ w.
        budget_used: Σ cost · crawl_rate.
    """

    crawl_rate: Floats
    multiplier: float
    freshness: float
    budget_used: float


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
    """Give the crawl rates that keep the copy freshest within a budget. Exact, without a sort.

    Args:
        change_rate: Changes a day, Δ.
        budget: What visits may cost a day: Σ cost · crawl_rate ≤ budget.
        importance: w; 1 for every page if not given.
        visits: At random times, as in the paper, or at regular ones, which is better.
        objective: Freshness, or harmonic, which starves no page.
        cost: Of one visit to each page; 1 if not given.
        host: Each page's host, numbered from 0.
        host_budget: Visits a day that each host allows; one number for all, or one a host.
        min_rate: The lowest crawl rate allowed.
        max_rate: The highest crawl rate allowed.

    A page that never changes, or does not matter, gets its lowest rate. One that changes so fast
    that a visit is worth less than elsewhere gets it too.

    Raises:
        ArgumentError: Something given cannot be used, or the limits cannot be met.

    >>> plan = allocate([1.0, 2.0, 3.0, 4.0, 5.0], budget=5.0, visits="periodic")
    >>> plan.crawl_rate.round(2)
    array([1.15, 1.36, 1.35, 1.14, 0.  ])
    >>> round(plan.freshness, 4)
    0.3739
    """
    kind = kind_of(visits, objective)
    delta = as_rates("change_rate", change_rate)
    size = delta.size
    pages = made_of(
        kind,
        [
            delta,
            as_column("importance", 1.0 if importance is None else importance, size),
            as_column("cost", 1.0 if cost is None else cost, size, positive=True),
            as_column("min_rate", min_rate, size),
            as_column("max_rate", max_rate, size, infinite=True),
        ],
    )
    total = as_number("budget", budget)
    _check_limits(pages, total)
    grouped = as_hosts(host, host_budget, size)
    if not size:
        return Allocation(np.empty(0), 0.0, 1.0, 0.0)
    if grouped is None:
        rates, multiplier = _share(pages, total)
    else:
        rates, multiplier = _share_by_host(pages, total, *grouped)
    return Allocation(
        rates,
        multiplier,
        share_fresh(kind, rates, pages.change_rate, pages.importance),
        _spent(pages, rates),
    )


def _spent(pages: Pages, rates: Floats) -> float:
    if pages.cost.size == 1:
        return float(rates.sum() * pages.cost[0])
    return float(np.dot(rates, pages.cost))


def _share(pages: Pages, budget: float) -> tuple[Floats, float]:
    """Share the budget among pages without hosts."""
    if _is_spent_at_least(pages, budget):
        return _at_least(pages)
    capped = pages.most.size > 1 or pages.most[0] < np.inf
    if capped and one_budget.demand(pages, 0.0)[0] <= budget:
        return one_budget.rates(pages, Mix(0.0, 0.0, 1.0)), 0.0
    if not _any_worth_a_visit(pages):
        return one_budget.rates(pages, Mix(1.0, 1.0, 1.0)), 0.0
    mix = one_budget.meet_budget(pages, budget)
    return one_budget.rates(pages, mix), _multiplier(mix)


def _share_by_host(
    pages: Pages, budget: float, host: Ints, host_budget: Floats
) -> tuple[Floats, float]:
    """Share the budget among pages sorted by host, and put the rates back in order."""
    starts = starts_if_grouped(host, host_budget.size)
    by_host = None
    if starts is None:
        by_host = grouping(host, host_budget.size)
        starts = by_host.starts
        pages = _sorted(pages, by_host)
    needed = _least_by_host(pages, starts)
    _check_host_limits(needed, host_budget)
    if _is_spent_at_least(pages, budget):
        open_ = np.repeat(needed < host_budget, np.diff(starts))
        rates, multiplier = _at_least(pages, open_)
    elif not _any_worth_a_visit(pages):
        rates, multiplier = one_budget.rates(pages, Mix(1.0, 1.0, 1.0)), 0.0
    else:
        priced = hosts.priced(pages, starts, host_budget)
        mix = hosts.meet_budget(pages, priced, budget)
        rates, multiplier = hosts.rates(pages, priced, mix), _multiplier(mix)
    del pages
    return rates if by_host is None else by_host.unsorted(rates), multiplier


def _sorted(pages: Pages, by_host: Grouping) -> Pages:
    one_a_page = iter(by_host.sorted(*(column for column in pages[1:] if column.size > 1)))
    columns = [next(one_a_page) if column.size > 1 else column for column in pages[1:]]
    return made_of(pages.kind, columns)


def _multiplier(mix: Mix) -> float:
    return mix.high + mix.share * (mix.low - mix.high)


@compiled
def _any_worth_a_visit(pages: Pages) -> bool:
    """Whether there is a page that changes and matters."""
    for page in range(pages.change_rate.size):
        importance = pages.importance[page if pages.importance.size > 1 else 0]
        if pages.change_rate[page] > 0.0 and importance > 0.0:
            return True
    return False


def _is_spent_at_least(pages: Pages, budget: float) -> bool:
    """Whether the lowest rates allowed use the budget up."""
    return _least_cost(pages) >= budget * (1.0 - SLACK)


def _least_cost(pages: Pages) -> float:
    if pages.least.size == 1 and pages.least[0] == 0.0:
        return 0.0
    products = pages.least * pages.cost
    return float(products.sum()) * (pages.change_rate.size if products.size == 1 else 1)


def _at_least(pages: Pages, open_: Bools | None = None) -> tuple[Floats, float]:
    """Give every page its lowest rate, and what the first visit more, where one may go, brings."""
    rates = np.array(np.broadcast_to(pages.least, pages.change_rate.shape))
    with np.errstate(divide="ignore"):
        gain = marginal(pages.kind, rates, pages.change_rate)
    gain = np.where(pages.importance > 0.0, gain, 0.0) * pages.importance / pages.cost
    more = rates < pages.most if open_ is None else (rates < pages.most) & open_
    return rates, float(gain[more].max(initial=0.0))


def _check_limits(pages: Pages, budget: float) -> None:
    over = pages.least > pages.most
    if over.any():
        page = int(np.argmax(over))
        least = pages.least[page if pages.least.size > 1 else 0]
        most = pages.most[page if pages.most.size > 1 else 0]
        raise ArgumentError(f"min_rate: page {page} has {least}, above its max_rate of {most}")
    least_cost = _least_cost(pages)
    if pages.change_rate.size and least_cost > budget * (1.0 + SLACK):
        raise ArgumentError(
            f"min_rate: the lowest rates cost {least_cost:.6g} a day, more than the budget of "
            f"{budget:.6g}"
        )


def _least_by_host(pages: Pages, starts: Ints) -> Floats:
    """Give the visits that the lowest rates of each host's pages add up to."""
    if pages.least.size == 1:
        return np.diff(starts).astype(np.float64) * float(pages.least[0])
    filled = starts[:-1] < starts[1:]
    needed = np.zeros(filled.size)
    needed[filled] = np.add.reduceat(pages.least, starts[:-1][filled])
    return needed


def _check_host_limits(needed: Floats, host_budget: Floats) -> None:
    over = needed > host_budget * (1.0 + SLACK)
    if over.any():
        number = int(np.argmax(over))
        raise ArgumentError(
            f"min_rate: the lowest rates of host {number} add up to {needed[number]:.6g} a day, "
            f"more than its host_budget of {host_budget[number]:.6g}"
        )
