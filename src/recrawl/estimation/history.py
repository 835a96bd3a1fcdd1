"""The state of the estimators that need every gap: the observations themselves."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from recrawl.estimation.estimator import checked_pages
from recrawl.estimation.observations import Grouped, Observations
from recrawl.kernels.jit import Bools, Floats, Ints, cut, in_parallel

#: Newton's method converges from one side, to the precision of floats in some ten steps.
MAX_STEPS = 200
#: A relative step smaller than this is the last: the remaining error is about its square.
PRECISION = 1e-7


class History(NamedTuple):
    """All observations so far, in order. Every visit adds to it: these estimators are offline.

    Attributes:
        visits: Observations per page.
        page: The row's page.
        elapsed: Its gap in days.
        changed: Whether it found a change.
    """

    visits: Ints
    page: Ints
    elapsed: Floats
    changed: Bools

    @classmethod
    def none(cls, pages: int) -> "History":
        """Return the history of pages without visits."""
        return cls(
            np.zeros(checked_pages(pages), np.int64),
            np.empty(0, np.int64),
            np.empty(0),
            np.empty(0, np.bool_),
        )

    def plus(self, observations: Observations) -> "History":
        """Return the history with these observations appended."""
        visits = self.visits + np.bincount(observations.page, minlength=self.visits.size)
        if not self.page.size:
            return History(visits, observations.page, observations.elapsed, observations.changed)
        return History(
            visits,
            np.concatenate([self.page, observations.page]),
            np.concatenate([self.elapsed, observations.elapsed]),
            np.concatenate([self.changed, observations.changed]),
        )

    @property
    def grouped(self) -> Grouped:
        """The observations page by page."""
        return Observations(self.visits.size, self.page, self.elapsed, self.changed).grouped

    def for_all_pages(self, kernel: Callable[..., None], *arguments: Any) -> None:  # noqa: ANN401
        """Call a kernel for all pages, in parallel, with the observations and further arguments."""
        rows = self.grouped
        grouped = rows.starts, rows.elapsed, rows.changed
        in_parallel(
            lambda first, last: kernel(*grouped, first, last, *arguments),
            cut(self.visits.size, self.page.size, rows.starts),
        )


class HistoryEstimator:
    """The fold that estimators from whole histories share."""

    state_version: ClassVar[int] = 1

    def start(self, pages: int) -> History:
        """Return the history of pages without visits."""
        return History.none(pages)

    def update(self, state: History, observations: Observations) -> History:
        """Keep the observations."""
        return state.plus(observations)
