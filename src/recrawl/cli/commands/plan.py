"""``recrawl plan``: a crawl log and a budget in, crawl rates out."""

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
    check_choice,
    check_one_pipe,
    check_targets,
    errors_name_options,
    named_columns,
    output_format,
    visits_a_day,
)
from recrawl.errors import ArgumentError

if TYPE_CHECKING:
    from recrawl.planning.methods import Spacing

#: What computes a plan.
ENGINES = ("local", "spark")


def plan(
    log: Log,
    *,
    budget: Annotated[
        str,
        typer.Option(metavar="RATE", help="Visits to all pages together: 1000/day, 500/h or 2/s."),
    ],
    importance: Importance = None,
    host_budget: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Maximum visits to any one host: 50/h."),
    ] = None,
    visits: Visits = "periodic",
    method: Method = "gamma",
    prior: PlanPrior = None,
    format_: OutputFormat = None,
    output: Output = None,
    columns: Columns = None,
    ignore_unknown: IgnoreUnknown = False,
    memory: Memory = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Where to compute the plan: here (local) or on Spark (spark)."
        ),
    ] = "local",
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Spark's master: local[4], spark://host:7077. Default: Spark's own setting.",
        ),
    ] = None,
) -> None:
    """Plan how often to visit every page in a crawl log to keep the copy as fresh as possible.

    The budget is split so that the share of pages that are up to date, weighted by importance, is
    as large as possible. The plan says how often to visit each page, and when next.

    Examples:
        recrawl plan crawl.csv --budget 1000/day
        recrawl plan crawl.parquet --budget 2/s --host-budget 50/h -o plan.parquet
        recrawl plan crawl.csv --budget 500/h --importance views.csv --format json
        recrawl plan s3a://logs/ --budget 9e8/day --engine spark -o s3a://plans/today.parquet
    """
    check_one_pipe(log, importance)
    per_day = visits_a_day("--budget", budget)
    per_host = None if host_budget is None else visits_a_day("--host-budget", host_budget)
    kind = output_format(format_, output)
    check_choice("--engine", engine, ENGINES)
    if master is not None and engine != "spark":
        raise ArgumentError("--master: this option needs --engine spark")
    if engine == "spark":
        if output is None or kind == "table":
            raise ArgumentError("--engine: Spark writes a folder; name it with -o plan.parquet")
        from recrawl.cli.render.plan import print_spark
        from recrawl.formats.naming import Naming
        from recrawl.spark.job import run
        from recrawl.spark.planner import Wanted

        naming = Naming(named_columns(columns), ignore_unknown)
        wanted = Wanted(per_day, per_host, cast("Spacing", visits), method, prior, naming)
        with errors_name_options():
            found = run(log, output, kind, wanted, master=master, importance=importance)
        print_spark(*found)
        return
    check_targets(None, kind, output or "-")
    from recrawl.cli.render.plan import print_pages, print_summary
    from recrawl.cli.render.progress import progress_bar
    from recrawl.formats.tables import write_batches
    from recrawl.planning.plan import plan as make_plan

    with errors_name_options():
        made = make_plan(
            log,
            budget=per_day,
            importance=importance,
            host_budget=per_host,
            visits=cast("Spacing", visits),
            method=method,
            prior=prior,
            columns=named_columns(columns),
            ignore_unknown=ignore_unknown,
            memory=memory,
            progress=progress_bar,
        )
    if kind == "table":
        print_pages(made)
    else:
        with progress_bar("Writing"):
            write_batches(made.batches(), kind, output or "-")
    print_summary(made, err=kind != "table")
