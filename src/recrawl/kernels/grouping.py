"""Rows of the same page brought together, in order, without a sort.

A counting sort in two steps: rows are first dealt into some thousand buckets of neighbouring pages,
then, bucket by bucket and inside the cache, to their pages. Each step is linear in the rows.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recrawl.kernels.jit import AHEAD, Bools, Floats, Ints, compiled, cut, in_parallel, prefetch

#: About as many streams as the second-level cache keeps open at once.
BUCKETS = 1024


def starts_if_grouped(page: Ints, pages: int) -> Ints | None:
    """Give where each page's rows start, or None unless rows are sorted by page.

    >>> starts_if_grouped(np.array([0, 0, 2]), 3)
    array([0, 2, 2, 3])
    >>> starts_if_grouped(np.array([1, 0]), 2) is None
    True
    """
    starts = np.empty(pages + 1, np.int64)
    starts[0] = 0
    spans = cut(page.size, page.size)
    grouped = in_parallel(lambda first, last: _mark_starts(page, first, last, starts), spans)
    if not all(grouped):
        return None
    starts[(int(page[-1]) if page.size else -1) + 1 :] = page.size
    return starts


def stable_order(page: Ints, pages: int) -> tuple[Ints, Ints]:
    """Give where each page's rows start, and the order that puts the rows there.

    >>> starts, order = stable_order(np.array([2, 0, 2, 0]), 3)
    >>> starts, order
    (array([0, 2, 2, 4]), array([1, 3, 0, 2]))
    """
    starts = grouping(page, pages).starts
    order = np.empty(page.size, np.int64)
    _deal_rows(page, starts[:-1].copy(), order)
    return starts, order


class Grouping(NamedTuple):
    """Where rows go when they are sorted by page, and how to bring them back.

    Attributes:
        page: The rows' pages.
        starts: Where each page's rows start.
        places: For each chunk of rows, one a core, where in each page its rows begin.
    """

    page: Ints
    starts: Ints
    places: dict[tuple[int, int], Ints]

    def sorted(self, *columns: Floats) -> tuple[Floats, ...]:
        """Give columns in the order of pages, the rows of each in order.

        >>> grouping(np.array([1, 0, 1]), 2).sorted(np.array([5.0, 6.0, 7.0]))
        (array([6., 5., 7.]),)
        """
        if not columns:
            return ()
        outs = tuple(np.empty(self.page.size) for _ in columns)
        in_parallel(
            lambda first, last: _deal_columns(
                self.page, self.places[first, last].copy(), columns, first, last, outs
            ),
            list(self.places),
        )
        return outs

    def unsorted(self, column: Floats) -> Floats:
        """Undo `sorted`.

        >>> grouping(np.array([1, 0, 1]), 2).unsorted(np.array([6.0, 5.0, 7.0]))
        array([5., 6., 7.])
        """
        out = np.empty(self.page.size)
        in_parallel(
            lambda first, last: _collect_column(
                self.page, self.places[first, last].copy(), column, first, last, out
            ),
            list(self.places),
        )
        return out


def grouping(page: Ints, pages: int) -> Grouping:
    """Count the rows of each page, to sort by page columns that belong to them.

    >>> grouping(np.array([2, 0, 2]), 3).starts
    array([0, 1, 1, 3])
    """
    chunks = cut(page.size, page.size)
    counts = in_parallel(lambda first, last: np.bincount(page[first:last], minlength=pages), chunks)
    starts = np.zeros(pages + 1, np.int64)
    np.cumsum(np.sum(counts, axis=0), out=starts[1:])
    places = {}
    begin = starts[:-1]
    for chunk, count in zip(chunks, counts, strict=True):
        places[chunk] = begin
        begin = begin + count
    return Grouping(page, starts, places)


def group_rows(page: Ints, pages: int, value: Floats, flag: Bools) -> tuple[Ints, Floats, Bools]:
    """Give where each page's rows start, and its values (none negative) and flags in row order.

    >>> group_rows(
    ...     np.array([1, 0, 1]), 2, np.array([5.0, 6.0, 7.0]), np.array([True, False, False])
    ... )
    (array([0, 1, 3]), array([6., 5., 7.]), array([False,  True, False]))
    """
    shift = max(0, (max(pages, 1) - 1).bit_length() - BUCKETS.bit_length() + 1)
    buckets = ((pages - 1) >> shift) + 1 if pages else 0
    chunks = cut(page.size, page.size)
    counts = np.zeros((len(chunks), buckets), np.int64)
    in_parallel(
        lambda number, _: _count_buckets(page, *chunks[number], shift, counts[number]),
        [(number, number + 1) for number in range(len(chunks))],
    )
    # Bucket by bucket, and inside a bucket chunk by chunk: rows keep their order.
    ends = np.cumsum(counts.T.ravel()).reshape(buckets, len(chunks)).T
    places = np.ascontiguousarray(ends - counts)
    bucket_starts = np.concatenate([places[0], [page.size]])
    dealt_page = np.empty(page.size, np.int32)
    dealt_value = np.empty(page.size)
    in_parallel(
        lambda number, _: _deal_buckets(
            page, value, flag, *chunks[number], shift, places[number], dealt_page, dealt_value
        ),
        [(number, number + 1) for number in range(len(chunks))],
    )
    starts = np.empty(pages + 1, np.int64)
    starts[-1] = page.size
    grouped_value = np.empty(page.size)
    grouped_flag = np.empty(page.size, np.bool_)
    in_parallel(
        lambda first, last: _deal_pages(
            dealt_page, dealt_value, bucket_starts, first, last, shift, starts,
            grouped_value, grouped_flag,
        ),
        cut(buckets, page.size, bucket_starts),
    )  # fmt: skip
    return starts, grouped_value, grouped_flag


@compiled
def _mark_starts(page: Ints, first: int, last: int, starts: Ints) -> bool:
    previous = page[first - 1] if first else -1
    for row in range(first, last):
        current = page[row]
        if current != previous:
            if current < previous:
                return False
            starts[previous + 1 : current + 1] = row
            previous = current
    return True


@compiled
def _deal_rows(page: Ints, places: Ints, order: Ints) -> None:
    for row in range(page.size):
        prefetch(places, page[min(row + AHEAD, page.size - 1)])
        place = places[page[row]]
        order[place] = row
        places[page[row]] = place + 1


@compiled
def _deal_columns(
    page: Ints,
    places: Ints,
    columns: tuple[Floats, ...],
    first: int,
    last: int,
    outs: tuple[Floats, ...],
) -> None:
    for row in range(first, last):
        prefetch(places, page[min(row + AHEAD, last - 1)])
        soon = places[page[min(row + AHEAD // 2, last - 1)]]
        place = places[page[row]]
        for number in range(len(columns)):
            prefetch(outs[number], soon)
            outs[number][place] = columns[number][row]
        places[page[row]] = place + 1


@compiled
def _collect_column(
    page: Ints, places: Ints, grouped: Floats, first: int, last: int, out: Floats
) -> None:
    for row in range(first, last):
        prefetch(places, page[min(row + AHEAD, last - 1)])
        prefetch(grouped, places[page[min(row + AHEAD // 2, last - 1)]])
        place = places[page[row]]
        out[row] = grouped[place]
        places[page[row]] = place + 1


@compiled
def _count_buckets(page: Ints, first: int, last: int, shift: int, counts: Ints) -> None:
    for row in range(first, last):
        counts[page[row] >> shift] += 1


@compiled
def _deal_buckets(
    page: Ints,
    value: Floats,
    flag: Bools,
    first: int,
    last: int,
    shift: int,
    places: Ints,
    dealt_page: NDArray[np.int32],
    dealt_value: Floats,
) -> None:
    # The flag travels as the value's sign, which saves a third stream of writes.
    for row in range(first, last):
        bucket = page[row] >> shift
        place = places[bucket]
        places[bucket] = place + 1
        dealt_page[place] = page[row]
        dealt_value[place] = math.copysign(value[row], -1.0 if flag[row] else 1.0)


@compiled
def _deal_pages(
    dealt_page: NDArray[np.int32],
    dealt_value: Floats,
    bucket_starts: Ints,
    first: int,
    last: int,
    shift: int,
    starts: Ints,
    value: Floats,
    flag: Bools,
) -> None:
    width = 1 << shift
    places = np.empty(width, np.int64)
    for bucket in range(first, last):
        low = bucket << shift
        high = min(low + width, starts.size - 1)
        begin, end = bucket_starts[bucket], bucket_starts[bucket + 1]
        places[:] = 0
        for row in range(begin, end):
            places[dealt_page[row] - low] += 1
        total = begin
        for page in range(low, high):
            count = places[page - low]
            starts[page] = places[page - low] = total
            total += count
        for row in range(begin, end):
            page = dealt_page[row] - low
            place = places[page]
            places[page] = place + 1
            value[place] = abs(dealt_value[row])
            flag[place] = math.copysign(1.0, dealt_value[row]) < 0.0
