"""The rows of a CSV or Parquet table as columns of numbers, each cell checked.

Rows stream past in batches; while one is read from disk, the one before it is turned into numbers.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.errors import InputError
from recrawl.formats import cells, csv_rows, parquet_rows
from recrawl.formats.header import choose_columns
from recrawl.formats.source import Source, opened
from recrawl.kernels.jit import Ints
from recrawl.progress import Progress, no_progress

T = TypeVar("T")


@dataclass(frozen=True)
class Layout:
    """What a kind of table looks like.

    Attributes:
        readers: The columns there may be, by name, each with what turns its cells into values.
        required: Groups of columns; of each group one must be there.
        error_type: What to raise when a table cannot be used.
    """

    readers: Mapping[str, Callable[[pa.Array], Any]]
    required: Sequence[Sequence[str]]
    error_type: type[InputError]


@dataclass
class Rows:
    """What was read so far, in the order of the file.

    Attributes:
        source: Where the rows come from.
        first_row: The number of the first row.
        count: How many rows there are so far.
        empty: The places of empty lines, counted from the first row, which are no rows.
        columns: Values by column, a batch each.
    """

    source: Source
    first_row: int
    count: int = 0
    empty: list[Ints] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)

    def place(self, row: int) -> int:
        """Give the number that a row has in the file."""
        empty = np.concatenate([np.zeros(0, np.int64), *self.empty])
        before = np.searchsorted(empty - np.arange(empty.size), row, side="right")
        return self.first_row + row + int(before)

    def error(self, problem: str, row: int | None, column: str | None = None) -> InputError:
        """Say what is wrong with a row, or with a whole column."""
        place = None if row is None else self.place(row)
        return self.source.error(problem, row=place, column=column)


def read_rows(
    path: str | os.PathLike[str],
    layout: Layout,
    *,
    ignore_unknown: bool = False,
    progress: Progress | None = None,
) -> Rows:
    """Read a table, a file or ``"-"`` for standard input; the first bytes tell its format.

    Raises:
        InputError: Of the layout's type; the message says where and why.
    """
    report = progress or no_progress
    with opened(path, layout.error_type) as source:
        read = _read_parquet if source.is_parquet else _read_csv
        return read(source, layout, report, ignore_unknown=ignore_unknown)


def page_names(column: pa.Array) -> pa.Array:
    """Give pages' names: text, or whole numbers."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        raise cells.BadCell("the cell is empty", pc.index(column.is_null(), True).as_py())
    if cells.is_text(column.type):
        return cells.read_text(column)
    if pa.types.is_integer(column.type):
        return column
    raise cells.BadCell(f"the column holds {column.type}, not text or whole numbers")


def _read_csv(source: Source, layout: Layout, progress: Progress, *, ignore_unknown: bool) -> Rows:
    header = csv_rows.read_header(source)
    columns = _chosen(source, header, layout, ignore_unknown=ignore_unknown)
    rows = Rows(source, csv_rows.FIRST_ROW)
    seen = 0
    for batch in _one_ahead(csv_rows.csv_batches(source, header, columns)):
        filled = csv_rows.filled_rows(batch)
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
    file = parquet_rows.open_parquet(source)
    columns = _chosen(source, file.schema_arrow.names, layout, ignore_unknown=ignore_unknown)
    rows = Rows(source, parquet_rows.FIRST_ROW)
    for batch in _one_ahead(parquet_rows.parquet_batches(source, file, columns)):
        _add(rows, layout, batch)
        done = None if source.size is None else source.size * rows.count // file.metadata.num_rows
        progress(done or 0, source.size)
    return rows


def _chosen(
    source: Source, found: Sequence[str], layout: Layout, *, ignore_unknown: bool
) -> list[str]:
    return choose_columns(
        source,
        found,
        known=tuple(layout.readers),
        required=layout.required,
        ignore_unknown=ignore_unknown,
    )


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
    """Turn a batch of rows into values."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            rows.columns.setdefault(name, []).append(layout.readers[name](column))
        except cells.BadCell as bad:
            row = None if bad.index is None else rows.count + bad.index
            raise rows.error(bad.problem, row, name) from None
    rows.count += len(batch)
