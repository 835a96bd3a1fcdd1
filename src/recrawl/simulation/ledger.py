"""The books of a replay: what each visit found, and for how long copies were stale."""

import math
from typing import NamedTuple

import numpy as np

from recrawl.errors import ArgumentError
from recrawl.kernels.jit import Bools, Floats, Ints, compiled
from recrawl.simulation.score import Score
from recrawl.simulation.world import World

#: Into how many slices the window is cut for the curve.
SLICES = 100
#: What a time may be off by rounding, in days.
ROUNDING = 1e-9


class _Books(NamedTuple):
    """Columns that the kernels write to.

    Attributes:
        unseen: Where in the world's changes each page's first unseen one is.
        asked: The last tick that each page was visited at.
        visits: How many each page had.
        found: How many of them found a change.
        stale: Days that each page's copy was stale.
        age: The integral of its age over time, in days².
        partly: Weighted stale days in each slice, of spells that do not fill it.
        wholly: Weight of the spells that fill this slice and those after it, as differences.
    """

    unseen: Ints
    asked: Ints
    visits: Ints
    found: Ints
    stale: Floats
    age: Floats
    partly: Floats
    wholly: Floats


class Ledger:
    """What a replay has seen so far. Each visit costs the same, however long the window is."""

    def __init__(self, world: World) -> None:
        pages = world.pages
        self._world = world
        self._ticks: list[tuple[float, int]] = []
        self._books = _Books(
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
        """Visit pages now, later than ever before; give whether each had changed.

        Raises:
            ArgumentError: There is no such page, or one is visited twice.
        """
        world = self._world
        changed = np.empty(page.size, np.bool_)
        wrong = _visit(
            self._books, world.starts, world.change, world.importance, world.days / SLICES,
            page, now, len(self._ticks), changed,
        )  # fmt: skip
        if wrong >= 0:
            number = int(page[wrong])
            why = "it is taken twice" if 0 <= number < world.pages else "there is no such page"
            raise ArgumentError(f"page: number {number} cannot be visited at {now:g}: {why}")
        self._ticks.append((now, page.size))
        return changed

    def close(self, policy: str, budget: float) -> Score:
        """Count what is stale to the window's end, and give the score. Nothing comes after it."""
        world, books = self._world, self._books
        _close(books, world.starts, world.change, world.importance, world.days / SLICES, world.days)
        weighted_days = float(world.importance.sum()) * world.days
        visits = int(books.visits.sum())
        busiest, quietest = self._days(budget)
        slices = books.partly + np.cumsum(books.wholly) * (world.days / SLICES)
        return Score(
            policy=policy,
            staleness=float(world.importance @ books.stale) / weighted_days,
            mean_age=float(world.importance @ books.age) / weighted_days,
            visits=visits,
            budget_used=visits / (budget * world.days),
            wasted=1.0 - int(books.found.sum()) / visits if visits else 0.0,
            busiest_day=busiest,
            quietest_day=quietest,
            host_visits=np.bincount(world.host, books.visits).astype(np.int64),
            curve=slices[:SLICES] / (weighted_days / SLICES),
        )

    def _days(self, budget: float) -> tuple[float, float]:
        """Give the most and the fewest visits of a day, as shares of the budget."""
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
    books: _Books,
    starts: Ints,
    change: Floats,
    importance: Floats,
    slice_days: float,
    page: Ints,
    now: float,
    tick: int,
    changed: Bools,
) -> int:
    """Visit pages; give which one cannot be, or −1."""
    for row in range(page.size):
        number = page[row]
        if number < 0 or number >= importance.size or books.asked[number] == tick:
            return row
        books.asked[number] = tick
        books.visits[number] += 1
        place, end = books.unseen[number], starts[number + 1]
        changed[row] = place < end and change[place] <= now
        if changed[row]:
            books.found[number] += 1
            _add_spell(books, number, importance[number], slice_days, change[place], now)
            while place < end and change[place] <= now:
                place += 1
            books.unseen[number] = place
    return -1


@compiled
def _close(
    books: _Books,
    starts: Ints,
    change: Floats,
    importance: Floats,
    slice_days: float,
    days: float,
) -> None:
    for page in range(importance.size):
        place = books.unseen[page]
        if place < starts[page + 1]:
            _add_spell(books, page, importance[page], slice_days, change[place], days)


@compiled
def _add_spell(
    books: _Books, page: int, importance: float, slice_days: float, begin: float, end: float
) -> None:
    """Count a spell of time during which a page's copy was stale."""
    length = end - begin
    books.stale[page] += length
    books.age[page] += 0.5 * length * length
    first = min(int(begin / slice_days), SLICES)
    last = min(int(end / slice_days), SLICES)
    if first == last:
        books.partly[first] += importance * length
        return
    books.partly[first] += importance * ((first + 1) * slice_days - begin)
    books.partly[last] += importance * (end - last * slice_days)
    books.wholly[first + 1] += importance
    books.wholly[last] -= importance
