"""Rows of the same page brought together, in order, without a sort.

A counting sort in two steps: rows are first dealt into some thousand buckets of neighbouring pages,
then, bucket by bucket and inside the cache, to their pages. Each step is linear in the rows.
"""

import numpy as np
from numpy.typing import NDArray

from recrawl.compiled import compiled

#: About as many streams as the second-level cache keeps open at once.
BUCKETS = 1024


def starts_if_grouped(page: NDArray[np.int64], pages: int) -> NDArray[np.int64] | None:
    """Give where each page's rows start, or None unless rows are sorted by page.

    >>> starts_if_grouped(np.array([0, 0, 2]), 3)
    array([0, 2, 2, 3])
    >>> starts_if_grouped(np.array([1, 0]), 2) is None
    True
    """
    starts = np.empty(pages + 1, np.int64)
    return starts if _starts_of_sorted(page, starts) else None


def stable_order(
    page: NDArray[np.int64], pages: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give where each page's rows start, and the order that puts the rows there.

    >>> starts, order = stable_order(np.array([2, 0, 2, 0]), 3)
    >>> starts, order
    (array([0, 2, 2, 4]), array([1, 3, 0, 2]))
    """
    starts = np.zeros(pages + 1, np.int64)
    np.cumsum(np.bincount(page, minlength=pages), out=starts[1:])
    order = np.empty(page.size, np.int64)
    _deal_rows(page, starts[:-1].copy(), order)
    return starts, order


@compiled
def _starts_of_sorted(page: NDArray[np.int64], starts: NDArray[np.int64]) -> bool:
    previous = -1
    for row in range(page.size):
        current = page[row]
        if current != previous:
            if current < previous:
                return False
            starts[previous + 1 : current + 1] = row
            previous = current
    starts[previous + 1 :] = page.size
    return True


@compiled
def _deal_rows(
    page: NDArray[np.int64], places: NDArray[np.int64], order: NDArray[np.int64]
) -> None:
    for row in range(page.size):
        place = places[page[row]]
        order[place] = row
        places[page[row]] = place + 1
