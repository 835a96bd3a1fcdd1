"""Results as CSV, JSON or Parquet, written whole or not at all."""

import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from json.encoder import encode_basestring
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from recrawl.errors import OutputError
from recrawl.formats.source import STANDARD

Format = Literal["csv", "json", "parquet"]

#: Rows turned into JSON at once; memory does not grow with the table.
ROWS_A_BATCH = 10_000


def write_table(
    columns: Mapping[str, Any],
    kind: Format,
    target: str | os.PathLike[str],
) -> None:
    """Write columns of equal length; a file is there complete, or as it was before.

    Args:
        columns: NumPy or Arrow arrays of text, numbers or times, by name.
        kind: ``"csv"``, ``"json"`` (a list of objects, one a line) or ``"parquet"``. A number that
            is not finite is null in JSON; CSV says nan and inf. Both write times as ISO 8601.
        target: A file, or ``"-"`` for standard output.

    Raises:
        OutputError: The table cannot be written there.
    """
    check_target(target, kind)
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    if os.fspath(target) == STANDARD:
        with _told("standard output"):
            _WRITERS[kind](table, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    with whole_file(target) as file:
        _WRITERS[kind](table, file)


@contextmanager
def whole_file(target: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write; in the end it is there complete, or as it was before.

    Raises:
        OutputError: It cannot be written there.
    """
    path = Path(target)
    with _told(path), _replaced(path) if _is_plain(path) else path.open("wb") as file:
        yield file


def check_target(target: str | os.PathLike[str], kind: Format | None = None) -> None:
    """Refuse a place where no table can be, so that nobody computes for an hour to find out.

    Raises:
        OutputError: The directory is missing, the file is a directory, or Parquet would go to a
            terminal.
    """
    if os.fspath(target) == STANDARD:
        if kind == "parquet" and sys.stdout.isatty():
            raise OutputError("standard output: a terminal cannot show Parquet; use -o FILE")
        return
    path = Path(target)
    with _told(path):
        if path.is_dir():
            raise OutputError(f"{path}: this is a directory, not a file")
        if not path.parent.is_dir():
            raise OutputError(f"{path}: there is no directory {path.parent}")


@contextmanager
def _told(place: object) -> Iterator[None]:
    """Turn what the disk refuses to words; a reader who has read enough is no such thing."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"{place}: it cannot be written: {error.strerror or error}") from None


def _is_plain(path: Path) -> bool:
    """Whether a file can be put in the path's place; a device or a pipe is written to instead."""
    return path.is_file() or not path.exists()


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    """Write to a new file beside the path, and put it there when all of it is on the disk."""
    place = path.resolve()
    new = place.with_name(f".recrawl-{secrets.token_hex(8)}")
    # Made by the plain call, the file gets the permissions any new file gets here.
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
        try:
            yield file
            file.flush()
            with suppress(FileNotFoundError):
                os.fchmod(file.fileno(), place.stat().st_mode & 0o7777)
            os.fsync(file.fileno())
            new.replace(place)
        except BaseException:
            new.unlink()
            raise


def _write_csv(table: pa.Table, file: BinaryIO) -> None:
    for place, column in enumerate(table.columns):
        if pa.types.is_timestamp(column.type):
            table = table.set_column(place, table.column_names[place], _iso_times(column))
    arrow_csv.write_csv(table, file, arrow_csv.WriteOptions(quoting_style="needed"))


def _write_parquet(table: pa.Table, file: BinaryIO) -> None:
    parquet.write_table(table, file)


def _write_json(table: pa.Table, file: BinaryIO) -> None:
    names = [encode_basestring(name).replace("%", "%%") for name in table.column_names]
    row = "{" + ", ".join(f"{name}: %s" for name in names) + "}"
    separator = "[\n"
    for batch in table.to_batches(ROWS_A_BATCH):
        cells = zip(*(_json_cells(column) for column in batch.columns), strict=True)
        lines = ",\n".join(row % line for line in cells)
        file.write(f"{separator}{lines}".encode())
        separator = ",\n"
    file.write(b"\n]\n" if table.num_rows else b"[]\n")


def _iso_times(column: pa.Array) -> pa.Array:
    """Write times as text with as many digits as their unit has; Z says UTC.

    >>> _iso_times(pa.array([0, None], pa.timestamp("s", "UTC"))).to_pylist()
    ['1970-01-01T00:00:00Z', None]
    """
    return pc.replace_substring(column.cast(pa.large_string()), " ", "T")


def _json_cells(column: pa.Array) -> Iterable[str]:
    """Give each cell as JSON; Python writes a float with the digits that bring it back."""
    if pa.types.is_timestamp(column.type):
        times = _iso_times(column).to_pylist()
        return ("null" if time is None else f'"{time}"' for time in times)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return map(encode_basestring, column.to_pylist())
    numbers = column.to_numpy(zero_copy_only=False)
    written = list(map(repr, numbers.tolist()))
    for place in np.flatnonzero(~np.isfinite(numbers)):
        written[place] = "null"
    return written


_WRITERS: dict[Format, Callable[[pa.Table, BinaryIO], None]] = {
    "csv": _write_csv,
    "json": _write_json,
    "parquet": _write_parquet,
}
