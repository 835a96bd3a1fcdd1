"""Read and write traces: the true history of pages, in a folder with two tables."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet

from recrawl.errors import InputError, OutputError
from recrawl.formats import cells
from recrawl.formats.rows import Layout, Rows, page_names, read_rows
from recrawl.formats.tables import whole_file
from recrawl.formats.times import read_times
from recrawl.kernels.jit import Floats, Ints
from recrawl.records import NO_TIME
from recrawl.units import MICROSECONDS_A_SECOND, quoted

#: The death of a page that is alive: later than any time, so that ``died > time`` just works.
ALIVE = int(np.iinfo(np.int64).max)

#: The extensions of the two tables; the first is the one that is written.
ENDINGS = (".parquet", ".csv")

Numbers = NDArray[np.int32]

_NUMBERS = np.iinfo(np.int32)
_NOT_A_NUMBER = f"is not a whole number from {_NUMBERS.min} to {_NUMBERS.max}"


@dataclass(frozen=True, eq=False)
class Trace:
    """The true history of pages: when each was created, when it changed and when it was removed.

    Times are Unix seconds. The first columns have one element per page, in the order of the file;
    the last two have one per change, sorted by page and then by time, without duplicates.

    Attributes:
        page: The number of the page in the files.
        name: Its name.
        importance: How much it counts; 1 where the file has no value.
        born: When it was created, which is not a change.
        died: When it was removed; ``ALIVE`` if it never was.
        change_page: The index, from 0, of the page that changed in the columns above.
        change_time: When it changed.
    """

    page: Numbers
    name: list[str]
    importance: Floats
    born: Ints
    died: Ints
    change_page: Ints
    change_time: Ints


def read_trace(folder: str | os.PathLike[str], *, ignore_unknown: bool = False) -> Trace:
    """Read a trace: ``pages`` and ``changes``, each a .parquet or a .csv file.

    Changes may be in any order; duplicates count once.

    Args:
        folder: Where the two files are.
        ignore_unknown: Skip unknown columns instead of rejecting them.

    Raises:
        InputError: The trace is invalid; the message says where and why.
    """
    paths = [_table(Path(folder), "pages"), _table(Path(folder), "changes")]
    pages, changes = (
        read_rows(path, layout, ignore_unknown=ignore_unknown)
        for path, layout in zip(paths, (_PAGES, _CHANGES), strict=True)
    )
    if not pages.count:
        raise pages.error("there are no pages in it", None)
    columns = {name: np.concatenate(parts) for name, parts in pages.columns.items()}
    page, born, died = columns["page"], columns["born"], columns["died"]
    name = columns["name"].tolist()
    _reject_duplicates(pages, page)
    _reject_early_deaths(pages, name, born, died)
    importance = columns.get("weight", np.ones(page.size))
    change_page, change_time = in_order(_indices(changes, page), _column(changes, "time"))
    return Trace(
        page=page,
        name=name,
        importance=np.where(np.isnan(importance), 1.0, importance),
        born=born,
        died=died,
        change_page=change_page,
        change_time=change_time,
    )


def write_trace(folder: str | os.PathLike[str], trace: Trace, *, overwrite: bool = False) -> None:
    """Write a trace as Parquet: both files, or neither.

    Args:
        folder: Where to write; created if it does not exist, but not its parent.
        trace: What to write.
        overwrite: Replace an existing trace instead of refusing to.

    Raises:
        OutputError: The trace cannot be written.
    """
    check_folder(folder, overwrite=overwrite)
    path = Path(folder)
    # Both are written before either is renamed. Pages come last: without them a new folder is not a
    # trace yet.
    with (
        _disk_errors(path),
        _created(path),
        whole_file(path / "pages.parquet") as pages,
        whole_file(path / "changes.parquet") as changes,
    ):
        parquet.write_table(pa.table(_page_columns(trace)), pages)
        parquet.write_table(pa.table(_change_columns(trace)), changes)
    with _disk_errors(path):
        for old in ("changes.csv", "pages.csv"):
            (path / old).unlink(missing_ok=True)


def check_folder(folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Check that a trace can be written to a folder, before it takes an hour to compute.

    Raises:
        OutputError: The parent folder is missing, the folder is a file, or it has a trace already.
    """
    path = Path(folder)
    with _disk_errors(path):
        if path.exists() and not path.is_dir():
            raise OutputError(f"{path}: this is a file, not a folder")
        if not path.parent.is_dir():
            raise OutputError(f"{path}: there is no directory {path.parent}")
        if not overwrite and (_existing(path, "pages") or _existing(path, "changes")):
            raise OutputError(
                f"{path}: there is a trace already; name another folder, or overwrite it (--force)"
            )


def in_order(page: Ints, time: Ints) -> tuple[Ints, Ints]:
    """Sort changes by page and then by time, and drop duplicates.

    >>> in_order(np.array([1, 0, 1, 1]), np.array([5, 9, 3, 5]))
    (array([0, 1, 1]), array([9, 3, 5]))
    """
    order = np.lexsort((time, page))
    page, time = page[order], time[order]
    is_first = np.ones(page.size, np.bool_)
    is_first[1:] = (page[1:] != page[:-1]) | (time[1:] != time[:-1])
    return page[is_first], time[is_first]


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    """Turn disk errors into clear ones."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{folder}: it cannot be written: {error.strerror or error}") from None


@contextmanager
def _created(folder: Path) -> Iterator[None]:
    """Create a folder unless it exists, and remove it again if the block fails."""
    is_new = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _page_columns(trace: Trace) -> dict[str, Any]:
    return {
        "page": trace.page,
        "name": trace.name,
        "weight": trace.importance,
        "born": trace.born,
        "died": pa.array(trace.died, mask=trace.died == ALIVE),
    }


def _change_columns(trace: Trace) -> dict[str, Any]:
    return {"page": trace.page[trace.change_page], "time": trace.change_time}


def _existing(folder: Path, table: Literal["pages", "changes"]) -> list[Path]:
    """Return the files in a folder that may be one of its tables."""
    paths = [folder / f"{table}{ending}" for ending in ENDINGS]
    return [path for path in paths if path.exists()]


def _table(folder: Path, table: Literal["pages", "changes"]) -> Path:
    """Return the file in a folder that is one of its tables."""
    try:
        if not folder.exists():
            raise InputError(str(folder), "there is no such folder")
        if not folder.is_dir():
            raise InputError(str(folder), "a trace is a folder with two tables, this is a file")
        found = _existing(folder, table)
    except OSError as error:
        raise InputError(str(folder), f"it cannot be read: {error.strerror or error}") from None
    names = [f"{table}{ending}" for ending in ENDINGS]
    if not found:
        raise InputError(str(folder), f"there is neither {' nor '.join(names)} in it")
    if len(found) > 1:
        raise InputError(str(folder), f"there are both {' and '.join(names)} in it; keep one")
    return found[0]


def _numbers(column: pa.Array) -> Numbers:
    """Return page numbers."""
    _reject_empty(column, column.is_null())
    written = column
    if cells.is_text(column.type):
        written = pc.utf8_trim_whitespace(cells.read_text(column))
        is_number = pc.match_substring_regex(written, r"^-?\d{1,10}$")
        column = pc.if_else(is_number, written, str(_NUMBERS.max + 1)).cast(pa.int64())
    elif not pa.types.is_integer(column.type) and len(column):
        raise cells.BadCell(f"the column holds {cells.type_name(column.type)}, not whole numbers")
    numbers: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero((numbers < _NUMBERS.min) | (numbers > _NUMBERS.max))
    if wrong.size:
        row = int(wrong[0])
        raise cells.BadCell(f"{quoted(str(written[row].as_py()))} {_NOT_A_NUMBER}", row)
    return numbers.astype(np.int32)


def _names(column: pa.Array) -> NDArray[np.object_]:
    names: NDArray[np.object_] = np.empty(len(column), np.object_)
    names[:] = page_names(column).cast(pa.large_string()).to_pylist()
    return names


def _times(column: pa.Array) -> Ints:
    """Return Unix seconds."""
    times = read_times(column)
    _reject_empty(column, pa.array(times == NO_TIME))
    return times // MICROSECONDS_A_SECOND


def _deaths(column: pa.Array) -> Ints:
    """Return Unix seconds, ``ALIVE`` for empty cells."""
    times = read_times(column)
    return np.where(times == NO_TIME, ALIVE, times // MICROSECONDS_A_SECOND)


def _reject_empty(column: pa.Array, empty: pa.Array) -> None:
    if len(column) and (first := pc.index(empty, value=True).as_py()) >= 0:
        raise cells.BadCell("the cell is empty", first)


_PAGES = Layout(
    readers={
        "page": _numbers,
        "name": _names,
        "weight": cells.read_importances,
        "born": _times,
        "died": _deaths,
    },
    required=(("page",), ("name",), ("born",), ("died",)),
    error_type=InputError,
)
_CHANGES = Layout(
    readers={"page": _numbers, "time": _times},
    required=(("page",), ("time",)),
    error_type=InputError,
)


def _column(rows: Rows, name: str) -> Ints:
    """Return a column of a table that may have no rows."""
    return np.concatenate([np.zeros(0, np.int64), *rows.columns.get(name, [])])


def _reject_duplicates(pages: Rows, page: Numbers) -> None:
    """Raise an error if two pages have the same number."""
    order = np.argsort(page, kind="stable")
    again = np.flatnonzero(page[order[1:]] == page[order[:-1]])
    if again.size:
        first, second = int(order[again[0]]), int(order[again[0] + 1])
        raise pages.error(
            f"the page {page[first]} is also in row {pages.number(first)}", second, "page"
        )


def _reject_early_deaths(pages: Rows, name: list[str], born: Ints, died: Ints) -> None:
    early = np.flatnonzero(died < born)
    if early.size:
        row = int(early[0])
        raise pages.error(f"the page {quoted(name[row])} died before it was born", row, "died")


def _indices(changes: Rows, page: Numbers) -> Ints:
    """Return the index of the page of each change."""
    changed = _column(changes, "page")
    order = np.argsort(page)
    found = np.minimum(np.searchsorted(page, changed, sorter=order), page.size - 1)
    indices: Ints = order[found]
    unknown = np.flatnonzero(page[indices] != changed)
    if unknown.size:
        row = int(unknown[0])
        raise changes.error(f"the page {changed[row]} is not among the pages", row, "page")
    return indices
