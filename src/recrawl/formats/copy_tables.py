"""Write the texts of copies as JSON lines or Parquet, for indexing and analysis."""

import json
import os
from collections.abc import Iterable
from itertools import islice
from typing import BinaryIO, Literal, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from recrawl.escaping import json_printable
from recrawl.formats.tables import check_target, output_file
from recrawl.units import format_time

TextFormat = Literal["jsonl", "parquet"]
#: Copies in a row group of Parquet: their texts are in memory together.
COPIES_PER_BATCH = 1_000
_TIME = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    {
        "url": pa.string(),
        "title": pa.string(),
        "language": pa.string(),
        "text": pa.large_string(),
        "fetched": _TIME,
        "changed": _TIME,
        "digest": pa.string(),
    }
)


class CopyText(NamedTuple):
    """A copy as text.

    Attributes:
        url: The page's URL.
        title: Its title; None if it has none.
        language: The language that it declares; None if none.
        text: Its own text.
        fetched: When the copy was made, in microseconds.
        changed: When the page was last found to have changed, in microseconds; None if unknown.
        digest: The digest of the copy, in hexadecimal digits.
    """

    url: str
    title: str | None
    language: str | None
    text: str
    fetched: int
    changed: int | None
    digest: str


def write_texts(
    copies: Iterable[CopyText], target: str | os.PathLike[str], kind: TextFormat
) -> int:
    """Write copies as text; return how many.

    Args:
        copies: The copies, which are read one by one.
        target: A file, written completely or left as it was, or ``"-"`` for standard output.
        kind: One JSON object per line, or Parquet.

    Raises:
        OutputError: It cannot be written there.
    """
    check_target(target, "parquet" if kind == "parquet" else None)
    with output_file(target) as file:
        return _write_parquet(copies, file) if kind == "parquet" else _write_lines(copies, file)


def _write_lines(copies: Iterable[CopyText], file: BinaryIO) -> int:
    written = 0
    for copy in copies:
        changed = None if copy.changed is None else format_time(copy.changed)
        row = copy._asdict() | {"fetched": format_time(copy.fetched), "changed": changed}
        file.write(f"{json_printable(json.dumps(row, ensure_ascii=False))}\n".encode())
        written += 1
    return written


def _write_parquet(copies: Iterable[CopyText], file: BinaryIO) -> int:
    written, rows = 0, iter(copies)
    with parquet.ParquetWriter(file, SCHEMA) as writer:
        while batch := list(islice(rows, COPIES_PER_BATCH)):
            columns = zip(*batch, strict=True)
            arrays = [
                pa.array(column, one.type) for column, one in zip(columns, SCHEMA, strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=SCHEMA))
            written += len(batch)
    return written
