"""Options that several commands have, and checks to make before a large file is read."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from recrawl.errors import ArgumentError
from recrawl.planning.methods import METHODS
from recrawl.planning.methods import check_choice as check_choice  # noqa: PLC0414 - for commands

if TYPE_CHECKING:
    from recrawl.formats.tables import Format

FILE_FORMATS = ("csv", "json", "jsonl", "parquet")
FORMATS = ("table", *FILE_FORMATS)
#: The formats of pictures, by extension.
PICTURES = ("png", "svg")

_PRIOR = (
    "Where the prior for a page comes from: the page alone (alone), all pages of the log (fleet), "
    "or the pages of its host (host)"
)

Log = Annotated[
    list[str],
    typer.Argument(
        metavar="LOG",
        help="A crawl log: files, folders or patterns; CSV, JSON lines, Parquet or Arrow. - reads "
        "standard input.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Names of the log's columns: page=url,time=fetch_time. Usual names are recognised.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory for visits, such as 2GB; a larger log is split into temporary files. "
        "Default: half of the free memory.",
    ),
]
Method = Annotated[
    str, typer.Option(metavar="NAME", help=f"How to estimate: {', '.join(METHODS)}.")
]
Prior = Annotated[str, typer.Option(metavar="NAME", help=f"{_PRIOR}.")]
PlanPrior = Annotated[
    str | None,
    typer.Option(metavar="NAME", help=f"{_PRIOR}. Default: fleet, if the method has a prior."),
]
Importance = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The importance of pages: CSV or Parquet with the columns page and importance. "
        "Default: the log's own column importance.",
    ),
]
Visits = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="How visits to a page are spaced: evenly (periodic) or randomly (poisson).",
    ),
]
OutputFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"Output format: {', '.join(FORMATS)}; json is one array, jsonl an object per line. "
        "Default: by the name of the output file, or table.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Output file: .csv, .json, .jsonl or .parquet."
    ),
]
IgnoreUnknown = Annotated[bool, typer.Option("--ignore-unknown", help="Skip unknown columns.")]


@contextmanager
def errors_name_options() -> Iterator[None]:
    """Make errors about an argument of the library name the option: ``--host-budget``."""
    try:
        yield
    except ArgumentError as error:
        name, colon, problem = str(error).partition(": ")
        raise ArgumentError(f"--{name.replace('_', '-')}{colon}{problem}") from None


def named_columns(text: str | None) -> dict[str, str]:
    """Return the names of a log's columns, by our names; errors name the option."""
    from recrawl.formats.naming import parse_columns

    return {} if text is None else parse_columns(text)


def check_one_pipe(log: list[str], importance: str | None) -> None:
    """Raise an error if both tables are to be read from standard input."""
    if "-" in log and importance == "-":
        raise ArgumentError("--importance: standard input is already the crawl log; give a file")


def visits_a_day(option: str, text: str) -> float:
    """Return the visits per day that an option means; errors name the option.

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


def share_of(option: str, text: str) -> float:
    """Return the share that an option means; errors name the option.

    >>> share_of("--freshness", "95%")
    0.95
    """
    from recrawl.units import parse_share

    with option_errors({}, f"{option}: "):
        return parse_share(text)


def output_format(asked: str | None, output: str | None) -> "Format | Literal['table']":
    """Return the chosen format, or else the one that a file's extension implies.

    >>> output_format(None, "rates.parquet"), output_format("csv", "rates.txt")
    ('parquet', 'csv')
    """
    if asked is not None:
        check_choice("--format", asked, FORMATS)
        if asked == "table" and output is not None:
            raise ArgumentError(f"--format: a file holds {', '.join(FILE_FORMATS)}, not a table")
        check_ending(asked, output or "-", [(name, f".{name}") for name in FILE_FORMATS])
        return cast("Format | Literal['table']", asked)
    if output is None:
        return "table"
    ending = output.rpartition(".")[2].lower()
    if ending not in FILE_FORMATS:
        raise ArgumentError(
            f"--output: '{output}' does not end in .{', .'.join(FILE_FORMATS)}; "
            "choose a format with --format"
        )
    return cast("Format", ending)


def check_ending(asked: str, file: str, endings: Iterable[tuple[str, str]]) -> None:
    """Refuse to write a format to a file whose name implies another one.

    Args:
        asked: The format.
        file: The file.
        endings: Formats and the endings of their file names.
    """
    for name, ending in endings:
        if name != asked and file.lower().endswith(ending):
            raise ArgumentError(
                f"--format: '{file}' would contain {asked} but has the ending of {name}; "
                "change one of the two"
            )


def check_targets(plot: str | None, kind: "Format | Literal['table']", target: str) -> None:
    """Check that files can be written, before a large file is read."""
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
