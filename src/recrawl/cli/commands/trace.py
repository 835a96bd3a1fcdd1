"""``recrawl trace``: what really happened to pages, as a trace to replay."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from recrawl.cli.help import Command, Group
from recrawl.cli.options import IgnoreUnknown, OutputFormat, output_format
from recrawl.cli.output import say

if TYPE_CHECKING:
    from recrawl.formats.tables import Format
    from recrawl.formats.traces import Trace

#: Suggestions for the time between visits to a page, and how often each page is then visited.
EVERY, MIN_VISITS = ("30d", "7d", "1d", "6h", "1h", "10m", "1m"), 6

trace = typer.Typer(cls=Group, no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@trace.callback()
def group() -> None:
    """Make a trace: what really happened to pages, so that policies can be compared on it."""


@trace.command(cls=Command)
def git(
    repository: Annotated[
        str,
        typer.Argument(metavar="REPO", help="The folder of a git repository, which may be bare."),
    ],
    *,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Output folder; created if it does not exist."
        ),
    ],
    path: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB",
            help="Files that are pages, such as 'docs/**/*.md'; may be repeated. Default: all.",
        ),
    ] = None,
    importance: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The importance of pages: CSV or Parquet with the columns page and importance. "
            "Default: 1.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing trace.")] = False,
    format_: OutputFormat = None,
    ignore_unknown: IgnoreUnknown = False,
) -> None:
    """Make a trace of the files in a git repository from its history.

    Every file is a page, and every commit on the current branch, including merges, may change it.
    Quote patterns, so that the shell does not expand them.

    Examples:
        recrawl trace git my-site -o trace
        recrawl trace git my-site.git --path 'docs/**/*.md' --path blog -o trace
        recrawl trace git . --importance views.csv -o trace --force
    """
    kind = output_format(format_, None)
    from recrawl.cli.render.progress import progress_bar
    from recrawl.formats.git_history import trace_from_git
    from recrawl.formats.tables import check_target
    from recrawl.formats.traces import check_folder, write_trace

    if kind != "table":
        check_target("-", kind)
    check_folder(output, overwrite=force)
    with progress_bar("Reading") as advance:
        made = trace_from_git(repository, path=path or "**", progress=advance)
        if importance is not None:
            made = _weighted(made, importance, ignore_unknown=ignore_unknown)
    with progress_bar("Writing"):
        write_trace(output, made, overwrite=force)
    _print_summary(made, kind, output)


def _weighted(made: "Trace", file: str, *, ignore_unknown: bool) -> "Trace":
    """Return a trace with the importance of its pages from a file; 1 for pages not in it."""
    from dataclasses import replace

    import numpy as np
    import pyarrow as pa

    from recrawl.errors import InputError
    from recrawl.formats.importance import read_importance
    from recrawl.formats.source import source_name

    names = pa.array(made.name, pa.large_string())
    found = read_importance(file, names, ignore_unknown=ignore_unknown, among="the history")
    weights = np.where(np.isnan(found), 1.0, found)
    if not weights.any():
        raise InputError(
            source_name(file), "no page has an importance above 0", column="importance"
        )
    return replace(made, importance=weights)


def every_for(days: float) -> str:
    """Return a time between visits, as one would type it, that gives each page a few visits.

    >>> every_for(365.0), every_for(2.0), every_for(0.001)
    ('30d', '6h', '1m')
    """
    from recrawl.units import parse_duration

    return next((text for text in EVERY if MIN_VISITS * parse_duration(text) <= days), EVERY[-1])


def _print_summary(made: "Trace", kind: "Format | Literal['table']", folder: str) -> None:
    """Print what is in the trace and what to do with it; data goes to standard output."""
    import shlex

    import numpy as np
    import pyarrow as pa

    from recrawl.cli.render.numbers import count
    from recrawl.escaping import printable
    from recrawl.formats.tables import write_table
    from recrawl.formats.traces import ALIVE

    gone = made.died[made.died != ALIVE]
    pages, alive, changes = len(made.name), len(made.name) - gone.size, made.change_time.size
    times = np.concatenate([made.born, made.change_time, gone])
    first, last = pa.array([int(times.min()), int(times.max())], pa.timestamp("s", "UTC"))
    if kind != "table":
        facts = {"trace": folder, "pages": pages, "alive": alive, "changes": changes}
        facts |= {"first": first, "last": last}
        write_table({name: pa.array([value]) for name, value in facts.items()}, kind, "-")
    shown = printable(shlex.quote(folder))
    say(
        f"{count(pages, 'page')}, {alive:,} alive, {count(changes, 'change')} "
        f"from {first.as_py():%Y-%m-%d} to {last.as_py():%Y-%m-%d}\n"
        f"The trace is in {shown}. Next: recrawl replay {shown} --every "
        f"{every_for((times.max() - times.min()) / 86_400)}",
        err=kind != "table",
    )
