"""``recrawl estimate``: a crawl log in, change rates out."""

from typing import Annotated

import typer

from recrawl.cli.options import (
    Columns,
    IgnoreUnknown,
    Log,
    Memory,
    Method,
    Output,
    OutputFormat,
    Prior,
    check_targets,
    errors_name_options,
    named_columns,
    output_format,
    share_of,
)
from recrawl.cli.output import say
from recrawl.errors import ArgumentError


def estimate(
    log: Log,
    *,
    method: Method = "gamma",
    prior: Prior = "alone",
    level: Annotated[
        str,
        typer.Option(metavar="SHARE", help="The probability that the interval contains the rate."),
    ] = "95%",
    format_: OutputFormat = None,
    output: Output = None,
    columns: Columns = None,
    ignore_unknown: IgnoreUnknown = False,
    memory: Memory = None,
) -> None:
    """Estimate how often every page in a crawl log changes.

    A log has the columns page, time and changed (0 or 1, empty for the first visit). Instead of
    changed it may have outcome (first, changed, unchanged, failed, gone) or digest. The columns
    status, crawl_rate, last_modified and importance are optional. Rates are in changes per day.

    Examples:
        recrawl estimate crawl.csv
        recrawl estimate crawl.parquet --prior host -o rates.parquet
        recrawl estimate index/ --columns page=url,digest=content_sha1 --memory 4GB
        zcat crawl.csv.gz | recrawl estimate - --format json
    """
    probability = share_of("--level", level)
    if not 0 < probability < 1:
        raise ArgumentError(f"--level: {level} is not between 0 and 1; 0.95 is usual")
    kind = output_format(format_, output)
    check_targets(None, kind, output or "-")
    from recrawl.cli.render.estimates import estimate_columns, print_estimates
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.terminal import log_summary, say_notes
    from recrawl.formats.tables import write_table
    from recrawl.planning.beliefs import Reading, learn

    with errors_name_options():
        beliefs = learn(
            log,
            method=method,
            prior=prior,
            level=probability,
            reading=Reading(named_columns(columns), ignore_unknown, memory, progress_bar),
        )
    if kind == "table":
        print_estimates(beliefs, probability)
    else:
        write_table(estimate_columns(beliefs, probability), kind, output or "-")
    say_notes(beliefs.facts)
    say(log_summary(beliefs.facts, unknown=beliefs.unknown), err=kind != "table")
