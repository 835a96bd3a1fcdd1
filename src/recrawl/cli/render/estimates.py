"""Estimates as people read them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import typer

from recrawl.cli.render.terminal import SHOWN, add_page, page_table, show
from recrawl.kernels.jit import Floats, Ints
from recrawl.units import format_rate


@dataclass(frozen=True, slots=True)
class Report:
    """What was learned about every page: its change rate, an interval, from how many visits."""

    page: Any
    rate: Floats
    low: Floats
    high: Floats
    visits: Ints

    @property
    def unknown(self) -> int:
        """Of how many pages nothing was learned."""
        return int((self.visits == 0).sum())

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
    """Print the pages that change most."""
    table = page_table("changes", f"{100 * level:.4g} % sure between", "visits")
    for page in fastest(report):
        low, high = format_rate(float(report.low[page])), format_rate(float(report.high[page]))
        rate = format_rate(float(report.rate[page]))
        add_page(
            table, report.page[int(page)], [rate, f"{low} – {high}", f"{report.visits[page]:,}"]
        )
    show(table)
    if len(report.page) > table.row_count:
        typer.echo(
            f"These {table.row_count} change most; --format csv or -o FILE gives all of them."
        )
