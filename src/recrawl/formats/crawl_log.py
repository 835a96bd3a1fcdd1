"""Crawl logs: from a CSV or Parquet file to the visits in it, sorted and checked.

Rows stream past in batches; while one is read from disk, the one before it is turned into numbers.
Pages are numbered when all are read.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recrawl.compiled import Ints
from recrawl.errors import CrawlLogError
from recrawl.formats import cells, csv_rows, parquet_rows
from recrawl.formats.cells import EMPTY, Outcomes
from recrawl.formats.header import choose_columns
from recrawl.formats.source import Source, opened
from recrawl.grouping import stable_order
from recrawl.records import NO_TIME, Outcome, Visits
from recrawl.units import quoted

#: Called with the bytes read so far and the bytes there are, None where nobody knows.
Progress = Callable[[int, int | None], object]

T = TypeVar("T")


def read_crawl_log(
    source: str | os.PathLike[str],
    *,
    ignore_unknown: bool = False,
    progress: Progress | None = None,
) -> Visits:
    """Read a crawl log; visits come out sorted by page and time, each one once.

    Args:
        source: A file, or ``"-"`` for standard input; CSV (also gzipped) or Parquet, told apart
            by their first bytes.
        ignore_unknown: Skip columns that are not known instead of refusing them.
        progress: Called now and then with how far the reading is.

    Raises:
        CrawlLogError: The log cannot be used as it is; the message says where and why.
    """
    report = progress or (lambda _done, _total: None)
    with opened(source) as log:
        read = _read_parquet if log.is_parquet else _read_csv
        raw = read(log, report, ignore_unknown=ignore_unknown)
    if not raw.rows:
        raise CrawlLogError(log.name, "there are no visits in it")
    return _sorted_visits(raw)


@dataclass
class _Raw:
    """What was read so far, in the order of the file.

    Attributes:
        source: What to call the log in a message.
        first_row: The number of the first row.
        rows: How many visits there are so far.
        empty: The places of empty lines, counted from the first row, which are no visits.
        columns: Numbers by column, a batch each.
        pages: The pages' names, a batch each.
        integer_pages: Whether pages are whole numbers instead.
    """

    source: str
    first_row: int
    rows: int = 0
    empty: list[Ints] = field(default_factory=list)
    columns: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    pages: list[pa.Array] = field(default_factory=list)

    def row(self, visit: int) -> int:
        """Give the number, in the file, of a visit's row."""
        empty = np.concatenate([np.zeros(0, np.int64), *self.empty])
        before = np.searchsorted(empty - np.arange(empty.size), visit, side="right")
        return self.first_row + visit + int(before)

    def error(self, problem: str, visit: int | None, column: str | None = None) -> CrawlLogError:
        """Say what is wrong with a visit."""
        row = None if visit is None else self.row(visit)
        return CrawlLogError(self.source, problem, row=row, column=column)


def _read_csv(log: Source, progress: Progress, *, ignore_unknown: bool) -> _Raw:
    header = csv_rows.read_header(log)
    columns = choose_columns(log.name, header, ignore_unknown=ignore_unknown)
    raw = _Raw(log.name, csv_rows.FIRST_ROW)
    seen = 0
    for batch in _one_ahead(csv_rows.csv_batches(log, header, columns)):
        filled = csv_rows.filled_rows(batch)
        empty = np.flatnonzero(~filled.to_numpy(zero_copy_only=False))
        if empty.size:
            raw.empty.append(empty + seen)
        seen += len(batch)
        _add(raw, batch.filter(filled) if empty.size else batch)
        progress(log.bytes_read, log.size)
    return raw


def _read_parquet(log: Source, progress: Progress, *, ignore_unknown: bool) -> _Raw:
    file = parquet_rows.open_parquet(log)
    names = file.schema_arrow.names
    columns = choose_columns(log.name, names, ignore_unknown=ignore_unknown)
    raw = _Raw(log.name, parquet_rows.FIRST_ROW)
    for batch in _one_ahead(parquet_rows.parquet_batches(log, file, columns)):
        _add(raw, batch)
        done = None if log.size is None else log.size * raw.rows // file.metadata.num_rows
        progress(done or 0, log.size)
    return raw


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


def _add(raw: _Raw, batch: pa.RecordBatch) -> None:
    """Turn a batch of rows into numbers."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            if name == "page":
                raw.pages.append(_page_names(column))
            else:
                raw.columns.setdefault(name, []).append(_READ[name](column))
        except cells.BadCell as bad:
            visit = None if bad.index is None else raw.rows + bad.index
            raise raw.error(bad.problem, visit, name) from None
    raw.rows += len(batch)


def _times(column: pa.Array) -> Ints:
    times = cells.read_times(column)
    if (times == NO_TIME).any():
        raise cells.BadCell("the cell is empty", int(np.argmax(times == NO_TIME)))
    return times


_READ: dict[str, Callable[[pa.Array], NDArray[Any]]] = {
    "time": _times,
    "changed": cells.read_changed,
    "outcome": cells.read_outcomes,
    "crawl_rate": cells.read_rates,
    "last_modified": cells.read_times,
    "importance": cells.read_importances,
}


def _page_names(column: pa.Array) -> pa.Array:
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


def _sorted_visits(raw: _Raw) -> Visits:
    columns = {name: np.concatenate(raw.columns.pop(name)) for name in list(raw.columns)}
    page, names = _numbered(raw)
    told_by = "outcome" if "outcome" in columns else "changed"
    columns["outcome"] = _outcomes(columns.pop("changed", None), columns.get("outcome"))
    page, time, order = _by_page_and_time(page, columns.pop("time"), len(names))
    columns = {name: column[order] for name, column in columns.items()}
    again = np.flatnonzero((page[1:] == page[:-1]) & (time[1:] == time[:-1])) + 1
    if again.size:
        shown = {told_by if name == "outcome" else name: columns[name] for name in columns}
        _refuse_conflicts(raw, shown, again, order, lambda visit: names[int(page[visit])])
        page, time = np.delete(page, again), np.delete(time, again)
        columns = {name: np.delete(column, again) for name, column in columns.items()}
    return Visits(page=page, time=time, names=names, duplicates=again.size, **columns)


def _numbered(raw: _Raw) -> tuple[Ints, pa.Array]:
    """Number the pages from 0 in order of first appearance; give their names too."""
    encoded = pa.chunked_array(raw.pages).dictionary_encode()
    raw.pages.clear()
    page = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks]).astype(np.int64)
    names = encoded.chunk(0).dictionary
    if cells.is_text(names.type):
        blank = pc.index(pc.binary_length(pc.utf8_trim_whitespace(names)), 0).as_py()
        if blank >= 0:
            raise raw.error("the cell is empty", int(np.argmax(page == blank)), "page")
    return page, names


def _outcomes(changed: Outcomes | None, outcome: Outcomes | None) -> Outcomes:
    """Let ``outcome`` decide where it says something, then ``changed``; nothing means FIRST."""
    said: Outcomes | np.int8 = EMPTY
    for column in (changed, outcome):
        if column is not None:
            said = np.where(column == EMPTY, said, column)
    return np.where(said == EMPTY, np.int8(Outcome.FIRST), said)


def _by_page_and_time(page: Ints, time: Ints, pages: int) -> tuple[Ints, Ints, Ints]:
    """Sort pages and times, and give the order; a log in order of time is only grouped by page."""
    starts, order = stable_order(page, pages)
    grouped = np.repeat(np.arange(pages), np.diff(starts))
    sorted_time = time[order]
    if ((sorted_time[1:] < sorted_time[:-1]) & (grouped[1:] == grouped[:-1])).any():
        by_time = np.argsort(time, kind="stable")
        order = by_time[stable_order(page[by_time], pages)[1]]
        sorted_time = time[order]
    return grouped, sorted_time, order


def _refuse_conflicts(
    raw: _Raw,
    columns: dict[str, NDArray[Any]],
    again: Ints,
    order: Ints,
    name_of: Callable[[int], pa.Scalar],
) -> None:
    """Refuse visits of the same page and time as the one before that tell another story."""
    for column in columns.values():
        here, before = column[again], column[again - 1]
        differs = (here != before) & ~(np.isnan(here) & np.isnan(before))
        if differs.any():
            visit = int(again[np.argmax(differs)])
            first, second = sorted([int(order[visit - 1]), int(order[visit])])
            raise raw.error(
                f"the page {quoted(str(name_of(visit)))} was visited at this very time "
                f"in row {raw.row(first)} too, and the two rows disagree",
                second,
            )
