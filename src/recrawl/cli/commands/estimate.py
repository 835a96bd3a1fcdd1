"""``recrawl estimate``: a crawl log in, change rates out."""

from typing import Annotated

import typer

from recrawl.cli.options import (
    IgnoreUnknown,
    Log,
    Method,
    Output,
    OutputFormat,
    Prior,
    check_method,
    output_format,
)
from recrawl.errors import ArgumentError


def estimate(
    log: Log,
    *,
    method: Method = "gamma",
    prior: Prior = "alone",
    level: Annotated[
        float, typer.Option(metavar="SHARE", help="How sure the interval is to hold the rate.")
    ] = 0.95,
    format_: OutputFormat = None,
    output: Output = None,
    ignore_unknown: IgnoreUnknown = False,
) -> None:
    """Estimate how often every page in a crawl log changes.

    A log has the columns page, time and changed (0 or 1, empty at the first visit); optional are
    outcome (first, changed, unchanged, failed, gone), crawl_rate, last_modified and importance.
    Rates are changes a day. Examples:

        recrawl estimate crawl.csv
        recrawl estimate crawl.parquet --prior host -o rates.parquet
        zcat crawl.csv.gz | recrawl estimate - --format json
    """
    check_method(method, prior)
    if not 0 < level < 1:
        raise ArgumentError(f"--level: {level} is not between 0 and 1; 0.95 is usual")
    kind = output_format(format_, output)
    from recrawl.cli.render.estimates import Report, print_table
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.terminal import log_summary
    from recrawl.formats.crawl_log import read_crawl_log
    from recrawl.formats.tables import check_target, write_table
    from recrawl.planning.learning import learn

    if kind != "table":
        check_target(output or "-", kind)
    with progress_bar("Reading") as advance:
        visits = read_crawl_log(log, ignore_unknown=ignore_unknown, progress=advance)
    with progress_bar("Estimating"):
        learned = learn(log, visits, method, prior)
        low, high = learned.interval(level)
        found = Report(visits.names, learned.rate, low, high, learned.state.visits)
    if kind == "table":
        print_table(found, level)
    else:
        write_table(found.columns(), kind, output or "-")
    typer.echo(log_summary(visits, unknown=found.unknown), err=kind != "table")
