"""A comparison of policies as a table."""

import math
from collections.abc import Mapping

from recrawl.cli.output import say
from recrawl.cli.render.numbers import count, per_day
from recrawl.cli.render.terminal import Table, show
from recrawl.simulation.calibration import TENTHS, Calibration
from recrawl.simulation.ranking import Ranking
from recrawl.simulation.recorded import LeftOut
from recrawl.units import format_duration

#: Marks of policies that miss the budget, and of those that know the true rates.
OFF_BUDGET, KNOWING = "*", "†"
#: The maximum number of decimals of a percentage.
DECIMALS = 6


def print_ranking(ranking: Ranking, description: str, *, table: bool) -> None:
    """Print a summary and the scores; without the table, to standard error.

    Args:
        ranking: The scores.
        description: How the pages were generated; empty if they are recorded.
        table: Whether to print the scores, rather than leave them to a file.
    """
    left_out = ranking.world.left_out
    for line in (summary(ranking), description, not_replayed(ranking.world.pages, left_out)):
        if line:
            say(line, err=not table)
    if table:
        say()
        show(scores(ranking))
    for line in footnotes(ranking):
        say(line, err=not table)
    if table and calibrations(ranking):
        say()
        say("Share of visits that found a change, by predicted probability (visits):")
        show(calibration_table(calibrations(ranking)))


def summary(ranking: Ranking) -> str:
    """Return one line about the pages and the budget."""
    world, budget = ranking.world, ranking.budget
    pages, changes = count(world.pages, "page"), count(world.change.size, "change")
    return (
        f"{pages}, {changes} in {format_days(world.days)}; {per_day(budget)}, "
        f"each page every {format_duration(world.pages / budget)} on average"
    )


def not_replayed(pages: int, left_out: LeftOut) -> str:
    """Return a line about the pages that take no part; empty if there are none.

    >>> not_replayed(3, LeftOut(created=5, removed=1, outside=0))
    '6 of 9 pages take no part in this window: 5 created after its start, 1 removed before its end'
    """
    if not left_out.pages:
        return ""
    take = "takes" if left_out.pages == 1 else "take"
    every = count(pages + left_out.pages, "page")
    return f"{left_out.pages:,} of {every} {take} no part in this window: {left_out}"


def format_days(days: float) -> str:
    """Write the length of a window, as a whole number if there are many days.

    >>> format_days(1784.0), format_days(1.0), format_days(0.25)
    ('1,784 days', '1 day', '6 h')
    """
    return f"{days:,.0f} days" if days >= 10 else format_duration(days)  # noqa: PLR2004


def notes(ranking: Ranking) -> dict[str, str]:
    """Return remarks about policies that do not compete on equal terms."""
    used = {name: f"{100 * share:.0f} % of budget" for name, share in ranking.off_budget().items()}
    return used | dict.fromkeys(ranking.knowing, "knows the true rates")


def scores(ranking: Ranking) -> Table:
    """Return the scores as a table, least stale first."""
    table = Table()
    table.add_column("policy", no_wrap=True)
    for heading in ("staleness", "freshness", "mean age", "visits", "spent", "wasted"):
        table.add_column(heading, justify="right", no_wrap=True)
    digits = decimals(min(score.staleness for score in ranking.scores))
    off_budget = ranking.off_budget()
    for score in ranking.scores:
        name = score.policy
        marks = OFF_BUDGET * (name in off_budget) + KNOWING * (name in ranking.knowing)
        table.add_row(
            f"{name} {marks}".strip(),
            f"{100 * score.staleness:.{digits}f}{_error(ranking, name, digits)} %",
            f"{100 * score.freshness:.{digits}f} %",
            format_duration(score.mean_age),
            f"{score.visits:,}",
            f"{100 * score.budget_used:.1f} %",
            f"{100 * score.wasted:.1f} %",
        )
    return table


def _error(ranking: Ranking, name: str, digits: int) -> str:
    return f" ± {100 * ranking.errors[name]:.{digits}f}" if ranking.errors else ""


def calibrations(ranking: Ranking) -> dict[str, Calibration]:
    """Return the calibrations of policies that predict changes, by name."""
    return {
        score.policy: score.calibration
        for score in ranking.scores
        if score.calibration is not None and score.calibration.visits.any()
    }


def calibration_table(found: Mapping[str, Calibration]) -> Table:
    """Return how often changes were found, by tenths of the predicted probability."""
    table = Table()
    table.add_column("expected", no_wrap=True)
    for name in found:
        table.add_column(name, justify="right", no_wrap=True)
    for tenth in range(TENTHS):
        if any(calibration.visits[tenth] for calibration in found.values()):
            low = 100 * tenth // TENTHS
            cells = (_found(calibration, tenth) for calibration in found.values())
            table.add_row(f"{low}-{low + 100 // TENTHS} %", *cells)
    return table


def _found(calibration: Calibration, tenth: int) -> str:
    visits = calibration.visits[tenth]
    return f"{100 * calibration.found[tenth]:.1f} % ({visits:,})" if visits else "-"


def decimals(share: float) -> int:
    """Return the decimals that show a share in percent with two significant digits.

    >>> decimals(0.16), decimals(0.0128), decimals(0.00012), decimals(0.0)
    (2, 2, 3, 2)
    """
    return 2 if share <= 0.0 else min(max(2, 1 - math.floor(math.log10(100 * share))), DECIMALS)


def footnotes(ranking: Ranking) -> list[str]:
    """Explain the marks that are used."""
    lines = []
    if ranking.off_budget():
        lines.append(f"{OFF_BUDGET} misses the budget; 'spent' is the share of it that was used")
    if ranking.knowing:
        lines.append(f"{KNOWING} knows the true change rates, which no real crawler does")
    if ranking.errors:
        lines.append(
            "± is the standard error of the mean over replays with ties broken differently"
        )
    return lines
