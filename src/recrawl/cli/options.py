"""What several commands take: their options, and what is checked before a large file is read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from recrawl.errors import ArgumentError
from recrawl.planning.methods import METHODS, WITH_PRIOR

if TYPE_CHECKING:
    from recrawl.formats.tables import Format

PRIORS = ("alone", "fleet", "host")
VISITS = ("periodic", "poisson")
FILE_FORMATS = ("csv", "json", "parquet")
FORMATS = ("table", *FILE_FORMATS)
#: What the name of a picture may end in.
PICTURES = ("png", "svg")

_PRIOR = (
    "What to expect of a page before its first visit: nothing (alone), or what the "
    "log's pages (fleet) or those of its host (host) are like"
)

Log = Annotated[
    str, typer.Argument(metavar="LOG", help="A crawl log, CSV or Parquet; - reads a pipe.")
]
Method = Annotated[
    str, typer.Option(metavar="NAME", help=f"How to estimate: {', '.join(METHODS)}.")
]
Prior = Annotated[str, typer.Option(metavar="NAME", help=f"{_PRIOR}.")]
#: Where a fleet is planned, its own pages are what to expect.
FleetPrior = Annotated[
    str | None,
    typer.Option(metavar="NAME", help=f"{_PRIOR}; fleet, where the method has a prior."),
]
Importance = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="How much pages count: CSV or Parquet with the columns page and importance. "
        "Unless given, the log's column importance tells.",
    ),
]
Spacing = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="How visits to a page are spaced: regularly (periodic), or at random (poisson).",
    ),
]
OutputFormat = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help=f"What to print: {', '.join(FORMATS)}."),
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to write: .csv, .json or .parquet."),
]
IgnoreUnknown = Annotated[
    bool, typer.Option("--ignore-unknown", help="Skip columns that are not known.")
]


def check_method(method: str, prior: str) -> None:
    """Refuse a method that is not known, and a prior it does not have."""
    check_choice("--method", method, tuple(METHODS))
    check_choice("--prior", prior, PRIORS)
    if prior != "alone" and method not in WITH_PRIOR:
        raise ArgumentError(
            f"--prior: the method {method} has no prior; only {' and '.join(WITH_PRIOR)} do"
        )


def fleet_prior(asked: str | None, method: str) -> str:
    """Give the prior asked for, or what a fleet is planned with.

    >>> fleet_prior(None, "gamma"), fleet_prior(None, "mle"), fleet_prior("host", "gamma")
    ('fleet', 'alone', 'host')
    """
    if asked is not None:
        return asked
    return "fleet" if method in WITH_PRIOR else "alone"


def check_choice(option: str, value: str, choices: Sequence[str]) -> None:
    """Refuse what is none of the choices."""
    if value not in choices:
        raise ArgumentError(f"{option}: '{value}' is none of {', '.join(choices)}")


def check_one_pipe(log: str, importance: str | None) -> None:
    """Refuse to read two tables from standard input."""
    if log == importance == "-":
        raise ArgumentError("--importance: standard input is the crawl log already; give a file")


def visits_a_day(option: str, text: str) -> float:
    """Read a rate that allows visits, and say which option it was given for.

    >>> visits_a_day("--budget", "2/h")
    48.0
    """
    from recrawl.units import parse_rate, quoted

    try:
        rate = parse_rate(text)
    except ArgumentError as error:
        raise ArgumentError(f"{option}: {error}") from None
    if rate <= 0:
        raise ArgumentError(f"{option}: {quoted(text)} allows no visits")
    return rate


def output_format(asked: str | None, output: str | None) -> "Format | Literal['table']":
    """Give the format asked for, or the one that a file's ending tells.

    >>> output_format(None, "rates.parquet"), output_format("csv", "rates.txt")
    ('parquet', 'csv')
    """
    if asked is not None:
        check_choice("--format", asked, FORMATS)
        if asked == "table" and output is not None:
            raise ArgumentError(f"--format: a file holds {', '.join(FILE_FORMATS)}, not a table")
        return cast("Format | Literal['table']", asked)
    if output is None:
        return "table"
    ending = output.rpartition(".")[2].lower()
    if ending not in FILE_FORMATS:
        raise ArgumentError(
            f"--output: '{output}' does not end in .{', .'.join(FILE_FORMATS)}; "
            "say which format is meant with --format"
        )
    return cast("Format", ending)


def check_targets(plot: str | None, kind: "Format | Literal['table']", target: str) -> None:
    """Refuse places where nothing can be written, before a large file is read."""
    from recrawl.formats.tables import check_target

    if plot is not None:
        if plot.rpartition(".")[2].lower() not in PICTURES:
            raise ArgumentError(f"--plot: '{plot}' does not end in .{' or .'.join(PICTURES)}")
        check_target(plot)
    if kind != "table":
        check_target(target, kind)


def parse_days(option: str, text: str) -> float:
    """Parse a duration above 0 into days; an error names the option.

    >>> parse_days("--every", "12h")
    0.5
    """
    from recrawl.units import DURATION_EXAMPLES, parse_duration, quoted

    with option_errors({}, f"{option}: "):
        days = parse_duration(text)
    if days <= 0:
        raise ArgumentError(
            f"{option}: {quoted(text)} is not above 0; write for example {DURATION_EXAMPLES}"
        )
    return days


@contextmanager
def option_errors(options: dict[str, str], before: str = "") -> Iterator[None]:
    """Let the library's errors name options rather than arguments.

    Args:
        options: Options by the name of the argument.
        before: Prefix of the message, for functions that name no argument.
    """
    try:
        yield
    except ArgumentError as error:
        name, colon, problem = str(error).partition(": ")
        raise ArgumentError(f"{before}{options.get(name, name)}{colon}{problem}") from None
