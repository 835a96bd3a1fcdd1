"""The change rate of every page in the columns of a log."""

from __future__ import annotations  # so that help() shows the names of types

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.errors import ArgumentError
from recrawl.estimation.gamma_filter import GammaFilter
from recrawl.estimation.observations import assemble, flags
from recrawl.kernels.jit import extremes
from recrawl.quantities import as_array, durations, rates
from recrawl.tabular import Tabular, spread

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from recrawl.estimation.estimator import Estimator
    from recrawl.kernels.jit import Bools, Floats, Ints

#: Integer pages are used as page numbers if the largest is at most about this many times the rows.
MAX_SPARSITY = 4
FEW_PAGES = 1_000


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(Tabular):
    """A change rate for every page that was seen.

    Attributes:
        page: The pages: ascending if they are numbers from 0, else in order of appearance.
        rate: Changes per day.
        visits: Observations.
        method: The estimator.
        state: Its state, one element per page number.
        seen: The page numbers of the arrays above.
    """

    page: NDArray[Any]
    rate: Floats
    visits: Ints
    method: Estimator[Any]
    state: Any
    seen: Ints

    def __len__(self) -> int:
        return self.page.size

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends of the method's interval."""
        low, high = self.method.interval(self.state, level)
        return low[self.seen], high[self.seen]

    def columns(self) -> dict[str, Any]:
        """Return the columns by name, with 95 % intervals."""
        return {
            "page": self.page,
            "rate": self.rate,
            "low": self.low,
            "high": self.high,
            "visits": self.visits,
        }

    def summary(self) -> str:
        """Return the number of pages, and how their rates are spread."""
        pages = f"{self.rate.size:,} pages, {int(self.visits.sum()):,} visits"
        return f"{pages}, changes per day: {spread(self.rate)}"

    def _charted(self) -> tuple[str, Any]:
        return "changes per day", self.rate.tolist()

    @cached_property
    def _interval(self) -> tuple[Floats, Floats]:
        return self.interval()

    @property
    def low(self) -> Floats:
        """The lower ends at 95 %, computed on first access."""
        return self._interval[0]

    @property
    def high(self) -> Floats:
        """The upper ends at 95 %, computed on first access."""
        return self._interval[1]


def estimate(
    page: ArrayLike,
    elapsed: ArrayLike,
    changed: ArrayLike,
    *,
    crawl_rate: ArrayLike | None = None,
    age: ArrayLike | None = None,
    method: Estimator[Any] | None = None,
) -> Estimates:
    """Estimate the change rate of every page in the columns of a log.

    Columns are arrays of NumPy, pyarrow, pandas, polars or DuckDB, or lists.

    Args:
        page: The page of each row: a number or a name. Pages may be interleaved, but the rows of a
            page must be in order of time. Rows sorted by page are fastest.
        elapsed: Days since the page's previous visit, or durations; missing for a first visit.
        changed: Whether it had changed since then.
        crawl_rate: Visits per day in force during the gap, a column or one number; NaN if unknown.
        age: Days since the page last changed, by its server's date; NaN if unknown.
        method: An estimator; `GammaFilter` by default.

    Returns:
        A row for every page that was seen, in ``page``, ``rate`` (changes per day), ``visits``, and
        ``low`` and ``high``, the ends of a 95 % interval; ``interval(level)`` has others.

    >>> found = estimate(["a", "b", "a"], [1.0, 2.0, 1.0], [True, False, False])
    >>> found.page, found.rate.round(3), found.visits
    (array(['a', 'b'], dtype='<U1'), array([0.745, 0.167]), array([2, 1]))
    >>> found
    Estimates(2 pages, 3 visits, changes per day: 0.167 to 0.745, half below 0.456)
    >>> len(found)
    2
    """
    estimator = method or GammaFilter()
    gaps = durations("elapsed", elapsed)
    columns: list[Any] = [page, gaps, changed, crawl_rate, age]
    if gaps.ndim == 1 and np.isnan(extremes(gaps)[0]):
        columns = _known_rows(columns, ~np.isnan(gaps))
    numbers, pages, names = _numbered(columns[0])
    observations = assemble(numbers, pages, *columns[1:])
    state = estimator.update(estimator.start(observations.pages), observations)
    seen = np.flatnonzero(state.visits)
    return Estimates(
        page=seen if names is None else names,
        rate=estimator.rate(state)[seen],
        visits=state.visits[seen],
        method=estimator,
        state=state,
        seen=seen,
    )


def _known_rows(columns: list[Any], known: Bools) -> list[Any]:
    """Return the rows that have an elapsed time; the others are first visits."""
    page, elapsed, changed, crawl_rate, age = columns
    pages = page if isinstance(page, list | tuple) else np.ravel(as_array("page", page))
    if len(pages) != known.size:
        raise ArgumentError(f"elapsed: has {known.size} rows; page has {len(pages)}")
    bits = flags(changed, known.size, known)
    rest = (_known("crawl_rate", crawl_rate, rates, known), _known("age", age, durations, known))
    if isinstance(pages, list | tuple):
        pages = list(itertools.compress(pages, known))
    else:
        pages = pages[known]
    return [pages, elapsed[known], bits[known], *rest]


def _known(
    name: str,
    column: ArrayLike | None,
    read: Callable[[str, ArrayLike], Floats],
    known: Bools,
) -> ArrayLike | None:
    """Return the known rows of an optional column; a single number applies to every row."""
    values = None if column is None else read(name, column)
    if values is None or values.ndim == 0:
        return column
    if len(values) != known.size:
        shape = f"has shape {values.shape}; expected {known.size} rows, as elapsed has"
        raise ArgumentError(f"{name}: {shape}")
    return values[known]


def _numbered(page: ArrayLike) -> tuple[Ints, int, NDArray[Any] | None]:
    """Number the pages from 0; return their names too, unless they are page numbers already."""
    pages = np.ravel(as_array("page", page))
    if pages.dtype.kind in "iu":
        low, high = (int(end) for end in extremes(pages)) if pages.size else (0, -1)
        if low >= 0 and high < MAX_SPARSITY * pages.size + FEW_PAGES:
            return np.ascontiguousarray(pages, np.int64), high + 1, None
    # NumPy converts other values to text, such as a missing name to 'nan'.
    is_list = isinstance(page, list | tuple) and pages.dtype.kind == "U"
    _check_names(np.array(page, np.object_).ravel() if is_list else pages)
    if pages.dtype.kind == "O" and pages.size and isinstance(pages[0], str):
        return _numbered_texts(pages)
    distinct, first, inverse = np.unique(pages, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    return rank[inverse], order.size, distinct[order]


def _numbered_texts(pages: NDArray[Any]) -> tuple[Ints, int, NDArray[Any]]:
    """Number texts with Arrow's hash table, several times faster than sorting objects."""
    import pyarrow as pa

    coded = pa.array(pages, pa.large_string()).dictionary_encode()
    names: NDArray[Any] = coded.dictionary.to_numpy(zero_copy_only=False)
    return coded.indices.to_numpy().astype(np.int64), names.size, names


def _check_names(pages: NDArray[Any]) -> None:
    """Raise `ArgumentError` unless every page is a name, or every page is a number."""
    if pages.dtype.kind in "biuUST":
        return
    kinds = (str, bytes) if pages.size and isinstance(pages[0], str | bytes) else (int, np.integer)
    for row, name in enumerate(pages):
        if pages.dtype.kind != "O" or not isinstance(name, kinds):
            raise ArgumentError(f"page: row {row} is {name!r}; pages are all names or all integers")
