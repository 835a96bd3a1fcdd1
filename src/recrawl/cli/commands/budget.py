"""``recrawl budget``: a crawl log and a freshness in, what it costs out."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from recrawl.cli.options import (
    Columns,
    IgnoreUnknown,
    Importance,
    Log,
    Memory,
    Method,
    Output,
    OutputFormat,
    PlanPrior,
    Visits,
    check_one_pipe,
    check_targets,
    errors_name_options,
    named_columns,
    output_format,
    share_of,
)

if TYPE_CHECKING:
    from recrawl.planning.methods import Spacing


def budget(
    log: Log,
    *,
    freshness: Annotated[
        str,
        typer.Option(
            metavar="SHARE", help="The share of pages to keep up to date, such as 0.95 or 95%."
        ),
    ],
    importance: Importance = None,
    visits: Visits = "periodic",
    method: Method = "gamma",
    prior: PlanPrior = None,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Also plot freshness over budget, as .png or .svg."),
    ] = None,
    format_: OutputFormat = None,
    output: Output = None,
    columns: Columns = None,
    ignore_unknown: IgnoreUnknown = False,
    memory: Memory = None,
) -> None:
    """Find out how many visits it takes to keep the pages of a crawl log as fresh as you want.

    Freshness is the share of pages that are up to date, weighted by importance. The best freshness
    for smaller and larger budgets is drawn as well, or written as a table.

    Examples:
        recrawl budget crawl.csv --freshness 0.95
        recrawl budget crawl.parquet --freshness 0.9 --plot curve.png
        recrawl budget crawl.csv --freshness 0.95 --format csv
    """
    wanted = share_of("--freshness", freshness)
    check_one_pipe(log, importance)
    kind = output_format(format_, output)
    check_targets(plot, kind, output or "-")
    from recrawl.cli.render.budget import print_curve, print_summary
    from recrawl.cli.render.progress import progress_bar
    from recrawl.formats.tables import write_table
    from recrawl.planning.cost import freshness_cost

    with errors_name_options():
        cost = freshness_cost(
            log,
            wanted,
            importance=importance,
            visits=cast("Spacing", visits),
            method=method,
            prior=prior,
            columns=named_columns(columns),
            ignore_unknown=ignore_unknown,
            memory=memory,
            progress=progress_bar,
        )
    with progress_bar("Writing"):
        if plot is not None:
            from recrawl.figures import draw_freshness

            asked = cost.target if cost.target.visits > 0 else None
            draw_freshness(plot, cost.budgets, cost.freshness, asked=asked, now=cost.as_logged)
        if kind != "table":
            write_table(cost.columns(), kind, output or "-")
    if kind == "table":
        print_curve(cost)
    print_summary(cost, err=kind != "table")
