"""Estimated change rates as people read them."""

from typing import Any

import numpy as np

from recrawl.cli.output import say
from recrawl.cli.render.terminal import SHOWN, add_page, page_table, show
from recrawl.kernels.jit import Floats, Ints
from recrawl.planning.beliefs import Beliefs
from recrawl.units import format_rate


def estimate_columns(beliefs: Beliefs, level: float) -> dict[str, Any]:
    """Return the estimates as the columns of a table."""
    low, high = beliefs.interval(level)
    return {
        "page": beliefs.names,
        "rate": beliefs.change_rate,
        "low": low,
        "high": high,
        "visits": beliefs.observations,
    }


def print_estimates(beliefs: Beliefs, level: float) -> None:
    """Print the pages that change most often."""
    found = estimate_columns(beliefs, level)
    table = page_table("changes", f"{100 * level:.4g} % sure between", "visits")
    for page in fastest(found["rate"], found["visits"]).tolist():
        rate, low, high = (
            format_rate(float(found[name][page])) for name in ("rate", "low", "high")
        )
        add_page(
            table, found["page"][page], [rate, f"{low} – {high}", f"{found['visits'][page]:,}"]
        )
    show(table)
    if beliefs.facts.pages > table.row_count:
        say(f"These {table.row_count} change most often; --format csv or -o FILE lists all pages.")


def fastest(rate: Floats, visits: Ints) -> Ints:
    """Return the pages that change most often, among those with a visit to learn from.

    >>> fastest(np.array([1.0, 5.0, 2.0]), np.array([4, 0, 4]))
    array([2, 0])
    """
    seen = np.flatnonzero(visits)
    return seen[np.argsort(-rate[seen], kind="stable")[:SHOWN]]
