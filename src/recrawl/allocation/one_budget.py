"""Pages that share one budget: what they demand at a price, and what they get."""

import math

import numpy as np

from recrawl.allocation.pages import BLOCK, Pages, made_of, put_on, respond, set_up
from recrawl.allocation.price_search import Mix, mixed, narrow, new_bracket
from recrawl.kernels.jit import Floats, compiled, compiled_sum, cut, in_parallel

#: Pages that a first guess of the price is made from.
SAMPLE = 1 << 18


def demand(pages: Pages, price: float) -> tuple[float, float]:
    """Give what all pages spend at a price a unit of cost, and how it falls as ln price rises."""
    size = pages.change_rate.size
    sums = in_parallel(lambda first, last: _add_up(pages, price, first, last), cut(size, size))
    return math.fsum(spent for spent, _ in sums), math.fsum(fall for _, fall in sums)


def meet_budget(pages: Pages, budget: float) -> Mix:
    """Find the price, as a mix of two, at which the pages spend the budget."""
    bracket = new_bracket()
    price = guess(pages, budget)
    while price > 0.0:
        price = narrow(bracket, price, *demand(pages, price), budget)
    return mixed(bracket, budget)


def guess(pages: Pages, budget: float) -> float:
    """Give a price to start from: that of a sample where there are many pages."""
    size = pages.change_rate.size
    if size <= 2 * SAMPLE:
        return first_guess(pages, budget)
    sample = sampled(pages, size // SAMPLE)
    if not (sample.importance * sample.change_rate > 0.0).any():
        return 1.0
    return meet_budget(sample, budget * sample.change_rate.size / size).high


def first_guess(pages: Pages, budget: float) -> float:
    """Give the price if every page were visited at random times and none were left out."""
    roots = np.sqrt(pages.importance * pages.change_rate * pages.cost).sum()
    price = (roots / (budget + (pages.change_rate * pages.cost).sum())) ** 2
    return float(min(max(price, 1e-280), 1e280)) if price == price else 1.0  # noqa: PLR0124


def sampled(pages: Pages, stride: int) -> Pages:
    """Keep every so-manyth page."""
    columns = (column[::stride].copy() if column.size > 1 else column for column in pages[1:])
    return made_of(pages.kind, columns)


def rates(pages: Pages, mix: Mix) -> Floats:
    """Give every page what it buys at the mix of prices."""
    size = pages.change_rate.size
    out = np.empty(size)
    in_parallel(lambda first, last: _write(pages, mix, first, last, out), cut(size, size))
    return out


@compiled_sum
def _add_up(pages: Pages, price: float, first: int, last: int) -> tuple[float, float]:
    room = set_up(pages)
    spent = falling = 0.0
    for low in range(first, last, BLOCK):
        count = min(BLOCK, last - low)
        bench = put_on(room, pages, low, count)
        for item in range(count):
            bench.price[item] = price * bench.cost[item]
        respond(pages.kind, bench, count)
        for item in range(count):
            spent += bench.cost[item] * bench.rate[item]
            falling += bench.cost[item] * bench.fall[item]
    return spent, falling


@compiled
def _write(pages: Pages, mix: Mix, first: int, last: int, out: Floats) -> None:
    room = set_up(pages)
    for low in range(first, last, BLOCK):
        count = min(BLOCK, last - low)
        bench = put_on(room, pages, low, count)
        for item in range(count):
            bench.price[item] = mix.low * bench.cost[item]
        respond(pages.kind, bench, count)
        for item in range(count):
            out[low + item] = bench.rate[item]
        if mix.share < 1.0:
            for item in range(count):
                bench.price[item] = mix.high * bench.cost[item]
            respond(pages.kind, bench, count)
            for item in range(count):
                rate = bench.rate[item]
                out[low + item] = rate + mix.share * (out[low + item] - rate)
