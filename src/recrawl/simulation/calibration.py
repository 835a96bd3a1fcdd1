"""Measure whether changes are found as often as a policy expects them."""

from typing import final

import numpy as np

from recrawl.kernels.jit import Bools, Floats, Ints

#: Expected chances are grouped by tenths.
TENTHS = 10


@final
class Calibration:
    """Counts visits and the changes they found, by the chance of a change that was expected.

    >>> calibration = Calibration()
    >>> calibration.add(np.array([0.05, 0.31, 0.39]), np.array([False, True, False]))
    >>> calibration.visits
    array([1, 0, 0, 2, 0, 0, 0, 0, 0, 0])
    >>> float(calibration.expected[3]), float(calibration.found[3])
    (0.35, 0.5)
    """

    def __init__(self) -> None:
        self.visits: Ints = np.zeros(TENTHS, np.int64)
        self._expected = np.zeros(TENTHS)
        self._found = np.zeros(TENTHS)

    def add(self, chance: Floats, changed: Bools) -> None:
        """Count visits, given the chance that each finds a change and whether it found one."""
        tenth = np.clip((chance * TENTHS).astype(np.int64), 0, TENTHS - 1)
        self.visits += np.bincount(tenth, minlength=TENTHS)
        self._expected += np.bincount(tenth, chance, TENTHS)
        self._found += np.bincount(tenth, changed, TENTHS)

    @property
    def expected(self) -> Floats:
        """The mean chance per tenth; NaN where there were no visits."""
        return self._mean(self._expected)

    @property
    def found(self) -> Floats:
        """The share of visits that found a change, per tenth; NaN where there were none."""
        return self._mean(self._found)

    @property
    def error(self) -> float:
        """The mean distance between the two over all visits; 0 without visits."""
        return float(np.abs(self._expected - self._found).sum() / max(self.visits.sum(), 1))

    def _mean(self, total: Floats) -> Floats:
        mean = np.full(TENTHS, np.nan)
        np.divide(total, self.visits, out=mean, where=self.visits > 0)
        return mean
