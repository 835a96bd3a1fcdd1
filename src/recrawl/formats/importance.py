"""The importance of pages, from a CSV or Parquet file with the columns page and importance."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.errors import InputError
from recrawl.formats import cells
from recrawl.formats.rows import Layout, Rows, page_names, read_rows
from recrawl.kernels.jit import Floats, Ints
from recrawl.units import quoted

LAYOUT = Layout(
    readers={"page": page_names, "importance": cells.read_importances},
    required=(("page",), ("importance",)),
    error_type=InputError,
)


def read_importance(
    source: str | os.PathLike[str],
    names: pa.Array,
    *,
    ignore_unknown: bool = False,
    among: str = "the crawl log",
) -> Floats:
    """Read the importance of each of the named pages; NaN for pages that the file does not have.

    Args:
        source: A file, or ``"-"`` for standard input; formats as for crawl logs.
        names: The pages, each once.
        ignore_unknown: Skip unknown columns instead of rejecting them.
        among: What messages call the source of the names.

    Raises:
        InputError: The file is invalid, has a page that is not among the names, which is likely
            misspelt, or has a page twice with different importance.
    """
    rows = read_rows(source, LAYOUT, ignore_unknown=ignore_unknown)
    if not rows.count:
        raise rows.error("there are no pages in it", None)
    listed = pa.chunked_array(rows.columns["page"])
    importance = np.concatenate(rows.columns["importance"])
    page = _indices(rows, listed, names, among)
    found = np.full(len(names), np.nan)
    found[page] = importance
    _reject_conflicts(rows, listed, page, (found[page], importance))
    return found


def _indices(rows: Rows, listed: pa.ChunkedArray, names: pa.Array, among: str) -> Ints:
    """Return the index of each listed page among the names."""
    if listed.type != names.type:
        # A CSV file calls a page '7' that a Parquet log calls 7.
        listed, names = listed.cast(pa.large_string()), names.cast(pa.large_string())
    found = pc.index_in(listed, value_set=names)
    if found.null_count:
        row = pc.index(found.is_null(), True).as_py()
        name = quoted(str(listed[row].as_py()))
        raise rows.error(f"the page {name} is not in {among}", row, "page")
    return np.asarray(found, np.int64)


def _reject_conflicts(
    rows: Rows, listed: pa.ChunkedArray, page: Ints, importance: tuple[Floats, Floats]
) -> None:
    """Raise an error if a later row gives a page another importance."""
    last, here = importance
    differs = (last != here) & ~(np.isnan(last) & np.isnan(here))
    if differs.any():
        first = int(np.argmax(differs))
        later = int(np.flatnonzero(page == page[first])[-1])
        raise rows.error(
            f"the page {quoted(str(listed[first].as_py()))} has a different importance "
            f"in row {rows.number(first)}",
            later,
            "importance",
        )
