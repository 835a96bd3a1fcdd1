"""Reproduce the paper as a new user would: the time it takes, and the verdicts on its claims."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from pyarrow import csv
from rich.console import Console

from benchmarks.report import DOCS, HEADINGS, Figure, markdown, write_section

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


def run() -> list[Figure]:
    """Reproduce all of it, and write the claims and the picture into the documentation."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Console(stderr=True).status("reproducing the paper, compiling all kernels"),
    ):
        report = Path(folder) / "report"
        figure = Figure("recrawl paper all, compilation included", timed(report), BAR, unit=" s")
        write_section(PAGE, "paper-claims", claims_table(report))
        (DOCS / "figures" / PICTURE).write_bytes((report / PICTURE).read_bytes())
    write_section(PAGE, "paper-time", markdown(HEADINGS, [figure.cells()]))
    return [figure]


def timed(report: Path) -> float:
    """Reproduce it in a process without cached machine code; return the seconds."""
    cache = report.with_name("machine-code")
    command = [sys.executable, "-m", "recrawl", "paper", "all", "-o", str(report)]
    begin = time.perf_counter()
    subprocess.run(
        command,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - begin


def claims_table(report: Path) -> str:
    """Return the claims as a table for the documentation."""
    text = csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pa.string()))
    claims = csv.read_csv(report / "claims.csv", convert_options=text).to_pylist()
    rows = [[claim[column].replace("|", r"\|") for column in COLUMNS] for claim in claims]
    return markdown(list(COLUMNS.values()), rows)
