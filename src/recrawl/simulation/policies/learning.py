"""What a policy has learned of its pages: an estimator, fed as visits come and asked now and then.

An estimator is a fold over whole columns; a policy hears of some visits every tick. So rows are
kept until somebody asks for the rates.
"""

from collections.abc import Callable
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from recrawl.estimation import Estimator, GammaFilter, Observations, Prior
from recrawl.kernels.jit import Bools, Floats, Ints, compiled


class Learner(Protocol):
    """Change rates, learned from visits."""

    def observe(self, page: Ints, elapsed: Floats, changed: Bools, crawl_rate: Floats) -> None:
        """Hear of visits, and of the crawl rate in force during each gap; NaN where none was."""
        ...

    def rate(self) -> Floats:
        """Give the change rates that all visits so far suggest."""
        ...


#: How many more gaps are worth a new solution, as a share of those there are.
NEWS = 0.02

#: Makes a learner for so many pages that will be visited after so many days on average.
MakeLearner = Callable[[int, float], Learner]


class _Rows:
    """Columns that grow at their end, with room to spare so that they are seldom copied."""

    def __init__(self, *kinds: type[np.generic]) -> None:
        self._room = tuple(np.empty(1, kind) for kind in kinds)
        self.size = 0

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        return tuple(column[: self.size] for column in self._room)

    def append(self, *columns: NDArray[Any]) -> None:
        size = self.size + columns[0].size
        if size > self._room[0].size:
            self._room = tuple(np.resize(column, 2 * size) for column in self._room)
        for room, column in zip(self._room, columns, strict=True):
            room[self.size : size] = column
        self.size = size

    def clear(self) -> None:
        self.size = 0


@final
class Folded:
    """An estimator whose state is a few numbers a page: rows are folded in when it is asked."""

    def __init__(self, estimator: Estimator[Any], pages: int) -> None:
        self._estimator = estimator
        self._state = estimator.start(pages)
        self._pages = pages
        self._rows = _Rows(np.int64, np.float64, np.bool_, np.float64)

    def observe(self, page: Ints, elapsed: Floats, changed: Bools, crawl_rate: Floats) -> None:
        """Keep the rows until somebody asks."""
        self._rows.append(page, elapsed, changed, crawl_rate)

    def rate(self) -> Floats:
        """Fold the rows that have come, and give the estimator's rates."""
        seen = Observations(self._pages, *self._rows.columns)
        self._state = self._estimator.update(self._state, seen)
        self._rows.clear()
        return self._estimator.rate(self._state)


@final
class Solved:
    """An estimator that needs every gap: a page is solved anew when it has 2 % more of them.

    Less news would move an estimate by a small part of its error, and take most of the time.

    Args:
        estimator: `MLE` or `MomentMatching`.
        pages: How many there are.
        imagined: A gap in days, one that found a change and one that did not, which every page is
            imagined to have had before the first visit.
    """

    def __init__(
        self, estimator: Estimator[Any], pages: int, *, imagined: float | None = None
    ) -> None:
        self._estimator = estimator
        self._rate = np.zeros(pages)
        self._newest = np.full(pages, -1)
        self._count = np.zeros(pages)
        self._solved = np.zeros(pages)
        self._rows = _Rows(np.int64, np.float64, np.bool_)
        if imagined is not None:
            page, gap = np.arange(pages), np.full(pages, imagined)
            for changed in (True, False):
                self.observe(page, gap, np.full(pages, changed), gap)

    def observe(self, page: Ints, elapsed: Floats, changed: Bools, crawl_rate: Floats) -> None:
        """Keep the rows for good, each with the place of the page's row before it."""
        del crawl_rate
        first = self._rows.size
        self._rows.append(self._newest[page], elapsed, changed)
        self._newest[page] = np.arange(first, self._rows.size)
        self._count[page] += 1

    def rate(self) -> Floats:
        """Solve the pages with news, and give all rates."""
        pages = np.flatnonzero(self._count > (1.0 + NEWS) * self._solved)
        before, elapsed, changed = self._rows.columns
        rows, page = _rows_of(self._newest[pages], before)
        seen = Observations(pages.size, page, elapsed[rows], changed[rows])
        state = self._estimator.update(self._estimator.start(pages.size), seen)
        self._rate[pages] = self._estimator.rate(state)
        self._solved[pages] = self._count[pages]
        return self._rate.copy()


@compiled
def _rows_of(newest: Ints, before: Ints) -> tuple[Ints, Ints]:
    """Give the rows of pages, and which of the pages each is of, from the newest backwards."""
    count = 0
    for number in range(newest.size):
        row = newest[number]
        while row >= 0:
            count += 1
            row = before[row]
    rows, page = np.empty(count, np.int64), np.empty(count, np.int64)
    place = 0
    for number in range(newest.size):
        row = newest[number]
        while row >= 0:
            rows[place], page[place] = row, number
            place += 1
            row = before[row]
    return rows, page


def believing(pages: int, gap: float) -> Learner:
    """Learn with the Gamma filter, from a prior whose mean is the mean crawl rate.

    That is known before the first visit, and uses nothing from the future.
    """
    return Folded(GammaFilter(Prior(0.5, 0.5 * gap)), pages)
