"""Read tables into columns of checked values.

Rows are read in batches; while one is read from disk, the previous one is converted.
"""

import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.errors import InputError
from recrawl.formats import batches, cells
from recrawl.formats.foreign import refuse_foreign
from recrawl.formats.inputs import Input
from recrawl.formats.naming import Naming, choose_columns
from recrawl.formats.source import Source, opened
from recrawl.kernels.jit import Ints

T = TypeVar("T")


@dataclass(frozen=True)
class Layout:
    """The columns of a kind of table.

    Attributes:
        readers: The columns that are allowed, by name, each with what converts its cells.
        required: Groups of columns; at least one of each group must be present.
        error_type: What to raise when a table is invalid.
        aliases: What other programs call the columns, by our names.
        instead_of: Columns that are not read if a better one is present, by name.
        dropped: Returns which rows of a batch are not rows of such a table, or None if all are.
    """

    readers: Mapping[str, Callable[[pa.Array], Any]]
    required: Sequence[Sequence[str]]
    error_type: type[InputError]
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    instead_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dropped: Callable[[pa.RecordBatch], pa.Array | None] = lambda _: None


@dataclass
class FileRows:
    """The position of one file's rows among all rows.

    Attributes:
        name: What messages call the file.
        start: The number of rows in the files before it.
        first_row: The number of its first row, as a text editor counts.
        empty: The positions of lines that are not rows, counted from the first row.
    """

    name: str
    start: int
    first_row: int
    empty: list[Ints] = field(default_factory=list)

    def number(self, row: int) -> int:
        """Return the number of a row in the file."""
        empty = np.concatenate([np.zeros(0, np.int64), *self.empty])
        here = row - self.start
        before = np.searchsorted(empty - np.arange(empty.size), here, side="right")
        return self.first_row + here + int(before)


@dataclass
class Rows:
    """The rows read so far, in the order of the files.

    Attributes:
        error_type: What to raise when a row is invalid.
        files: The files begun so far.
        count: The number of rows so far.
        done: The number of stored bytes read so far.
        size: The number of bytes stored in all files, or None if unknown.
        columns: Values by column, one item per batch, if they are kept.
    """

    error_type: type[InputError]
    files: list[FileRows] = field(default_factory=list)
    count: int = 0
    done: int = 0
    size: int | None = None
    columns: dict[str, list[Any]] = field(default_factory=dict)

    def number(self, row: int) -> int:
        """Return the number of a row in its file."""
        return self.file(row).number(row)

    def file(self, row: int) -> FileRows:
        """Return the file that a row is in."""
        return next(file for file in reversed(self.files) if file.start <= row or not file.start)

    def error(self, problem: str, row: int | None, column: str | None = None) -> InputError:
        """Return an error about a row, or about a whole column."""
        if row is None:
            return self.error_type(self.files[-1].name, problem, column=column)
        file = self.file(row)
        return self.error_type(file.name, problem, row=file.number(row), column=column)


def read_rows(
    path: str | os.PathLike[str], layout: Layout, *, ignore_unknown: bool = False
) -> Rows:
    """Read a table from a file, or from standard input if the path is ``"-"``.

    The format is recognised by the first bytes.

    Raises:
        InputError: Of the layout's type; the message says where and why.
    """
    rows = Rows(layout.error_type)
    naming = Naming(ignore_unknown=ignore_unknown)
    for columns in stream_rows([Input(os.fspath(path))], layout, rows, naming):
        for name, values in columns.items():
            rows.columns.setdefault(name, []).append(values)
    return rows


def stream_rows(
    inputs: Sequence[Input], layout: Layout, rows: Rows, naming: Naming
) -> Iterator[dict[str, Any]]:
    """Yield the values of each batch by column, and note in ``rows`` what was read.

    All files have the columns of the first; one that lacks an optional column has it empty.

    Raises:
        InputError: Of the layout's type; the message says where and why.
    """
    rows.size = _total_size(inputs)
    before, wanted = 0, list[str]()
    for one in inputs:
        with opened(one.path, layout.error_type) as source:
            refuse_foreign(source)
            table = _Table(source, layout, naming, one.partition)
            rows.files.append(FileRows(source.name, rows.count, table.first_row))
            wanted = wanted or list(table.chosen)
            table.check_columns(wanted, rows.files[0].name)
            for batch in _one_ahead(table.batches()):
                values = _values(rows, layout, table, batch, wanted)
                rows.done = before + table.bytes_read
                yield values
        before += source.size or 0
        rows.done = before


def stream_batches(
    given: Iterable[pa.RecordBatch], layout: Layout, rows: Rows, name: str
) -> Iterator[dict[str, Any]]:
    """Yield the values of batches that have our names of columns, as `stream_rows` does.

    Raises:
        InputError: Of the layout's type; the message says where and why.
    """
    lines = _Lines()
    rows.files.append(FileRows(name, 0, lines.first_row))
    for batch in given:
        yield _values(rows, layout, lines, batch, batch.schema.names)


def page_names(column: pa.Array) -> pa.Array:
    """Return the names of pages: text, or whole numbers."""
    column = cells.decoded(column)
    if column.null_count:
        raise cells.BadCell("the cell is empty", pc.index(column.is_null(), True).as_py())
    if cells.is_text(column.type):
        return cells.read_text(column)
    if pa.types.is_integer(column.type):
        return column
    lines = "; write one object per line: orient='records', lines=True in pandas"
    raise cells.BadCell(
        f"the column holds {cells.type_name(column.type)}, not text or whole numbers"
        + (lines if pa.types.is_struct(column.type) else "")
    )


@dataclass
class _Lines:
    """How far a table was read.

    Attributes:
        first_row: The number of its first row.
        seen: How many rows and lines were read.
    """

    first_row: int = batches.FIRST_PARQUET_ROW
    seen: int = 0


class _Table(_Lines):
    """An open table: its columns, and its batches.

    Attributes:
        chosen: The table's own names of the columns to read, by our names.
    """

    def __init__(
        self, source: Source, layout: Layout, naming: Naming, partition: Mapping[str, str]
    ) -> None:
        super().__init__()
        self._source, self._partition = source, partition
        self._total = 0
        self._layout, self._naming = layout, naming
        found, self._open = self._opened()
        self.chosen = self._choose(found)
        self._own = {own: name for name, own in self.chosen.items()}
        self._stored = [own for own in self._own if own in found]

    def _choose(self, found: Sequence[str]) -> dict[str, str]:
        """Return the names of the columns to read, by our names, if a table has these columns."""
        of_folders = [name for name in self._partition if name not in found]
        given = [*found, *of_folders]
        return choose_columns(self._source, given, self._layout, self._naming, set(of_folders))

    def _opened(self) -> tuple[list[str], Callable[[], Iterator[Any]]]:
        """Return the names of the columns, and what reads batches with some of them."""
        source = self._source
        if source.head.startswith(b"PAR1"):
            file = batches.open_parquet(source)
            self._total = max(file.metadata.num_rows, 1)
            return batches.parquet_columns(source, file), lambda: batches.parquet_batches(
                source, file, self._stored
            )
        if source.head.startswith((batches.ARROW_FILE, batches.ARROW_STREAM)):
            names, found = batches.open_arrow(source)
            return names, lambda: (batch.select(self._stored) for batch in found)
        if source.head.removeprefix(BOM_UTF8).lstrip().startswith(b"{"):
            tables = batches.json_batches(source)
            first = next(tables)
            return list(first.column_names), lambda: self._of_tables(first, tables)
        self.first_row = batches.FIRST_CSV_ROW
        header, delimiter = batches.read_header(source)
        return header, lambda: batches.csv_batches(source, header, self._stored, delimiter)

    @property
    def bytes_read(self) -> int:
        """How many of the stored bytes were read; approximate for Parquet."""
        if self._total:
            return (self._source.size or 0) * min(self.seen, self._total) // self._total
        return self._source.bytes_read

    def _of_tables(self, first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
        table: pa.Table | None = first
        known = dict.fromkeys(first.column_names)
        while table is not None:
            if not known.keys() >= set(table.column_names):
                known |= dict.fromkeys(table.column_names)
                self._check_later(list(known))
            for name in self._stored:
                if name not in table.column_names:
                    table = table.append_column(name, pa.nulls(table.num_rows))
            yield from table.select(self._stored).combine_chunks().to_batches()
            table = next(rest, None)

    def _check_later(self, found: Sequence[str]) -> None:
        """Raise an error if there is a new column that the first lines did not have."""
        for name, own in self._choose(found).items():
            if name not in self.chosen:
                problem = "it is missing from the first lines; add it to the first one, as null"
                raise self._source.error(problem, column=own)

    def check_columns(self, wanted: Sequence[str], first: str) -> None:
        """Raise an error if there is a column that the first file does not have."""
        for name in self.chosen:
            if name not in wanted:
                raise self._source.error(f"{first} has no such column", column=name)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield batches with our names, those of partitions included."""
        for found in self._open():
            batch = found.rename_columns([self._own[name] for name in found.schema.names])
            for own, name in self._own.items():
                if own not in self._stored:
                    batch = _with_constant(batch, name, self._partition[own])
            yield batch


def _with_constant(batch: pa.RecordBatch, name: str, value: str) -> pa.RecordBatch:
    column = pa.array([value]).take(pa.array(np.zeros(len(batch), np.int64)))
    return batch.append_column(name, column)


def _total_size(inputs: Sequence[Input]) -> int | None:
    try:
        sizes = [Path(one.path).stat() for one in inputs]
    except OSError:
        return None
    return sum(one.st_size for one in sizes) or None


def _one_ahead(items: Iterator[T]) -> Iterator[T]:
    """Fetch the next item in another thread while the caller works on this one."""
    pool = ThreadPoolExecutor(1)
    try:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item
    finally:
        # Do not wait for the thread: it may hang on a pipe that nobody writes to.
        pool.shutdown(wait=False)


def _values(
    rows: Rows, layout: Layout, table: _Lines, batch: pa.RecordBatch, wanted: Sequence[str]
) -> dict[str, Any]:
    """Return the values of a batch, by wanted column."""
    if table.first_row == batches.FIRST_CSV_ROW:
        batch = _kept(rows, table, batch, batches.nonempty_rows(batch))
    else:
        table.seen += len(batch)
    dropped = layout.dropped(batch)
    if dropped is not None:
        table.seen -= len(batch)
        batch = _kept(rows, table, batch, pc.invert(dropped))
    values = {}
    for name in wanted:
        known = name in batch.schema.names
        column = batch.column(name) if known else pa.nulls(len(batch))
        try:
            values[name] = _converted(layout.readers[name], column)
        except cells.BadCell as bad:
            row = None if bad.index is None else rows.count + bad.index
            raise rows.error(bad.problem, row, name) from None
    rows.count += len(batch)
    return values


def _kept(rows: Rows, table: _Lines, batch: pa.RecordBatch, kept: pa.Array) -> pa.RecordBatch:
    """Return the rows to keep, and note where the others were."""
    left_out = np.flatnonzero(~kept.to_numpy(zero_copy_only=False))
    if left_out.size:
        rows.files[-1].empty.append(left_out + table.seen)
    table.seen += len(batch)
    return batch.filter(kept) if left_out.size else batch


def _converted(read: Callable[[pa.Array], Any], column: pa.Array) -> Any:  # noqa: ANN401
    """Return a column as values; an unforeseen error of its reader is a bad cell too."""
    try:
        return read(column)
    except cells.UNREADABLE:
        problem = f"the cell cannot be read as {cells.type_name(column.type)}"
        raise cells.BadCell(problem, cells.first_bad(column, read)) from None
