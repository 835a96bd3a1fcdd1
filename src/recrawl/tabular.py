"""Tabular results: as Arrow, pandas or polars tables, on one line, and in a notebook.

These libraries are imported only when they are needed.
"""

import html
import math
from collections.abc import Mapping
from typing import Any

from recrawl.errors import ArgumentError

#: The size of the chart in a notebook: bars, and their height in pixels.
BARS, BAR_WIDTH, HEIGHT = 40, 6, 48
#: How many rows a notebook shows.
SHOWN = 5


class Tabular:
    """A result whose columns have one element per page.

    It is an Arrow stream, so that ``polars.DataFrame(result)``, DuckDB and others read it without a
    copy.
    """

    def columns(self) -> Mapping[str, Any]:
        """Return the columns by name."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return a summary in a few words."""
        raise NotImplementedError

    def to_arrow(self) -> Any:  # noqa: ANN401 - pyarrow has no types
        """Return the columns as a pyarrow table."""
        import pyarrow as pa

        return pa.table({name: pa.array(column) for name, column in self.columns().items()})

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas need not be there
        """Return the columns as a pandas data frame; pandas must be installed."""
        _check_installed("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:  # noqa: ANN401 - polars need not be there
        """Return the columns as a polars data frame; polars must be installed."""
        return _check_installed("polars").from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> object:  # noqa: FBT001, FBT002
        return self.to_arrow().__dataframe__(nan_as_null, allow_copy)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.summary()})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first rows, and the distribution of the main column."""
        table = self.to_arrow()
        title, values = self._charted()
        rows = table.slice(0, SHOWN).to_pylist()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in table.column_names)
        body = "".join(
            f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row.values())}</tr>"
            for row in rows
        )
        more = f"<p>{table.num_rows - SHOWN:,} more rows</p>" if table.num_rows > SHOWN else ""
        return (
            f"<p>{html.escape(repr(self))}</p>{histogram(values, title)}"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
        )

    def _charted(self) -> tuple[str, Any]:
        """Return the name and the values of the column that a chart shows."""
        raise NotImplementedError


def histogram(values: Any, title: str) -> str:  # noqa: ANN401 - an array
    """Return a histogram of positive values, on a logarithmic scale, as SVG."""
    import numpy as np

    column = np.asarray(values, np.float64)
    column = column[np.isfinite(column) & (column > 0.0)]
    if not column.size:
        return ""
    counts, edges = np.histogram(np.log10(column), BARS)
    bars = "".join(
        f'<rect x="{BAR_WIDTH * bar}" y="{HEIGHT - tall:.1f}" width="{BAR_WIDTH - 1}" '
        f'height="{tall:.1f}" fill="#4878a8"/>'
        for bar, tall in enumerate((HEIGHT * counts / counts.max()).tolist())
    )
    width = BARS * BAR_WIDTH
    low, high = (f"{10.0 ** float(edge):.2g}" for edge in (edges[0], edges[-1]))
    return (
        f'<svg width="{width}" height="{HEIGHT + 16}" role="img" aria-label="{title}" '
        f'font-size="11" fill="currentColor">{bars}<text x="0" y="{HEIGHT + 12}">{low}</text>'
        f'<text x="{width // 2}" y="{HEIGHT + 12}" text-anchor="middle">{title}</text>'
        f'<text x="{width}" y="{HEIGHT + 12}" text-anchor="end">{high}</text></svg>'
    )


def spread(values: Any) -> str:  # noqa: ANN401 - an array
    """Return the minimum, the maximum and the median.

    >>> import numpy as np
    >>> spread(np.array([1.0, 2.0, 100.0]))
    '1 to 100, half below 2'
    """
    import numpy as np

    if not len(values):
        return "none"
    low, middle, high = np.min(values), np.median(values), np.max(values)
    return f"{low:.3g} to {high:.3g}, half below {middle:.3g}"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "–"
    return "–" if value is None else html.escape(str(value))


def _check_installed(library: str) -> Any:  # noqa: ANN401 - a module
    from importlib import import_module

    try:
        return import_module(library)
    except ImportError:
        raise ArgumentError(
            f"to_{library}: {library} is not installed: pip install {library}"
        ) from None
