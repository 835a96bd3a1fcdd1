"""Writing a store's log as Parquet or CSV."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyarrow import csv as arrow_csv
from pyarrow import parquet

from recrawl.formats.common_crawl import write_common_crawl, write_crawl_log
from recrawl.formats.tables import whole_file

ROWS_PER_BATCH = 50_000


def write_log(
    batches: Iterable[Any], target: str, *, native: bool, refused: Iterable[Any] = ()
) -> int:
    """Write a complete log or nothing; return the number of visits.

    Args:
        batches: As returned by the store.
        target: A file; CSV if its name ends in .csv, otherwise Parquet.
        native: Whether to write recrawl's crawl log rather than Common Crawl's columns.
        refused: Refused pages, as returned by the store; a crawl log has none, as it has visits.
    """

    def write(path: str | Path) -> int:
        if native:
            return write_crawl_log(batches, path)
        return write_common_crawl(batches, path, refused)

    if not target.lower().endswith(".csv"):
        return write(target)
    # By way of Parquet, so that both formats have the same columns and little memory is needed.
    with tempfile.TemporaryDirectory(prefix="recrawl-") as folder:
        between = Path(folder) / "log.parquet"
        rows = write(between)
        _rewrite(between, target)
    return rows


def _rewrite(source: Path, target: str) -> None:
    with parquet.ParquetFile(source) as log, whole_file(target) as file:
        options = arrow_csv.WriteOptions(quoting_style="needed")
        with arrow_csv.CSVWriter(file, log.schema_arrow, write_options=options) as writer:
            for batch in log.iter_batches(ROWS_PER_BATCH):
                writer.write_batch(batch)
