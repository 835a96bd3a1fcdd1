"""``recrawl plan``: a crawl log and a budget in, crawl rates out."""

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
    fleet_prior,
    output_format,
    visits_a_day,
)

if TYPE_CHECKING:
    from recrawl.formats.tables import Format
    from recrawl.planning.plan import Plan


def plan(
    log: Log,
    *,
    budget: Annotated[
        str, typer.Option(metavar="RATE", help="Visits for all pages: 1000/day, 500/h or 2/s.")
    ],
    importance: Importance = None,
    host_budget: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="The most visits that any one host gets: 50/h."),
    ] = None,
    visits: Spacing = "periodic",
    method: Method = "gamma",
    prior: FleetPrior = None,
    format_: OutputFormat = None,
    output: Output = None,
    ignore_unknown: IgnoreUnknown = False,
) -> None:
    """Plan how often to visit every page in a crawl log, so that the copy is freshest.

    Visits are shared out so that the share of pages that are up to date, weighted by importance, is
    as large as it can be. The plan says how often to visit every page, and when next. Examples:

        recrawl plan crawl.csv --budget 1000/day
        recrawl plan crawl.parquet --budget 2/s --host-budget 50/h -o plan.parquet
        recrawl plan crawl.csv --budget 500/h --importance views.csv --format json
    """
    prior = fleet_prior(prior, method)
    check_method(method, prior)
    check_choice("--visits", visits, VISITS)
    check_one_pipe(log, importance)
    total = visits_a_day("--budget", budget)
    for_host = None if host_budget is None else visits_a_day("--host-budget", host_budget)
    kind = output_format(format_, output)
    from recrawl.cli.render.progress import progress_bar
    from recrawl.formats.tables import check_target
    from recrawl.planning.fleet import read_fleet
    from recrawl.planning.plan import make_plan

    if kind != "table":
        check_target(output or "-", kind)
    fleet = read_fleet(
        log,
        importance,
        method=method,
        prior=prior,
        ignore_unknown=ignore_unknown,
        stage=progress_bar,
    )
    with progress_bar("Planning"):
        made = make_plan(fleet, total, for_host, cast("Literal['periodic', 'poisson']", visits))
    _give(made, kind, output or "-")


def _give(made: "Plan", kind: "Format | Literal['table']", target: str) -> None:
    """Show the plan, or write it and keep what people read apart from it."""
    from recrawl.cli.render.plan import print_pages, print_summary
    from recrawl.cli.render.progress import progress_bar
    from recrawl.formats.tables import write_table

    if kind == "table":
        print_pages(made)
    else:
        with progress_bar("Writing"):
            write_table(made.columns(), kind, target)
    print_summary(made, err=kind != "table")
