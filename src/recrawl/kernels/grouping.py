"""Group the rows of each page, in order, in linear time.

A counting sort in two steps: rows are scattered to about a thousand buckets of neighbouring pages,
then, bucket by bucket and inside the cache, to their pages.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recrawl.kernels.jit import AHEAD, Bools, Floats, Ints, compiled, cut, in_parallel, prefetch

#: About as many write streams as the second-level cache can keep open.
BUCKETS = 1024
#: Groups of more rows than this are not sorted by insertion.
MANY_ROWS = 64
#: As many as an allocation problem has.
Columns = Annotated[tuple[Floats, ...], 5]


def starts_if_grouped(page: Ints, pages: int) -> Ints | None:
    """Return where each page's rows start, or None if the rows are not sorted by page.

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
    """Return where each page's rows start after sorting, and the order that sorts them.

    >>> starts, order = stable_order(np.array([2, 0, 2, 0]), 3)
    >>> starts, order
    (array([0, 2, 2, 4]), array([1, 3, 0, 2]))
    """
    starts = grouping(page, pages).starts
    order = np.empty(page.size, np.int64)
    _scatter_rows(page, starts[:-1].copy(), order)
    return starts, order


def sort_groups(starts: Ints, value: Ints, order: Ints) -> None:
    """Sort the rows of each page by a value, in place; those with equal values keep their order.

    Args:
        starts: Where each page's rows start.
        value: The value of each row, by page.
        order: Reordered along with it.

    >>> value, order = np.array([3, 1, 2, 0]), np.arange(4)
    >>> sort_groups(np.array([0, 2, 4]), value, order)
    >>> value, order
    (array([1, 3, 0, 2]), array([1, 0, 3, 2]))
    """
    large = np.empty(value.size // MANY_ROWS + 1, np.int64)
    for group in large[: _sort_small_groups(starts, value, order, large)].tolist():
        here = slice(int(starts[group]), int(starts[group + 1]))
        by_value = np.argsort(value[here], kind="stable")
        value[here], order[here] = value[here][by_value], order[here][by_value]


class Grouping(NamedTuple):
    """A sort of rows by page, and its inverse.

    Attributes:
        page: The page of each row.
        starts: Where each page's rows start.
        positions: For each chunk of rows, one per core, where its first row of each page goes.
    """

    page: Ints
    starts: Ints
    positions: dict[tuple[int, int], Ints]

    def sorted(self, *columns: Floats) -> tuple[Floats, ...]:
        """Return columns sorted by page, the rows of each page in their original order.

        >>> grouping(np.array([1, 0, 1]), 2).sorted(np.array([5.0, 6.0, 7.0]))
        (array([6., 5., 7.]),)
        """
        if not columns:
            return ()
        outs = tuple(np.empty(self.page.size) for _ in columns)
        in_parallel(
            lambda first, last: _scatter_columns(
                self.page, self.positions[first, last].copy(), columns, first, last, outs
            ),
            list(self.positions),
        )
        return outs

    def unsorted(self, column: Floats) -> Floats:
        """Undo `sorted`.

        >>> grouping(np.array([1, 0, 1]), 2).unsorted(np.array([6.0, 5.0, 7.0]))
        array([5., 6., 7.])
        """
        out = np.empty(self.page.size)
        in_parallel(
            lambda first, last: _gather_column(
                self.page, self.positions[first, last].copy(), column, first, last, out
            ),
            list(self.positions),
        )
        return out


def grouping(page: Ints, pages: int) -> Grouping:
    """Prepare to sort columns by page: count the rows of each.

    >>> grouping(np.array([2, 0, 2]), 3).starts
    array([0, 1, 1, 3])
    """
    chunks = cut(page.size, page.size)
    counts = in_parallel(lambda first, last: np.bincount(page[first:last], minlength=pages), chunks)
    starts = np.zeros(pages + 1, np.int64)
    np.cumsum(np.sum(counts, axis=0), out=starts[1:])
    positions = {}
    begin = starts[:-1]
    for chunk, count in zip(chunks, counts, strict=True):
        positions[chunk] = begin
        begin = begin + count
    return Grouping(page, starts, positions)


def group_rows(page: Ints, pages: int, value: Floats, flag: Bools) -> tuple[Ints, Floats, Bools]:
    """Return where each page's rows start, and the values (none negative) and flags by page.

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
    positions = np.ascontiguousarray(ends - counts)
    bucket_starts = np.concatenate([positions[0], [page.size]])
    bucket_page = np.empty(page.size, np.int32)
    bucket_value = np.empty(page.size)
    in_parallel(
        lambda number, _: _scatter_to_buckets(
            page, value, flag, *chunks[number], shift, positions[number], bucket_page, bucket_value
        ),
        [(number, number + 1) for number in range(len(chunks))],
    )
    starts = np.empty(pages + 1, np.int64)
    starts[-1] = page.size
    grouped_value = np.empty(page.size)
    grouped_flag = np.empty(page.size, np.bool_)
    in_parallel(
        lambda first, last: _scatter_to_pages(
            bucket_page, bucket_value, bucket_starts, first, last, shift, starts,
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
def _scatter_rows(page: Ints, positions: Ints, order: Ints) -> None:
    for row in range(page.size):
        prefetch(positions, page[min(row + AHEAD, page.size - 1)])
        position = positions[page[row]]
        order[position] = row
        positions[page[row]] = position + 1


@compiled
def _sort_small_groups(starts: Ints, value: Ints, order: Ints, large: Ints) -> int:
    """Sort groups by insertion; list those that are large and not sorted, and return how many."""
    found = 0
    for group in range(starts.size - 1):
        first, last = starts[group], starts[group + 1]
        if last - first > MANY_ROWS:
            for row in range(first + 1, last):
                if value[row] < value[row - 1]:
                    large[found] = group
                    found += 1
                    break
            continue
        for row in range(first + 1, last):
            here, moved = value[row], order[row]
            at = row
            while at > first and value[at - 1] > here:
                value[at] = value[at - 1]
                order[at] = order[at - 1]
                at -= 1
            value[at] = here
            order[at] = moved
    return found


@compiled
def _scatter_columns(
    page: Ints,
    positions: Ints,
    columns: Columns,
    first: int,
    last: int,
    outs: Columns,
) -> None:
    for row in range(first, last):
        prefetch(positions, page[min(row + AHEAD, last - 1)])
        soon = positions[page[min(row + AHEAD // 2, last - 1)]]
        position = positions[page[row]]
        for number in range(len(columns)):
            prefetch(outs[number], soon)
            outs[number][position] = columns[number][row]
        positions[page[row]] = position + 1


@compiled
def _gather_column(
    page: Ints, positions: Ints, grouped: Floats, first: int, last: int, out: Floats
) -> None:
    for row in range(first, last):
        prefetch(positions, page[min(row + AHEAD, last - 1)])
        prefetch(grouped, positions[page[min(row + AHEAD // 2, last - 1)]])
        position = positions[page[row]]
        out[row] = grouped[position]
        positions[page[row]] = position + 1


@compiled
def _count_buckets(page: Ints, first: int, last: int, shift: int, counts: Ints) -> None:
    for row in range(first, last):
        counts[page[row] >> shift] += 1


@compiled
def _scatter_to_buckets(
    page: Ints,
    value: Floats,
    flag: Bools,
    first: int,
    last: int,
    shift: int,
    positions: Ints,
    bucket_page: NDArray[np.int32],
    bucket_value: Floats,
) -> None:
    # The flag is stored in the value's sign, which saves a third stream of writes.
    for row in range(first, last):
        bucket = page[row] >> shift
        position = positions[bucket]
        positions[bucket] = position + 1
        bucket_page[position] = page[row]
        bucket_value[position] = math.copysign(value[row], -1.0 if flag[row] else 1.0)


@compiled
def _scatter_to_pages(
    bucket_page: NDArray[np.int32],
    bucket_value: Floats,
    bucket_starts: Ints,
    first: int,
    last: int,
    shift: int,
    starts: Ints,
    value: Floats,
    flag: Bools,
) -> None:
    width = 1 << shift
    positions = np.empty(width, np.int64)
    for bucket in range(first, last):
        low = bucket << shift
        high = min(low + width, starts.size - 1)
        begin, end = bucket_starts[bucket], bucket_starts[bucket + 1]
        positions[:] = 0
        for row in range(begin, end):
            positions[bucket_page[row] - low] += 1
        total = begin
        for page in range(low, high):
            count = positions[page - low]
            starts[page] = positions[page - low] = total
            total += count
        for row in range(begin, end):
            page = bucket_page[row] - low
            position = positions[page]
            positions[page] = position + 1
            value[position] = abs(bucket_value[row])
            flag[position] = math.copysign(1.0, bucket_value[row]) < 0.0
