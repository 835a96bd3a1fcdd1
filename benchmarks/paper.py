"""Reproduce the paper as a new user would: the time it takes, and the verdicts on its claims."""

import os
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from pyarrow import csv
from rich.console import Console

from benchmarks.report import DOCS, HEADINGS, Figure, markdown, printed, write_section
from benchmarks.sizes import output, sized

PAGE = "explanation/the-paper.md"
PICTURE = "experiment-1.png"
COLUMNS = {
    "place": "place",
    "claim": "the paper says",
    "measured": "measured",
    "verdict": "verdict",
}
#: Maximum seconds for all of it on two cores, compilation included.
BAR = 60.0
#: What is reproduced, and histories per page; at the smallest size too few for most claims.
EXPERIMENT, RUNS = sized(("all", 1_000), ("1", 20))


def run() -> list[Figure]:
    """Reproduce all of it, and write the claims and the picture into the documentation."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Console(stderr=True).status("reproducing the paper, compiling all kernels"),
    ):
        report = Path(folder) / "report"
        figure = Figure("recrawl paper all, compilation included", timed(report), BAR, unit=" s")
        write_section(PAGE, "paper-claims", claims_table(report))
        output(DOCS / "figures" / PICTURE).write_bytes((report / PICTURE).read_bytes())
    write_section(PAGE, "paper-time", markdown(HEADINGS, [figure.cells()]))
    return [figure]


def timed(report: Path) -> float:
    """Reproduce it in a process without cached machine code; return the seconds."""
    cache = report.with_name("machine-code")
    command = [sys.executable, "-m", "recrawl", "paper", EXPERIMENT, "-o", str(report)]
    command += ["--runs", str(RUNS)]
    begin = time.perf_counter()
    printed(command, env=os.environ | {"NUMBA_CACHE_DIR": str(cache)})
    return time.perf_counter() - begin


def claims_table(report: Path) -> str:
    """Return the claims as a table for the documentation."""
    text = csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pa.string()))
    claims = csv.read_csv(report / "claims.csv", convert_options=text).to_pylist()
    rows = [[claim[column].replace("|", r"\|") for column in COLUMNS] for claim in claims]
    return markdown(list(COLUMNS.values()), rows)
