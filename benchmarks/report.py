"""Measured figures compared with their bars, and tables in the documentation."""

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

DOCS = Path(__file__).parent.parent / "docs"


@dataclass(frozen=True)
class Figure:
    """A measured figure and the bar it has to clear."""

    name: str
    measured: float
    bar: float
    at_least: bool = False
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the bar is cleared."""
        return self.measured >= self.bar if self.at_least else self.measured <= self.bar

    def cells(self) -> list[str]:
        """Return the row of a table."""
        sign = "≥" if self.at_least else "≤"
        return [
            self.name,
            f"{self.measured:.3g}{self.unit}",
            f"{sign} {self.bar:g}{self.unit}",
            "yes" if self.met else "NO",
        ]


HEADINGS = ["figure", "measured", "bar", "met"]


def print_verdict(figures: Sequence[Figure]) -> int:
    """Print all figures; return 1 if a bar was missed."""
    table = Table(*HEADINGS, title="All figures")
    for figure in figures:
        table.add_row(*figure.cells(), style=None if figure.met else "bold red")
    Console().print(table)
    return 0 if all(figure.met for figure in figures) else 1


def best_time(work: Callable[[], object], repeat: int = 5) -> float:
    """Return the shortest of several runs in seconds, the one least disturbed by the machine."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in [headings, ["---"] * len(headings), *rows]]
    return "\n".join(lines)


def load_note() -> str:
    """Say what ran beside a measurement; that costs CPU time too, as caches are shared."""
    return (
        "Other programs were running: "
        f"a load of {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores."
    )


def write_section(page: str, name: str, text: str) -> None:
    """Replace the text between ``<!-- bench:NAME -->`` and ``<!-- /bench -->`` on a page."""
    path = DOCS / page
    old = path.read_text("utf-8")
    marked = re.compile(rf"(<!-- bench:{name} -->\n).*?(<!-- /bench -->)", re.DOTALL)
    if not marked.search(old):
        raise SystemExit(f"docs/{page} has no section <!-- bench:{name} -->")
    path.write_text(marked.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", old), "utf-8")
