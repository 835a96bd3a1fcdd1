"""A custom estimator, and the suite that checks whether it keeps an estimator's promises."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from recrawl import Naive, Observations, Tracker, check_estimator
from recrawl.errors import ConformanceError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Counts(NamedTuple):
    """The state: one element per page in each array."""

    visits: Ints
    changes: Ints
    elapsed: Floats


@final
@dataclass(frozen=True)
class Odds:
    """The odds of finding a change, times the crawl rate: consistent for visits at random times."""

    state_version: ClassVar[int] = 1

    def start(self, pages: int) -> Counts:
        """Return the counts of pages without visits."""
        return Counts(np.zeros(pages, np.int64), np.zeros(pages, np.int64), np.zeros(pages))

    def update(self, state: Counts, observations: Observations) -> Counts:
        """Count the observations."""
        page, pages = observations.page, observations.pages
        return Counts(
            state.visits + np.bincount(page, minlength=pages),
            state.changes + np.bincount(page[observations.changed], minlength=pages),
            state.elapsed + np.bincount(page, observations.elapsed, pages),
        )

    def rate(self, state: Counts) -> Floats:
        """Return the odds, with both counts starting at one half, times the visits per day."""
        odds = (state.changes + 0.5) / (state.visits - state.changes + 0.5)
        return odds * state.visits / np.maximum(state.elapsed, 1e-300)

    def interval(self, state: Counts, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return an interval that is symmetric in the logarithm of the odds."""
        spread = 1 / (state.changes + 0.5) + 1 / (state.visits - state.changes + 0.5)
        reach = np.exp(ndtri(0.5 + level / 2) * np.sqrt(spread))
        return self.rate(state) / reach, self.rate(state) * reach


page = Tracker(Odds())
for changed, elapsed in [(True, 1.0), (True, 3.0), (False, 0.5), (True, 1.0)]:
    page.observe(changed, elapsed)
low, high = page.interval()
print(f"{page.rate:.2f} changes per day, between {low:.2f} and {high:.2f}")

check_estimator(Odds())
print("Odds keeps every promise")

try:
    check_estimator(Naive())
except ConformanceError as broken:
    print(f"Naive does not: {broken}")
