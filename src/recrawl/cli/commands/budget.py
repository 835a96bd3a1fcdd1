"""``recrawl budget``: a crawl log and a freshness in, what it costs out."""

from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from recrawl.cli.options import (
    VISITS,
    FleetPrior,
    IgnoreUnknown,
    Importance,
    Log,
    Method,
    Output,
    OutputFormat,
    Spacing,
    check_choice,
    check_method,
    check_one_pipe,
    check_targets,
    fleet_prior,
    output_format,
)
from recrawl.errors import ArgumentError

if TYPE_CHECKING:
    from recrawl.formats.tables import Format
    from recrawl.planning.budget import Cost


def budget(
    log: Log,
    *,
    freshness: Annotated[
        float,
        typer.Option(metavar="SHARE", help="The share of pages to be up to date: 0.95, say."),
    ],
    importance: Importance = None,
    visits: Spacing = "periodic",
    method: Method = "gamma",
    prior: FleetPrior = None,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw freshness over budget too, to .png or .svg."),
    ] = None,
    format_: OutputFormat = None,
    output: Output = None,
    ignore_unknown: IgnoreUnknown = False,
) -> None:
    """Say how many visits it takes to keep the pages of a crawl log as fresh as you want.

    Freshness is the share of pages that are up to date, weighted by importance. The best freshness
    for less and for more visits is drawn too, or given as a table. Examples:

        recrawl budget crawl.csv --freshness 0.95
        recrawl budget crawl.parquet --freshness 0.9 --plot curve.png
        recrawl budget crawl.csv --freshness 0.95 --format csv
    """
    prior = fleet_prior(prior, method)
    check_method(method, prior)
    check_choice("--visits", visits, VISITS)
    check_one_pipe(log, importance)
    _check_freshness(freshness)
    kind = output_format(format_, output)
    check_targets(plot, kind, output or "-")
    from recrawl.cli.render.progress import progress_bar
    from recrawl.planning.budget import find_cost
    from recrawl.planning.fleet import read_fleet

    fleet = read_fleet(
        log,
        importance,
        method=method,
        prior=prior,
        ignore_unknown=ignore_unknown,
        stage=progress_bar,
    )
    with progress_bar("Planning"):
        cost = find_cost(fleet, freshness, cast("Literal['periodic', 'poisson']", visits))
    _give(cost, kind, output or "-", plot)


def _check_freshness(freshness: float) -> None:
    if freshness == 1:
        raise ArgumentError(
            "--freshness: 1 cannot be reached, for pages change between visits; 0.95 is usual"
        )
    if not 0 < freshness < 1:
        raise ArgumentError(f"--freshness: {freshness} is not between 0 and 1; 0.95 is usual")


def _give(cost: "Cost", kind: "Format | Literal['table']", target: str, plot: str | None) -> None:
    """Show the cost, or write the curve and keep what people read apart from it."""
    from recrawl.cli.render.budget import print_curve, print_summary
    from recrawl.cli.render.progress import progress_bar
    from recrawl.formats.tables import write_table

    with progress_bar("Writing"):
        if plot is not None:
            from recrawl.figures import draw_freshness

            asked = cost.asked if cost.asked.visits > 0 else None
            draw_freshness(plot, cost.budgets, cost.shares, asked=asked, now=cost.now)
        if kind != "table":
            write_table({"budget": cost.budgets, "freshness": cost.shares}, kind, target)
    if kind == "table":
        print_curve(cost)
    print_summary(cost, err=kind != "table")
