"""Plans from logs larger than memory: what a row costs, on one machine and out of core.

``python -m benchmarks planning --rows 100000000`` plans from a log of that many rows, and compares
the plan with the one made in memory; ``--integers`` has numbers for pages; ``--alone`` skips the
comparison.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from rich.console import Console

from benchmarks.report import Figure, best_time

PAGE = "explanation/how-it-works.md"
ROWS = 10_000_000
#: Mean visits per page, and rows written at a time.
VISITS, CHUNK = 10, 1 << 21
#: Memory that visits may take in the runs out of core.
MEMORY = "1GB"
GB = 1e9


class Run(NamedTuple):
    """What a plan took: seconds of all cores, and the most memory at any time, in bytes."""

    cpu: float
    wall: float
    peak: float


def write_log(path: Path, rows: int, *, integers: bool, seed: int = 0) -> None:
    """Write a log in order of time: pages in random order, of which each has some ten visits."""
    pages = rows // VISITS
    schema = pa.schema(
        [
            ("page", pa.int64() if integers else pa.string()),
            ("time", pa.timestamp("us", "UTC")),
            ("changed", pa.bool_()),
        ]
    )
    start = 1_767_225_600_000_000
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for first in range(0, rows, CHUNK):
            rng = np.random.default_rng([seed, first])
            count = min(CHUNK, rows - first)
            page = rng.integers(0, pages, count)
            # A row per second, so that no page has two visits at a time.
            at = start + 1_000_000 * np.arange(first, first + count)
            # Pages change at rates that differ by a factor of a thousand.
            changed = rng.random(count) < 0.9 * (page % 1000) / 1000
            names = pa.array(page) if integers else _names(page)
            writer.write_table(pa.table([names, pa.array(at), changed], schema=schema))


def _names(page: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    """Return URLs of some fifty characters."""
    numbers = pa.array(page).cast(pa.string())
    hosts = pa.array(page % 50_000).cast(pa.string())
    joined = pa.compute.binary_join_element_wise(
        "https://www.site-", hosts, ".example/articles/page-", numbers, ""
    )
    return joined.cast(pa.string())


def planned(log: Path, out: Path, *options: str) -> Run:
    """Plan in a process of its own; return what it took."""
    command = [sys.executable, "-m", "recrawl", "plan", str(log), "--budget", "1M/day"]
    begin = time.perf_counter()
    process = subprocess.Popen([*command, "-o", str(out), *options], stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"recrawl plan ended with status {status}")
    wall = time.perf_counter() - begin
    scale = 1 if sys.platform == "darwin" else 1024
    return Run(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * scale)


def is_same(one: Path, other: Path) -> bool:
    """Return whether two files are the same to the last byte."""
    return subprocess.run(["cmp", "-s", str(one), str(other)], check=False).returncode == 0  # noqa: S607


def pass_over(rows: int) -> float:
    """Return the CPU seconds of one pass over the columns of a log in memory: 17 bytes a row."""
    part = min(rows, ROWS)
    at, page, changed = np.arange(part), np.arange(part), np.zeros(part, np.bool_)
    return best_time(lambda: (at.sum(), page.sum(), changed.sum())) * rows / part


def measure(rows: int, *, integers: bool, alone: bool, folder: Path) -> list[Figure]:
    """Plan from a log of so many rows; compare with the plan made in memory unless alone."""
    log = folder / "log.parquet"
    with Console(stderr=True).status(f"writing {rows:,} rows"):
        write_log(log, rows, integers=integers)
    kind = "whole numbers" if integers else "URLs"
    name = f"{rows:.0e} rows of {rows // VISITS:.0e} {kind}".replace("e+0", "·10^").replace(
        "1·", ""
    )
    spilled = planned(log, folder / "spilled.parquet", "--memory", MEMORY)
    print(f"{name}: {spilled}", file=sys.stderr)
    figures = [
        Figure(f"{name}: CPU seconds", spilled.cpu, 120.0 * rows / 1e8, unit=" s"),
        Figure(f"{name}: peak memory", spilled.peak / GB, 12.0 if rows > 1e8 else 3.2, unit=" GB"),
        Figure(f"{name}: CPU µs a row", 1e6 * spilled.cpu / rows, 1.5, unit=" µs"),
        Figure(f"{name}: time / one pass over memory", spilled.wall / pass_over(rows), 3000.0),
    ]
    if not alone:
        held = planned(log, folder / "held.parquet", "--memory", "1000GB")
        print(f"{name} in memory: {held}", file=sys.stderr)
        same = is_same(folder / "held.parquet", folder / "spilled.parquet")
        figures += [
            Figure(f"{name}: bytes as in memory, 1 if so", float(same), 1.0, at_least=True),
            Figure(f"{name}: CPU / in memory", spilled.cpu / held.cpu, 1.5),
            Figure(f"{name}: peak memory / in memory", spilled.peak / held.peak, 1.0),
        ]
    return figures


def run(options: Sequence[str] = ()) -> list[Figure]:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks planning")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=ROWS)
    parser.add_argument("--integers", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args(list(options))
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="recrawl-bench-") as folder:
        return measure(given.rows, integers=given.integers, alone=given.alone, folder=Path(folder))
