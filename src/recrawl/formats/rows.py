"""The rows of a CSV or Parquet table as columns of values, each cell checked.

Rows stream past in batches; while one is read from disk, the one before it is converted.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.errors import InputError
from recrawl.formats import batches, cells
from recrawl.formats.source import Source, opened
from recrawl.kernels.jit import Ints
from recrawl.progress import Progress, no_progress
from recrawl.units import quoted

#: How many columns a message lists.
MAX_LISTED = 12

T = TypeVar("T")


@dataclass(frozen=True)
class Layout:
    """The columns of a kind of table.

    Attributes:
        readers: The columns that are allowed, by name, each with what converts its cells.
        required: Groups of columns; at least one of each group must be present.
        error_type: What to raise when a table is invalid.
    """

    readers: Mapping[str, Callable[[pa.Array], Any]]
    required: Sequence[Sequence[str]]
    error_type: type[InputError]


@dataclass
class Rows:
    """The rows read so far, in the order of the file.

    Attributes:
        source: Where the rows come from.
        first_row: The number of the first row in the file.
        count: The number of rows so far.
        empty: The positions of empty lines, which are not rows, counted from the first row.
        columns: Values by column, one item per batch.
    """

    source: Source
    first_row: int
    count: int = 0
    empty: list[Ints] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)

    def number(self, row: int) -> int:
        """Return the number that a row has in the file."""
        empty = np.concatenate([np.zeros(0, np.int64), *self.empty])
        before = np.searchsorted(empty - np.arange(empty.size), row, side="right")
        return self.first_row + row + int(before)

    def error(self, problem: str, row: int | None, column: str | None = None) -> InputError:
        """Return an error about a row, or about a whole column."""
        number = None if row is None else self.number(row)
        return self.source.error(problem, row=number, column=column)


def read_rows(
    path: str | os.PathLike[str],
    layout: Layout,
    *,
    ignore_unknown: bool = False,
    progress: Progress | None = None,
) -> Rows:
    """Read a table from a file, or from standard input if the path is ``"-"``.

    The first bytes tell its format.

    Raises:
        InputError: Of the layout's type; the message says where and why.
    """
    report = progress or no_progress
    with opened(path, layout.error_type) as source:
        read = _read_parquet if source.is_parquet else _read_csv
        return read(source, layout, report, ignore_unknown=ignore_unknown)


def page_names(column: pa.Array) -> pa.Array:
    """Return the names of pages: text, or whole numbers."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        raise cells.BadCell("the cell is empty", pc.index(column.is_null(), True).as_py())
    if cells.is_text(column.type):
        return cells.read_text(column)
    if pa.types.is_integer(column.type):
        return column
    raise cells.BadCell(
        f"the column holds {cells.type_name(column.type)}, not text or whole numbers"
    )


def _read_csv(source: Source, layout: Layout, progress: Progress, *, ignore_unknown: bool) -> Rows:
    header = batches.read_header(source)
    columns = _chosen_columns(source, header, layout, ignore_unknown=ignore_unknown)
    rows = Rows(source, batches.FIRST_CSV_ROW)
    seen = 0
    for batch in _one_ahead(batches.csv_batches(source, header, columns)):
        filled = batches.nonempty_rows(batch)
        empty = np.flatnonzero(~filled.to_numpy(zero_copy_only=False))
        if empty.size:
            rows.empty.append(empty + seen)
        seen += len(batch)
        _add(rows, layout, batch.filter(filled) if empty.size else batch)
        progress(source.bytes_read, source.size)
    return rows


def _read_parquet(
    source: Source, layout: Layout, progress: Progress, *, ignore_unknown: bool
) -> Rows:
    file = batches.open_parquet(source)
    found = batches.parquet_columns(source, file)
    columns = _chosen_columns(source, found, layout, ignore_unknown=ignore_unknown)
    rows = Rows(source, batches.FIRST_PARQUET_ROW)
    for batch in _one_ahead(batches.parquet_batches(source, file, columns)):
        _add(rows, layout, batch)
        total = max(file.metadata.num_rows, rows.count, 1)
        done = None if source.size is None else source.size * rows.count // total
        progress(done or 0, source.size)
    return rows


def _one_ahead(items: Iterator[T]) -> Iterator[T]:
    """Fetch the next item in another thread while the caller works on this one."""
    pool = ThreadPoolExecutor(1)
    try:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item
    finally:
        # Not waiting for the thread: it may hang on a pipe that nobody writes to.
        pool.shutdown(wait=False)


def _add(rows: Rows, layout: Layout, batch: pa.RecordBatch) -> None:
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            rows.columns.setdefault(name, []).append(_converted(layout.readers[name], column))
        except cells.BadCell as bad:
            row = None if bad.index is None else rows.count + bad.index
            raise rows.error(bad.problem, row, name) from None
    rows.count += len(batch)


def _converted(read: Callable[[pa.Array], Any], column: pa.Array) -> Any:  # noqa: ANN401
    """Return a column as values; what its reader did not foresee is a bad cell, too."""
    try:
        return read(column)
    except cells.UNREADABLE:
        problem = f"the cell cannot be read as {cells.type_name(column.type)}"
        raise cells.BadCell(problem, cells.first_bad(column, read)) from None


def _chosen_columns(
    source: Source, found: Sequence[str], layout: Layout, *, ignore_unknown: bool
) -> list[str]:
    """Return the known columns of a table; raise if one is missing, unknown or repeated."""
    known = tuple(layout.readers)
    chosen = [name for name in found if name in known]
    unknown = [name for name in found if name not in known]
    for name in chosen:
        if chosen.count(name) > 1:
            raise source.error("the column appears more than once", column=name)
    for group in layout.required:
        if not set(group) & set(chosen):
            raise source.error(_missing(group, found, unknown))
    if unknown and not ignore_unknown:
        raise source.error(_unknown(unknown[0], known))
    return chosen


def _missing(group: Sequence[str], found: Sequence[str], unknown: Sequence[str]) -> str:
    wanted = " or ".join(f"'{name}'" for name in group)
    if len(found) == 1 and any(sign in found[0] for sign in ";\t|"):
        return f"there is no column {wanted}, because the columns are not separated by commas"
    for name in unknown:
        if near := get_close_matches(name.lower(), group, n=1):
            return f"there is no column {wanted}; did you mean '{near[0]}' by {quoted(name)}?"
    listed = ", ".join(quoted(name) for name in found[:MAX_LISTED])
    more = f" and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
    return f"there is no column {wanted}; the columns are {listed}{more}"


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name.lower(), known, n=1)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    return (
        f"the column {quoted(name)} is unknown{hint}; known columns are {', '.join(known)}, "
        "and --ignore-unknown skips all others"
    )
