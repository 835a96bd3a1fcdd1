"""Keep ready pages by value, so that the best are found without examining all of them.

Ready pages are in buckets by the value they had when it was last computed. The best of them are
revalued whenever pages are taken, and some of the others in turn, so that none is left behind.
"""

import numpy as np

from recrawl.kernels.jit import (
    Floats,
    Ints,
    bare_step,
    prefetch,
    prefetch_start,
    small_bare_step,
    step,
)
from recrawl.scheduling.due import make_ready, remove_ready, worth
from recrawl.scheduling.state import FIRST_VALUE, NONE, REVALUE, ROWS_AHEAD, Tables


@step
def best_ready(tables: Tables, now: float, candidates: int) -> tuple[Floats, Ints]:
    """Remove the best ready pages; return their values and numbers as a heap, the best first."""
    count = min(tables.shared["ready"][0], candidates)
    values, ready = np.empty(count), np.empty(count, np.int64)
    bucket = tables.shared["top_bucket"][0]
    # A page is valued after the following ones have been removed from their lists: this gives
    # memory time to deliver their rows, and what their values depend on.
    for index in range(count + ROWS_AHEAD):
        if index < count:
            where = FIRST_VALUE + bucket
            while tables.heads[where] == NONE:
                if bucket <= tables.shared["revaluing"][0] and tables.heads[REVALUE] != NONE:
                    where = REVALUE
                else:
                    bucket -= 1
                    where = FIRST_VALUE + bucket
            ready[index] = _first_out(tables, where)
        if index >= ROWS_AHEAD:
            values[index - ROWS_AHEAD] = worth(tables, ready[index - ROWS_AHEAD], now)
    tables.shared["top_bucket"][0] = max(bucket, 0)
    for index in range(count // 2 - 1, -1, -1):
        _sift(values, ready, index, count)
    return values, ready


@step
def revalue_some(tables: Tables, now: float, candidates: int) -> None:
    """Move some ready pages to the buckets of their current values, bucket by bucket in turn."""
    if tables.shared["ready"][0] <= candidates:
        # All of them are about to be revalued as the best.
        return
    values, again = np.empty(candidates), np.empty(candidates, np.int64)
    for index in range(candidates + ROWS_AHEAD):
        if index < candidates:
            while tables.heads[REVALUE] == NONE:
                _revalue_next_bucket(tables)
            again[index] = _first_out(tables, REVALUE)
        if index >= ROWS_AHEAD:
            values[index - ROWS_AHEAD] = worth(tables, again[index - ROWS_AHEAD], now)
    for index in range(candidates):
        make_ready(tables, again[index], values[index])


@bare_step
def _first_out(tables: Tables, where: int) -> int:
    """Remove the first page from a list of ready pages; prefetch its surroundings, and the next."""
    page = tables.heads[where]
    prefetch(tables.pages, max(tables.pages["next"][page], 0))
    prefetch(tables.sections, tables.pages["section"][page])
    prefetch_start(tables.hosts, tables.pages["host"][page])
    remove_ready(tables, page)
    return int(page)


@bare_step
def _revalue_next_bucket(tables: Tables) -> None:
    """Move the pages of the next bucket to the list of those to be revalued."""
    bucket = tables.shared["revalue_bucket"][0]
    tables.shared["revalue_bucket"][0] = (
        bucket - 1 if bucket > 0 else tables.shared["top_bucket"][0]
    )
    tables.shared["revaluing"][0] = bucket
    first = tables.heads[FIRST_VALUE + bucket]
    if first != NONE:
        tables.heads[FIRST_VALUE + bucket] = NONE
        tables.heads[REVALUE] = first
        tables.pages["before"][first] = -2 - REVALUE


@bare_step
def move_best_to_end(values: Floats, ready: Ints, size: int) -> int:
    """Move the best page of a heap to just behind its end; return the heap's new size."""
    last = size - 1
    values[0], values[last] = values[last], values[0]
    ready[0], ready[last] = ready[last], ready[0]
    _sift(values, ready, 0, last)
    return last


@small_bare_step
def _sift(values: Floats, ready: Ints, index: int, size: int) -> None:
    """Sift a heap's page down to its position; of equal values, the lower number is better."""
    value, page = values[index], ready[index]
    child = 2 * index + 1
    while child < size:
        other = child + 1
        if other < size and (
            values[other] > values[child]
            or (values[other] == values[child] and ready[other] < ready[child])
        ):
            child = other
        if value > values[child] or (value == values[child] and page < ready[child]):
            break
        values[index], ready[index] = values[child], ready[child]
        index, child = child, 2 * child + 1
    values[index], ready[index] = value, page
