"""On executors: compute what pages demand at prices, and the crawl rates that they get."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from recrawl.allocation import hosts, one_budget
from recrawl.allocation.freshness import mean_freshness
from recrawl.allocation.hosts import Hosts
from recrawl.allocation.inputs import as_column, as_rates
from recrawl.allocation.price_search import PricePair
from recrawl.allocation.problem import Problem
from recrawl.kernels.jit import Floats, Ints
from recrawl.planning.plan import next_visits
from recrawl.spark.believing import BATCH_PAGES
from recrawl.spark.blocks import pack
from recrawl.spark.pages import HOST_COLUMNS, column_names, joined, packed

SAMPLE_SCHEMA = "pages long, observations long, gaining long, weight double, sample binary"
SUMS_SCHEMA = "demand binary, fall binary"
TOTAL_SCHEMA = "weight double, fresh double, alike double, used double"
PLAN_COLUMNS = ("page", "change_rate", "low", "high", "importance", "crawl_rate", "next_visit")


class Pages(NamedTuple):
    """The pages of a partition as an allocation problem; with hosts, sorted by host."""

    problem: Problem
    hosts: Hosts | None

    def demand(self, price: float) -> tuple[float, float]:
        """Return what the pages demand at a price, and its fall."""
        if self.hosts is None:
            return one_budget.demand(self.problem, price)
        return hosts.demand(self.problem, self.hosts, price)

    def rates(self, prices: PricePair | None) -> Floats:
        """Return the crawl rates of the pages at a mix of prices; 0 if there is none."""
        if prices is None:
            return np.zeros(self.problem.change_rate.size)
        if self.hosts is None:
            return one_budget.rates(self.problem, prices)
        return hosts.rates(self.problem, self.hosts, prices)


def pages_of(table: Any, kind: int, host_budget: float | None) -> Pages:  # noqa: ANN401 - pyarrow
    """Return the problem of a table of pages."""
    problem = problem_of(kind, *(table[name].to_numpy() for name in ("change_rate", "importance")))
    if host_budget is None:
        return Pages(problem, None)
    starts = _host_starts(table)
    full = (np.array(table[name].to_numpy()[starts[:-1]]) for name in HOST_COLUMNS[1:])
    count = starts.size - 1
    return Pages(
        problem, Hosts(starts, np.full(count, host_budget), np.ones(count, np.bool_), *full)
    )


def _host_starts(table: Any) -> Ints:  # noqa: ANN401 - pyarrow has no types
    """Return where the pages of each host start, and where those of the last one end."""
    host = table["host"].to_numpy()
    return np.concatenate([[0], np.flatnonzero(host[1:] != host[:-1]) + 1, [host.size]])


def problem_of(kind: int, change_rate: Floats, importance: Floats) -> Problem:
    """Return a checked allocation problem without costs and limits."""
    change = as_rates("change_rate", change_rate)
    weight = as_column("importance", importance, change.size)
    one, zero, infinite = (as_column("", value, 1, infinite=True) for value in (1.0, 0.0, np.inf))
    return Problem(kind, change, weight, one, zero, infinite)


def _row(schema: str, *cells: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    return pa.record_batch([pa.array([cell]) for cell in cells], column_names(schema))


@dataclass(frozen=True)
class FindFullPrices:
    """Sorts the pages of a partition by host, and finds the prices at which hosts are full."""

    kind: int
    host_budget: float

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield blocks of the pages with the columns of hosts."""
        table = joined(batches, "demand", "rest")
        if table is None:
            return
        # By name within a host, so that a partition that is recomputed has the same order.
        table = table.sort_by([("host", "ascending"), ("page", "ascending")])
        starts = _host_starts(table)
        change, weight = (table[name].to_numpy() for name in ("change_rate", "importance"))
        budget = np.full(starts.size - 1, self.host_budget)
        found = hosts.with_full_prices(problem_of(self.kind, change, weight), starts, budget)
        for name, column in zip(HOST_COLUMNS[1:], found[3:], strict=True):
            table = table.append_column(name, pa.array(np.repeat(column, np.diff(starts))))
        for first in range(0, len(table), BATCH_PAGES):
            yield packed(table.slice(first, BATCH_PAGES))


@dataclass(frozen=True)
class SampleDemand:
    """Returns how many pages a partition has, and a sample of them: with hosts, whole hosts."""

    most: int
    host_budget: float | None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield one row."""
        blocks = list(batches)
        table = joined(blocks, "demand")
        if table is None:
            return
        change, weight = (table[name].to_numpy() for name in ("change_rate", "importance"))
        gaining = int(((change > 0.0) & (weight > 0.0)).sum())
        if self.host_budget is None:
            sample = table.take(pa.array(np.arange(0, len(table), -(-len(table) // self.most))))
        else:
            ends = _host_starts(table)[1:]
            whole_hosts = max(int(np.searchsorted(ends, self.most, "right")), 1)
            sample = table.slice(0, int(ends[whole_hosts - 1]))
        seen = sum(int(np.sum(block.column("observations").to_numpy())) for block in blocks)
        yield _row(SAMPLE_SCHEMA, len(table), seen, gaining, float(weight.sum()), pack(sample))


@dataclass(frozen=True)
class AddUp:
    """Adds up what the pages of a partition demand at some prices."""

    kind: int
    host_budget: float | None
    prices: tuple[float, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield one row."""
        table = joined(batches, "demand")
        if table is not None:
            pages = pages_of(table, self.kind, self.host_budget)
            sums = np.array([pages.demand(price) for price in self.prices])
            yield _row(SUMS_SCHEMA, *(column.tobytes() for column in sums.T))


@dataclass(frozen=True)
class Write:
    """Turns pages into a plan."""

    kind: int
    host_budget: float | None
    prices: PricePair | None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the rows of a plan."""
        table = joined(batches, "demand", "rest")
        if table is None:
            return
        rates = self.rates(table)
        last = table["last_visit"].cast(pa.int64()).to_numpy()
        due = next_visits(last, rates).cast(pa.timestamp("us", "UTC"))
        table = table.append_column("crawl_rate", pa.array(rates))
        table = table.append_column("next_visit", due).select(PLAN_COLUMNS)
        yield from table.to_batches(max_chunksize=BATCH_PAGES)

    def rates(self, table: Any) -> Floats:  # noqa: ANN401 - pyarrow has no types
        """Return the crawl rate of each page."""
        return pages_of(table, self.kind, self.host_budget).rates(self.prices)


@dataclass(frozen=True)
class Total:
    """Sums up the freshness of a plan, and of equal rates."""

    plan: Write
    equal_rate: float

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield one row."""
        table = joined(batches, "demand")
        if table is None:
            return
        rate = self.plan.rates(table)
        change, weight = (table[name].to_numpy() for name in ("change_rate", "importance"))
        total = float(weight.sum())
        fresh, alike = (
            total * mean_freshness(self.plan.kind, rates, change, weight)
            for rates in (rate, np.array([self.equal_rate]))
        )
        yield _row(TOTAL_SCHEMA, total, fresh, alike, float(rate.sum()))
