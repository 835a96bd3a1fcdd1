"""Read a table in batches: CSV as columns of bytes, other formats as typed columns."""

import csv
import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv
from pyarrow import ipc, parquet
from pyarrow import json as arrow_json

from recrawl.errors import InputError
from recrawl.formats.foreign import refuse_lines
from recrawl.formats.source import Source

#: The longest row of a CSV file, in bytes, so that memory stays bounded whatever a file contains.
MAX_ROW_BYTES = 4 * 2**20
#: Rows are counted as a text editor counts lines: the header is row 1. Parquet has no header.
FIRST_CSV_ROW, FIRST_PARQUET_ROW = 2, 1
#: Separators of the columns of a CSV file, the most common first.
DELIMITERS = ",\t;|"
#: Few enough rows to bound memory, and enough to make the overhead per batch negligible.
PARQUET_BATCH_ROWS = 2**18

#: The deepest nesting of values in a line of JSON; those of a log are not nested.
MAX_DEPTH = 100

#: What Arrow raises for a damaged file: names and messages may be invalid text, and sizes absurd.
UNREADABLE = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError)

_NO_HEADER = "the names of the columns are missing; write them above, such as page,time,changed"
_TOO_LONG = f"the row is longer than {MAX_ROW_BYTES >> 20} MB (is a quotation mark left open?)"


#: The first bytes of Arrow files and streams.
ARROW_FILE, ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"
_DAMAGED_ARROW = "the Arrow file is truncated or damaged"

#: A text in JSON, up to the end of the line if it is left open.
_JSON_TEXT = re.compile(rb'"(?:[^"\\\n]|\\.)*"?')
_FIELDS = re.compile(r"Row #(\d+): Expected (\d+) columns, got (\d+)")


def read_header(source: Source) -> tuple[list[str], str]:
    """Read the column names of a CSV file and what separates them, up to the first row of data.

    Raises:
        InputError: The first row is not a header.
    """
    lines = list[str]()
    try:
        header = next(csv.reader(_kept(lines, _header_lines(source))), [])
        refuse_lines(source, lines[0] if lines else "")
        delimiter = ","
        if len(header) == 1:
            delimiter = max(DELIMITERS, key=header[0].count)
            header = next(csv.reader(lines, delimiter=delimiter))
    except UnicodeDecodeError:
        # Text contains no zeros, except in encodings that are recognised by their first bytes.
        if b"\0" in source.head:
            raise source.error("this is neither text nor Parquet nor Arrow") from None
        raise source.error(
            "this is not UTF-8 text; convert it with iconv -t UTF-8", row=1
        ) from None
    except csv.Error as error:
        raise source.error(f"the header is broken: {error}", row=1) from None
    if any("://" in name for name in header):
        raise source.error(_NO_HEADER, row=1)
    return [name.strip() for name in header], delimiter


def _kept(lines: list[str], read: Iterator[str]) -> Iterator[str]:
    for line in read:
        lines.append(line)
        yield line


def _header_lines(source: Source) -> Iterator[str]:
    """Yield the first lines; a quoted name may span several of them."""
    encoding = "utf-8-sig"
    while line := source.stream.readline(MAX_ROW_BYTES + 1):
        if len(line) > MAX_ROW_BYTES:
            raise source.error(_TOO_LONG, row=1)
        yield line.decode(encoding)
        encoding = "utf-8"


def csv_batches(
    source: Source, header: Sequence[str], columns: Sequence[str], delimiter: str = ","
) -> Iterator[pa.RecordBatch]:
    """Yield the given columns of the rows after the header; an empty cell is null.

    Raises:
        InputError: A row has too many or too few fields, or is too long.
    """
    row = FIRST_CSV_ROW
    try:
        reader = arrow_csv.open_csv(
            source.stream,
            # With one thread only, errors contain the number of the invalid row.
            arrow_csv.ReadOptions(
                use_threads=False,
                block_size=MAX_ROW_BYTES,
                # No name in a header begins with a space, so these stand for no other column.
                column_names=[
                    name if name in columns else f" {number}" for number, name in enumerate(header)
                ],
            ),
            # Empty lines are kept, so that rows can be counted.
            arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=False
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.binary()),
                include_columns=columns,
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
        for batch in reader:
            row += len(batch)
            yield batch
    except UnicodeDecodeError:
        raise source.error("it cannot be read as CSV") from None
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):
            return
        raise _explained(source, str(error), row) from None


def _explained(source: Source, message: str, row: int) -> InputError:
    # Arrow would call a handler for invalid rows, but not for one that is not UTF-8.
    if found := _FIELDS.search(message):
        number, expected, actual = map(int, found.groups())
        fields = f"{actual} field{'s' if actual != 1 else ''}"
        problem = f"the row has {fields}, but the header has {expected}"
        return source.error(problem, row=number + FIRST_CSV_ROW - 1)
    if "straddling" in message:
        return source.error(_TOO_LONG, row=row)
    return source.error(f"it cannot be read as CSV: {message.splitlines()[0]}")


def nonempty_rows(batch: pa.RecordBatch) -> pa.Array:
    """Return which rows of a batch contain anything; empty lines do not."""
    found = batch.column(0).is_valid()
    for column in batch.columns[1:]:
        found = pc.or_(found, column.is_valid())
    return found


def open_parquet(source: Source) -> parquet.ParquetFile:
    """Open a Parquet file; one from a pipe, which cannot seek, is read into memory.

    Raises:
        InputError: The file is truncated or damaged.
    """
    try:
        # Not buffered ahead: Arrow would keep all that it has read until the file is closed.
        return parquet.ParquetFile(_seekable(source), pre_buffer=False)
    except UNREADABLE:
        raise _damaged(source) from None


def parquet_columns(source: Source, file: parquet.ParquetFile) -> list[str]:
    """Return the names of a Parquet file's columns.

    Raises:
        InputError: The file is damaged.
    """
    try:
        return list(file.schema_arrow.names)
    except UNREADABLE:
        raise _damaged(source) from None


def parquet_batches(
    source: Source, file: parquet.ParquetFile, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the given columns of all rows.

    Raises:
        InputError: The file is damaged.
    """
    try:
        yield from file.iter_batches(PARQUET_BATCH_ROWS, columns=list(columns), use_threads=False)
    except UNREADABLE:
        raise _damaged(source) from None


def _seekable(source: Source) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return a seekable file; the contents of a pipe are kept in memory."""
    if source.file.seekable() and not source.is_compressed:
        source.file.seek(0)
        return source.file
    return pa.BufferReader(source.stream.read())


def open_arrow(source: Source) -> tuple[list[str], Iterator[pa.RecordBatch]]:
    """Open an Arrow IPC file or stream; return its columns, and its batches.

    Raises:
        InputError: The file is truncated or damaged.
    """
    try:
        if source.head.startswith(ARROW_FILE):
            file = ipc.open_file(_seekable(source))
            batches = (file.get_batch(number) for number in range(file.num_record_batches))
            return list(file.schema.names), _checked(source, batches)
        stream = ipc.open_stream(source.stream)
        return list(stream.schema.names), _checked(source, iter(stream))
    except UNREADABLE:
        raise source.error(_DAMAGED_ARROW) from None


def _checked(source: Source, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except UNREADABLE:
        raise source.error(_DAMAGED_ARROW) from None


def json_batches(source: Source) -> Iterator[pa.Table]:
    """Yield the rows of JSON lines: one object per line, whose names are the columns.

    Raises:
        InputError: A line is not an object.
    """
    row = FIRST_PARQUET_ROW
    if source.head.startswith(BOM_UTF8):
        source.stream.read(len(BOM_UTF8))
    while lines := source.stream.readlines(MAX_ROW_BYTES):
        text = b"".join(lines)
        _refuse_deep(source, text, row)
        try:
            yield arrow_json.read_json(pa.BufferReader(text))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError):
            # Mixed types in one column, or an invalid line, which Python can name.
            yield _table_of(source, lines, row)
        row += len(lines)


def _refuse_deep(source: Source, text: bytes, row: int) -> None:
    """Raise an error where values are nested so deeply that parsing them would exhaust the stack.

    That ends the process, as Arrow has no limit.
    """
    opened = text.count(b"[") + text.count(b"{")
    if opened <= text.count(b"\n") + MAX_DEPTH:
        return
    # Brackets in texts open nothing; spaces keep every byte where it is.
    bare = _JSON_TEXT.sub(lambda found: b" " * len(found[0]), text)
    byte = np.frombuffer(bare, np.uint8)
    bracket = np.flatnonzero(np.isin(byte, np.frombuffer(b"[]{}", np.uint8)))
    depth = np.cumsum(np.where(np.isin(byte[bracket], np.frombuffer(b"[{", np.uint8)), 1, -1))
    deep = np.flatnonzero(depth > MAX_DEPTH)
    if deep.size:
        number = row + bare.count(b"\n", 0, int(bracket[deep[0]]))
        raise source.error(f"values are nested more than {MAX_DEPTH} levels deep", row=number)


def _table_of(source: Source, lines: list[bytes], row: int) -> pa.Table:
    """Return objects, one per line, as a table of text."""
    objects = []
    for number, line in enumerate(lines, start=row):
        if not line.strip():
            continue
        try:
            parsed = json.loads(line)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise source.error("the line is not a JSON object", row=number)
        objects.append(parsed)
    names = dict.fromkeys(name for one in objects for name in one)
    return pa.table({name: pa.array([_text(one.get(name)) for one in objects]) for name in names})


def _text(value: object) -> str | None:
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return None
    return value if isinstance(value, str) else json.dumps(value)


def _damaged(source: Source) -> InputError:
    return source.error("the Parquet file is truncated or damaged")
