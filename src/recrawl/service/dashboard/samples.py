"""How the crawl went: samples over time, as many as fit, the older ones the further apart."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

#: Samples that are kept: with one every 2 s, all of the last hour, then every second one...
CAPACITY = 1_800


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of a crawl at one time.

    Attributes:
        at: When, in microseconds.
        freshness: The share of importance whose copies are believed to be current; None without
            pages.
        price: What a visit must be worth, importance times days; None before that is known.
        due: Pages whose visit is due.
        latest: Seconds for which the longest overdue of them has been due.
        requests: Requests for pages so far.
        changed: Visits so far that found a change, first visits included.
        unchanged: Visits so far that found none.
        failed: Visits so far that failed, or found the page gone.
    """

    at: int
    freshness: float | None
    price: float | None
    due: int
    latest: float
    requests: int
    changed: int
    unchanged: int
    failed: int

    @property
    def visits(self) -> int:
        """Visits so far."""
        return self.changed + self.unchanged + self.failed


@final
class Samples:
    """Samples over all the time since the first, bounded in number.

    When there are too many, every second one is dropped, and from then on only every second of
    those that come is kept. The newest is always there.

    Args:
        capacity: How many are kept, an even number.

    >>> samples = Samples(capacity=4)
    >>> for second in range(7):
    ...     samples.add(Sample(second, 1.0, None, 0, 0.0, 0, 0, 0, 0))
    >>> [sample.at for sample in samples]
    [0, 2, 4, 6]
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._kept: list[Sample] = []
        self._newest: Sample | None = None
        self._every = 1
        self._added = 0

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Sample]:
        """Iterate over the samples, the oldest first."""
        yield from self._kept
        if self._newest is not None and self._newest is not self._kept[-1]:
            yield self._newest

    @property
    def newest(self) -> Sample | None:
        """The newest sample; None without any."""
        return self._newest

    def add(self, sample: Sample) -> None:
        """Add a sample that is newer than all others."""
        self._newest = sample
        if self._added % self._every == 0:
            if len(self._kept) == self._capacity:
                self._kept = self._kept[::2]
                self._every *= 2
            if self._added % self._every == 0:
                self._kept.append(sample)
        self._added += 1
