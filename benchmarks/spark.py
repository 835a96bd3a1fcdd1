"""Plans on Spark: what a row costs, and the same answer from one executor and from three.

``python -m benchmarks spark --rows 5000000`` also compares each plan with the one of one machine.
What a row costs is measured in a session that has made the plan twice before: Java compiles what it
runs often, which takes longer than a few million rows do.
"""

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from rich.console import Console

from benchmarks.report import HEADINGS, Figure, markdown, write_section
from benchmarks.sizes import is_smallest, sized
from recrawl.planning.plan import plan as plan_here
from recrawl.spark.planner import Wanted, make_plan
from recrawl.spark.search import find_prices

PAGE = "how-to/plan-on-spark.md"
ROWS, FEW_ROWS = sized((6_000_000, 200_000), (500, 200))
VISITS, HOSTS = 10, 50
WARM_UP = sized(2, 0)
#: One executor, and three; at the smallest size they are no processes that could be killed.
ONE, THREE = sized(("local-cluster[1,1,1024]", "local-cluster[3,1,1024]"), ("local[1]", "local[2]"))
TICKS = os.sysconf("SC_CLK_TCK")


class Made(NamedTuple):
    """A plan: its table, and the passes that its price took."""

    table: Any
    passes: int


def write_log(path: Path, rows: int, seed: int = 1) -> None:
    """Write a log in no order, some ten visits per page."""
    rng = np.random.default_rng(seed)
    pages = rows // VISITS
    page = rng.integers(0, pages, rows)
    at = 1_767_225_600_000_000 + 1_000_000 * rng.permutation(rows)
    rate = rng.gamma(0.5, 0.2, pages)
    columns = {
        "page": pa.array([f"https://h{one % HOSTS}.example/{one}" for one in page.tolist()]),
        "time": pa.array(at, pa.timestamp("us", "UTC")),
        "changed": rng.random(rows) < -np.expm1(-10.0 * rate[page]),
    }
    parquet.write_table(pa.table(columns), path, row_group_size=1 << 18)


@contextmanager
def session(master: str, partitions: int = sized(4, 1)) -> Iterator[Any]:
    """Open a session of Spark."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.memory": "2g",
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    opened = builder.getOrCreate()
    try:
        yield opened
    finally:
        opened.stop()


def made(on: Any, log: Path, budget: float, host_budget: float | None = None) -> Made:  # noqa: ANN401
    """Plan on Spark."""
    found = make_plan(on.read.parquet(str(log)), Wanted(budget, host_budget))
    table = found.frame.toArrow()
    found.cached.unpersist()
    return Made(table, found.passes)


def processes() -> dict[int, tuple[int, float, str]]:
    """Return the processes that this one started: parent, CPU seconds, and command by number."""
    every: dict[int, tuple[int, float, str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_text()
        except OSError:
            continue
        every[int(folder.name)] = (int(words[1]), sum(map(int, words[11:15])) / TICKS, command)
    ours, new = set[int](), {os.getpid()}
    while new:
        ours |= new
        new = {number for number, found in every.items() if found[0] in new} - ours
    return {number: every[number] for number in ours if number in every}


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and all that it started."""
    return sum(found[1] for found in processes().values())


def kill_an_executor() -> None:
    """Kill one of the executors that Spark has started for this process."""
    executors = [
        number for number, found in processes().items() if "CoarseGrainedExecutor" in found[2]
    ]
    os.kill(min(executors), signal.SIGKILL)
    print(f"killed an executor of {len(executors)}")


def furthest(one: Any, other: Any) -> float:  # noqa: ANN401 - tables of pyarrow
    """Return how far apart crawl rates are: the largest difference as a share of the rate."""
    a, b = (table.sort_by("page")["crawl_rate"].to_numpy() for table in (one, other))
    apart = np.abs(a - b) / np.maximum(np.maximum(a, b), 1e-300)
    return float(np.where(a == b, 0.0, apart).max())


def unequal(one: Any, other: Any) -> int:  # noqa: ANN401 - tables of pyarrow
    """Return how many beliefs differ, to the last bit."""
    one, other = one.sort_by("page"), other.sort_by("page")
    names = ("page", "change_rate", "low", "high")
    return sum(int((one[name].to_numpy() != other[name].to_numpy()).sum()) for name in names)


def run(arguments: Sequence[str] = ()) -> list[Figure]:
    """Measure, write the table into the documentation, and return the figures."""
    parser = argparse.ArgumentParser(prog="benchmarks spark")
    parser.add_argument("--rows", type=int, default=ROWS)
    rows = parser.parse_args(arguments).rows
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large.parquet", Path(folder) / "small.parquet"
        write_log(large, rows)
        write_log(small, FEW_ROWS, seed=2)
        figures = [*_cost(large, rows), *_executors(small)]
    Console().print(f"{rows:,} rows of {rows // VISITS:,} pages")
    write_section(PAGE, "spark", markdown(HEADINGS, [one.cells() for one in figures]))
    return figures


def _compared(
    name: str, found: Made, log: Path, budget: float, limit: float | None
) -> list[Figure]:
    here = plan_here(log, budget=budget, host_budget=limit)
    expected = pa.table(here.columns())
    spent = float(np.sum(found.table["crawl_rate"].to_numpy()))
    return [
        Figure(f"{name}: beliefs that differ", unequal(found.table, expected), 0),
        Figure(f"{name}: sum of crawl rates, off by", abs(spent / budget - 1.0), 1e-9),
        Figure(f"{name}: crawl rates, off by at most", furthest(found.table, expected), 1e-6),
        Figure(f"{name}: passes over the pages", found.passes, 6),
    ]


def _cost(large: Path, rows: int) -> list[Figure]:
    budget = rows / VISITS / 20
    with session("local[2]") as on:
        for _ in range(WARM_UP):
            made(on, large, budget)
        before = cpu_seconds()
        found = made(on, large, budget)
        cost = cpu_seconds() - before
        limit = 1.2 * budget / HOSTS
        by_host = made(on, large, budget, limit)
    return [
        Figure("rows per CPU second, thousands", rows / cost / 1e3, 250, at_least=True),
        *_compared("one budget", found, large, budget, None),
        *_compared("budgets of hosts", by_host, large, budget, limit),
    ]


def _executors(log: Path) -> list[Figure]:
    """Plan on one executor, on three, and on three of which one is killed during the search."""
    budget = FEW_ROWS / VISITS / 20

    def killing(*arguments: Any) -> Any:  # noqa: ANN401 - as find_prices
        if not is_smallest():
            kill_an_executor()
        return find_prices(*arguments)

    with session(ONE) as on:
        one = made(on, log, budget).table
    with session(THREE) as on:
        three = made(on, log, budget).table
        with patch("recrawl.spark.planner.find_prices", killing):
            two = made(on, log, budget).table
    return [
        Figure("three executors: cells that differ", _different(one, three), 0),
        Figure("one of them killed: cells that differ", _different(one, two), 0),
    ]


def _different(one: Any, other: Any) -> int:  # noqa: ANN401 - tables of pyarrow
    return unequal(one, other) + (furthest(one, other) > 0.0)
