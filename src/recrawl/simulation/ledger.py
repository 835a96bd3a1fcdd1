"""The bookkeeping of a replay: what each visit found, and how long copies were stale."""

import math
from typing import NamedTuple

import numpy as np

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Bools, Floats, Ints, compiled, step
from recrawl.simulation.score import Score
from recrawl.simulation.world import World

#: The number of slices of the window in the curve.
SLICES = 100
#: The rounding error that a time may have, in days.
ROUNDING = 1e-9


class _Columns(NamedTuple):
    """Columns that the kernels write to.

    Attributes:
        unseen: The index of each page's first unseen change in the world's changes.
        tick: The last tick at which each page was visited.
        visits: The number of visits to each page.
        found: The number of them that found a change.
        stale: Days during which each page's copy was stale.
        age: The integral of its age over time, in days².
        partial: Weighted stale days per slice, from stale periods that do not fill it.
        full: Weight of the stale periods that fill this slice and later ones, as differences.
    """

    unseen: Ints
    tick: Ints
    visits: Ints
    found: Ints
    stale: Floats
    age: Floats
    partial: Floats
    full: Floats


class Ledger:
    """What a replay has seen so far. A visit takes constant time, however long the window is."""

    def __init__(self, world: World) -> None:
        pages = world.pages
        self._world = world
        self._ticks: list[tuple[float, int]] = []
        self._columns = _Columns(
            world.starts[:-1].copy(),
            np.full(pages, -1, np.int64),
            np.zeros(pages, np.int64),
            np.zeros(pages, np.int64),
            np.zeros(pages),
            np.zeros(pages),
            np.zeros(SLICES + 1),
            np.zeros(SLICES + 1),
        )

    def visit(self, page: Ints, now: float) -> Bools:
        """Visit pages at a later time than ever before; return whether each had changed.

        Raises:
            ArgumentError: A page does not exist, or is visited twice.
        """
        world = self._world
        changed = np.empty(page.size, np.bool_)
        if not page.size:
            return changed
        wrong = _visit(
            self._columns, world.starts, world.change, world.importance, world.days / SLICES,
            page, now, len(self._ticks), changed,
        )  # fmt: skip
        if wrong >= 0:
            number = int(page[wrong])
            why = "it is taken twice" if 0 <= number < world.pages else "there is no such page"
            raise ArgumentError(f"page: number {number} cannot be visited at {now:g}: {why}")
        self._ticks.append((now, page.size))
        return changed

    def close(self, policy: str, budget: float) -> Score:
        """Add the staleness up to the window's end and return the score. Call it once, last."""
        world, columns = self._world, self._columns
        _close(
            columns, world.starts, world.change, world.importance, world.days / SLICES, world.days
        )
        weighted_days = float(world.importance.sum()) * world.days
        visits = int(columns.visits.sum())
        busiest, quietest = self._days(budget)
        slices = columns.partial + np.cumsum(columns.full) * (world.days / SLICES)
        return Score(
            policy=policy,
            staleness=float(world.importance @ columns.stale) / weighted_days,
            mean_age=float(world.importance @ columns.age) / weighted_days,
            visits=visits,
            budget_used=visits / (budget * world.days),
            wasted=1.0 - int(columns.found.sum()) / visits if visits else 0.0,
            busiest_day=busiest,
            quietest_day=quietest,
            host_visits=np.bincount(world.host, columns.visits).astype(np.int64),
            curve=slices[:SLICES] / (weighted_days / SLICES),
        )

    def _days(self, budget: float) -> tuple[float, float]:
        """Return the most and the fewest visits in a day, as shares of the budget."""
        day = min(1.0, self._world.days)
        whole = max(1, math.floor(self._world.days + ROUNDING))
        visits = np.zeros(whole + 1)
        for now, count in self._ticks:
            # A day's last tick is at its very end.
            visits[min(max(math.ceil((now - ROUNDING) / day) - 1, 0), whole)] += count
        return (
            float(visits[:whole].max()) / (budget * day),
            float(visits[:whole].min()) / (budget * day),
        )


@compiled
def _visit(
    columns: _Columns,
    starts: Ints,
    change: Floats,
    importance: Floats,
    slice_days: float,
    page: Ints,
    now: float,
    tick: int,
    changed: Bools,
) -> int:
    """Visit pages; return the first row that cannot be visited, or −1."""
    for row in range(page.size):
        number = page[row]
        if number < 0 or number >= importance.size or columns.tick[number] == tick:
            return row
        columns.tick[number] = tick
        columns.visits[number] += 1
        index, end = columns.unseen[number], starts[number + 1]
        changed[row] = index < end and change[index] <= now
        if changed[row]:
            columns.found[number] += 1
            _add_stale(columns, number, importance[number], slice_days, change[index], now)
            while index < end and change[index] <= now:
                index += 1
            columns.unseen[number] = index
    return -1


@compiled
def _close(
    columns: _Columns,
    starts: Ints,
    change: Floats,
    importance: Floats,
    slice_days: float,
    days: float,
) -> None:
    for page in range(importance.size):
        index = columns.unseen[page]
        if index < starts[page + 1]:
            _add_stale(columns, page, importance[page], slice_days, change[index], days)


@step
def _add_stale(
    columns: _Columns, page: int, importance: float, slice_days: float, begin: float, end: float
) -> None:
    """Add a period during which a page's copy was stale."""
    length = end - begin
    columns.stale[page] += length
    columns.age[page] += 0.5 * length * length
    first = min(int(begin / slice_days), SLICES)
    last = min(int(end / slice_days), SLICES)
    if first == last:
        columns.partial[first] += importance * length
        return
    columns.partial[first] += importance * ((first + 1) * slice_days - begin)
    columns.partial[last] += importance * (end - last * slice_days)
    columns.full[first + 1] += importance
    columns.full[last] -= importance
