"""Estimates as people read them."""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recrawl.compiled import Floats, Ints
from recrawl.records import Visits
from recrawl.units import format_rate

#: How many pages a table shows.
SHOWN = 20

#: Wide enough for any address where no terminal limits the width.
ANY_WIDTH = 10_000


@dataclass(frozen=True, slots=True)
class Report:
    """What was learned about every page: its change rate, an interval, from how many visits."""

    page: Any
    rate: Floats
    low: Floats
    high: Floats
    visits: Ints

    def columns(self) -> dict[str, Any]:
        """Give the columns by name."""
        return {name: getattr(self, name) for name in ("page", "rate", "low", "high", "visits")}


def fastest(report: Report) -> Ints:
    """Give the pages that change most, among those a visit taught something about.

    >>> report = Report(["a", "b", "c"], *[np.array([1.0, 5.0, 2.0])] * 3, np.array([4, 0, 4]))
    >>> fastest(report)
    array([2, 0])
    """
    seen = np.flatnonzero(report.visits)
    return seen[np.argsort(-report.rate[seen], kind="stable")[:SHOWN]]


def print_table(report: Report, level: float) -> None:
    """Print the pages that change most; plain and unbroken where no terminal shows it."""
    terminal = sys.stdout.isatty()
    table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=terminal)
    table.add_column("page", overflow="fold")
    table.add_column("changes", justify="right", no_wrap=True)
    table.add_column(f"{100 * level:.4g} % sure between", justify="right", no_wrap=True)
    table.add_column("visits", justify="right", no_wrap=True)
    for page in fastest(report):
        low, high = format_rate(float(report.low[page])), format_rate(float(report.high[page]))
        table.add_row(
            Text(_printable(str(report.page[int(page)]))),
            format_rate(float(report.rate[page])),
            f"{low} – {high}",
            f"{report.visits[page]:,}",
        )
    console = Console(width=None if terminal else ANY_WIDTH)
    console.print(table)
    if len(report.page) > table.row_count:
        console.print(
            f"These {table.row_count} change most; --format csv or -o FILE gives all of them."
        )


def _printable(name: str) -> str:
    r"""Show what would steer a terminal instead of sending it there.

    >>> print(_printable("https://example.org/ü\x1b[2J"))
    https://example.org/ü\x1b[2J
    """
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in name)


def summary(report: Report, visits: Visits) -> str:
    """Say in one line what the estimates rest on."""
    first, last = int(visits.time.min()), int(visits.time.max())
    counts = f"{_count(len(report.page), 'page')}, {_count(visits.page.size, 'visit')}"
    parts = [f"{counts} from {_date(first)} to {_date(last)}"]
    if unknown := int((report.visits == 0).sum()):
        parts.append(f"{_count(unknown, 'page')} with no visit to learn from")
    if visits.duplicates:
        parts.append(f"{_count(visits.duplicates, 'repeated row')} dropped")
    return "; ".join(parts)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _date(microseconds: int) -> str:
    return str(np.datetime64(microseconds, "us"))[:10]
