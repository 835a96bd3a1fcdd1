"""The rows everything else moves about, and how long a day is."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

SECONDS_A_DAY = 86_400.0
MICROSECONDS_A_DAY = 86_400e6


class Outcome(IntEnum):
    """What a visit found."""

    FIRST = 0
    CHANGED = 1
    UNCHANGED = 2
    FAILED = 3
    GONE = 4


@dataclass(frozen=True, slots=True)
class Visits:
    """A crawl log as columns: one row a visit, sorted by page and then by time.

    Attributes:
        page: Numbers from 0; ``names[page]`` is what the log calls the page.
        time: Microseconds since 1970, UTC.
        outcome: An `Outcome` each.
        crawl_rate: Visits a day in force during the gap that the visit ends; NaN where unknown.
        last_modified: Microseconds since 1970, UTC; ``NO_TIME`` where the server did not tell.
        importance: NaN where not given.
        names: A pyarrow or NumPy array of the pages' names, in order of number.
        duplicates: How many exact duplicate rows were dropped.
    """

    page: NDArray[np.int64]
    time: NDArray[np.int64]
    outcome: NDArray[np.int8]
    names: Any
    crawl_rate: NDArray[np.float64] | None = None
    last_modified: NDArray[np.int64] | None = None
    importance: NDArray[np.float64] | None = None
    duplicates: int = 0


#: The time that stands for "not told" in a column of times.
NO_TIME = np.iinfo(np.int64).min
