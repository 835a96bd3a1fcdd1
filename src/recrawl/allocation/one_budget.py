"""Allocate one budget: what pages demand at a price, and what they get."""

import math

import numpy as np

from recrawl.allocation.price_search import PricePair, narrow, new_bracket, price_pair
from recrawl.allocation.problem import (
    BATCH,
    Problem,
    batch_at,
    compute_rates,
    new_batch,
)
from recrawl.kernels.jit import Floats, compiled, compiled_sum, cut, in_parallel

#: The number of pages that the first price is computed from.
SAMPLE = 1 << 18


def demand(problem: Problem, price: float) -> tuple[float, float]:
    """Return what all pages spend at a price per unit of cost, and its fall as ln price rises."""
    size = problem.change_rate.size
    sums = in_parallel(lambda first, last: _add_up(problem, price, first, last), cut(size, size))
    return math.fsum(spent for spent, _ in sums), math.fsum(fall for _, fall in sums)


def meet_budget(problem: Problem, budget: float) -> PricePair:
    """Find the price, as a mix of two, at which the pages spend the budget."""
    bracket = new_bracket()
    price = first_price(problem, budget)
    while price > 0.0:
        price = narrow(bracket, price, *demand(problem, price), budget)
    return price_pair(bracket, budget)


def first_price(problem: Problem, budget: float) -> float:
    """Return a price to start from: that of a sample if there are many pages."""
    size = problem.change_rate.size
    if size <= 2 * SAMPLE:
        return _price_if_all_are_visited(problem, budget)
    sample = problem.with_columns(lambda column: column[:: size // SAMPLE].copy())
    if not (sample.importance * sample.change_rate > 0.0).any():
        return 1.0
    return meet_budget(sample, budget * sample.change_rate.size / size).high


def _price_if_all_are_visited(problem: Problem, budget: float) -> float:
    """Return the price if all pages were visited, at random times."""
    # The product of two such numbers cannot overflow, that of three could.
    roots = np.sqrt(problem.importance * problem.change_rate) * np.sqrt(problem.cost)
    root = roots.sum() / (budget + (problem.change_rate * problem.cost).sum())
    return float(min(max(root, 1e-140), 1e140)) ** 2


def rates(problem: Problem, prices: PricePair) -> Floats:
    """Return the crawl rate of every page at a mix of prices."""
    size = problem.change_rate.size
    out = np.empty(size)
    in_parallel(lambda first, last: _write(problem, prices, first, last, out), cut(size, size))
    return out


@compiled_sum
def _add_up(problem: Problem, price: float, first: int, last: int) -> tuple[float, float]:
    memory = new_batch(problem)
    spent = falling = 0.0
    for low in range(first, last, BATCH):
        count = min(BATCH, last - low)
        batch = batch_at(memory, problem, low, count)
        for item in range(count):
            batch.price[item] = price * batch.cost[item]
        compute_rates(problem.kind, batch, count)
        for item in range(count):
            spent += batch.cost[item] * batch.rate[item]
            falling += batch.cost[item] * batch.fall[item]
    return spent, falling


@compiled
def _write(problem: Problem, prices: PricePair, first: int, last: int, out: Floats) -> None:
    memory = new_batch(problem)
    for low in range(first, last, BATCH):
        count = min(BATCH, last - low)
        batch = batch_at(memory, problem, low, count)
        for item in range(count):
            batch.price[item] = prices.low * batch.cost[item]
        compute_rates(problem.kind, batch, count)
        for item in range(count):
            out[low + item] = batch.rate[item]
        if prices.low_share < 1.0:
            for item in range(count):
                batch.price[item] = prices.high * batch.cost[item]
            compute_rates(problem.kind, batch, count)
            for item in range(count):
                rate = batch.rate[item]
                out[low + item] = rate + prices.low_share * (out[low + item] - rate)
