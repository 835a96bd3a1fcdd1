"""Crawl logs: from a CSV or Parquet file to the visits in it, sorted and checked."""

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
from recrawl.formats.names import Names
from recrawl.formats.rows import Layout, Rows, page_names, read_rows
from recrawl.kernels.grouping import stable_order
from recrawl.kernels.jit import Ints
from recrawl.progress import Progress
from recrawl.records import NO_TIME, Outcome, Visits
from recrawl.units import quoted


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
    names = Names()
    rows = read_rows(source, _layout(names), ignore_unknown=ignore_unknown, progress=progress)
    if not rows.count:
        raise rows.error("there are no visits in it", None)
    return _sorted_visits(rows, names.array())


def _times(column: pa.Array) -> Ints:
    times = cells.read_times(column)
    if (times == NO_TIME).any():
        raise cells.BadCell("the cell is empty", int(np.argmax(times == NO_TIME)))
    return times


def _layout(names: Names) -> Layout:
    """Give what a crawl log looks like; its pages are numbered as they are read."""
    return Layout(
        readers={
            "page": lambda column: names.number(page_names(column)),
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


def _sorted_visits(rows: Rows, names: pa.Array) -> Visits:
    columns = {name: np.concatenate(rows.columns.pop(name)) for name in list(rows.columns)}
    page = columns.pop("page")
    _refuse_blank(rows, page, names)
    told_by = "outcome" if "outcome" in columns else "changed"
    columns["outcome"] = _outcomes(columns.pop("changed", None), columns.get("outcome"))
    page, time, order = _by_page_and_time(page, columns.pop("time"), len(names))
    columns = {name: column[order] for name, column in columns.items()}
    again = np.flatnonzero((page[1:] == page[:-1]) & (time[1:] == time[:-1])) + 1
    if again.size:
        shown = {told_by if name == "outcome" else name: columns[name] for name in columns}
        _refuse_conflicts(rows, shown, again, order, lambda visit: names[int(page[visit])])
        page, time = np.delete(page, again), np.delete(time, again)
        columns = {name: np.delete(column, again) for name, column in columns.items()}
    return Visits(page=page, time=time, names=names, duplicates=again.size, **columns)


def _refuse_blank(rows: Rows, page: Ints, names: pa.Array) -> None:
    """Refuse a page whose name is nothing but spaces."""
    if cells.is_text(names.type):
        blank = pc.index(pc.binary_length(pc.utf8_trim_whitespace(names)), 0).as_py()
        if blank >= 0:
            raise rows.error("the cell is empty", int(np.argmax(page == blank)), "page")


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
    rows: Rows,
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
            raise rows.error(
                f"the page {quoted(str(name_of(visit)))} was visited at this very time "
                f"in row {rows.place(first)} too, and the two rows disagree",
                second,
            )
