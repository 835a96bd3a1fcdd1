"""What is done from time to time takes no more than its share of the time. Pure: no clock."""

import math
from typing import final


@final
class CostShare:
    """Decides when something that costs time may be done again.

    Args:
        share: The largest share of the time that it may take.

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
        """Whether it may be done again, at a time in seconds."""
        return now >= self._next

    def spend(self, now: float, seconds: float) -> None:
        """Note that it was done, and how long that took."""
        self._next = now + seconds / self._share
