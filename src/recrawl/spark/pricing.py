"""On executors: what pages demand at prices, and the crawl rates that they get."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.allocation import hosts, one_budget
from recrawl.allocation.freshness import mean_freshness
from recrawl.allocation.hosts import Hosts
from recrawl.allocation.inputs import as_column, as_rates
from recrawl.allocation.price_search import PricePair
from recrawl.allocation.problem import Problem
from recrawl.errors import ArgumentError, InputError
from recrawl.hosts import number_hosts
from recrawl.kernels.jit import Floats
from recrawl.planning.plan import next_visits
from recrawl.spark.believing import BATCH_PAGES
from recrawl.spark.dealing import pack
from recrawl.spark.observing import host_hashes
from recrawl.units import quoted

#: Columns that pages have if hosts have a budget: a number that differs from host to host, and the
#: price at which the host is full, as in `recrawl.allocation.hosts.Hosts`.
HOST_COLUMNS = ("host", "full_low", "full_high", "full_share")
SAMPLE_SCHEMA = "pages long, observations long, gaining long, weight double, sample binary"
#: The columns that prices are found by.
DEMAND_COLUMNS = ("change_rate", "importance")
SUMS_SCHEMA = "demand binary, fall binary"
TOTAL_SCHEMA = "pages long, weight double, fresh double, alike double, used double"
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
    change, weight = (table[name].to_numpy() for name in ("change_rate", "importance"))
    problem = problem_of(kind, change, weight)
    if host_budget is None:
        return Pages(problem, None)
    host = table["host"].to_numpy()
    first = np.flatnonzero(np.concatenate([[True], host[1:] != host[:-1]]))
    starts = np.append(first, host.size)
    full = (np.array(table[name].to_numpy()[first]) for name in HOST_COLUMNS[1:])
    count = first.size
    return Pages(
        problem, Hosts(starts, np.full(count, host_budget), np.ones(count, np.bool_), *full)
    )


def problem_of(kind: int, change_rate: Floats, importance: Floats) -> Problem:
    """Return a checked allocation problem without costs and limits of pages."""
    change = as_rates("change_rate", change_rate)
    weight = as_column("importance", importance, change.size)
    one, zero, infinite = (as_column("", value, 1, infinite=True) for value in (1.0, 0.0, np.inf))
    return Problem(kind, change, weight, one, zero, infinite)


def _table(batches: Iterator[Any]) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return all rows of a partition, or None if there are none."""
    found = [batch for batch in batches if len(batch)]
    return pa.Table.from_batches(found) if found else None


@dataclass(frozen=True)
class Check:
    """Refuses pages that have an importance, but are not in the log, or have two."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the pages, without the columns of the list of importances."""
        for batch in batches:
            two = pc.not_equal(batch.column("_lowest"), batch.column("_highest"))
            _refuse(batch, batch.column("change_rate").is_null(), "is not in the crawl log")
            _refuse(batch, two, "has another importance in another row")
            yield batch.drop_columns(["_lowest", "_highest"])


def _refuse(batch: Any, wrong: Any, problem: str) -> None:  # noqa: ANN401 - pyarrow has no types
    found = batch.column("page").filter(wrong)
    if len(found):
        page = quoted(str(found[0].as_py()))
        raise InputError("importance", f"the page {page} {problem}")


@dataclass(frozen=True)
class NumberHosts:
    """Adds a number per host, by which pages are dealt: the hash of its name."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the pages with the column host."""
        for batch in batches:
            page = batch.column("page")
            number, names = number_hosts(page)
            if "" in names:
                bad = quoted(str(page[int(np.argmax(number == names.index("")))].as_py()))
                raise ArgumentError(f"host_budget: the page {bad} is not a URL, so it has no host")
            yield batch.append_column("host", pa.array(host_hashes(page).view(np.int64)))


@dataclass(frozen=True)
class FindFullPrices:
    """Sorts the pages of a partition by host, and finds the prices at which hosts are full."""

    kind: int
    host_budget: float

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the pages with the columns of hosts."""
        table = _table(batches)
        if table is None:
            return
        # By name within a host: a partition that is computed again has the same order.
        table = table.sort_by([("host", "ascending"), ("page", "ascending")])
        host = table["host"].to_numpy()
        starts = np.append(
            np.flatnonzero(np.concatenate([[True], host[1:] != host[:-1]])), host.size
        )
        change, weight = (table[name].to_numpy() for name in ("change_rate", "importance"))
        budget = np.full(starts.size - 1, self.host_budget)
        found = hosts.with_full_prices(problem_of(self.kind, change, weight), starts, budget)
        for name, column in zip(HOST_COLUMNS[1:], found[3:], strict=True):
            table = table.append_column(name, pa.array(np.repeat(column, np.diff(starts))))
        yield from table.to_batches(max_chunksize=BATCH_PAGES)


@dataclass(frozen=True)
class SampleDemand:
    """Returns how many pages a partition has, and a sample of them: with hosts, whole hosts."""

    most: int
    host_budget: float | None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield one row."""
        table = _table(batches)
        if table is None:
            return
        change, weight = (table[name].to_numpy() for name in ("change_rate", "importance"))
        gaining = int(((change > 0.0) & (weight > 0.0)).sum())
        if self.host_budget is None:
            sample = table.take(pa.array(np.arange(0, len(table), -(-len(table) // self.most))))
        else:
            host = table["host"].to_numpy()
            ends = np.append(np.flatnonzero(host[1:] != host[:-1]) + 1, host.size)
            whole_hosts = max(int(np.searchsorted(ends, self.most, "right")), 1)
            sample = table.slice(0, int(ends[whole_hosts - 1]))
        observations = int(table["observations"].to_numpy().sum())
        sample = pack(sample.drop_columns(["observations"]))
        cells = [len(table), observations, gaining, float(weight.sum()), sample]
        names = [part.split()[0] for part in SAMPLE_SCHEMA.split(", ")]
        yield pa.record_batch([pa.array([cell]) for cell in cells], names)


@dataclass(frozen=True)
class AddUp:
    """Adds up what the pages of a partition demand at some prices."""

    kind: int
    host_budget: float | None
    prices: tuple[float, ...]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield one row."""
        table = _table(batches)
        if table is None:
            return
        pages = pages_of(table, self.kind, self.host_budget)
        sums = np.array([pages.demand(price) for price in self.prices])
        cells = [pa.array([column.tobytes()], pa.binary()) for column in sums.T]
        yield pa.record_batch(cells, ["demand", "fall"])


@dataclass(frozen=True)
class Write:
    """Turns pages into a plan."""

    kind: int
    host_budget: float | None
    prices: PricePair | None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the columns of a plan."""
        table = _table(batches)
        if table is None:
            return
        rates = pages_of(table, self.kind, self.host_budget).rates(self.prices)
        last = table["last_visit"].cast(pa.int64()).to_numpy()
        due = next_visits(last, rates).cast(pa.timestamp("us", "UTC"))
        table = table.append_column("crawl_rate", pa.array(rates))
        table = table.append_column("next_visit", due).select(PLAN_COLUMNS)
        yield from table.to_batches(max_chunksize=BATCH_PAGES)


@dataclass(frozen=True)
class Total:
    """Adds up how fresh a plan keeps pages, and how fresh equal rates would."""

    kind: int
    equal_rate: float

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield one row."""
        table = _table(batches)
        if table is None:
            return
        change, weight, rate = (
            table[name].to_numpy() for name in ("change_rate", "importance", "crawl_rate")
        )
        total = float(weight.sum())
        fresh, alike = (
            total * mean_freshness(self.kind, rates, change, weight)
            for rates in (rate, np.array([self.equal_rate]))
        )
        cells = (len(table), total, fresh, alike, float(rate.sum()))
        names = [part.split()[0] for part in TOTAL_SCHEMA.split(", ")]
        yield pa.record_batch([pa.array([cell]) for cell in cells], names)
