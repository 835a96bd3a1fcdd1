"""Allocate with budgets per host, within the total budget.

A page's price is λ·cost + μ of its host, where μ > 0 only if the host would otherwise get more
visits than it allows. If all visits to a host cost the same, the price at which it is full is
independent of λ and is found once; otherwise, μ is found for every λ that is tried.
"""

import math
from typing import NamedTuple

import numpy as np

from recrawl.allocation.one_budget import SAMPLE, first_price
from recrawl.allocation.price_search import PricePair, narrow, new_bracket, price_pair
from recrawl.allocation.problem import (
    BATCH,
    Batch,
    Problem,
    batch_at,
    compute_rates,
    new_batch,
)
from recrawl.kernels.jit import Bools, Floats, Ints, compiled, compiled_sum, cut, in_parallel, step

#: The first price is computed from the first hosts, unless the sample holds fewer than this.
MIN_SAMPLE_HOSTS = 100


class Hosts(NamedTuple):
    """What each host allows; pages are sorted by host.

    Attributes:
        starts: Where each host's pages start.
        budget: Visits per day that it allows; may be infinite.
        equal_cost: Whether all its visits cost the same.
        low: If they do, the price at which it is full, as a mix of two prices: the lower one,
        high: the higher one,
        low_share: and the share of the lower one. The prices are 0 if the host is never full.
    """

    starts: Ints
    budget: Floats
    equal_cost: Bools
    low: Floats
    high: Floats
    low_share: Floats


class Sums(NamedTuple):
    """Sums over a host's pages: visits, cost, and how these fall as prices rise."""

    visits: float
    spent: float
    fall: float
    fall_cost: float
    fall_cost_squared: float


def with_full_prices(problem: Problem, starts: Ints, budget: Floats) -> Hosts:
    """Find the prices at which hosts are full, where these do not depend on λ."""
    size = budget.size
    hosts = Hosts(
        starts, budget, np.ones(size, np.bool_), np.zeros(size), np.zeros(size), np.ones(size)
    )
    in_parallel(lambda first, last: _find_full_prices(problem, hosts, first, last), _spans(hosts))
    return hosts


def demand(problem: Problem, hosts: Hosts, price: float) -> tuple[float, float]:
    """Return what all pages spend at a price per unit of cost, and its fall as ln price rises."""
    sums = in_parallel(
        lambda first, last: _add_up(problem, hosts, price, first, last), _spans(hosts)
    )
    return math.fsum(spent for spent, _ in sums), math.fsum(fall for _, fall in sums)


def meet_budget(problem: Problem, hosts: Hosts, budget: float) -> PricePair:
    """Find the price, as a mix of two, at which the pages spend the budget."""
    if demand(problem, hosts, 0.0)[0] <= budget:
        return PricePair(0.0, 0.0, 1.0)
    bracket = new_bracket()
    price = _first_price(problem, hosts, budget)
    while price > 0.0:
        price = narrow(bracket, price, *demand(problem, hosts, price), budget)
    return price_pair(bracket, budget)


def _first_price(problem: Problem, hosts: Hosts, budget: float) -> float:
    """Return a price to start from: that of the first hosts if there are many."""
    count = int(np.searchsorted(hosts.starts, SAMPLE))
    if count < MIN_SAMPLE_HOSTS or hosts.starts[-1] < 2 * SAMPLE:
        return first_price(problem, budget)
    size = int(hosts.starts[count])
    sample = problem.with_columns(lambda column: column[:size])
    sample_hosts = Hosts(hosts.starts[: count + 1], *(column[:count] for column in hosts[1:]))  # type: ignore[arg-type]
    price = meet_budget(sample, sample_hosts, budget * size / problem.change_rate.size).high
    # 0 if these hosts cannot use their share of the budget.
    return price if price > 0.0 else first_price(problem, budget)


def rates(problem: Problem, hosts: Hosts, prices: PricePair) -> Floats:
    """Return the crawl rate of every page at a mix of prices."""
    out = np.zeros(problem.change_rate.size)
    in_parallel(lambda first, last: _write(problem, hosts, prices, first, last, out), _spans(hosts))
    return out


def _spans(hosts: Hosts) -> list[tuple[int, int]]:
    return cut(hosts.budget.size, int(hosts.starts[-1]), hosts.starts)


@compiled_sum
def _sums(
    memory: Batch, problem: Problem, first: int, last: int, price: float, host_price: float
) -> Sums:
    """Add up a host's pages at λ·cost + μ."""
    visits = spent = fall = fall_cost = fall_cost_squared = 0.0
    for low in range(first, last, BATCH):
        count = min(BATCH, last - low)
        batch = batch_at(memory, problem, low, count)
        for item in range(count):
            batch.price[item] = price * batch.cost[item] + host_price
        compute_rates(problem.kind, batch, count)
        for item in range(count):
            visits += batch.rate[item]
            spent += batch.cost[item] * batch.rate[item]
            falling = batch.fall[item] / batch.price[item] if batch.fall[item] > 0.0 else 0.0
            fall += falling
            fall_cost += batch.cost[item] * falling
            fall_cost_squared += batch.cost[item] * batch.cost[item] * falling
    return Sums(visits, spent, fall, fall_cost, fall_cost_squared)


@step
def _find_host_price(
    memory: Batch, problem: Problem, first: int, last: int, price: float, budget: float
) -> PricePair:
    """Find the μ at which a host gets the visits it allows; 0 if it does not exceed them."""
    lowest = roots = changes = 0.0
    for low in range(first, last, BATCH):
        count = min(BATCH, last - low)
        batch = batch_at(memory, problem, low, count)
        for item in range(count):
            lowest += batch.min_rate[item]
            changes += batch.change_rate[item]
            roots += math.sqrt(batch.importance[item] * batch.change_rate[item])
    if budget <= lowest:
        return PricePair(np.inf, np.inf, 0.0)
    unbounded = price == 0.0 and problem.max_rate.size == 1 and problem.max_rate[0] == np.inf
    if not (unbounded and roots > 0.0) and (
        _sums(memory, problem, first, last, price, 0.0).visits <= budget
    ):
        return PricePair(0.0, 0.0, 1.0)
    bracket = new_bracket()
    host_price = (roots / (budget + changes)) ** 2
    while host_price > 0.0:
        found = _sums(memory, problem, first, last, price, host_price)
        host_price = narrow(bracket, host_price, found.visits, host_price * found.fall, budget)
    return price_pair(bracket, budget)


@compiled
def _find_full_prices(problem: Problem, hosts: Hosts, first: int, last: int) -> None:
    memory = new_batch(problem)
    for host in range(first, last):
        begin, end = hosts.starts[host], hosts.starts[host + 1]
        if begin == end:
            continue
        hosts.equal_cost[host] = problem.cost.size == 1 or (
            problem.cost[begin:end].min() == problem.cost[begin:end].max()
        )
        if hosts.equal_cost[host] and hosts.budget[host] < np.inf:
            own = _find_host_price(memory, problem, begin, end, 0.0, hosts.budget[host])
            hosts.low[host], hosts.high[host], hosts.low_share[host] = own


@step
def _is_full(problem: Problem, hosts: Hosts, host: int, price: float) -> bool:
    """Return whether a host gets all the visits it allows, at λ and at any lower price."""
    cost = problem.cost[hosts.starts[host] if problem.cost.size > 1 else 0]
    low = hosts.low[host]
    return bool(hosts.equal_cost[host] and price * cost <= low and low > 0.0)


@step
def _host_prices(
    memory: Batch, problem: Problem, hosts: Hosts, host: int, price: float
) -> tuple[float, PricePair]:
    """Return λ and μ for a host's pages; for a full host of equal costs, 0 and its full price.

    That price is used exactly as found: where demand jumps, its last digit matters.
    """
    begin, end = hosts.starts[host], hosts.starts[host + 1]
    if hosts.budget[host] == np.inf:
        return price, PricePair(0.0, 0.0, 1.0)
    if not hosts.equal_cost[host]:
        return price, _find_host_price(memory, problem, begin, end, price, hosts.budget[host])
    base = price * problem.cost[begin if problem.cost.size > 1 else 0]
    if hosts.high[host] <= base:
        return price, PricePair(0.0, 0.0, 1.0)
    return 0.0, PricePair(max(hosts.low[host], base), hosts.high[host], hosts.low_share[host])


@compiled
def _add_up(
    problem: Problem, hosts: Hosts, price: float, first: int, last: int
) -> tuple[float, float]:
    memory = new_batch(problem)
    spent = falling = 0.0
    for host in range(first, last):
        begin, end = hosts.starts[host], hosts.starts[host + 1]
        if begin == end:
            continue
        if _is_full(problem, hosts, host, price):
            spent += hosts.budget[host] * problem.cost[begin if problem.cost.size > 1 else 0]
            continue
        base, own = _host_prices(memory, problem, hosts, host, price)
        lower = _sums(memory, problem, begin, end, base, own.low)
        upper = lower
        if own.low_share < 1.0:
            upper = _sums(memory, problem, begin, end, base, own.high)
        spent += upper.spent + own.low_share * (lower.spent - upper.spent)
        fall = lower.fall_cost_squared
        if own.high > 0.0 and lower.fall > 0.0:
            fall -= lower.fall_cost * lower.fall_cost / lower.fall
        falling += price * fall
    return spent, falling


@compiled
def _write(
    problem: Problem, hosts: Hosts, prices: PricePair, first: int, last: int, out: Floats
) -> None:
    memory = new_batch(problem)
    for host in range(first, last):
        if hosts.starts[host] == hosts.starts[host + 1]:
            continue
        price, own = _host_prices(memory, problem, hosts, host, prices.low)
        if prices.low_share == 1.0 or _is_full(problem, hosts, host, prices.high):
            _write_host(memory, problem, hosts, host, price, own, 1.0, out)
        else:
            _write_host(memory, problem, hosts, host, price, own, prices.low_share, out)
            price, own = _host_prices(memory, problem, hosts, host, prices.high)
            _write_host(memory, problem, hosts, host, price, own, 1.0 - prices.low_share, out)


@step
def _write_host(
    memory: Batch,
    problem: Problem,
    hosts: Hosts,
    host: int,
    price: float,
    own: PricePair,
    weight: float,
    out: Floats,
) -> None:
    """Add to a host's rates its demand at a price, times a weight."""
    begin, end = hosts.starts[host], hosts.starts[host + 1]
    lower = np.empty(BATCH)
    for low in range(begin, end, BATCH):
        count = min(BATCH, end - low)
        batch = batch_at(memory, problem, low, count)
        for item in range(count):
            batch.price[item] = price * batch.cost[item] + own.low
        compute_rates(problem.kind, batch, count)
        if own.low_share < 1.0:
            lower[:count] = batch.rate[:count]
            for item in range(count):
                batch.price[item] = price * batch.cost[item] + own.high
            compute_rates(problem.kind, batch, count)
            for item in range(count):
                batch.rate[item] += own.low_share * (lower[item] - batch.rate[item])
        for item in range(count):
            out[low + item] += weight * batch.rate[item]
