"""The Gamma belief: how one visit updates it, and how a log of visits is folded into it.

The belief about a page's change rate is Δ ~ Gamma(shape, time): about ``shape`` changes in ``time``
days. A visit after τ days finds the page unchanged with probability c = (time / (time + τ))^shape.
"""

import math
from typing import NamedTuple, TypeVar

import numpy as np

from recrawl.estimation.observations import Grouped
from recrawl.kernels.jit import (
    Bools,
    Floats,
    Ints,
    compiled,
    cut,
    in_parallel,
    inlined,
    read_only,
    small_step,
    step,
)
from recrawl.kernels.simd_math import exp_minus, log1p

N = TypeVar("N", float, Floats)

#: Pages folded together: enough to fill the processor's vectors, few enough for its L1 cache.
BATCH = 128
#: Batches are processed in multiples of this, so that a compiled loop needs no remainder.
VECTOR = 8
#: Pages with more rows than this are folded separately at the end: in a batch with others, they
#: would run on alone after the others are done.
MANY_ROWS = 256
GROUP = 1 << 20
#: Rows of the other pages folded at a time; their intermediate results fit into the L2 cache.
SLAB = 1 << 15


class Batch(NamedTuple):
    """Pages folded together: their beliefs, the current change, and the range of their changes.

    Attributes:
        shape: The belief's.
        time: The belief's, without the unchanged time before the current change.
        gap: The gap that ended in the current change.
        quiet: That unchanged time.
        begin: Index of the page's first change.
        end: Index after its last change.
    """

    shape: Floats
    time: Floats
    gap: Floats
    quiet: Floats
    begin: Ints
    end: Ints


@inlined
def hazard(shape: N, time: N, elapsed: N) -> N:
    """Return a·ln(1 + t/b): the page is still unchanged after t days with chance e^(−hazard)."""
    expected: N = shape * np.log1p(elapsed / time)
    return expected


@inlined
def forget(
    shape: float,
    time: float,
    prior_shape: float,
    prior_time: float,
    elapsed: float,
    half_life: float,
) -> tuple[float, float]:
    """Return the belief ``elapsed`` days on: each half-life halves its distance to the prior."""
    # Weights that are both positive: a difference to the prior would cancel to a belief of 0.
    kept = math.exp(-math.log(2.0) * elapsed / half_life)
    lost = 1.0 - kept
    return kept * shape + lost * prior_shape, kept * time + lost * prior_time


@small_step
def after_visit(
    shape: float,
    time: float,
    gap: float,
    changed: bool,  # noqa: FBT001
    age: float,
    elapsed: float,
    keep: float,
) -> tuple[float, float]:
    """Return the belief after a visit.

    Args:
        shape: The belief's shape before the visit.
        time: Its time.
        gap: Days since the previous visit.
        changed: Whether the page had changed since then.
        age: Days since the last change, if the server dates it; NaN if not. A date is exact: it
            adds min(age, gap) to the time, and a change to the shape if age < gap.
        elapsed: The effective length of the gap, by the activity of the page's neighbours; the gap
            itself where there are none.
        keep: The share of the chance of being unchanged that other evidence had left.
    """
    if not math.isnan(age):
        return shape + (age < gap), time + elapsed / gap * min(age, gap)
    if changed:
        return after_change(shape, time, elapsed, keep)
    return shape, time + elapsed


@inlined
def after_change(shape: float, time: float, elapsed: float, keep: float) -> tuple[float, float]:
    """Return the Gamma with the mean and variance of the belief after a visit that found a change.

    The exact posterior is a difference of two Gammas. With u = τ/b, q = u/(1+u), o = 1 − c:

        mean = (a/b)·(o + cq)/o,   variance = (a/b²)·(o² + cqo(2 − q) − acq²)/o²

    which is m₂ − m₁² with its cancellation worked out: it holds over 24 decades. If other evidence
    had left only ``keep`` of the chance of being unchanged, keep·c replaces c.
    """
    per_product = 1.0 / (time * (time + elapsed))
    u = elapsed * (time + elapsed) * per_product
    q = elapsed * time * per_product
    same, changed = exp_minus(shape * log1p(u, 1.0 - q))
    c = keep * same
    o = changed + (same - c)
    cq = c * q
    total = o + cq
    ratio = total / (o * o + cq * (o * (2.0 - q) - shape * q))
    return shape * total * ratio, time * o * ratio


def fold_bits(
    shape: Floats,
    time: Floats,
    visits: Ints,
    total: Floats,
    prior_gaps: float,
    starts: Ints,
    elapsed: Floats,
    changed: Bools,
) -> None:
    """Fold rows grouped by page into beliefs, in place.

    An unchanged visit only adds its gap to ``time``. So rows are first reduced to changes, each
    with the unchanged time before it; these are folded many pages at a time, with SIMD.

    ``prior_gaps`` is the prior's share of a belief's time, in mean gaps (see `GammaFilter`).
    """
    # With `fold_rows` alone `estimate` takes 1.6 to 2.5 times as long on 20 million rows, and folds
    # at 0.15 of np.log's speed, where the bar of benchmarks/estimation_speed.py is 0.4.
    beliefs = (shape, time, visits, total, prior_gaps)

    def fold_span(first: int, last: int) -> None:
        rows = np.diff(starts[first : last + 1])
        _fold_slabs(*beliefs, starts, elapsed, changed, first, last, *_scratch(SLAB + MANY_ROWS))
        scratch = _scratch(GROUP + int(rows.max(initial=0)))
        for busy in _groups_of_busy_pages(rows):
            _fold_pages(*beliefs, starts, elapsed, changed, first + busy, *scratch)

    in_parallel(fold_span, cut(shape.size, elapsed.size, starts))


def _groups_of_busy_pages(rows: Ints) -> list[Ints]:
    """Return the pages with many rows, most rows first, in groups of about `GROUP` rows."""
    busy = np.flatnonzero(rows > MANY_ROWS)
    busy = busy[np.argsort(-rows[busy], kind="stable")]
    group = np.cumsum(rows[busy]) // GROUP
    return np.split(busy, np.flatnonzero(np.diff(group)) + 1) if busy.size else []


def _scratch(rows: int) -> tuple[Floats, Floats]:
    return np.empty(rows + 1), np.empty(rows + 1)


@compiled
def _fold_slabs(
    shape: Floats,
    time: Floats,
    visits: Ints,
    total: Floats,
    prior_gaps: float,
    starts: Ints,
    elapsed: Floats,
    changed: Bools,
    first: int,
    last: int,
    gap: Floats,
    quiet: Floats,
) -> None:
    pages = np.empty(SLAB + 1, np.int64)
    size = rows = 0
    for page in range(first, last):
        here = starts[page + 1] - starts[page]
        if 0 < here <= MANY_ROWS:
            pages[size] = page
            size += 1
            rows += here
        if rows >= SLAB or page == last - 1:
            _fold_pages(
                shape, time, visits, total, prior_gaps, starts, elapsed, changed, pages[:size],
                gap, quiet,
            )  # fmt: skip
            size = rows = 0


@compiled
def _fold_pages(
    shape: Floats,
    time: Floats,
    visits: Ints,
    total: Floats,
    prior_gaps: float,
    starts: Ints,
    elapsed: Floats,
    changed: Bools,
    pages: Ints,
    gap: Floats,
    quiet: Floats,
) -> None:
    begins = np.empty(pages.size + 1, np.int64)
    silence, days = np.empty(pages.size), np.empty(pages.size)
    _keep_changes(pages, starts, elapsed, changed, gap, quiet, begins, silence, days)
    for item in range(pages.size):
        page = pages[item]
        rows = starts[page + 1] - starts[page]
        _follow_mean_gap(page, days[item], rows, time, visits, total, prior_gaps)
    # Pages with the most changes first, so that the pages of a batch end together.
    order = _by_number_of_changes(begins)
    batch = Batch(
        np.ones(BATCH),
        np.ones(BATCH),
        np.zeros(BATCH),
        np.zeros(BATCH),
        np.zeros(BATCH, np.int64),
        np.zeros(BATCH, np.int64),
    )
    for low in range(0, order.size, BATCH):
        block = order[low : low + BATCH]
        for i in range(block.size):
            page = pages[block[i]]
            batch.shape[i], batch.time[i] = shape[page], time[page]
            batch.begin[i], batch.end[i] = begins[block[i]], begins[block[i] + 1]
        _fold_batch(batch, block.size, gap, quiet)
        for i in range(block.size):
            page = pages[block[i]]
            shape[page], time[page] = batch.shape[i], batch.time[i] + silence[block[i]]


@step
def _fold_batch(batch: Batch, busy: int, gap: Floats, quiet: Floats) -> None:
    """Fold the first change of every page, then the second, and so on; the last pages end first."""
    a, b, tau, still = batch.shape, batch.time, batch.gap, batch.quiet
    step = 0
    while True:
        while busy > 0 and batch.begin[busy - 1] + step == batch.end[busy - 1]:
            busy -= 1
        if busy == 0:
            return
        for i in range(busy):
            entry = batch.begin[i] + step
            tau[i], still[i] = gap[entry], quiet[entry]
        # Whole vectors only: a page that is done has no gap, and keeps its belief.
        whole = (busy + VECTOR - 1) // VECTOR * VECTOR
        tau[busy:whole] = 0.0
        for i in range(whole):
            new_shape, new_time = after_change(a[i], b[i] + still[i], tau[i], 1.0)
            a[i] = new_shape if tau[i] > 0.0 else a[i]
            b[i] = new_time - still[i] if tau[i] > 0.0 else b[i]
        step += 1


@step
def _keep_changes(
    pages: Ints,
    starts: Ints,
    elapsed: Floats,
    changed: Bools,
    gap: Floats,
    quiet: Floats,
    begins: Ints,
    silence: Floats,
    days: Floats,
) -> None:
    """Reduce each page's rows to its changes: their gaps, and the unchanged time before them.

    There is no branch on ``changed``, which no processor could predict: each row is written, and
    the next row overwrites it if it was not a change.
    """
    entry = 0
    for item in range(pages.size):
        begins[item] = entry
        unchanged_time = time = 0.0
        for row in range(starts[pages[item]], starts[pages[item] + 1]):
            gap[entry] = elapsed[row]
            quiet[entry] = unchanged_time
            unchanged_time += elapsed[row] * (1.0 - changed[row])
            time += elapsed[row]
            entry += changed[row]
        silence[item] = unchanged_time
        days[item] = time
    begins[pages.size] = entry


@inlined
def _follow_mean_gap(
    page: int,
    days: float,
    rows: int,
    time: Floats,
    visits: Ints,
    total: Floats,
    prior_gaps: float,
) -> None:
    """Add rows to a page's totals, and move the prior's time to its new mean gap.

    That is exact, because the prior's time is a term of the belief's.
    """
    if prior_gaps > 0.0:
        time[page] -= prior_gaps * total[page] / visits[page] if visits[page] > 0 else time[page]
    total[page] += days
    visits[page] += rows
    if prior_gaps > 0.0:
        time[page] += prior_gaps * total[page] / visits[page]


@step
def _by_number_of_changes(begins: Ints) -> Ints:
    changes = begins[1:] - begins[:-1]
    position = np.zeros(changes.max() + 2 if changes.size else 1, np.int64)
    for page in range(changes.size):
        position[changes[page]] += 1
    # Counts become first positions: pages with more changes come before.
    total = 0
    for number in range(position.size - 1, -1, -1):
        here = position[number]
        position[number] = total
        total += here
    order = np.empty(changes.size, np.int64)
    for page in range(changes.size):
        order[position[changes[page]]] = page
        position[changes[page]] += 1
    return order


def fold_rows(
    shape: Floats,
    time: Floats,
    visits: Ints,
    total: Floats,
    prior_gaps: float,
    prior_shape: Floats,
    prior_time: Floats,
    half_life: float,
    rows: Grouped,
) -> None:
    """Fold rows as `fold_bits` does, one by one, with `forget` and with ages."""
    age = read_only(np.empty(0)) if rows.age is None else rows.age
    in_parallel(
        lambda first, last: _fold_rows(
            shape, time, visits, total, prior_gaps, prior_shape, prior_time, half_life,
            rows.starts, first, last, rows.elapsed, rows.changed, age,
        ),
        cut(shape.size, rows.elapsed.size, rows.starts),
    )  # fmt: skip


@compiled
def _fold_rows(
    shape: Floats,
    time: Floats,
    visits: Ints,
    total: Floats,
    prior_gaps: float,
    prior_shape: Floats,
    prior_time: Floats,
    half_life: float,
    starts: Ints,
    first: int,
    last: int,
    elapsed: Floats,
    changed: Bools,
    age: Floats,
) -> None:
    for page in range(first, last):
        begin, end = starts[page], starts[page + 1]
        if begin == end:
            continue
        days = elapsed[begin:end].sum()
        _follow_mean_gap(page, days, end - begin, time, visits, total, prior_gaps)
        a, b = shape[page], time[page]
        a_prior, b_prior = prior_shape[page], prior_time[page]
        if prior_gaps > 0.0:
            b_prior = prior_gaps * total[page] / visits[page]
        for row in range(begin, end):
            tau = elapsed[row]
            if half_life < np.inf:
                a, b = forget(a, b, a_prior, b_prior, tau, half_life)
            known_age = age[row] if age.size else np.nan
            a, b = after_visit(a, b, tau, changed[row], known_age, tau, 1.0)
        shape[page], time[page] = a, b
