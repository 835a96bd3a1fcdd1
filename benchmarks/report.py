"""Measured figures compared with their bars, and tables in the documentation."""

import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.sizes import is_smallest, output

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
#: Lines of what a program said that are shown if it fails.
SHOWN_LINES = 40


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
    """Print all figures; return 1 if a bar was missed, unless the size is too small to judge."""
    table = Table(*HEADINGS, title="All figures")
    for figure in figures:
        table.add_row(*figure.cells(), style=None if figure.met else "bold red")
    Console().print(table)
    return 0 if is_smallest() or all(figure.met for figure in figures) else 1


def printed(command: Sequence[str], **options: Any) -> str:  # noqa: ANN401 - of subprocess.run
    """Run a program and return what it prints; if it fails, say what it said.

    Raises:
        SystemExit: It failed.
    """
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, **options
    )
    if done.returncode:
        raise failure(command, done.returncode, done.stderr or done.stdout)
    return str(done.stdout)


def failure(command: Sequence[str], status: int, said: str) -> SystemExit:
    """Return the end of a benchmark: a program that it started failed, having said something."""
    lines = said.strip().splitlines()[-SHOWN_LINES:]
    return SystemExit("\n".join((f"{' '.join(command)}: ended with {status}", *lines)))


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


def commit() -> str:
    """Say which commit this is, and whether the code has been changed since."""
    git = ["git", "-C", str(ROOT)]
    found = printed([*git, "rev-parse", "--short=10", "HEAD"]).strip()
    changed = printed([*git, "status", "--porcelain", "--", "src", "benchmarks"]).strip()
    return f"commit `{found}`" + (", with changes" if changed else "")


def write_section(page: str, name: str, text: str) -> None:
    """Replace the text between ``<!-- bench:NAME -->`` and ``<!-- /bench -->`` on a page.

    A line at its end says which commit it is of.
    """
    path = DOCS / page
    old = path.read_text("utf-8")
    text = f"{text}\n\nAs of {commit()}."
    marked = re.compile(rf"(<!-- bench:{name} -->\n).*?(<!-- /bench -->)", re.DOTALL)
    if not marked.search(old):
        raise SystemExit(f"docs/{page} has no section <!-- bench:{name} -->")
    new = marked.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", old)
    output(path).write_text(new, "utf-8")
