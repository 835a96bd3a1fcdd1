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
    check_targets,
    errors_name_options,
    output_format,
)
from recrawl.cli.output import say
from recrawl.errors import ArgumentError


def estimate(
    log: Log,
    *,
    method: Method = "gamma",
    prior: Prior = "alone",
    level: Annotated[
        float,
        typer.Option(metavar="SHARE", help="The probability that the interval holds the rate."),
    ] = 0.95,
    format_: OutputFormat = None,
    output: Output = None,
    ignore_unknown: IgnoreUnknown = False,
) -> None:
    """Estimate how often every page in a crawl log changes.

    A log has the columns page, time and changed (0 or 1, empty at the first visit); optional are
    outcome (first, changed, unchanged, failed, gone), crawl_rate, last_modified and importance.
    Rates are changes per day. Examples:

        recrawl estimate crawl.csv
        recrawl estimate crawl.parquet --prior host -o rates.parquet
        zcat crawl.csv.gz | recrawl estimate - --format json
    """
    if not 0 < level < 1:
        raise ArgumentError(f"--level: {level} is not between 0 and 1; 0.95 is usual")
    kind = output_format(format_, output)
    check_targets(None, kind, output or "-")
    from recrawl.cli.render.estimates import estimate_columns, print_estimates
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.terminal import log_summary
    from recrawl.formats.tables import write_table
    from recrawl.planning.beliefs import learn

    with errors_name_options():
        beliefs = learn(
            log,
            method=method,
            prior=prior,
            ignore_unknown=ignore_unknown,
            progress=progress_bar,
        )
    if kind == "table":
        print_estimates(beliefs, level)
    else:
        write_table(estimate_columns(beliefs, level), kind, output or "-")
    say(log_summary(beliefs.log, unknown=beliefs.unknown), err=kind != "table")
