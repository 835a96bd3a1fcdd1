"""Export a store's log as Parquet, CSV or JSON lines."""

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal

import pyarrow as pa
from pyarrow import parquet

from recrawl.escaping import json_printable
from recrawl.formats.common_crawl import write_common_crawl, write_crawl_log
from recrawl.formats.source import STANDARD
from recrawl.formats.tables import check_target, iso_times, output_file, write_batches

LogFormat = Literal["parquet", "csv", "jsonl"]
ROWS_PER_BATCH = 50_000


def write_log(
    batches: Iterable[Any],
    target: str,
    kind: LogFormat,
    *,
    native: bool,
    refused: Iterable[Any] = (),
) -> int:
    """Write a log, atomically; return the number of visits.

    Args:
        batches: As returned by the store.
        target: A file, or ``"-"`` for standard output.
        kind: The format.
        native: Whether to write recrawl's crawl log rather than Common Crawl's columns.
        refused: Refused pages, as returned by the store; not written to recrawl's crawl log, which
            has only visits.

    Raises:
        OutputError: It cannot be written there.
    """

    def write(path: str | Path) -> int:
        if native:
            return write_crawl_log(batches, path)
        return write_common_crawl(batches, path, refused)

    check_target(target, "parquet" if kind == "parquet" else None)
    if kind == "parquet" and target != STANDARD:
        return write(target)
    # Via Parquet, so that all formats have the same columns and little memory is needed.
    with tempfile.TemporaryDirectory(prefix="recrawl-") as folder:
        between = Path(folder) / "log.parquet"
        rows = write(between)
        _rewrite(between, target, kind)
    return rows


def _rewrite(source: Path, target: str, kind: LogFormat) -> None:
    if kind == "parquet":
        with source.open("rb") as written, output_file(target) as file:
            shutil.copyfileobj(written, file)
        return
    with parquet.ParquetFile(source) as log:
        if kind == "csv":
            write_batches(_tables(log), "csv", target)
            return
        with output_file(target) as file:
            for batch in log.iter_batches(ROWS_PER_BATCH):
                _write_lines(batch, file)


def _tables(log: parquet.ParquetFile) -> Iterator[pa.Table]:
    # Even without visits there is a header.
    yield log.schema_arrow.empty_table()
    yield from map(pa.table, log.iter_batches(ROWS_PER_BATCH))


def _write_lines(batch: pa.RecordBatch, file: BinaryIO) -> None:
    for number, column in enumerate(batch.schema):
        if pa.types.is_timestamp(column.type):
            batch = batch.set_column(number, column.name, iso_times(batch.column(number)))
    file.writelines(
        f"{json_printable(json.dumps(row, ensure_ascii=False))}\n".encode()
        for row in batch.to_pylist()
    )
