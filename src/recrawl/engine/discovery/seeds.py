"""Seeds: pages that a user adds, on the command line or in a file."""

import csv
import gc
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import TextIO

from recrawl.config.settings import Settings
from recrawl.errors import AddressError, ArgumentError, InputError
from recrawl.formats.source import Source, opened
from recrawl.progress import Progress, no_progress
from recrawl.store.rows import NewPage
from recrawl.units import quoted
from recrawl.urls import are_plain, canonical, host_in

URL, IMPORTANCE = "url", "importance"
COMMENT = "#"
#: Rows processed at a time; progress is reported after each batch.
ROWS_PER_BATCH = 1_000
#: The longest row that is accepted; URLs are far shorter.
MAX_CHARACTERS = 1_000_000
#: How many of the rows that are skipped are shown.
MAX_SHOWN = 10
#: What is typed for a page without a scheme: a host, perhaps with a port, and perhaps a path.
_BARE = re.compile(r"(localhost|[\w-]+(?:\.[\w-]+)+)\.?(?::\d{1,5})?(?:[/?#].*)?", re.DOTALL)
_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+")
#: Endings of file names, which are not taken for hosts.
_FILE_ENDINGS = (
    *(".csv", ".db", ".gz", ".htm", ".html", ".json", ".jsonl", ".md", ".parquet", ".toml"),
    *(".tsv", ".txt", ".xml", ".zip"),
)


def typed_url(text: str) -> str:
    """Return the URL that someone means who types a host, perhaps with a port or a path.

    It is HTTPS, or HTTP on this machine, where servers seldom have a certificate. What already has
    a scheme, what looks like a file name and what cannot be a host are returned as they are.

    >>> typed_url("example.org"), typed_url("localhost:8000/a"), typed_url("urls.txt")
    ('https://example.org', 'http://localhost:8000/a', 'urls.txt')
    """
    bare = _BARE.fullmatch(text.strip())
    if bare is None or (text.strip().lower().endswith(_FILE_ENDINGS) and "/" not in text):
        return text
    scheme = "http" if _LOOPBACK.fullmatch(bare[1]) else "https"
    return f"{scheme}://{text.strip()}"


def named_page(url: str, importance: float | None = None) -> NewPage:
    """Return the page at a URL.

    Raises:
        AddressError: The URL cannot be crawled; the message says why.

    >>> named_page("HTTP://Example.org").url
    'http://example.org/'
    """
    address = canonical(url)
    return NewPage(address, host_in(address), importance)


def with_importance(pages: Iterable[NewPage], importance: float | None) -> Iterator[NewPage]:
    """Set the importance of pages that have none of their own.

    >>> [page.importance for page in with_importance([named_page("http://a.example/")], 2.0)]
    [2.0]
    """
    for page in pages:
        has_own = page.importance is not None or importance is None
        yield page if has_own else page._replace(importance=importance)


def with_initial_importance(pages: Iterable[NewPage], settings: Settings) -> Iterator[NewPage]:
    """Set the initial importance that the settings have for each page's site."""
    if not settings.sites.sets("importance"):
        yield from pages
        return
    for page in pages:
        own = settings.site_of(page.url).importance
        yield page if own is None else page._replace(initial_importance=own)


def checked_importance(importance: float) -> float:
    """Return an importance, or raise if it cannot be used.

    >>> checked_importance(0.5)
    0.5
    """
    if not 0 <= importance < math.inf:
        raise ArgumentError(f"{importance:g} is not a number, 0 or above")
    return importance


@dataclass
class Skipped:
    """Rows that were skipped because they cannot be used.

    Attributes:
        rows: How many there are.
        first: What is wrong with some of the first of them.
    """

    rows: int = 0
    first: list[InputError] = field(default_factory=list)

    def add(self, error: InputError) -> None:
        """Skip a row."""
        self.rows += 1
        if len(self.first) < MAX_SHOWN:
            self.first.append(error)


#: What becomes of a row that cannot be used: an error, or it is skipped.
_OnInvalid = Callable[[InputError], None]


def _refuse(error: InputError) -> None:
    raise error


def read_seeds(
    path: str | os.PathLike[str],
    progress: Progress | None = None,
    skipped: Skipped | None = None,
) -> list[NewPage]:
    """Read the pages that a file names: all of them, or none.

    A file whose name ends in ``.csv``, or whose first row has the word ``url`` in a cell, is a
    table with the column ``url`` and optionally ``importance``. In any other file, each line is a
    URL; empty lines and what follows a ``#`` at the beginning of a line or after a space are
    skipped. Both may be compressed by gzip.

    Args:
        path: A file, or ``"-"`` for standard input.
        progress: Called periodically.
        skipped: Takes the rows that cannot be used, which are an error by default.

    Raises:
        InputError: A row cannot be used, or the file cannot; the message says which, and why.
    """
    on_invalid = _refuse if skipped is None else skipped.add
    with opened(path, InputError) as source:
        text = io.TextIOWrapper(source.stream, "utf-8-sig", errors="surrogateescape", newline="")
        try:
            with no_collecting():
                batches = _batches(source, text, progress or no_progress, on_invalid)
                return list(chain.from_iterable(batches))
        finally:
            # Standard input is not ours to close.
            text.detach()


@contextmanager
def no_collecting() -> Iterator[None]:
    """Disable the garbage collector while millions of records are created."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


#: Pages read together: passing millions through generators one by one would be slow.
_Batch = Iterable[NewPage]


def _batches(
    source: Source, text: TextIO, progress: Progress, on_invalid: _OnInvalid
) -> Iterator[_Batch]:
    first = text.readline(MAX_CHARACTERS)
    lines = chain([first], _lines(text))
    header = [cell.strip().lower() for cell in first.split(",")]
    name = source.name.lower().removesuffix(".gz")
    is_table = name.endswith(".csv") or URL in [cell.strip('"') for cell in header]
    read = _table_batches if is_table else _line_batches
    return read(source, lines, progress, on_invalid)


def _line_batches(
    source: Source, lines: Iterator[str], progress: Progress, on_invalid: _OnInvalid
) -> Iterator[_Batch]:
    first = 1
    while some := list(islice(lines, ROWS_PER_BATCH)):
        progress(source.bytes_read, source.size)
        urls = "".join(some).splitlines()
        if len(urls) == len(some) and are_plain(urls):
            yield map(NewPage, urls, map(host_in, urls))
        else:
            rows = list(_line_rows(source, some, first, on_invalid))
            yield _named(source, rows, None, on_invalid)
        first += len(some)


def _table_batches(
    source: Source, lines: Iterator[str], progress: Progress, on_invalid: _OnInvalid
) -> Iterator[_Batch]:
    rows = _table_rows(source, lines, on_invalid)
    while some := list(islice(rows, ROWS_PER_BATCH)):
        progress(source.bytes_read, source.size)
        yield _named(source, some, URL, on_invalid)


def _named(
    source: Source,
    rows: Sequence[tuple[int, str, float | None]],
    column: str | None,
    on_invalid: _OnInvalid,
) -> _Batch:
    """Yield the pages of rows, each of a row number, a URL and an importance."""
    are_canonical = are_plain([url for _, url, _ in rows])
    for row, url, importance in rows:
        try:
            address = url if are_canonical else canonical(url)
        except AddressError as error:
            on_invalid(source.error(str(error), row=row, column=column))
            continue
        yield NewPage(address, host_in(address), importance)


def _lines(text: TextIO) -> Iterator[str]:
    """Yield lines of limited length, so that an endless one does not fill the memory."""
    return iter(partial(text.readline, MAX_CHARACTERS), "")


def _line_rows(
    source: Source, lines: Iterable[str], first: int, on_invalid: _OnInvalid
) -> Iterator[tuple[int, str, None]]:
    for row, line in enumerate(lines, first):
        url = line.strip()
        if COMMENT in url:
            url = "" if url.startswith(COMMENT) else url.partition(f" {COMMENT}")[0].rstrip()
        if url:
            if len(line) >= MAX_CHARACTERS:
                on_invalid(source.error("the row is longer than 1 MB", row=row))
                continue
            yield row, url, None


def _table_rows(
    source: Source, lines: Iterable[str], on_invalid: _OnInvalid
) -> Iterator[tuple[int, str, float | None]]:
    reader = csv.reader(lines)
    try:
        header = [cell.strip().lower() for cell in next(reader)]
        columns = _columns(source, header)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            try:
                yield _table_row(source, reader.line_num, cells, columns)
            except InputError as error:
                on_invalid(error)
    except csv.Error as error:
        raise source.error(f"this is not CSV: {error}", row=reader.line_num) from None


def _table_row(
    source: Source, row: int, cells: list[str], columns: Mapping[str, int]
) -> tuple[int, str, float | None]:
    if len(cells) != len(columns):
        raise source.error(f"has {len(cells)} cells, the header {len(columns)}", row=row)
    url = cells[columns[URL]].strip()
    if not url:
        raise source.error("is empty", row=row, column=URL)
    return row, url, _importance(source, row, cells, columns.get(IMPORTANCE))


def _columns(source: Source, header: list[str]) -> dict[str, int]:
    """Return the positions of columns; an unknown one is an error, as it may be misspelt."""
    for name in header:
        if name not in (URL, IMPORTANCE):
            raise source.error(
                f"the column {quoted(name)} is unknown; the columns are {URL} and {IMPORTANCE}",
                row=1,
            )
        if header.count(name) > 1:
            raise source.error("appears twice", row=1, column=name)
    if URL not in header:
        raise source.error(f"there is no column '{URL}'", row=1)
    return {name: index for index, name in enumerate(header)}


def _importance(source: Source, row: int, cells: list[str], index: int | None) -> float | None:
    if index is None or not cells[index].strip():
        return None
    try:
        return checked_importance(float(cells[index]))
    except ValueError:
        problem = f"{quoted(cells[index])} is not a number, 0 or above"
        raise source.error(problem, row=row, column=IMPORTANCE) from None
