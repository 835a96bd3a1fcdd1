"""The rows of a Parquet table, a batch at a time, as typed columns."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyarrow import parquet

from recrawl.errors import InputError
from recrawl.formats.source import Source

#: Parquet has no header: rows are counted from 1.
FIRST_ROW = 1

#: Few enough rows to bound memory, enough of them to keep the cost of a batch out of sight.
ROWS_A_BATCH = 2**18


def open_parquet(source: Source) -> parquet.ParquetFile:
    """Open a Parquet file; one that comes through a pipe is read into memory, for it has no order.

    Raises:
        InputError: The file is cut short or damaged.
    """
    try:
        if source.file.seekable():
            return parquet.ParquetFile(source.file)
        return parquet.ParquetFile(pa.BufferReader(source.stream.read()))
    except (pa.ArrowException, OSError):
        raise _damaged(source) from None


def parquet_batches(
    source: Source, file: parquet.ParquetFile, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Give the rows of some columns.

    Raises:
        InputError: The file is damaged.
    """
    try:
        yield from file.iter_batches(ROWS_A_BATCH, columns=list(columns), use_threads=False)
    except (pa.ArrowException, OSError):
        raise _damaged(source) from None


def _damaged(source: Source) -> InputError:
    return source.error("the Parquet file is cut short or damaged")
