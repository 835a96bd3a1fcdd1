"""Plans: how often to visit every page, and when next, as the columns of a table."""

from typing import Any

import numpy as np
import pyarrow as pa

from recrawl.formats.cells import YEAR_10000
from recrawl.kernels.jit import Floats, Ints
from recrawl.records import SECONDS_A_DAY

MICROSECONDS_A_SECOND = 1_000_000


def plan_columns(
    page: Any,  # noqa: ANN401 - pyarrow has no types
    *,
    change_rate: Floats,
    low: Floats,
    high: Floats,
    importance: Floats,
    crawl_rate: Floats,
    last_visit: Ints,
) -> dict[str, Any]:
    """Give the columns of a plan, ready for `write_table`; one element a page each.

    Args:
        page: The pages' names.
        change_rate: Changes a day.
        low: The lower end of its interval.
        high: The upper end of its interval.
        importance: How much the page counts.
        crawl_rate: Visits a day.
        last_visit: When the page was visited last, in microseconds since 1970.
    """
    return {
        "page": page,
        "change_rate": change_rate,
        "low": low,
        "high": high,
        "importance": importance,
        "crawl_rate": crawl_rate,
        "next_visit": next_visits(last_visit, crawl_rate),
    }


def next_visits(last_visit: Ints, crawl_rate: Floats) -> pa.Array:
    """Give each page's next visit, 1/crawl_rate days after its last one, to the second.

    It is null for a page that gets no visits, or none before the calendar ends.

    >>> next_visits(np.array([0, 0]), np.array([2.0, 0.0])).cast(pa.string()).to_pylist()
    ['1970-01-01 12:00:00Z', None]
    """
    with np.errstate(divide="ignore", over="ignore"):
        seconds = np.rint(last_visit / MICROSECONDS_A_SECOND + SECONDS_A_DAY / crawl_rate)
    never = ~(seconds < YEAR_10000)
    seconds[never] = 0.0
    return pa.array(seconds.astype("datetime64[s]"), pa.timestamp("s", "UTC"), mask=never)
