"""Writing a store's log as Parquet or CSV."""

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow import csv as arrow_csv

from recrawl.escaping import FORMULAS
from recrawl.formats.common_crawl import write_common_crawl, write_crawl_log
from recrawl.formats.tables import whole_file

ROWS_PER_BATCH = 50_000
#: As a regular expression: a text that begins as formulas do.
_FORMULA = f"^([{re.escape(''.join(FORMULAS))}])"


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
                writer.write_batch(_with_cells(batch))


def _with_cells(batch: Any) -> Any:  # noqa: ANN401 - Arrow is not typed
    """Return rows whose texts no spreadsheet takes for formulas, as servers choose some."""
    for number, column in enumerate(batch.schema):
        if pa.types.is_string(column.type):
            marked = compute.replace_substring_regex(batch.column(number), _FORMULA, r"'\1")
            batch = batch.set_column(number, column, marked)
    return batch
