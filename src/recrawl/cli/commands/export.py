"""``recrawl export``: write the log or the copies for other programs."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from recrawl.cli.crawl_options import (
    SettingsFile,
    StoreFile,
    present,
    settings_of,
    time_since,
)
from recrawl.cli.help import Command, Group
from recrawl.cli.options import check_choice, check_ending
from recrawl.cli.output import complain, say
from recrawl.errors import ArgumentError, StoreError

if TYPE_CHECKING:
    from recrawl.config.settings import Settings
    from recrawl.formats.copy_tables import CopyText
    from recrawl.formats.log_export import LogFormat
    from recrawl.inspect.text import TextReader
    from recrawl.progress import Progress
    from recrawl.store.rows import Copy
    from recrawl.store.sqlite import SqliteStore

Kind = TypeVar("Kind", bound=str)

export = typer.Typer(cls=Group, no_args_is_help=True, add_completion=False, rich_markup_mode=None)

#: File name endings by format, for logs and for copies.
LOG_ENDINGS: "dict[LogFormat, str]" = {"parquet": ".parquet", "csv": ".csv", "jsonl": ".jsonl"}
COPY_ENDINGS = {"warc": ".warc.gz", "jsonl": ".jsonl", "parquet": ".parquet"}
#: Copies whose texts are looked for at the same time.
READ_AHEAD = 16
#: Maximum number of damaged copies that are listed.
MAX_LISTED = 10


@export.callback()
def group() -> None:
    """Write the log or the copies to a file; works during a run, too."""


@export.command(cls=Command)
def log(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Output file: .parquet, .csv or .jsonl; - for standard output."
        ),
    ],
    *,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"Output format: {', '.join(LOG_ENDINGS)}. Default: by the name of the file.",
        ),
    ] = None,
    native: Annotated[
        bool,
        typer.Option(
            "--native",
            help="Write a crawl log for recrawl estimate, plan and budget instead of Common "
            "Crawl's columns.",
        ),
    ] = False,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Write the log of all visits, with the column names of Common Crawl's index.

    Refused pages come last, with the reason; they have no visits.

    The file is written completely or not at all.

    Examples:
        recrawl export log visits.parquet
        recrawl export log crawl.csv --native
        recrawl estimate crawl.csv
        recrawl export log - --format jsonl
    """
    kind = _format_of(file, format_, LOG_ENDINGS)
    path = settings_of(store, settings).store
    from recrawl.cli.render.numbers import count
    from recrawl.cli.render.progress import progress_bar
    from recrawl.formats.log_export import write_log
    from recrawl.formats.tables import check_target
    from recrawl.store.sqlite import SqliteStore

    check_target(file, "parquet" if kind == "parquet" else None)
    with SqliteStore.open(path) as opened, progress_bar("Writing") as progress:
        totals = opened.totals()
        batches = _counted(opened.visits(), totals.visits, progress)
        rows = write_log(batches, file, kind, native=native, refused=opened.refused())
    if file == "-":
        return
    shown = "" if native or not totals.refused else f", {count(totals.refused, 'refused page')}"
    _print_summary(file, count(rows, "visit") + shown)


@export.command(cls=Command)
def copies(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Output file: .warc.gz, .jsonl or .parquet; - for standard output.",
        ),
    ],
    *,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Only pages that changed since then: 2026-01-31, or 2h ago: 2h."
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"Output format: {', '.join(COPY_ENDINGS)}. Default: by the name of the file.",
        ),
    ] = None,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Write the current copies, as they are or as text.

    WARC is the format of web archives: each copy comes with the status and headers of its response,
    byte for byte, except for headers about compression. JSON lines and Parquet have the page's own
    text, its title, and the language it declares. Damaged copies are left out and reported.

    Examples:
        recrawl export copies copies.warc.gz
        recrawl export copies texts.parquet --since 2026-01-31
        recrawl export copies - --format jsonl --since 1d
    """
    kind = _format_of(file, format_, COPY_ENDINGS)
    known = settings_of(store, settings)
    earliest = None if since is None else time_since("--since", since)
    from recrawl.cli.render.progress import progress_bar
    from recrawl.formats.tables import check_target
    from recrawl.store.sqlite import SqliteStore

    check_target(file)
    damaged: list[StoreError] = []
    with SqliteStore.open(known.store) as opened, progress_bar("Writing") as progress:
        total = opened.totals().with_copy

        def walk() -> "Iterator[tuple[Copy, int | None]]":
            for done, copy in enumerate(opened.copies(damaged.append), 1):
                changed = opened.changed_at(copy.page)
                if earliest is None or (changed is not None and changed >= earliest):
                    yield copy, changed
                progress(done, total)

        if kind == "warc":
            written = _write_warc(walk(), file)
        else:
            texts = _texts(walk(), _reader(opened, known), damaged.append)
            written = _write_texts(texts, file, kind), 0
    for error in damaged[:MAX_LISTED]:
        complain(str(error))
    if file != "-":
        _print_summary(file, _written(*written, damaged=len(damaged)))


def _write_warc(found: "Iterator[tuple[Copy, int | None]]", file: str) -> tuple[int, int]:
    from importlib.metadata import version

    from recrawl.formats.warc import write_warc

    pairs = ((copy.page.url, copy.response) for copy, _ in found)
    software = f"recrawl/{version('recrawl')}"
    copies, inexact = write_warc(pairs, file, at=present(), software=software)
    return copies, inexact


def _write_texts(texts: "Iterator[CopyText]", file: str, kind: str) -> int:
    from recrawl.formats.copy_tables import write_texts

    return write_texts(texts, file, "parquet" if kind == "parquet" else "jsonl")


def _texts(
    found: "Iterator[tuple[Copy, int | None]]",
    reader: "TextReader",
    skipped: "Callable[[StoreError], None]",
) -> "Iterator[CopyText]":
    """Yield the texts of copies; some are read ahead, as several are parsed at the same time."""
    from collections import deque

    from recrawl.content.html.copy_text import titled_text_of
    from recrawl.formats.copy_tables import CopyText
    from recrawl.inspect.text import CopyParser, parse_errors
    from recrawl.parsing.pool import ParsePool

    ahead = deque[tuple[Any, ...]]()
    with CopyParser(ParsePool(max_slow=READ_AHEAD)) as parser:
        for copy, changed in chain(found, [(None, None)] * READ_AHEAD):
            if copy is not None:
                page, at = copy.page, copy.response.at
                future = parser.submit(titled_text_of, reader.source(copy))
                ahead.append((future, page.url, at, changed, (page.body or b"").hex()))
            if not ahead or (copy is not None and len(ahead) < READ_AHEAD):
                continue
            future, url, *rest = ahead.popleft()
            try:
                with parse_errors(url):
                    title, language, text = future.result()
            except StoreError as error:
                skipped(error)
            else:
                yield CopyText(url, title, language, text, *rest)


def _format_of(file: str, asked: str | None, endings: "Mapping[Kind, str]") -> "Kind":
    """Return the format that was chosen, or else the one that a file's name means.

    >>> _format_of("a.jsonl", None, COPY_ENDINGS), _format_of("-", "warc", COPY_ENDINGS)
    ('jsonl', 'warc')
    """
    if asked is not None:
        check_choice("--format", asked, tuple(endings))
        check_ending(asked, file, endings.items())
    for kind, ending in endings.items():
        if kind == asked or (asked is None and file.lower().endswith(ending)):
            return kind
    if file == "-":
        raise ArgumentError(f"--format: choose one of {', '.join(endings)}")
    *others, last = endings.values()
    raise ArgumentError(f"FILE: '{file}' does not end in {', '.join(others)} or {last}")


def _reader(store: "SqliteStore", settings: "Settings") -> "TextReader":
    from recrawl.inspect.text import TextReader

    return TextReader(store, settings)


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
    from recrawl.escaping import printable

    say(f"{printable(file)}: {what}")
