"""The pages of a problem as columns, and what all of them do at given prices."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from recrawl.allocation.harmonic import harmonic_response
from recrawl.allocation.periodic import periodic_response
from recrawl.allocation.poisson import poisson_response
from recrawl.kernels.jit import Floats, compiled, read_only

POISSON, PERIODIC, HARMONIC = 0, 1, 2

#: Pages worked on at a time: all they need fits the processor's first cache.
BLOCK = 256


class Pages(NamedTuple):
    """One element a page in each column, or a single one that stands for all.

    Attributes:
        kind: POISSON, PERIODIC or HARMONIC.
        change_rate: Δ, always one a page.
        importance: w.
        cost: Of a visit.
        least: The lowest crawl rate allowed.
        most: The highest crawl rate allowed.
    """

    kind: int
    change_rate: Floats
    importance: Floats
    cost: Floats
    least: Floats
    most: Floats


def made_of(kind: int, columns: Iterable[Floats]) -> Pages:
    """Put columns together, as kernels take them."""
    return Pages(kind, *(read_only(column) for column in columns))


class Bench(NamedTuple):
    """Room for the pages at work: their columns, prices, and what they buy."""

    change_rate: Floats
    importance: Floats
    cost: Floats
    least: Floats
    most: Floats
    price: Floats
    rate: Floats
    fall: Floats


@compiled
def set_up(pages: Pages) -> Bench:
    """Make a bench; columns of one element are filled in for good."""
    bench = Bench(
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
    )
    bench.importance[:] = pages.importance[0]
    bench.cost[:] = pages.cost[0]
    bench.least[:] = pages.least[0]
    bench.most[:] = pages.most[0]
    return bench


@compiled
def put_on(bench: Bench, pages: Pages, first: int, count: int) -> Bench:
    """Give a bench with ``count`` pages from ``first``; their columns are not copied."""
    here = slice(first, first + count)
    return Bench(
        pages.change_rate[here],
        pages.importance[here] if pages.importance.size > 1 else bench.importance[:count],
        pages.cost[here] if pages.cost.size > 1 else bench.cost[:count],
        pages.least[here] if pages.least.size > 1 else bench.least[:count],
        pages.most[here] if pages.most.size > 1 else bench.most[:count],
        bench.price[:count],
        bench.rate[:count],
        bench.fall[:count],
    )


@compiled
def respond(kind: int, bench: Bench, count: int) -> None:
    """Let the pages on the bench buy crawl rates at their prices, within their limits.

    ``fall`` is by how much a rate falls as the logarithm of its price rises: 0 at a limit.
    """
    if kind == POISSON:
        for item in range(count):
            bench.rate[item], bench.fall[item] = poisson_response(
                bench.importance[item], bench.change_rate[item], bench.price[item]
            )
    elif kind == PERIODIC:
        for item in range(count):
            bench.rate[item], bench.fall[item] = periodic_response(
                bench.importance[item], bench.change_rate[item], bench.price[item]
            )
    else:
        for item in range(count):
            bench.rate[item], bench.fall[item] = harmonic_response(
                bench.importance[item], bench.change_rate[item], bench.price[item]
            )
    for item in range(count):
        rate = bench.rate[item]
        free = (bench.least[item] < rate) & (rate < bench.most[item])
        bench.rate[item] = min(max(rate, bench.least[item]), bench.most[item])
        bench.fall[item] = bench.fall[item] if free else 0.0
