"""The pages of an allocation problem as columns, and the rates they demand at given prices."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from recrawl.allocation.formulas import (
    PERIODIC,
    POISSON,
    harmonic_demand,
    periodic_demand,
    poisson_demand,
)
from recrawl.kernels.jit import Floats, read_only, step

#: Pages processed at a time: their numbers fit into the processor's first-level cache.
BATCH = 256


class Problem(NamedTuple):
    """Columns with one element per page, or with a single element that applies to all.

    Attributes:
        kind: POISSON, PERIODIC or HARMONIC.
        change_rate: Δ; always one element per page.
        importance: w.
        cost: The cost of a visit.
        min_rate: The lowest crawl rate allowed.
        max_rate: The highest crawl rate allowed.
    """

    kind: int
    change_rate: Floats
    importance: Floats
    cost: Floats
    min_rate: Floats
    max_rate: Floats

    def with_columns(self, change: Callable[[Floats], Floats]) -> "Problem":
        """Return a problem with all columns changed but those of a single element."""
        columns = (change(column) if column.size > 1 else column for column in self[1:])
        return Problem(self.kind, *map(read_only, columns))


class Batch(NamedTuple):
    """The columns of some pages, with their prices and the rates they demand at these."""

    change_rate: Floats
    importance: Floats
    cost: Floats
    min_rate: Floats
    max_rate: Floats
    price: Floats
    rate: Floats
    fall: Floats


@step
def new_batch(problem: Problem) -> Batch:
    """Allocate a batch; columns of a single element are filled in once."""
    batch = Batch(
        np.empty(BATCH), np.empty(BATCH), np.empty(BATCH), np.empty(BATCH),
        np.empty(BATCH), np.empty(BATCH), np.empty(BATCH), np.empty(BATCH),
    )  # fmt: skip
    batch.importance[:] = problem.importance[0]
    batch.cost[:] = problem.cost[0]
    batch.min_rate[:] = problem.min_rate[0]
    batch.max_rate[:] = problem.max_rate[0]
    return batch


@step
def batch_at(memory: Batch, problem: Problem, first: int, count: int) -> Batch:
    """Return a batch of ``count`` pages from ``first``; their columns are not copied."""
    here = slice(first, first + count)
    return Batch(
        problem.change_rate[here],
        problem.importance[here] if problem.importance.size > 1 else memory.importance[:count],
        problem.cost[here] if problem.cost.size > 1 else memory.cost[:count],
        problem.min_rate[here] if problem.min_rate.size > 1 else memory.min_rate[:count],
        problem.max_rate[here] if problem.max_rate.size > 1 else memory.max_rate[:count],
        memory.price[:count],
        memory.rate[:count],
        memory.fall[:count],
    )


@step
def compute_rates(kind: int, batch: Batch, count: int) -> None:
    """Compute the crawl rates that a batch of pages demands at its prices, within its limits.

    ``fall`` is how much a rate falls as the logarithm of its price rises: 0 at a limit.
    """
    if kind == POISSON:
        for item in range(count):
            batch.rate[item], batch.fall[item] = poisson_demand(
                batch.importance[item], batch.change_rate[item], batch.price[item]
            )
    elif kind == PERIODIC:
        for item in range(count):
            batch.rate[item], batch.fall[item] = periodic_demand(
                batch.importance[item], batch.change_rate[item], batch.price[item]
            )
    else:
        for item in range(count):
            batch.rate[item], batch.fall[item] = harmonic_demand(
                batch.importance[item], batch.change_rate[item], batch.price[item]
            )
    for item in range(count):
        rate = batch.rate[item]
        free = (batch.min_rate[item] < rate) & (rate < batch.max_rate[item])
        batch.rate[item] = min(max(rate, batch.min_rate[item]), batch.max_rate[item])
        batch.fall[item] = batch.fall[item] if free else 0.0
