"""Time series of a crawl, for charts: a fixed number of samples by minute, by hour and by day."""

from dataclasses import dataclass
from enum import IntEnum
from typing import final

from recrawl.store.database import Database


class Span(IntEnum):
    """The time span of a sample, in seconds."""

    MINUTE = 60
    HOUR = 3_600
    DAY = 86_400

    @property
    def kept(self) -> int:
        """How many are kept: a day, a month, ten years of them."""
        return {Span.MINUTE: 1_440, Span.HOUR: 744, Span.DAY: 3_660}[self]

    @property
    def microseconds(self) -> int:
        """Its length in microseconds."""
        return self.value * 1_000_000


@dataclass(frozen=True, slots=True)
class KeptSample:
    """The state of a crawl in a span of time.

    Attributes:
        at: When its last sample was taken, in microseconds.
        freshness: The share of importance whose copies were believed to be current, on average;
            None without pages.
        due: Pages that were due at the end of it.
        changed: Visits in it that found a change, first visits included.
        unchanged: Visits in it that found none.
        failed: Visits in it that failed, or found the page gone.
    """

    at: int
    freshness: float | None
    due: int
    changed: int
    unchanged: int
    failed: int


@final
class KeptSamples:
    """Samples in the store.

    Args:
        database: The store's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, sample: KeptSample) -> None:
        """Add what happened since the previous sample to its minute, its hour and its day."""
        with self._database.transaction():
            for span in Span:
                number = sample.at // span.microseconds
                self._database.execute(
                    "add_sample",
                    span=span,
                    slot=number % span.kept,
                    number=number,
                    size=span.microseconds,
                    at=sample.at,
                    freshness=sample.freshness,
                    due=sample.due,
                    changed=sample.changed,
                    unchanged=sample.unchanged,
                    failed=sample.failed,
                )

    def since(self, at: int, span: Span) -> list[KeptSample]:
        """Return the samples of spans that ended at a time or later, the oldest first."""
        return [KeptSample(*row) for row in self._database.rows("samples_since", span, at)]
