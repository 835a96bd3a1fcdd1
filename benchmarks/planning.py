"""Plans from logs larger than memory: what a row costs, on one machine and out of core.

``python -m benchmarks planning --rows 100000000`` plans from a log of that many rows, and compares
the plan with the one made in memory; ``--integers`` has numbers for pages; ``--alone`` skips the
comparison; ``--folder`` keeps the log there for the next run. Each run adds to
`benchmarks/planning.csv`, which the table and the picture in the documentation are made of: nobody
plans from a billion rows for a picture alone.
"""

import argparse
import csv
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

from benchmarks.report import DOCS, Figure, failure, markdown, write_section
from benchmarks.sizes import output, sized

PAGE = "how-to/plan-from-a-log.md"
MEASURED = output(Path(__file__).parent / "planning.csv")
PICTURE = output(DOCS / "figures" / "planning-cost.svg")
ROWS = sized(10_000_000, 20_000)
#: Mean visits per page, and rows written at a time.
VISITS, CHUNK = 10, 1 << 21
#: Memory that visits may take in the runs out of core.
MEMORY = "1GB"
GB = 1e9
#: The rows of the run that longer ones are compared with.
BASE_ROWS = 10**8


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
    command += ["-o", str(out), *options]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            said.seek(0)
            raise failure(command, os.waitstatus_to_exitcode(status), said.read())
    wall = time.perf_counter() - begin
    scale = 1 if sys.platform == "darwin" else 1024
    return Run(used.ru_utime + used.ru_stime, wall, used.ru_maxrss * scale)


def is_same(one: Path, other: Path) -> bool:
    """Return whether two files are the same to the last byte."""
    return subprocess.run(["cmp", "-s", str(one), str(other)], check=False).returncode == 0  # noqa: S607


def pass_over(rows: int) -> float:
    """Return the CPU seconds of one pass over the columns of a log in memory: 17 bytes a row."""
    at, page, changed = np.arange(ROWS), np.arange(ROWS), np.zeros(ROWS, np.bool_)
    times = []
    for _ in range(5):
        began = time.process_time()
        at.sum(), page.sum(), changed.sum()
        times.append(time.process_time() - began)
    return min(times) * rows / ROWS


def measure(log: Path, rows: int, *, integers: bool, alone: bool, folder: Path) -> list[Figure]:
    """Plan from a log of so many rows; compare with the plan made in memory unless alone."""
    kind = "whole numbers" if integers else "URLs"
    name = f"{rows:.0e} rows of {rows // VISITS:.0e} {kind}".replace("e+0", "·10^").replace(
        "1·", ""
    )
    spilled = planned(log, folder / "spilled.parquet", "--memory", MEMORY)
    print(f"{name}: {spilled}", file=sys.stderr)
    one_pass = pass_over(rows)
    _note(rows, kind, "out of core", spilled, one_pass)
    figures = [
        Figure(f"{name}: CPU seconds", spilled.cpu, 120.0 * rows / 1e8, unit=" s"),
        Figure(f"{name}: peak memory", spilled.peak / GB, 12.0 if rows > 1e8 else 3.2, unit=" GB"),
        Figure(f"{name}: CPU µs a row", 1e6 * spilled.cpu / rows, 1.5, unit=" µs"),
        Figure(f"{name}: CPU / one pass over memory", spilled.cpu / one_pass, 1500.0),
    ]
    before = _measured().get((BASE_ROWS, kind, "out of core"))
    if rows > BASE_ROWS and before is not None:
        times = spilled.cpu / rows / (before[0] / BASE_ROWS)
        figures.append(Figure(f"{name}: CPU a row / with 10^8 rows", times, 1.3))
    if not alone:
        held = planned(log, folder / "held.parquet", "--memory", "1000GB")
        print(f"{name} in memory: {held}", file=sys.stderr)
        _note(rows, kind, "in memory", held, one_pass)
        same = is_same(folder / "held.parquet", folder / "spilled.parquet")
        figures += [
            Figure(f"{name}: bytes as in memory, 1 if so", float(same), 1.0, at_least=True),
            Figure(f"{name}: CPU / in memory", spilled.cpu / held.cpu, 1.5),
            Figure(f"{name}: peak memory / in memory", spilled.peak / held.peak, 1.0),
        ]
    return figures


def _note(rows: int, pages: str, where: str, taken: Run, one_pass: float) -> None:
    """Add a run to those measured, in place of an earlier one like it."""
    found = _measured()
    found[(rows, pages, where)] = (taken.cpu, taken.peak, one_pass)
    with MEASURED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["rows", "pages", "where", "cpu", "peak", "one_pass"])
        for key in sorted(found):
            cpu, peak, passed = found[key]
            writer.writerow([*key, f"{cpu:.1f}", round(peak), f"{passed:.3g}"])


def _measured() -> dict[tuple[int, str, str], tuple[float, float, float]]:
    """Return the runs measured so far: CPU seconds, most bytes of memory, one pass over memory."""
    if not MEASURED.exists():
        return {}
    with MEASURED.open(encoding="utf-8", newline="") as file:
        return {
            (int(row["rows"]), row["pages"], row["where"]): (
                float(row["cpu"]),
                float(row["peak"]),
                float(row["one_pass"]),
            )
            for row in csv.DictReader(file)
        }


def write_docs() -> None:
    """Write the table, and draw what a row costs by the number of rows."""
    found = _measured()
    cells = [
        [
            f"{rows:,}",
            pages,
            where,
            f"{cpu:,.1f} s",
            f"{1e6 * cpu / rows:.2f} µs",
            f"{peak / GB:.1f} GB",
            f"{cpu / passed:,.0f}",
        ]
        for (rows, pages, where), (cpu, peak, passed) in sorted(found.items())
    ]
    headings = ["rows", "pages are", "", "CPU", "per row", "memory", "CPU / one pass over memory"]
    write_section(PAGE, "planning", markdown(headings, cells))
    _draw(found)


def _draw(found: dict[tuple[int, str, str], tuple[float, float, float]]) -> None:
    from matplotlib import pyplot as plt

    figure, (cost, memory) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for pages, where in sorted({key[1:] for key in found}):
        runs = {key[0]: value for key, value in sorted(found.items()) if key[1:] == (pages, where)}
        label = f"{pages}, {where}"
        line = "--" if where == "in memory" else "-"
        color = "C0" if pages == "URLs" else "C1"
        style = {"label": label, "marker": "o", "linestyle": line, "color": color}
        cost.plot(list(runs), [1e6 * cpu / rows for rows, (cpu, _, _) in runs.items()], **style)
        memory.plot(list(runs), [peak / GB for _, peak, _ in runs.values()], **style)
    cost.set(xscale="log", xlabel="rows", ylabel="CPU per row, µs", ylim=(0, None))
    memory.set(xscale="log", xlabel="rows", ylabel="memory, GB", ylim=(0, None))
    for axes in (cost, memory):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
    handles, labels = cost.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(PICTURE)
    plt.close(figure)


def run(options: Sequence[str] = ()) -> list[Figure]:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks planning")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=ROWS)
    parser.add_argument("--integers", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args(list(options))
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="recrawl-bench-") as name:
        folder = Path(name)
        log = (given.folder or folder) / f"{given.rows}{'-integers' * given.integers}.parquet"
        if not log.exists():
            with Console(stderr=True).status(f"writing {given.rows:,} rows"):
                write_log(log, given.rows, integers=given.integers)
        figures = measure(
            log, given.rows, integers=given.integers, alone=given.alone, folder=folder
        )
    write_docs()
    return figures
