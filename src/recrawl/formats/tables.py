"""Write tables as CSV, JSON, JSON lines or Parquet, atomically."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from recrawl.errors import OutputError
from recrawl.escaping import FORMULAS, json_printable, printable
from recrawl.files import atomic_file
from recrawl.formats.source import STANDARD

Format = Literal["csv", "json", "jsonl", "parquet"]

#: Rows converted to JSON at a time; memory does not grow with the table.
JSON_BATCH_ROWS = 10_000
#: As a regular expression: a text that begins as formulas do.
_FORMULA = f"^([{re.escape(''.join(FORMULAS))}])"


def write_table(
    columns: Mapping[str, Any],
    kind: Format,
    target: str | os.PathLike[str],
) -> None:
    """Write columns of equal length; a file is written completely or left as it was.

    Args:
        columns: NumPy or Arrow arrays of text, numbers or times, by name.
        kind: ``"csv"``, ``"json"`` (a list with one object per line), ``"jsonl"`` (the objects
            alone) or ``"parquet"``. Numbers that are not finite are null in JSON and nan and inf in
            CSV. Both have times in ISO 8601.
        target: A file, or ``"-"`` for standard output.

    Raises:
        OutputError: The table cannot be written there.
    """
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    write_batches([table], kind, target)


def write_batches(tables: Iterable[Any], kind: Format, target: str | os.PathLike[str]) -> None:
    """Write Arrow tables with the same columns as one; arguments as for `write_table`.

    Raises:
        OutputError: The table cannot be written there.
    """
    check_target(target, kind)
    if os.fspath(target) == STANDARD:
        with _disk_errors("standard output"):
            shown = map(_escaped, tables) if kind == "csv" and sys.stdout.isatty() else tables
            _WRITERS[kind](shown, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    with whole_file(target) as file:
        _WRITERS[kind](tables, file)


@contextmanager
def whole_file(target: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing, as `atomic_file` does.

    Raises:
        OutputError: The file cannot be written.
    """
    with _disk_errors(target), atomic_file(target) as file:
        yield file


@contextmanager
def output_file(target: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file as `whole_file` does, or standard output for ``"-"``.

    Raises:
        OutputError: It cannot be written.
    """
    if os.fspath(target) != STANDARD:
        with whole_file(target) as file:
            yield file
        return
    with _disk_errors("standard output"):
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()


def check_target(target: str | os.PathLike[str], kind: Format | None = None) -> None:
    """Check that a table can be written to a file, before it takes an hour to compute.

    Raises:
        OutputError: The directory is missing, the file is a directory, or Parquet would go to a
            terminal.
    """
    if os.fspath(target) == STANDARD:
        if kind == "parquet" and sys.stdout.isatty():
            raise OutputError("standard output: a terminal cannot show Parquet; use -o FILE")
        return
    path = Path(target)
    with _disk_errors(path):
        if path.is_dir():
            raise OutputError(f"{path}: this is a directory, not a file")
        if not path.parent.is_dir():
            raise OutputError(f"{path}: there is no directory {path.parent}")


@contextmanager
def _disk_errors(target: object) -> Iterator[None]:
    """Turn disk errors into clear ones, except for a closed pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"{target}: it cannot be written: {error.strerror or error}") from None


def _is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _escaped(table: pa.Table) -> pa.Table:
    """Return a table with names and texts escaped for a terminal."""
    columns = [
        pa.array([None if text is None else printable(text) for text in column.to_pylist()])
        if _is_text(column)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=list(map(printable, table.column_names)))


def _write_csv(tables: Iterable[pa.Table], file: BinaryIO) -> None:
    header = True
    for table in tables:
        cells = pa.table(list(map(_csv_cells, table.columns)), names=table.column_names)
        options = arrow_csv.WriteOptions(include_header=header, quoting_style="needed")
        arrow_csv.write_csv(cells, file, options)
        header = False


def _csv_cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times as text, and text such that no spreadsheet runs it as a formula."""
    if pa.types.is_timestamp(column.type):
        return iso_times(column)
    if _is_text(column):
        return pc.replace_substring_regex(column, _FORMULA, r"'\1")
    return column


def _write_parquet(tables: Iterable[pa.Table], file: BinaryIO) -> None:
    writer: parquet.ParquetWriter | None = None
    for table in tables:
        writer = writer or parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def _write_json(tables: Iterable[pa.Table], file: BinaryIO) -> None:
    separator = "[\n"
    for objects in _json_objects(tables):
        file.write((separator + ",\n".join(objects)).encode())
        separator = ",\n"
    file.write(b"[]\n" if separator == "[\n" else b"\n]\n")


def _write_json_lines(tables: Iterable[pa.Table], file: BinaryIO) -> None:
    for objects in _json_objects(tables):
        file.writelines(f"{one}\n".encode() for one in objects)


def _json_objects(tables: Iterable[pa.Table]) -> Iterator[list[str]]:
    """Yield batches of rows of tables as JSON."""
    for table in tables:
        names = [_json_string(name).replace("%", "%%") for name in table.column_names]
        row = "{" + ", ".join(f"{name}: %s" for name in names) + "}"
        for batch in table.to_batches(JSON_BATCH_ROWS):
            cells = zip(*(_json_cells(column) for column in batch.columns), strict=True)
            yield [row % line for line in cells]


def _json_string(text: str | None) -> str:
    return "null" if text is None else json_printable(encode_basestring(text))


def iso_times(column: pa.Array) -> pa.Array:
    """Return times as text, with as many digits as their unit has.

    >>> iso_times(pa.array([0, None], pa.timestamp("s", "UTC"))).to_pylist()
    ['1970-01-01T00:00:00Z', None]
    """
    return pc.replace_substring(column.cast(pa.large_string()), " ", "T")


def _json_cells(column: pa.Array) -> Iterable[str]:
    """Return each cell as JSON; Python's floats round-trip exactly."""
    if pa.types.is_timestamp(column.type):
        times = iso_times(column).to_pylist()
        return ("null" if time is None else f'"{time}"' for time in times)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return map(_json_string, column.to_pylist())
    numbers = column.to_numpy(zero_copy_only=False)
    written = list(map(repr, numbers.tolist()))
    for i in np.flatnonzero(~np.isfinite(numbers)):
        written[i] = "null"
    return written


_WRITERS: dict[Format, Callable[[pa.Table, BinaryIO], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "jsonl": _write_json_lines,
    "parquet": _write_parquet,
}
