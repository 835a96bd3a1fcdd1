"""A comparison of policies as people read it."""

import math

import typer
from rich.table import Table

from recrawl.cli.ranking import Ranking
from recrawl.cli.render.terminal import show
from recrawl.units import format_duration

#: What marks a policy that spends more or less than the budget, and one that knows the true rates.
OFF_BUDGET, KNOWING = "*", "†"
#: The most decimals that a percentage is told with.
DECIMALS = 6


def print_ranking(found: Ranking, made: str, *, table: bool) -> None:
    """Print what was replayed and how policies did; without the table, to standard error.

    Args:
        found: How they did.
        made: How the world was made up; nothing if it is recorded.
        table: Whether people read the scores here; if not, another program does.
    """
    typer.echo(found.in_words(), err=not table)
    if made:
        typer.echo(made, err=not table)
    if table:
        typer.echo()
        show(scores(found))
    for line in footnotes(found):
        typer.echo(line, err=not table)


def scores(found: Ranking) -> Table:
    """Give the scores as a table, least stale first."""
    table = Table()
    table.add_column("policy", no_wrap=True)
    for heading in ("staleness", "freshness", "mean age", "visits", "spent", "wasted"):
        table.add_column(heading, justify="right", no_wrap=True)
    digits = decimals(min(score.staleness for score in found.scores))
    off_budget = found.off_budget()
    for score in found.scores:
        name = score.policy
        marks = OFF_BUDGET * (name in off_budget) + KNOWING * (name in found.knowing)
        table.add_row(
            f"{name} {marks}".strip(),
            f"{100 * score.staleness:.{digits}f} %",
            f"{100 * score.freshness:.{digits}f} %",
            format_duration(score.mean_age),
            f"{score.visits:,}",
            f"{100 * score.budget_used:.1f} %",
            f"{100 * score.wasted:.1f} %",
        )
    return table


def decimals(share: float) -> int:
    """Give the decimals that show a share in percent with two digits, and others like it.

    >>> decimals(0.16), decimals(0.0128), decimals(0.00012), decimals(0.0)
    (2, 2, 3, 2)
    """
    return 2 if share <= 0.0 else min(max(2, 1 - math.floor(math.log10(100 * share))), DECIMALS)


def footnotes(found: Ranking) -> list[str]:
    """Say what the marks mean, as far as there are any."""
    lines = []
    if found.off_budget():
        lines.append(
            f"{OFF_BUDGET} spends more or less than the budget; 'spent' says how much of it"
        )
    if found.knowing:
        lines.append(f"{KNOWING} knows the true change rates, which nobody does in life")
    return lines
