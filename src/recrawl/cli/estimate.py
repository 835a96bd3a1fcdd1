"""``recrawl estimate``: a crawl log in, change rates out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from recrawl.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from recrawl.cli.report import Report
    from recrawl.estimation import Observations, Prior
    from recrawl.formats.tables import Format
    from recrawl.records import Visits

#: The methods' names here, and their classes in `recrawl.estimation`.
METHODS = {
    "naive": "Naive",
    "lln": "LLN",
    "sa": "SA",
    "sam": "SAM",
    "mle": "MLE",
    "mm": "MomentMatching",
    "bias-reduced": "BiasReduced",
    "last-modified": "LastModified",
    "gamma": "GammaFilter",
}
WITH_PRIOR = ("gamma", "last-modified")
PRIORS = ("alone", "fleet", "host")
FILE_FORMATS = ("csv", "json", "parquet")
FORMATS = ("table", *FILE_FORMATS)


def estimate(
    log: Annotated[
        str, typer.Argument(metavar="LOG", help="A crawl log, CSV or Parquet; - reads a pipe.")
    ],
    *,
    method: Annotated[
        str, typer.Option(metavar="NAME", help=f"How to estimate: {', '.join(METHODS)}.")
    ] = "gamma",
    prior: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What to expect of a page before its first visit: nothing (alone), or what the "
            "log's pages (fleet) or those of its host (host) are like.",
        ),
    ] = "alone",
    level: Annotated[
        float, typer.Option(metavar="SHARE", help="How sure the interval is to hold the rate.")
    ] = 0.95,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help=f"What to print: {', '.join(FORMATS)}."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write: .csv, .json or .parquet."
        ),
    ] = None,
    ignore_unknown: Annotated[
        bool, typer.Option("--ignore-unknown", help="Skip columns that are not known.")
    ] = False,
) -> None:
    """Estimate how often every page in a crawl log changes.

    A log has the columns page, time and changed (0 or 1, empty at the first visit); optional are
    outcome (first, changed, unchanged, failed, gone), crawl_rate, last_modified and importance.
    Rates are changes a day. Examples:

        recrawl estimate crawl.csv
        recrawl estimate crawl.parquet --prior host -o rates.parquet
        zcat crawl.csv.gz | recrawl estimate - --format json
    """
    _check(method, prior, level)
    kind = cast("Format | Literal['table']", output_format(format_, output))
    from recrawl.cli.progress import progress_bar
    from recrawl.cli.report import print_table, summary
    from recrawl.formats.crawl_log import read_crawl_log
    from recrawl.formats.tables import check_target, write_table

    if kind != "table":
        check_target(output or "-", kind)
    with progress_bar("Reading") as advance:
        visits = read_crawl_log(log, ignore_unknown=ignore_unknown, progress=advance)
    with progress_bar("Estimating"):
        found = _estimated(log, visits, method, prior, level)
    if kind == "table":
        print_table(found, level)
        typer.echo(summary(found, visits))
    else:
        write_table(found.columns(), kind, output or "-")
        typer.echo(summary(found, visits), err=True)


def _check(method: str, prior: str, level: float) -> None:
    """Refuse what cannot be used before a large file is read."""
    _check_choice("--method", method, tuple(METHODS))
    _check_choice("--prior", prior, PRIORS)
    if prior != "alone" and method not in WITH_PRIOR:
        raise ArgumentError(
            f"--prior: the method {method} has no prior; only {' and '.join(WITH_PRIOR)} do"
        )
    if not 0 < level < 1:
        raise ArgumentError(f"--level: {level} is not between 0 and 1; 0.95 is usual")


def _check_choice(option: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ArgumentError(f"{option}: '{value}' is none of {', '.join(choices)}")


def output_format(asked: str | None, output: str | None) -> str:
    """Give the format asked for, or the one that a file's ending tells.

    >>> output_format(None, "rates.parquet"), output_format("csv", "rates.txt")
    ('parquet', 'csv')
    """
    if asked is not None:
        _check_choice("--format", asked, FORMATS)
        if asked == "table" and output is not None:
            raise ArgumentError(f"--format: a file holds {', '.join(FILE_FORMATS)}, not a table")
        return asked
    if output is None:
        return "table"
    ending = output.rpartition(".")[2].lower()
    if ending not in FILE_FORMATS:
        raise ArgumentError(
            f"--output: '{output}' does not end in .{', .'.join(FILE_FORMATS)}; "
            "say which format is meant with --format"
        )
    return ending


def _estimated(log: str, visits: "Visits", method: str, prior: str, level: float) -> "Report":
    from recrawl import estimation
    from recrawl.cli.report import Report
    from recrawl.formats.source import source_name

    if method == "last-modified" and visits.last_modified is None:
        raise InputError(
            f"{source_name(log)}: the method {method} needs the column 'last_modified'"
        )
    observations = estimation.observe(visits)
    if not observations.rows:
        raise InputError(f"{source_name(log)}: no page was seen twice, so nothing can be learned")
    settings = {"prior": _prior(prior, visits, observations)} if method in WITH_PRIOR else {}
    estimator: Any = getattr(estimation, METHODS[method])(**settings)
    state = estimator.update(estimator.start(len(visits.names)), observations)
    low, high = estimator.interval(state, level)
    return Report(visits.names, estimator.rate(state), low, high, state.visits)


def _prior(name: str, visits: "Visits", observations: "Observations") -> "Prior | None":
    from recrawl.estimation import fit_host_priors, fit_prior

    if name == "fleet":
        return fit_prior(observations)
    if name == "host":
        from recrawl.cli.hosts import host_numbers

        return fit_host_priors(observations, host_numbers(visits.names))
    return None
