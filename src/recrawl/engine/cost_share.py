"""Limit a periodic task to a share of the time. Pure: no clock."""

import math
from typing import final


@final
class CostShare:
    """Decides when a task that costs time may run again.

    Args:
        share: The largest share of the time that the task may take.

    >>> freshness = CostShare(0.01)
    >>> freshness.is_due(now=0.0)
    True
    >>> freshness.spend(now=0.0, seconds=0.06)
    >>> freshness.is_due(now=5.0), freshness.is_due(now=6.0)
    (False, True)
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._next = -math.inf

    def is_due(self, now: float) -> bool:
        """Whether the task may run again, at a time in seconds."""
        return now >= self._next

    def spend(self, now: float, seconds: float) -> None:
        """Note that the task ran, and how long it took."""
        self._next = now + seconds / self._share
