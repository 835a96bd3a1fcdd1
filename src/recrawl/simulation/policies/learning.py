"""Estimators in policies: they are fed at every tick, and their rates are read periodically.

An estimator is a fold over whole columns, but a policy learns of a few visits at every tick. So
rows are buffered until the rates are needed.
"""

from collections.abc import Callable
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from recrawl.estimation import Estimator, GammaFilter, Observations, Prior
from recrawl.kernels.jit import Bools, Floats, Ints, compiled

#: Policies raise estimates to this share of the mean crawl rate, so that no page is given up.
MIN_RATE_SHARE = 0.02
#: A page is solved again when its number of gaps has grown by this share.
SOLVE_AGAIN = 0.02


class Learner(Protocol):
    """Change rates, learned from visits."""

    def observe(self, page: Ints, elapsed: Floats, changed: Bools, crawl_rate: Floats) -> None:
        """Learn from visits; ``crawl_rate`` was in force during each gap, NaN where none was."""
        ...

    def rate(self) -> Floats:
        """Return the change rates that all visits so far suggest."""
        ...


#: Makes a learner from the number of pages and the mean days between visits.
MakeLearner = Callable[[int, float], Learner]


class _Rows:
    """Columns that grow at the end, with spare capacity so that they are seldom copied."""

    def __init__(self, *kinds: type[np.generic]) -> None:
        self._buffers = tuple(np.empty(1, kind) for kind in kinds)
        self.size = 0

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        return tuple(buffer[: self.size] for buffer in self._buffers)

    def append(self, *columns: NDArray[Any]) -> None:
        size = self.size + columns[0].size
        if size > self._buffers[0].size:
            self._buffers = tuple(np.resize(buffer, 2 * size) for buffer in self._buffers)
        for buffer, column in zip(self._buffers, columns, strict=True):
            buffer[self.size : size] = column
        self.size = size

    def clear(self) -> None:
        self.size = 0


@final
class Updated:
    """An estimator with a few numbers of state per page, updated when its rates are read."""

    def __init__(self, estimator: Estimator[Any], pages: int) -> None:
        self._estimator = estimator
        self._state = estimator.start(pages)
        self._pages = pages
        self._rows = _Rows(np.int64, np.float64, np.bool_, np.float64)

    def observe(self, page: Ints, elapsed: Floats, changed: Bools, crawl_rate: Floats) -> None:
        """Buffer the rows."""
        self._rows.append(page, elapsed, changed, crawl_rate)

    def rate(self) -> Floats:
        """Update the estimator with the buffered rows and return its rates."""
        seen = Observations(self._pages, *self._rows.columns)
        self._state = self._estimator.update(self._state, seen)
        self._rows.clear()
        return self._estimator.rate(self._state)


@final
class Solved:
    """An estimator that needs every gap: a page is solved again once it has 2 % more of them.

    Fewer would move an estimate by a small part of its error, and take most of the time.

    Args:
        estimator: `MLE` or `MomentMatching`.
        pages: The number of pages.
        pseudo_gap: If given, every page starts with two gaps of this many days, one with a change
            and one without.
    """

    def __init__(
        self, estimator: Estimator[Any], pages: int, *, pseudo_gap: float | None = None
    ) -> None:
        self._estimator = estimator
        self._rate = np.zeros(pages)
        self._newest = np.full(pages, -1)
        self._count = np.zeros(pages)
        self._solved = np.zeros(pages)
        self._rows = _Rows(np.int64, np.float64, np.bool_)
        if pseudo_gap is not None:
            page, gap = np.arange(pages), np.full(pages, pseudo_gap)
            for changed in (True, False):
                self.observe(page, gap, np.full(pages, changed), gap)

    def observe(self, page: Ints, elapsed: Floats, changed: Bools, crawl_rate: Floats) -> None:
        """Keep the rows for good, each linked to the page's previous row."""
        del crawl_rate
        first = self._rows.size
        self._rows.append(self._newest[page], elapsed, changed)
        self._newest[page] = np.arange(first, self._rows.size)
        self._count[page] += 1

    def rate(self) -> Floats:
        """Solve the pages with enough new gaps, and return all rates."""
        pages = np.flatnonzero(self._count > (1.0 + SOLVE_AGAIN) * self._solved)
        previous, elapsed, changed = self._rows.columns
        rows, page = _rows_of(self._newest[pages], previous)
        seen = Observations(pages.size, page, elapsed[rows], changed[rows])
        state = self._estimator.update(self._estimator.start(pages.size), seen)
        self._rate[pages] = self._estimator.rate(state)
        self._solved[pages] = self._count[pages]
        return self._rate.copy()


@compiled
def _rows_of(newest: Ints, previous: Ints) -> tuple[Ints, Ints]:
    """Return the rows of some pages, newest first, and the index of each row's page."""
    count = 0
    for number in range(newest.size):
        row = newest[number]
        while row >= 0:
            count += 1
            row = previous[row]
    rows, page = np.empty(count, np.int64), np.empty(count, np.int64)
    index = 0
    for number in range(newest.size):
        row = newest[number]
        while row >= 0:
            rows[index], page[index] = row, number
            index += 1
            row = previous[row]
    return rows, page


def gamma_learner(pages: int, gap: float) -> Learner:
    """Learn with the Gamma filter, from a prior whose mean is the mean crawl rate.

    That is known before the first visit, and uses nothing from the future.
    """
    return Updated(GammaFilter(Prior(0.5, 0.5 * gap)), pages)


def updating(estimator: Estimator[Any]) -> MakeLearner:
    """Learn with an estimator that has a few numbers of state per page."""
    return lambda pages, _gap: Updated(estimator, pages)


def solving(estimator: Estimator[Any]) -> MakeLearner:
    """Learn with an estimator that needs every gap."""
    return lambda pages, _gap: Solved(estimator, pages)
