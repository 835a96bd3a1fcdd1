"""Crawl logs: a CSV or Parquet file in, sorted and checked visits out."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recrawl.errors import CrawlLogError
from recrawl.formats import cells
from recrawl.formats.cells import EMPTY, Outcomes
from recrawl.formats.rows import Layout, Rows, page_names, read_rows
from recrawl.kernels.grouping import stable_order
from recrawl.kernels.jit import Ints
from recrawl.progress import Progress
from recrawl.records import NO_TIME, CrawlLog, Outcome
from recrawl.units import quoted


def read_log(
    source: str | os.PathLike[str],
    *,
    ignore_unknown: bool = False,
    progress: Progress | None = None,
) -> CrawlLog:
    """Read a crawl log; visits come out sorted by page and time, without duplicates.

    Args:
        source: A file, or ``"-"`` for standard input: CSV, also gzipped, or Parquet.
        ignore_unknown: Skip unknown columns instead of rejecting them.
        progress: Called with the bytes read and the size of the file, None if unknown.

    Raises:
        CrawlLogError: The log is invalid; the message says where and why.
    """
    rows = read_rows(source, LAYOUT, ignore_unknown=ignore_unknown, progress=progress)
    if not rows.count:
        raise rows.error("there are no visits in it", None)
    return _sorted_visits(rows)


def _times(column: pa.Array) -> Ints:
    times = cells.read_times(column)
    if (times == NO_TIME).any():
        raise cells.BadCell("the cell is empty", int(np.argmax(times == NO_TIME)))
    return times


LAYOUT = Layout(
    readers={
        # Each name is kept once per batch, and once in all when the batches are joined.
        "page": lambda column: page_names(column).dictionary_encode(),
        "time": _times,
        "changed": cells.read_changed,
        "outcome": cells.read_outcomes,
        "crawl_rate": cells.read_rates,
        "last_modified": cells.read_times,
        "importance": cells.read_importances,
    },
    required=(("page",), ("time",), ("changed", "outcome")),
    error_type=CrawlLogError,
)


def _sorted_visits(rows: Rows) -> CrawlLog:
    page, names = _numbered(rows.columns.pop("page"))
    columns = {name: np.concatenate(rows.columns.pop(name)) for name in list(rows.columns)}
    _reject_blank(rows, page, names)
    decided_by = "outcome" if "outcome" in columns else "changed"
    columns["outcome"] = _outcomes(columns.pop("changed", None), columns.get("outcome"))
    page, time, order = _by_page_and_time(page, columns.pop("time"), len(names))
    columns = {name: column[order] for name, column in columns.items()}
    again = np.flatnonzero((page[1:] == page[:-1]) & (time[1:] == time[:-1])) + 1
    if again.size:
        shown = {decided_by if name == "outcome" else name: columns[name] for name in columns}
        _reject_conflicts(rows, shown, again, order, lambda visit: names[int(page[visit])])
        page, time = np.delete(page, again), np.delete(time, again)
        columns = {name: np.delete(column, again) for name, column in columns.items()}
    return CrawlLog(
        page=page,
        time=time,
        names=names,
        duplicates=again.size,
        source=rows.source.name,
        **columns,
    )


def _numbered(batches: list[pa.DictionaryArray]) -> tuple[Ints, pa.Array]:
    """Return pages as numbers from 0, in order of first appearance, and their names."""
    chunks = pa.chunked_array(batches).unify_dictionaries().chunks
    page = np.concatenate([np.asarray(chunk.indices) for chunk in chunks]).astype(np.int64)
    return page, chunks[0].dictionary


def _reject_blank(rows: Rows, page: Ints, names: pa.Array) -> None:
    """Raise an error for a page whose name is blank."""
    if cells.is_text(names.type):
        blank = pc.index(pc.binary_length(pc.utf8_trim_whitespace(names)), 0).as_py()
        if blank >= 0:
            raise rows.error("the cell is empty", int(np.argmax(page == blank)), "page")


def _outcomes(changed: Outcomes | None, outcome: Outcomes | None) -> Outcomes:
    """Return the outcome, or else what ``changed`` says; FIRST if both are empty."""
    found: Outcomes | np.int8 = EMPTY
    for column in (changed, outcome):
        if column is not None:
            found = np.where(column == EMPTY, found, column)
    return np.where(found == EMPTY, np.int8(Outcome.FIRST), found)


def _by_page_and_time(page: Ints, time: Ints, pages: int) -> tuple[Ints, Ints, Ints]:
    """Return sorted pages and times, and the order; a log in order of time is only grouped."""
    starts, order = stable_order(page, pages)
    grouped = np.repeat(np.arange(pages), np.diff(starts))
    sorted_time = time[order]
    if ((sorted_time[1:] < sorted_time[:-1]) & (grouped[1:] == grouped[:-1])).any():
        by_time = np.argsort(time, kind="stable")
        order = by_time[stable_order(page[by_time], pages)[1]]
        sorted_time = time[order]
    return grouped, sorted_time, order


def _reject_conflicts(
    rows: Rows,
    columns: dict[str, NDArray[Any]],
    again: Ints,
    order: Ints,
    name_of: Callable[[int], pa.Scalar],
) -> None:
    """Raise an error if two rows of the same page and time differ."""
    for column in columns.values():
        here, before = column[again], column[again - 1]
        differs = (here != before) & ~(np.isnan(here) & np.isnan(before))
        if differs.any():
            visit = int(again[np.argmax(differs)])
            first, second = sorted([int(order[visit - 1]), int(order[visit])])
            raise rows.error(
                f"the page {quoted(str(name_of(visit)))} has the same time in row "
                f"{rows.number(first)}, and the two rows disagree",
                second,
            )
