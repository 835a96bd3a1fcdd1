"""``recrawl export``: write the log and the copies for other programs."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recrawl.cli.crawl_options import SettingsFile, StoreFile, present, settings_of
from recrawl.cli.help import Command, Group
from recrawl.cli.output import complain, say
from recrawl.errors import ArgumentError, StoreError

if TYPE_CHECKING:
    from recrawl.progress import Progress

export = typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None)

LOG_ENDINGS = (".parquet", ".csv")
COPIES_ENDINGS = (".warc.gz",)
#: Damaged copies that are named; more are only counted.
MAX_LISTED = 10


@export.callback()
def group() -> None:
    """Write the log or the copies to a file, also during a run."""


@export.command(cls=Command)
def log(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Output file: .parquet or .csv.")],
    *,
    native: Annotated[
        bool,
        typer.Option(
            "--native",
            help="Write a crawl log for recrawl estimate, plan and budget, instead of Common "
            "Crawl's columns.",
        ),
    ] = False,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Write the log of all visits, with the column names of Common Crawl's index.

    Refused pages follow with the reason; they have no visits.

    The file is written completely or not at all. Examples:

        recrawl export log visits.parquet
        recrawl export log crawl.csv --native
        recrawl estimate crawl.csv
    """
    _check_ending(file, LOG_ENDINGS)
    path = settings_of(store, settings).store
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.terminal import count
    from recrawl.formats.log_export import write_log
    from recrawl.formats.tables import check_target
    from recrawl.store.sqlite import SqliteStore

    check_target(file)
    with SqliteStore.open(path) as opened, progress_bar("Writing") as progress:
        totals = opened.totals()
        batches = _counted(opened.visits(), totals.visits, progress)
        rows = write_log(batches, file, native=native, refused=opened.refused())
    shown = "" if native or not totals.refused else f", {count(totals.refused, 'refused page')}"
    _print_summary(file, count(rows, "visit") + shown)


@export.command(cls=Command)
def copies(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Output file: .warc.gz.")],
    *,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Write the current copies as a WARC file, the format of web archives.

    Each copy has the status and headers of its response, byte for byte, without those about
    compression. A copy that is damaged is left out and reported. Example:

        recrawl export copies copies.warc.gz
    """
    _check_ending(file, COPIES_ENDINGS)
    path = settings_of(store, settings).store
    from importlib.metadata import version

    from recrawl.cli.render.progress import progress_bar
    from recrawl.formats.tables import check_target
    from recrawl.formats.warc import write_warc
    from recrawl.store.sqlite import SqliteStore

    check_target(file)
    with SqliteStore.open(path) as opened, progress_bar("Writing") as progress:
        total = opened.totals().with_copy
        damaged: list[StoreError] = []

        def walk() -> Iterator[Any]:
            for done, copy in enumerate(opened.copies(damaged.append), 1):
                yield copy.page.url, copy.response
                progress(done, total)

        written = write_warc(walk(), file, at=present(), software=f"recrawl/{version('recrawl')}")
    for error in damaged[:MAX_LISTED]:
        complain(str(error))
    _print_summary(file, _written(*written, damaged=len(damaged)))


def _check_ending(file: str, endings: tuple[str, ...]) -> None:
    if not file.lower().endswith(endings):
        raise ArgumentError(f"FILE: '{file}' does not end in {' or '.join(endings)}")


def _written(copies: int, inexact: int, *, damaged: int) -> str:
    """Return what was written in words.

    >>> _written(1, 0, damaged=0), _written(2_000, 0, damaged=3)
    ('1 copy', '2,000 copies; 3 damaged, left out')
    >>> _written(2, 1, damaged=0)
    '2 copies, 1 with headers that could not be written as received'
    """
    text = f"{copies:,} {'copy' if copies == 1 else 'copies'}"
    if inexact:
        text += f", {inexact:,} with headers that could not be written as received"
    return f"{text}; {damaged:,} damaged, left out" if damaged else text


def _counted(batches: Iterator[Any], total: int, progress: "Progress") -> Iterator[Any]:
    done = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        progress(done, total)


def _print_summary(file: str, what: str) -> None:
    from recrawl.cli.render.terminal import printable

    say(f"{printable(file)}: {what}")
